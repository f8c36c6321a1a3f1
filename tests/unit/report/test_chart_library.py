"""The script that draws charts: the installed package carries it built."""

from pathlib import Path

import pytest

from nephoscope.report.figures import library


def test_the_wheel_carries_the_script_that_would_be_built() -> None:
    folder = Path(library.__file__).parent
    if "site-packages" not in folder.parts:
        pytest.skip("runs the sources, which build the script when a report needs it")
    assert (folder / library.BUILT).read_text(encoding="utf-8") == library.build() == library.chart_library()
