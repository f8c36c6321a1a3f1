"""Rendered reports, each made once."""

import pytest
import report_example as example

from nephoscope.analysis.results import AnalysedStudy
from nephoscope.report import render_html


@pytest.fixture(scope="session")
def laptop() -> AnalysedStudy:
    return example.laptop()


@pytest.fixture(scope="session")
def laptop_html(laptop: AnalysedStudy) -> str:
    return render_html(laptop)
