"""The report's files: index.html, evidence.html and their data as CSV and Parquet. Pure; `store` writes them."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType

from pydantic import TypeAdapter

from nephoscope.analysis.published import BUNDLE
from nephoscope.analysis.table import in_columns
from nephoscope.analysis.tables import csv_of_parquet, to_parquet
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.missing import MissingPart
from nephoscope.report.bundle import bundle
from nephoscope.report.figure_files import PREVIEW, preview
from nephoscope.report.main.progress import Running
from nephoscope.report.page import render_pages
from nephoscope.report.parts import Figure, Link

NOTHING: Mapping[str, bytes] = MappingProxyType({})

CHANGES = "changes.html"
"""The page that compares a study with an earlier one."""


MISSING = "missing-parts.json"
"""What is missing in a report, with tracebacks; only where something is."""


@dataclass(frozen=True)
class Report:
    """File name -> content, and what is missing because it raised."""

    files: Mapping[str, bytes]
    missing: tuple[MissingPart, ...]
    figures: tuple[Figure, ...]
    """What the pages show, for who wants them as files."""


def report_files(
    study: AnalysedStudy,
    *,
    earlier: str | None = None,
    mark: str = "",
    running: Running | None = None,
    logo: str = "",
    stored: Mapping[str, bytes] = NOTHING,
) -> Report:
    """All files; equal studies give equal bytes.

    Args:
        study: what the report is about.
        earlier: name of the study with which `CHANGES` compares it; None: there is no such page.
        mark: what every figure says before its subtitle, such as that its data is simulated.
        running: of a study that runs: when this is written, and how much is left.
        logo: the `data:` address of the author's picture; empty: there is none.
        stored: tables of this study that are Parquet already, by name; the others are made of its rows.
    """
    with ThreadPoolExecutor(1) as beside:  # Polars and zlib need Python's lock for little of their time
        data = beside.submit(_data_files, study, stored)
        changes = Link(earlier, CHANGES) if earlier else None
        pages = render_pages(study, changes=changes, mark=mark, running=running, logo=logo)
        files = {**{str(page): html.encode() for page, html in pages.html.items()}, **data.result()}
    if pages.figures and study.publication.address:
        files[PREVIEW] = preview(pages.figures[0], study)
    if pages.missing:
        files[MISSING] = TypeAdapter(tuple[MissingPart, ...]).dump_json(pages.missing, indent=1)
    return Report(files, pages.missing, pages.figures)


def _data_files(study: AnalysedStudy, stored: Mapping[str, bytes]) -> dict[str, bytes]:
    """The data behind the pages: every table, but `trials` is in the bundle only."""
    rows = {name: table.row for name, table in in_columns().items()}
    parquet = {name: stored.get(name) or to_parquet(study[row], row) for name, row in rows.items()}
    csv = {name: csv_of_parquet(content, rows[name]) for name, content in parquet.items()}
    files = {f"{name}.{ending}": made[name] for ending, made in (("csv", csv), ("parquet", parquet)) for name in rows}
    del files["trials.csv"], files["trials.parquet"]
    return {**files, BUNDLE: bundle(study, csv)}
