"""The report's files: index.html, evidence.html and their data as CSV and Parquet. Pure; `store` writes them."""

import io
import json
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources

from pydantic import TypeAdapter

from nephoscope.analysis.lookup import unique
from nephoscope.analysis.published import BUNDLE, DOCUMENT, document
from nephoscope.analysis.query import csv_of
from nephoscope.analysis.table import in_columns
from nephoscope.analysis.tables import csv_of_parquet, to_parquet
from nephoscope.analysis.usable import DIR
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.missing import MissingPart
from nephoscope.model.rows import ConfigurationRow
from nephoscope.report.figure_files import PREVIEW, preview
from nephoscope.report.main.progress import Running
from nephoscope.report.page import render_pages
from nephoscope.report.parts import Figure, Link

NOTHING: Mapping[str, bytes] = {}

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
    folder: str = DIR,
) -> Report:
    """All files; equal studies give equal bytes.

    Args:
        study: what the report is about.
        earlier: name of the study with which `CHANGES` compares it; None: there is no such page.
        mark: what every figure says before its subtitle, such as that its data is simulated.
        running: of a study that runs: when this is written, and how much is left.
        logo: the `data:` address of the author's picture; empty: there is none.
        stored: tables of this study that are Parquet already, by name; the others are made of its rows.
        folder: the results folder as a command names it; 'DIR' where readers need not know.
    """
    with ThreadPoolExecutor(1) as beside:  # Polars and zlib need Python's lock for little of their time
        data = beside.submit(_data_files, study, stored)
        changes = Link(earlier, CHANGES) if earlier else None
        pages = render_pages(study, changes=changes, mark=mark, running=running, logo=logo, folder=folder)
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


_FIXED_TIME = (1980, 1, 1, 0, 0, 0)
"""So that equal tables give equal bytes."""
_COMPRESSION = 1
"""Of 9: half of zlib's time by default, for a file that is a fifth larger, because trial ids hardly compress."""


def bundle(study: AnalysedStudy, tables: Mapping[str, bytes]) -> bytes:
    """A ZIP file of the tables (name -> CSV) with a README; equal studies give equal bytes."""
    files = {f"{name}.csv": content for name, content in tables.items()}
    files["configurations.csv"] = _configurations(study)
    files["metrics.csv"] = _metrics(study)
    files["study.json"] = _study(study)
    files["study.toml"] = study.study_toml.encode()
    files[DOCUMENT] = document(study)
    files["README.md"] = resources.files("nephoscope.report").joinpath("templates/bundle.md").read_bytes()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{study.study}/{name}", _FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, compresslevel=_COMPRESSION)
    return out.getvalue()


def _configurations(study: AnalysedStudy) -> bytes:
    """Each configuration's machine; a study's labels are the last columns, because each study has its own."""
    known = [name for name in ConfigurationRow.model_fields if name != "labels"]
    labels = unique(label for row in study[ConfigurationRow] for label in row.labels)
    cells = [[*(getattr(row, name) for name in known), *map(row.labels.get, labels)] for row in study[ConfigurationRow]]
    return csv_of([*known, *(f"label_{label}" for label in labels)], cells).encode()


def _metrics(study: AnalysedStudy) -> bytes:
    columns = ("benchmark", "metric", "title", "unit", "direction", "headline", "per_cpu", "clock", "subject")
    cells = [
        [
            *(row.benchmark, metric.name, metric.title, metric.unit, metric.direction),
            *(str(metric.headline).lower(), str(metric.per_cpu).lower(), metric.clock, row.subject),
            *(row.extent.machines or "", str(row.extent.volumes).lower(), row.measured_s or ""),
        ]
        for row in study.benchmarks
        for metric in row.metrics
    ]
    return csv_of([*columns, "measured_machines", "measured_volumes", "measured_s"], cells).encode()


def _settled(study: AnalysedStudy) -> list[list[str]]:
    """Leaderboards whose best follow from looks, each taken at its own level, and not from one test of all values."""
    rows = study.looks[-1].questions if study.looks else []
    return [[row.benchmark, row.metric, row.view, row.basis or "", row.about] for row in rows if row.kind == "best"]


def _study(study: AnalysedStudy) -> bytes:
    facts = {
        "study": study.study,
        "title": study.title,
        "nephoscope_version": study.nephoscope_version,
        "equivalence_margin_percent": study.equivalence_margin_percent,
        "alpha": study.levels.alpha,
        "confidence": study.levels.confidence,
        "price_date": study.price_date,
        "blocked": study.source is None,
        "scopes": study.scopes,
        "settled_by_looks": _settled(study),
    }
    return (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode()
