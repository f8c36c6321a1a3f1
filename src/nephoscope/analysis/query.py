"""SQL over the Parquet tables of a results folder: read-only, without access to other files."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from nephoscope.model.errors import InputError
from nephoscope.model.text import inert

_LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,  # no file, no network, no extension
    "python_enable_replacements": False,  # nor a variable of this program
    "temp_directory": "",  # nor a file for what does not fit into memory
}


def query(tables: Mapping[str, pl.DataFrame], sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names of columns, and rows; a time with a time zone is text, in UTC.

    DuckDB is given the tables themselves and is closed against every file, network and setting from the start: where
    it opens a path, the path is a pattern.

    Raises:
        InputError: the SQL is wrong; the hint lists tables, or the columns of those that it names.
    """
    import duckdb

    with duckdb.connect(":memory:", config=_LOCKED) as connection:
        for name, frame in tables.items():
            connection.register("given", _Stream(frame))
            connection.execute(f"create table {name} as from given")
            connection.unregister("given")
        connection.execute("set timezone = 'UTC'")
        connection.execute("set lock_configuration = true")
        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise InputError("a query must be a single SELECT statement", hint=f"tables: {', '.join(tables)}")
            found = connection.execute(statements[0])
            columns = [(str(column[0]), str(column[1])) for column in found.description or ()]
            if any(_ZONED in kind for _, kind in columns):
                found = connection.execute(_with_times_as_text(statements[0].query, [kind for _, kind in columns]))
            return [name for name, _ in columns], found.fetchall()
        except duckdb.Error as error:
            raise InputError(f"the query failed: {error}", hint=_hint(connection, sql, list(tables))) from error


@dataclass(frozen=True)
class _Stream:
    """A frame as DuckDB reads it without PyArrow, which it demands for polars' own class."""

    frame: pl.DataFrame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


_ZONED = "WITH TIME ZONE"
"""Part of the types for which DuckDB's Python values need a package of their own, pytz."""


def _with_times_as_text(sql: str, kinds: Sequence[str]) -> str:
    """The same query, in which times with a time zone are text."""
    names = [f"c{number}" for number in range(len(kinds))]
    cells = [f"{name}::varchar" if _ZONED in kind else name for name, kind in zip(names, kinds, strict=True)]
    inner = sql.strip().rstrip(";")
    return f"select {', '.join(cells)} from (\n{inner}\n) as answer({', '.join(names)})"  # noqa: S608 - the user's own


def _hint(connection: Any, sql: str, tables: Sequence[str]) -> str:
    named = [name for name in tables if name in sql]
    if not named:
        return f"tables: {', '.join(tables)}"
    of_table = {name: [row[0] for row in connection.execute(f"describe {name}").fetchall()] for name in named}
    return "; ".join(f"columns of {name}: {', '.join(columns)}" for name, columns in of_table.items())


def csv_of(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as CSV with a header; an empty cell for None, an apostrophe before what a spreadsheet would run."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(inert, columns))
    writer.writerows([inert(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return out.getvalue()
