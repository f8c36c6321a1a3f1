"""Each figure of a report as files that stand alone: SVG, PNG and its rows as CSV, for articles and previews."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
import vl_convert

from nephoscope.analysis.lookup import unique
from nephoscope.analysis.query import csv_of
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.report.figures import theme
from nephoscope.report.figures.library import VEGA_LITE_VERSION
from nephoscope.report.figures.spec import Spec, unpacked
from nephoscope.report.parts import Figure

WIDTHS_PX = {1: 620, 2: 460, 3: 310}
"""Of a chart, by how many share the width of a page of 1,280 pixels: letters keep their size."""


def svg_of(spec: Spec, columns: int = 1) -> str:
    """The chart as SVG, in the colours of the style sheet's custom properties.

    Args:
        spec: as wide as its container, unless it is faceted.
        columns: charts that stand side by side.
    """
    sized = spec if "facet" in spec else {**spec, "width": WIDTHS_PX[min(columns, max(WIDTHS_PX))]}
    return vl_convert.vegalite_to_svg(sized, vl_version=VEGA_LITE_VERSION, config=theme.config())


INDEX = "figures.md"
PREVIEW = "preview.png"
"""The first figure of the main page: what a link to a published report shows."""
WIDTH_PX = WIDTHS_PX[1]
_PNG_SCALE = 2.0
_LETTER_PX = 6.6
"""Of a letter of 12 pixels, on average: text is wrapped by it."""
_LINE_PX = 17
_TEMPLATES = Path(__file__).parent / "templates"
_ROOT = re.compile(r'<svg [^>]*?width="(?P<width>[\d.]+)" height="(?P<height>[\d.]+)"')
_VARIABLE = re.compile(r"var\(--([a-z0-9-]+)\)")
_LAID_OUT = re.compile(r"(desk|narrow)_[xy]|shade|number")
"""Columns that place and colour signs."""


@dataclass(frozen=True)
class _Line:
    """A line of text at its place."""

    y: float
    text: str
    tone: str


@dataclass(frozen=True)
class _Chart:
    """A panel at its place."""

    y: float
    svg: str


def source_line(study: AnalysedStudy) -> str:
    """Where a figure comes from, and under which terms."""
    publication = study.publication
    title = study.title or study.study
    parts = (f"Source: “{title}”", publication.byline, publication.address or "", publication.terms)
    return ". ".join(part.rstrip(".") for part in parts if part) + f". Made with nephoscope {study.nephoscope_version}."


def figure_files(figures: Sequence[Figure], study: AnalysedStudy) -> dict[str, bytes]:
    """File name -> content; equal studies give equal bytes."""
    source = source_line(study)
    files: dict[str, bytes] = {}
    for figure in figures:
        specs = _specs(figure)
        svg = _standalone(figure, specs, source)
        name = f"figure-{figure.number:02d}"
        files[f"{name}.svg"] = svg.encode()
        files[f"{name}.png"] = vl_convert.svg_to_png(svg, scale=_PNG_SCALE)
        files[f"{name}.csv"] = _rows_of(figure, specs)
    files[INDEX] = ("\n".join(_described(figures)) + f"\n{source}\n").encode()
    return files


def preview(figure: Figure, study: AnalysedStudy) -> bytes:
    """A figure as PNG."""
    return vl_convert.svg_to_png(_standalone(figure, _specs(figure), source_line(study)), scale=_PNG_SCALE)


def _specs(figure: Figure) -> list[Spec]:
    return [unpacked(panel.script) for panel in figure.panels]


def _standalone(figure: Figure, specs: Iterable[Spec], source: str) -> str:
    """One drawing: title, panels below each other, key, caption and source, in the colours of paper."""
    lines: list[_Line] = []
    charts: list[_Chart] = []
    y = 0.0

    def write(text: str, tone: str) -> None:
        nonlocal y
        for part in textwrap.wrap(text, int(WIDTH_PX / _LETTER_PX)):
            y += _LINE_PX
            lines.append(_Line(y, part, tone))

    write(figure.title, "title")
    write(figure.subtitle, "muted")
    for panel, spec in zip(figure.panels, specs, strict=True):
        if len(figure.panels) > 1:
            y += _LINE_PX / 2
            write(panel.title, "ink")
        drawn = svg_of(spec)
        size = _ROOT.match(drawn)
        charts.append(_Chart(y + _LINE_PX / 2, drawn))
        y += _LINE_PX / 2 + (float(size["height"]) if size else 0.0)
    key_y = y + _LINE_PX
    y = key_y if figure.key else y
    for row in figure.listed.rows if figure.listed else ():
        write(" · ".join(cell.text for cell in row.cells if cell.text), "muted")
    write(figure.caption, "ink")
    write(source, "muted")
    template = _environment().get_template("figure.svg.j2")
    svg = template.render(
        figure=figure, lines=lines, charts=charts, key_y=key_y, width=WIDTH_PX + 20, height=y + _LINE_PX
    )
    return _VARIABLE.sub(lambda found: _paper_colours().get(found[1], "#000"), svg)


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )


@cache
def _paper_colours() -> dict[str, str]:
    """The style sheet's custom properties for the light theme."""
    style = (_TEMPLATES / "report.css").read_text(encoding="utf-8")
    return dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{3,6})", style.partition("@media")[0]))


def _rows_of(figure: Figure, specs: Iterable[Spec]) -> bytes:
    """The rows that the panels draw; the first column names the panel."""
    rows = [
        {"panel": panel.title, **{name: cell for name, cell in row.items() if not _LAID_OUT.fullmatch(name)}}
        for panel, spec in zip(figure.panels, specs, strict=True)
        for row in spec["datasets"].get("rows", ())
    ]
    columns = unique(name for row in rows for name in row)
    cells = [["" if row.get(name) is None else str(row[name]) for name in columns] for row in rows]
    return csv_of(columns, cells).encode()


def _described(figures: Iterable[Figure]) -> Iterator[str]:
    for figure in figures:
        name = f"figure-{figure.number:02d}"
        yield f"## Figure {figure.number}. {figure.title}\n"
        yield f"{'. '.join(part.rstrip('.') for part in (figure.subtitle, figure.caption) if part)}.\n"
        yield f"[SVG]({name}.svg), [PNG]({name}.png), [rows]({name}.csv)\n"
