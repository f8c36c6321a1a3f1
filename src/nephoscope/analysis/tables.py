r"""Rows of the analysis as Parquet and as CSV, and back, without losing a digit.

Equal rows give equal bytes; `Table` orders them. CSV has floats in the shortest form that reads back
as the same number, so that a person can recompute a median to the last digit. Lists in CSV are joined
by ';', with a backslash before a ';' or a backslash inside an element and '\e' for an empty one. Names of files and
atomic writes belong to `store`; here are only bytes.
"""

import io
import re
import types
from collections.abc import Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import polars as pl

from nephoscope.model.errors import DamagedFile
from nephoscope.model.frozen import Frozen
from nephoscope.model.rows import MeasurementRow
from nephoscope.model.text import FORMULA, HIDDEN, INSIDE, NUMBER, as_written, inert, visible
from nephoscope.model.written import Written
from nephoscope.store import files

Row = TypeVar("Row", bound=Frozen | MeasurementRow)
Kind = type[Any]
"""Of rows: a model, or `MeasurementRow`."""
_NOT_AS_IT_IS = rf"[{HIDDEN}\t\n]|{INSIDE}"
_MARK = "\x1f"
"""Unit separator of ASCII: in no name."""


def fields_of(kind: Kind) -> dict[str, Any]:
    """Field -> its type, in order."""
    if issubclass(kind, MeasurementRow):
        return get_type_hints(kind)
    return {name: field.annotation for name, field in kind.model_fields.items()}


def schema_of(kind: Kind) -> dict[str, pl.DataType]:
    """Column -> type, in the order of the fields; also of an empty table.

    Raises:
        TypeError: a field that no column can hold.
    """
    return {name: _column(annotation) for name, annotation in fields_of(kind).items()}


def _columns(rows: Sequence[Row], kind: type[Row]) -> dict[str, list[Any]]:
    """Column -> its values. A dictionary for every row would take ten times as long."""
    columns: dict[str, list[Any]] = {name: list(map(attrgetter(name), rows)) for name in fields_of(kind)}
    for name, annotation in fields_of(kind).items():
        if not any(
            isinstance(one, type) and issubclass(one, _WRITTEN) for one in get_args(annotation) or (annotation,)
        ):
            continue
        if get_origin(annotation) is list:
            columns[name] = [list(map(str, values)) for values in columns[name]]
        else:
            columns[name] = [None if value is None else str(value) for value in columns[name]]
    return columns


_WRITTEN = (StrEnum, Written)
"""Values that a column holds as `str` writes them."""


def _enum(annotation: Any) -> type[StrEnum] | None:
    kinds = get_args(annotation) or (annotation,)
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, StrEnum)), None)


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
    names = list(fields_of(kind))
    if frame.columns != names:
        raise _damaged(kind, ValueError(f"its columns are {', '.join(frame.columns) or 'none'}"))
    try:
        if issubclass(kind, MeasurementRow):
            measurements: list[Any] = list(map(MeasurementRow._make, zip(*_checked(frame, kind), strict=True)))
            return measurements
        columns = [_values(column) for column in frame]
        found = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        rows: list[Row] = files.reader(list[kind]).validate_python(found)  # type: ignore[valid-type]  # known when it runs
    except ValueError as error:
        raise _damaged(kind, error) from error
    return rows


def _checked(frame: pl.DataFrame, kind: Kind) -> list[list[Any]]:
    """The values of each column, checked column by column.

    Raises:
        ValueError: rows of this kind cannot hold them.
    """
    found = []
    for name, annotation in fields_of(kind).items():
        column = frame[name]
        if column.dtype != _column(annotation):
            raise ValueError(f"column {name} holds {column.dtype}")
        if column.has_nulls() and types.NoneType not in get_args(annotation):
            raise ValueError(f"column {name} has empty cells")
        if column.dtype == pl.Float64 and not column.is_finite().all():
            raise ValueError(f"column {name} has a value that is no number")
        values = _values(column)
        if enum := _enum(annotation):
            member = {text: enum(text) for text in column.unique()}
            values = [member[text] for text in values]
        found.append(values)
    return found


def _values(column: pl.Series) -> list[Any]:
    """Its values as Python has them. Equal texts are one object: most of a large table are names of the same trials."""
    if column.dtype == pl.String:
        cells = column.to_list()
        texts = {cell: visible(cell) for cell in set(cells) if cell is not None}
        return [texts.get(cell) for cell in cells]
    if column.dtype == pl.List(pl.String):
        joined, lengths = column.list.join(_MARK), column.list.len()
        if (joined.str.count_matches(_MARK, literal=True) + 1 == lengths).filter(lengths > 0).all():
            parts = {text: [*map(visible, text.split(_MARK))] for text in joined.unique() if text is not None}
            return [
                parts[text] if length else None if length is None else []
                for text, length in zip(joined, lengths, strict=True)
            ]
        return [None if many is None else [*map(visible, many)] for many in column.to_list()]
    return column.to_list()


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
    return from_frame(frame_of(content, kind), kind)


def frame_of(content: bytes, kind: Kind) -> pl.DataFrame:
    """The frame of `to_parquet`, whose columns and values are not checked: only of files that were written here.

    Raises:
        DamagedFile: not Parquet.
    """
    try:
        return pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise _damaged(kind, error) from error


def to_csv(rows: Sequence[Row], kind: type[Row]) -> bytes:
    """The rows as CSV: UTF-8, a header, floats in shortest round-trip form, an empty cell for None.

    Text that a spreadsheet would run as a formula begins with an apostrophe.
    """
    return _csv(_frame(_columns(rows, kind), schema_of(kind)))


def _csv(frame: pl.DataFrame) -> bytes:
    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    joined = frame.with_columns(_joined(frame[name]) for name in lists)
    text = pl.col(pl.String)
    run = joined.select((text.str.contains(FORMULA) & ~text.str.contains(NUMBER)) | text.str.contains(_NOT_AS_IT_IS))
    harmless = [
        pl.Series(name, [None if cell is None else inert(cell) for cell in joined[name]], dtype=pl.String())
        for name in run.columns
        if run[name].any()
    ]
    buffer = io.BytesIO()
    joined.with_columns(harmless).write_csv(buffer)
    return buffer.getvalue()


def _joined(column: pl.Series) -> pl.Expr:
    """A column of lists of text as text."""
    element, name = pl.element(), column.name
    texts = column.explode()
    if not (texts.str.contains(r"[\\;]") | (texts == "")).any():
        return pl.col(name).list.join(";")
    escaped = element.str.replace_all("\\", "\\\\", literal=True).str.replace_all(";", "\\;", literal=True)
    shown = pl.when(element == "").then(pl.lit("\\e")).otherwise(escaped)
    return pl.col(name).list.eval(shown).list.join(";")


def csv_of_parquet(content: bytes, kind: Kind) -> bytes:
    """What `to_csv` makes of the rows of which `to_parquet` made this file.

    Raises:
        DamagedFile: see `frame_of`.
    """
    return _csv(frame_of(content, kind))


def from_csv(content: bytes, kind: type[Row]) -> list[Row]:
    """Rows of `to_csv`; their text is one line, see `inert`.

    A column that this version added is not in a file of an earlier one: where its rows have a default, they get that.

    Raises:
        DamagedFile: not CSV, or not of this kind.
    """
    schema = schema_of(kind)
    flat = {name: pl.String() if isinstance(column, pl.List) else column for name, column in schema.items()}
    try:
        frame = pl.read_csv(io.BytesIO(content), schema_overrides=flat, infer_schema=False)
        columns = {column.name: _unwritten(column, schema.get(column.name)) for column in frame}
        for name, value in _defaults(kind).items():
            if name not in columns:
                columns[name] = pl.Series(name, [value] * len(frame), schema[name])
        in_order = {name: columns[name] for name in schema if name in columns}
        return from_frame(pl.DataFrame([*(in_order | columns).values()]), kind)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
        raise _damaged(kind, error) from error


def _defaults(kind: Kind) -> dict[str, Any]:
    """Of the fields that have one, as their columns hold them."""
    if issubclass(kind, MeasurementRow):
        return dict(kind._field_defaults)
    fields = {name: field for name, field in kind.model_fields.items() if not field.is_required()}
    found = {name: field.get_default(call_default_factory=True) for name, field in fields.items()}
    return {name: str(value) if isinstance(value, _WRITTEN) else value for name, value in found.items()}


def _unwritten(column: pl.Series, kind: pl.DataType | None) -> pl.Series:
    """A column of `_csv` as it was before; equal cells are read once, as most are names of the same trials."""
    if column.dtype != pl.String:
        return column
    cells: dict[str, Any] = {cell: as_written(cell) for cell in column.unique() if cell is not None}
    if isinstance(kind, pl.List):
        cells = {cell: _split(text) for cell, text in cells.items()}
    return pl.Series(column.name, [cells.get(cell) for cell in column], dtype=kind or pl.String())


def _split(cell: str) -> list[str]:
    """The texts of which `_joined` made a cell."""
    if not cell:
        return []
    if not _WHOLE.fullmatch(cell):
        raise ValueError(f"{cell[:40]!r} ends within an escape")
    return [_ESCAPED.sub(r"\1", "" if one == r"\e" else one) for one in _BETWEEN.findall(f"{cell};")]


_WHOLE = re.compile(r"(?:[^\\]++|\\.)*+")
_BETWEEN = re.compile(r"((?:[^\\;]|\\.)*);")
_ESCAPED = re.compile(r"\\(.)")


def _damaged(kind: Kind, error: BaseException) -> DamagedFile:
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
    if origin is Literal or (isinstance(annotation, type) and issubclass(annotation, _WRITTEN)):
        return pl.String()
    by_type: dict[Any, pl.DataType] = {str: pl.String(), bool: pl.Boolean(), int: pl.Int64(), float: pl.Float64()}
    if annotation not in by_type:
        raise TypeError(f"no column holds {annotation}")
    return by_type[annotation]
