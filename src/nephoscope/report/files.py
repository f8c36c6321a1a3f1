"""`write_report`: index.html and the rows behind it as CSV and Parquet."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import polars as pl

from nephoscope.analysis.results import AnalysedStudy, Comparison, MeasurementRow, Statistic
from nephoscope.frozen import Frozen
from nephoscope.report.page import render_html


def write_report(study: AnalysedStudy, folder: Path) -> None:
    """Writes the report into `folder`, which is made; what stands there under the same names is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(render_html(study), encoding="utf-8", newline="\n")
    tables: tuple[tuple[str, type[Frozen], Sequence[Frozen]], ...] = (
        ("measurements", MeasurementRow, study.measurements),
        ("statistics", Statistic, study.statistics),
        ("comparisons", Comparison, study.comparisons),
    )
    for name, kind, rows in tables:
        found = frame(kind, rows)
        found.write_parquet(folder / f"{name}.parquet")
        lists = [column for column, dtype in found.schema.items() if dtype == pl.List]
        found.with_columns(pl.col(column).list.join(" ") for column in lists).write_csv(folder / f"{name}.csv")


def frame(kind: type[Frozen], rows: Sequence[Frozen]) -> pl.DataFrame:
    """Rows as a table whose column types come from the model, so that an empty one has them too."""
    schema = {name: _column_type(field.annotation) for name, field in kind.model_fields.items()}
    return pl.DataFrame([row.model_dump(mode="json") for row in rows], schema=schema)


def _column_type(annotation: Any) -> pl.DataType:
    if annotation == list[str]:
        return pl.List(pl.String())
    kinds = {bool: pl.Boolean(), int: pl.Int64(), float: pl.Float64()}
    for one in (annotation, *get_args(annotation)):
        if one in kinds:
            return kinds[one]
    return pl.String()
