"""The report on paper: every chart drawn, no script left, and a real PDF where the extra is installed."""

import re

import pytest

from nephoscope.report.page import render_html
from nephoscope.report.pdf import paper, render_pdf
from tests.unit.report import report_example as example


@pytest.fixture(scope="module")
def html() -> str:
    return paper(example.not_run())


@pytest.mark.slow
def test_every_chart_is_drawn_beforehand(html: str) -> None:
    charts = render_html(example.not_run()).count('<div class="drawing"')
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
    assert render_pdf(example.empty()).startswith(b"%PDF-")
