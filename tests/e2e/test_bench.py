"""The comparison of load generators, once, as short as it can be."""

import shutil
from pathlib import Path

import pytest

from bench.load_generator import main


@pytest.mark.slow
def test_a_quick_comparison_answers_the_bars(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo here")
    page = tmp_path / "RESULTS.md"
    main(["--quick", "--out", str(page), "--folder", str(tmp_path), "--only", "point-select", "--only", "batched"])
    text = page.read_text(encoding="utf-8")
    for name in ("nephoscope-load batched", "floor batched", "nephoscope-load point-select", "floor point-select"):
        assert f"| {name} | " in text
    assert "errors, the first" not in text
    assert text.count("not measured") == 7
