"""The report as PDF: both pages without scripts, with every chart already drawn as SVG. Needs the extra `pdf`."""

import re
from typing import Any

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import ToolMissing
from nephoscope.report.figures.drawn import svg_of
from nephoscope.report.figures.spec import unpacked
from nephoscope.report.packing import unpack
from nephoscope.report.page import TEMPLATES, render_pages
from nephoscope.report.parts import Page

PDF = "report.pdf"
FILES = {Page.MAIN: PDF, Page.EVIDENCE: "evidence.pdf"}
_CHART = re.compile(
    r'<div class="drawing" id="(?P<id>[^"]+)"(?P<rest>[^>]*)>(?P<drawn>(?:<svg.*?</svg>)?)</div>\s*'
    r'<script type="application/(?:json|gzip)" data-for="(?P=id)">(?P<spec>.*?)</script>',
    re.DOTALL,
)
_PACKED = re.compile(r'<tbody class="more" data-rows="(?P<rows>[^"]+)"></tbody>')
_ON_SCREEN = (
    re.compile(r"<script.*?</script>", re.DOTALL),
    re.compile(r'<nav class="contents".*?</nav>', re.DOTALL),
    re.compile(r"<noscript>.*?</noscript>", re.DOTALL),
    re.compile(r'<section id="explore".*?</section>', re.DOTALL),
    re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>'),
)
_VARIABLE = re.compile(r"var\(--([a-z0-9-]+)\)")


def pdf_files(study: AnalysedStudy) -> dict[str, bytes]:
    """File name -> PDF of each page; equal studies and versions give equal pages.

    Raises:
        ToolMissing: WeasyPrint, or a system library that it needs, is not installed.
    """
    try:
        import weasyprint  # type: ignore[import-untyped]
    except (ImportError, OSError) as error:
        raise ToolMissing(
            f"cannot write a PDF without WeasyPrint: {error}", hint="pip install 'nephoscope[pdf]'"
        ) from error
    return {
        FILES[page]: weasyprint.HTML(string=paper(html), url_fetcher=_nothing_else).write_pdf()
        for page, html in render_pages(study).html.items()
    }


def paper(page: str) -> str:
    """A page for printing: no scripts, charts as SVG in print colours."""
    html = _CHART.sub(_drawn, with_rows(page))
    for pattern in _ON_SCREEN:
        html = pattern.sub("", html)
    return html.replace("<html ", '<html class="scripted" ', 1)


def with_rows(html: str) -> str:
    """The page with every packed row of its tables."""
    return _PACKED.sub(lambda found: f'<tbody class="more">{unpack(found["rows"])}</tbody>', html)


def _drawn(found: re.Match[str]) -> str:
    svg = _VARIABLE.sub(_paper_colour, found["drawn"] or svg_of(unpacked(found["spec"])))
    return f'<div class="drawing"{found["rest"]}>{svg}</div>'


def _paper_colour(found: re.Match[str]) -> str:
    return _paper_colours().get(found[1], "#000")


def _paper_colours() -> dict[str, str]:
    """The style sheet's custom properties for the light theme."""
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    return dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{3,6})", style.partition("@media")[0]))


def _nothing_else(url: str, *_: Any, **__: Any) -> dict[str, Any]:
    raise ValueError(f"a report must not load anything, but tried to load {url}")
