"""Decoders of what servers say, fuzzed for a minute from a stored corpus."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.real_parts import needs

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "load" / "fuzz" / "corpus"


def test_every_target_has_a_small_corpus() -> None:
    targets = {path.stem for path in (ROOT / "load" / "fuzz" / "fuzz_targets").glob("*.rs")}
    inputs = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert {path.parent.name for path in inputs} == targets
    assert len(inputs) <= 200
    assert sum(path.stat().st_size for path in inputs) < 50_000


@needs("cargo", "g++")
@pytest.mark.slow
def test_a_minute_of_fuzzing_finds_nothing() -> None:
    done = subprocess.run([ROOT / "scripts" / "fuzz", "60"], capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    counts = {name: int(inputs) for name, inputs in re.findall(r"(\w+): (\d+) inputs", done.stdout)}
    assert set(counts) == {path.name for path in CORPUS.iterdir()}
    assert min(counts.values()) > 1_000, counts
