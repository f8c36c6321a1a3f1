r"""Rows of the analysis as Parquet and as CSV, and back, without losing a digit.

Equal rows give equal bytes in any order: a table has its own order. CSV has floats in the shortest form that reads back
as the same number, so that a person can recompute a median to the last digit. Lists in CSV are joined
by ';', with a backslash before a ';' or a backslash inside an element and '\e' for an empty one. Names of files and
atomic writes belong to `store`; here are only bytes.
"""

import io
import re
import types
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

import polars as pl
from pydantic.fields import FieldInfo

from nephoscope.model.cells import FORMULA, NUMBER
from nephoscope.model.delivered_rows import DeliveredRow, StealRow
from nephoscope.model.errors import DamagedFile
from nephoscope.model.frozen import Frozen
from nephoscope.model.price_rows import CostLineRow, CostRow, PriceComparison, PricePerformance, TransferRow
from nephoscope.model.questions import BestRow, ContrastRow
from nephoscope.model.rows import (
    ClaimRow,
    Comparison,
    FamilyComparison,
    GateRow,
    ImportedRow,
    MeasurementRow,
    NetworkRow,
    RankRow,
    RawFileRow,
    Statistic,
    TrialRow,
)

Row = TypeVar("Row", bound=Frozen)
_MARK = "\x1f"
"""Unit separator of ASCII: in no name."""

TABLES: Final[Mapping[str, type[Frozen]]] = {
    "trials": TrialRow,
    "measurements": MeasurementRow,
    "statistics": Statistic,
    "comparisons": Comparison,
    "best": BestRow,
    "ranks": RankRow,
    "contrasts": ContrastRow,
    "costs": CostRow,
    "cost_lines": CostLineRow,
    "network": NetworkRow,
    "transfers": TransferRow,
    "price_performance": PricePerformance,
    "price_comparisons": PriceComparison,
    "family_comparisons": FamilyComparison,
    "gate": GateRow,
    "claims": ClaimRow,
    "steal": StealRow,
    "delivered": DeliveredRow,
    "raw_files": RawFileRow,
}
"""Those of a study, by the name of their files and of their field in `AnalysedStudy`."""

_ORDER: Final[Mapping[type[Frozen], Callable[[Any], Any]]] = {
    TrialRow: lambda row: (row.position, row.trial),
    MeasurementRow: lambda row: (
        *(row.configuration, row.benchmark, row.metric, row.position, row.trial),
        *(row.at_s is not None, row.at_s or 0.0, row.role or "", row.value),
    ),
    RawFileRow: lambda row: (row.trial, row.file),
    Statistic: lambda row: (row.configuration, row.benchmark, row.metric, row.per_cpu),
    Comparison: lambda row: (row.benchmark, row.metric, row.per_cpu, row.left, row.right),
    RankRow: lambda row: (*(row.benchmark, row.metric, row.view, row.basis or "", row.place), row.configuration),
    BestRow: lambda row: (row.benchmark, row.metric, row.view, row.basis or "", *_scope(row.scope)),
    ContrastRow: lambda row: (
        *(not row.declared, row.question, row.left, row.right),
        *(row.benchmark, row.metric, row.view, row.basis or ""),
    ),
    CostRow: lambda row: (row.configuration, row.basis),
    CostLineRow: lambda row: (row.configuration, row.basis, row.what, row.price_row),
    NetworkRow: lambda row: (row.configuration, row.benchmark, row.trial, row.machine),
    TransferRow: lambda row: (row.configuration, row.benchmark, row.way, row.here or "", row.there or ""),
    PricePerformance: lambda row: (row.benchmark, row.metric, row.basis, row.configuration),
    PriceComparison: lambda row: (row.basis, row.benchmark, row.metric, row.left, row.right),
    FamilyComparison: lambda row: (row.question, row.benchmark, row.metric, row.left, row.right),
    GateRow: lambda row: (row.configuration, row.benchmark, row.metric),
    StealRow: lambda row: row.configuration,
    DeliveredRow: lambda row: (row.benchmark, row.metric, row.per_cpu, row.configuration),
    ClaimRow: lambda row: (row.claim, row.benchmark, row.metric),
    ImportedRow: lambda row: (
        *(row.provider, row.machine_type, row.date, row.number, row.run, row.tool, row.metric, row.threads or 0),
        *(row.at_s is not None, row.at_s or 0.0, row.value),
    ),
}


def _scope(scope: str) -> tuple[bool, list[str | int]]:
    """The overall scope first; sizes by number."""
    parts = re.split(r"(\d+)", scope)
    return scope != "overall", [int(part) if part.isdigit() else part for part in parts]


def ordered(rows: Sequence[Row], kind: type[Row]) -> list[Row]:
    """The rows in the order of their table.

    Raises:
        KeyError: there is no table of this kind.
    """
    return sorted(rows, key=_ORDER[kind])


def schema_of(kind: type[Frozen]) -> dict[str, pl.DataType]:
    """Column -> type, in the order of the fields; also of an empty table.

    Raises:
        TypeError: a field that no column can hold.
    """
    return {name: _column(field.annotation) for name, field in kind.model_fields.items()}


def _columns(rows: Sequence[Row], kind: type[Row]) -> dict[str, list[Any]]:
    """Column -> its values, in the order of the table. A dictionary for every row would take ten times as long."""
    found = ordered(rows, kind)
    columns = {}
    for name, field in kind.model_fields.items():
        take = attrgetter(name)
        values = [take(row) for row in found]
        columns[name] = [None if value is None else str(value) for value in values] if _is_enum(field) else values
    return columns


def _is_enum(field: FieldInfo) -> bool:
    kinds = get_args(field.annotation) or (field.annotation,)
    return any(isinstance(kind, type) and issubclass(kind, StrEnum) for kind in kinds)


def _frame(columns: Mapping[str, list[Any]], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame([_series(name, columns[name], kind) for name, kind in schema.items()])


def _series(name: str, values: list[Any], kind: pl.DataType) -> pl.Series:
    """A column. Lists of text are joined and split again: polars would make a series of each of them."""
    if kind != pl.List(pl.String()):
        return pl.Series(name, values, dtype=kind)
    joined = [None if many is None else _MARK.join(many) for many in values]
    if any(many and text and text.count(_MARK) != len(many) - 1 for many, text in zip(values, joined, strict=True)):
        return pl.Series(name, values, dtype=kind)
    split = pl.Series(name, joined, dtype=pl.String())
    empty = pl.Series([many is not None and not many for many in values], dtype=pl.Boolean())
    nothing = pl.lit([], dtype=pl.List(pl.String()))
    return pl.select(pl.when(empty).then(nothing).otherwise(split.str.split(_MARK)).alias(name)).to_series()


def from_frame(frame: pl.DataFrame, kind: type[Row]) -> list[Row]:
    """Rows of a frame.

    Raises:
        DamagedFile: a column is missing or holds what the rows cannot.
    """
    if frame.columns != list(kind.model_fields):
        raise _damaged(kind, ValueError(f"its columns are {', '.join(frame.columns) or 'none'}"))
    try:
        return [kind.model_validate(row) for row in frame.iter_rows(named=True)]
    except ValueError as error:
        raise _damaged(kind, error) from error


def to_parquet(rows: Sequence[Row], kind: type[Row]) -> bytes:
    """The rows as a Parquet file; equal rows and versions, equal bytes."""
    return _parquet(_frame(_columns(rows, kind), schema_of(kind)))


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def from_parquet(content: bytes, kind: type[Row]) -> list[Row]:
    """Rows of `to_parquet`.

    Raises:
        DamagedFile: not Parquet, or not of this kind.
    """
    try:
        frame = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _damaged(kind, error) from error
    return from_frame(frame, kind)


def to_csv(rows: Sequence[Row], kind: type[Row]) -> bytes:
    """The rows as CSV: UTF-8, a header, floats in shortest round-trip form, an empty cell for None.

    Text that a spreadsheet would run as a formula begins with an apostrophe.
    """
    return _csv(_frame(_columns(rows, kind), schema_of(kind)))


def _csv(frame: pl.DataFrame) -> bytes:
    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    text = pl.col(pl.String)
    inert = (
        pl.when(text.str.contains(FORMULA) & ~text.str.contains(NUMBER))
        .then(text.str.replace("^", "'"))
        .otherwise(text)
    )
    buffer = io.BytesIO()
    frame.with_columns(_joined(name) for name in lists).with_columns(inert).write_csv(buffer)
    return buffer.getvalue()


def _joined(name: str) -> pl.Expr:
    """A column of lists of text as text."""
    element = pl.element()
    escaped = element.str.replace_all("\\", "\\\\", literal=True).str.replace_all(";", "\\;", literal=True)
    shown = pl.when(element == "").then(pl.lit("\\e")).otherwise(escaped)
    return pl.col(name).list.eval(shown).list.join(";")


def csv_of_parquet(content: bytes) -> bytes:
    """What `to_csv` makes of the rows of which `to_parquet` made this file."""
    return _csv(pl.read_parquet(io.BytesIO(content)))


def _damaged(kind: type[Frozen], error: Exception) -> DamagedFile:
    return DamagedFile(
        f"this is not a table of {kind.__name__}: {error}", hint="rebuild it from the trials with `nephoscope analyze`"
    )


def _column(annotation: Any) -> pl.DataType:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in {Union, types.UnionType}:
        inner = [argument for argument in arguments if argument is not types.NoneType]
        if len(inner) == 1:
            return _column(inner[0])
    if origin is list:
        return pl.List(_column(arguments[0]))
    if origin is Literal or (isinstance(annotation, type) and issubclass(annotation, StrEnum)):
        return pl.String()
    by_type: dict[Any, pl.DataType] = {str: pl.String(), bool: pl.Boolean(), int: pl.Int64(), float: pl.Float64()}
    if annotation not in by_type:
        raise TypeError(f"no column holds {annotation}")
    return by_type[annotation]
