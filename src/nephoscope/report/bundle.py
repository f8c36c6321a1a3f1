"""The data bundle: all tables, digests of raw output, the study and what is known of it, and a README about them."""

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from importlib import resources

from nephoscope.analysis.lookup import unique
from nephoscope.analysis.published import DOCUMENT, document
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.cells import inert
from nephoscope.model.rows import ConfigurationRow

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
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*known, *(inert(f"label_{label}") for label in labels)])
    for row in study[ConfigurationRow]:
        cells = [*(getattr(row, name) for name in known), *map(row.labels.get, labels)]
        writer.writerow(["" if cell is None else inert(str(cell)) for cell in cells])
    return out.getvalue().encode()


def _metrics(study: AnalysedStudy) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    columns = ("benchmark", "metric", "title", "unit", "direction", "headline", "per_cpu", "clock", "subject")
    writer.writerow([*columns, "measured_machines", "measured_volumes", "measured_s"])
    for row in study.benchmarks:
        for metric in row.metrics:
            flags = [str(metric.headline).lower(), str(metric.per_cpu).lower()]
            writer.writerow(
                [
                    *map(inert, (row.benchmark, metric.name, metric.title, metric.unit, metric.direction)),
                    *(*flags, inert(metric.clock), row.subject),
                    *(row.extent.machines or "", str(row.extent.volumes).lower(), row.measured_s or ""),
                ]
            )
    return out.getvalue().encode()


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
