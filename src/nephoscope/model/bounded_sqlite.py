"""SQLite files of strangers: a view of a few bytes can have rows without end, and pages can lead back to themselves."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self

MAGIC = b"SQLite format 3\x00"
CELL_BYTES = 1 << 20
_STEPS, _STEPS_PER_BYTE = 5_000_000, 50
"""Instructions of SQLite's machine that all queries of a file may take: a row of a table takes two for each column."""
_STEPS_BETWEEN_LOOKS = 100_000
_BYTES_PER_BYTE, _BYTES = 16, 1 << 20
"""What all queries of a file may return: a row of a joined table is returned with each row that names it."""
_CELL_BYTES = 8
"""Of a cell that is no text, and of an empty one."""
_MOST_FIELDS = 500
"""Columns of a table, of which the known ones have fewer than a hundred."""


class BoundedSqlite:
    """Tables of a file that is opened for reading only; takes time and memory in proportion to its size."""

    def __init__(self, path: Path, tables: Sequence[str]) -> None:
        """Opens it.

        Args:
            path: a regular file.
            tables: whose columns may be read. Views, virtual tables and generated columns are refused: they are
                programs.

        Raises:
            sqlite3.Error: it is no SQLite file, or one of its tables is none.
            OSError: it cannot be read.
        """
        size_bytes = path.stat().st_size
        self._steps = _STEPS + _STEPS_PER_BYTE * size_bytes
        self._bytes = _BYTES + _BYTES_PER_BYTE * size_bytes
        self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        self._connection.row_factory = sqlite3.Row
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL_BYTES)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, _MOST_FIELDS)
        self._connection.set_progress_handler(self._goes_on_too_long, _STEPS_BETWEEN_LOOKS)
        try:
            self._connection.execute("pragma trusted_schema = off")
            self._connection.execute("pragma query_only = on")
            for name in tables:
                self._require_table(name)
        except BaseException:
            self._connection.close()
            raise
        known = {name.lower() for name in tables}

        def only_known(action: int, name: str | None, _: str | None, __: str | None, inside: str | None) -> int:
            """Denies all but reading columns of these tables, and not through a view."""
            reads = action == sqlite3.SQLITE_READ and str(name).lower() in known
            allowed = (reads or action == sqlite3.SQLITE_SELECT) and inside is None
            return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

        self._connection.set_authorizer(only_known)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Mapping[str, Any]]:
        """Rows of a SELECT of ours.

        Raises:
            sqlite3.Error: the file is damaged, has no such columns, or returns far more than it can hold.
        """
        with closing(self._connection.execute(sql, parameters)) as cursor:
            for row in cursor:
                self._bytes -= sum(_CELL_BYTES + (len(cell) if isinstance(cell, str | bytes) else 0) for cell in row)
                if self._bytes < 0:
                    raise sqlite3.DataError("its tables return far more than a file of its size holds")
                yield dict(row)

    def _require_table(self, name: str) -> None:
        found = self._connection.execute(
            "select type, sql from sqlite_schema where name = ? collate nocase", (name,)
        ).fetchone()
        if found is None:
            raise sqlite3.DataError(f"no such table: {name}")
        if found["type"] != "table" or not str(found["sql"]).lower().startswith("create table"):
            raise sqlite3.DataError(f"{name} is no stored table, but a program")
        columns = self._connection.execute("select name, hidden from pragma_table_xinfo(?)", (name,)).fetchall()
        if any(column["hidden"] for column in columns):
            raise sqlite3.DataError(f"{name} has columns that are computed, not stored")

    def _goes_on_too_long(self) -> bool:
        """Whether SQLite must stop."""
        self._steps -= _STEPS_BETWEEN_LOOKS
        return self._steps < 0
