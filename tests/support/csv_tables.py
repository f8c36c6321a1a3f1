"""Reads the CSV that the tables write: nephoscope itself reads Parquet."""

import io

import polars as pl

from nephoscope.analysis import tables
from nephoscope.analysis.tables import Row
from nephoscope.model.cells import as_written


def from_csv(content: bytes, kind: type[Row]) -> list[Row]:
    schema = tables.schema_of(kind)
    lists = [name for name, column in schema.items() if isinstance(column, pl.List)]
    flat: dict[str, pl.DataType] = {name: pl.String() if name in lists else column for name, column in schema.items()}
    text = pl.col(pl.String).map_elements(as_written, return_dtype=pl.String())
    frame = pl.read_csv(io.BytesIO(content), schema_overrides=flat, infer_schema=False).with_columns(text)
    columns = [
        pl.Series(name, [None if text is None else _split(text) for text in column], dtype=pl.List(pl.String()))
        if name in lists
        else column
        for name, column in frame.to_dict().items()
    ]
    return tables.from_frame(pl.DataFrame(columns), kind)


def _split(text: str) -> list[str]:
    if not text:
        return []
    elements, current, escaped = [], "", False
    for character in text:
        if escaped:
            current, escaped = current + {"e": ""}.get(character, character), False
        elif character == "\\":
            escaped = True
        elif character == ";":
            elements.append(current)
            current = ""
        else:
            current += character
    return [*elements, current]
