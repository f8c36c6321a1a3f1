"""SQL over the Parquet tables of a results folder: read-only, without access to other files."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nephoscope.analysis.tables import TABLES
from nephoscope.model.cells import inert
from nephoscope.model.errors import InputError


def query(folder: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names of columns, and rows; a time with a time zone is text, in UTC.

    The tables are read first; then DuckDB is closed against every file, network and setting.

    Raises:
        InputError: the SQL is wrong; the hint lists tables, or the columns of those that it names.
    """
    import duckdb

    known = {name: folder / f"{name}.parquet" for name in TABLES if (folder / f"{name}.parquet").exists()}
    with duckdb.connect(":memory:") as connection:
        for name, path in known.items():
            connection.execute(f"create table {name} as select * from read_parquet(?)", [str(path)])  # noqa: S608  # ours
        connection.execute("set timezone = 'UTC'")
        connection.execute("set enable_external_access = false")
        connection.execute("set lock_configuration = true")
        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise InputError("a query must be a single SELECT statement", hint=f"tables: {', '.join(known)}")
            found = connection.execute(statements[0])
            columns = [(str(column[0]), str(column[1])) for column in found.description or ()]
            if any(_ZONED in kind for _, kind in columns):
                found = connection.execute(_with_times_as_text(statements[0].query, [kind for _, kind in columns]))
            return [name for name, _ in columns], found.fetchall()
        except duckdb.Error as error:
            raise InputError(f"the query failed: {error}", hint=_hint(connection, sql, list(known))) from error


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
    writer.writerow(columns)
    writer.writerows([inert(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return out.getvalue()
