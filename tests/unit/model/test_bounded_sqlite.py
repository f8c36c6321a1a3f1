"""A stranger's SQLite file costs no more than its size lets expect, whatever it holds."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.importers.spare_cores import sqlite as scores
from nephoscope.model.bounded_sqlite import BoundedSqlite
from nephoscope.model.errors import InputError
from tests.support.hostile_sqlite import ENDLESS

TABLES = ("server", "benchmark_score")


def database(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


PLAIN = "create table server (a, b); insert into server values (1, 'x'), (2, null);"


def test_the_rows_of_a_table_are_read(tmp_path: Path) -> None:
    with BoundedSqlite(database(tmp_path / "a?b#c%20.db", PLAIN), ["server"]) as opened:
        assert list(opened.rows("select * from Server where a > ?", (1,))) == [{"a": 2, "b": None}]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (ENDLESS.replace("NAME", "server"), "server is no stored table"),
        ("create view server as select 1 as a", "server is no stored table"),
        ("create table server (a, b as (printf('%1000000d', a)))", "columns that are computed"),
        ("create table server (a, b as (abs(a)) stored)", "columns that are computed"),
        ("create virtual table server using fts5(a)", "server is no stored table"),
        (f"create table server ({', '.join(f'c{n}' for n in range(600))})", "too many columns"),
    ],
)
def test_what_is_no_stored_table_is_refused(tmp_path: Path, script: str, told: str) -> None:
    path = database(tmp_path / "x.db", script)
    with pytest.raises(sqlite3.Error, match=told), BoundedSqlite(path, ["server"]) as opened:
        list(opened.rows("select * from server"))


@pytest.mark.parametrize(
    "sql",
    [
        "select * from other",
        "select name from sqlite_schema",
        "select abs(a) from server",
        "with recursive n (i) as (select 1 union all select i + 1 from n) select i from n",
        "insert into server values (1, 2)",
        "attach 'y.db' as y",
        "pragma writable_schema = on",
    ],
)
def test_nothing_but_the_named_tables_is_read(tmp_path: Path, sql: str) -> None:
    path = database(tmp_path / "x.db", f"{PLAIN} create table other (a);")
    with (
        BoundedSqlite(path, ["server"]) as opened,
        pytest.raises(sqlite3.DatabaseError, match=r"not authorized|prohibited"),
    ):
        list(opened.rows(sql))


def test_a_join_that_multiplies_its_rows_ends(tmp_path: Path) -> None:
    many = "insert into server with recursive n (i) as (select 1 union all select i + 1 from n limit 1000) "
    many += "select i, 'x' from n;"
    path = database(tmp_path / "x.db", f"create table server (a, b); {many}")
    sql = "select * from server a join server b join server c join server d"
    with (
        BoundedSqlite(path, ["server"]) as opened,
        pytest.raises(sqlite3.Error, match="far more than a file of its size"),
    ):
        for _ in opened.rows(sql):
            pass
    with BoundedSqlite(path, ["server"]) as opened, pytest.raises(sqlite3.OperationalError, match="interrupted"):
        list(opened.rows(f"{sql} where a.a + b.a + c.a + d.a < 0"))


def test_a_long_cell_is_refused(tmp_path: Path) -> None:
    path = database(tmp_path / "x.db", "create table server (a); insert into server values (zeroblob(5000000));")
    with BoundedSqlite(path, ["server"]) as opened, pytest.raises(sqlite3.Error, match="too big"):
        list(opened.rows("select * from server"))


@pytest.mark.parametrize("name", TABLES)
def test_an_importer_refuses_views_without_end(tmp_path: Path, name: str) -> None:
    others = "".join(f"create table {other} (a);" for other in TABLES if other != name)
    path = database(tmp_path / "x.db", others + ENDLESS.replace("NAME", name))
    with pytest.raises(InputError, match=f"{name} is no stored table"):
        scores.read(path)


@given(changes=st.lists(st.tuples(st.integers(0, 40_000), st.integers(0, 255)), max_size=20))
def test_a_damaged_file_ends_well(tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    rows = "insert into server with recursive n (i) as (select 1 union all select i + 1 from n limit 900) "
    rows += "select i, 'some text' from n;"
    content = bytearray(database(folder / "x.db", f"create table server (a, b); {rows}").read_bytes())
    for place, byte in changes:
        content[place % len(content)] = byte
    (folder / "x.db").write_bytes(content)
    try:
        with BoundedSqlite(folder / "x.db", ["server"]) as opened:
            assert sum(1 for _ in opened.rows("select * from server")) < len(content)
    except sqlite3.Error:
        pass
