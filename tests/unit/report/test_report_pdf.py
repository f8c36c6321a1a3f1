"""The report on paper: every chart drawn, no script left, and a real PDF where the extra is installed."""

import re

import pytest

from nephoscope.report.pdf import paper, pdf_files
from tests.support.report_folder import evidence_page
from tests.unit.report import report_example as example


@pytest.fixture(scope="module")
def html() -> str:
    return paper(evidence_page(example.not_run()))


@pytest.mark.slow
def test_every_chart_is_drawn_beforehand(html: str) -> None:
    charts = evidence_page(example.not_run()).count('<div class="drawing"')
    assert charts > 5
    assert html.count("<svg") == charts
    assert "<script" not in html
    assert 'id="explore-rows"' not in html


def test_colours_are_those_of_paper(html: str) -> None:
    drawn = "".join(re.findall(r"<svg.*?</svg>", html, re.DOTALL))
    assert "var(--" not in drawn
    assert "#0a67a6" in drawn


def test_it_is_a_pdf(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("weasyprint")
    files = pdf_files(example.empty())
    assert list(files) == ["report.pdf", "evidence.pdf"]
    assert all(content.startswith(b"%PDF-") for content in files.values())
