"""The queue of DBOS on SQLite: what an earlier plan, or another controller's, left in it."""

import asyncio
import base64
import os
import pickle
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

import pytest

from nephoscope.model.errors import DamagedFile
from nephoscope.run.durable import DurableQueue, sqlite_url
from nephoscope.run.queue import Step
from nephoscope.run.queue_values import MAX_CHARACTERS, ForeignQueue, PlainValues, StoredError
from tests.support.hostile_sqlite import ENDLESS


class _Killed(Exception):
    pass


async def _drained(database: Path, plan: list[str], *, dies_at: Collection[str] = ()) -> list[str]:
    """Trials that a controller with this plan took on, in order."""
    taken: list[str] = []

    async def advance(trial: str) -> Step:
        taken.append(trial)
        if trial in dies_at:
            raise _Killed
        return Step(ended=True)

    knows = set(plan).__contains__
    async with DurableQueue(sqlite_url(database), "s", "me", 1, workflow_id=str, knows=knows) as queue:
        await queue.drain(plan, advance)
    return taken


@pytest.mark.slow
def test_trials_of_another_plan_are_left_to_who_knows_them(tmp_path: Path) -> None:
    database = tmp_path / "queue.sqlite"

    async def story() -> None:
        with pytest.raises(_Killed):
            await _drained(database, ["old", "kept"], dies_at={"old"})
        assert await _drained(database, ["kept", "new"]) == ["kept", "new"]
        assert await _drained(database, ["old", "kept"]) == ["old"]

    asyncio.run(story())


class _Planted:
    """Unpickling it writes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize(
    ("table", "column", "kind"),
    [
        ("workflow_input", "inputs", "py_pickle"),
        pytest.param("workflow_input", "inputs", "nephoscope_json", marks=pytest.mark.slow),
        pytest.param("workflow_output", "output", "py_pickle", marks=pytest.mark.slow),
        pytest.param("workflow_output", "output", "nephoscope_json", marks=pytest.mark.slow),
        pytest.param("operation_outputs", "output", "py_pickle", marks=pytest.mark.slow),
        pytest.param("operation_outputs", "output", "nephoscope_json", marks=pytest.mark.slow),
    ],
)
def test_a_pickle_planted_in_the_queue_is_never_run(tmp_path: Path, table: str, column: str, kind: str) -> None:
    database, marker = tmp_path / "queue.sqlite", tmp_path / "marker"
    pickled = base64.b64encode(pickle.dumps(_Planted(marker))).decode()
    status = "SUCCESS" if table == "workflow_output" else "PENDING"

    async def story() -> None:
        await _drained(database, ["a"])
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("update workflow_status set status = ?, serialization = ?", (status, kind))
            connection.execute("update operation_outputs set serialization = ?", (kind,))
            assert connection.execute(f"update {table} set {column} = ?", (pickled,)).rowcount == 1  # noqa: S608
        with pytest.raises(DamagedFile, match=r"queue\.sqlite holds something that nephoscope did not write") as caught:
            await _drained(database, ["a"])
        assert "delete this file" in caught.value.hint

    asyncio.run(story())
    assert not marker.exists()


@pytest.mark.parametrize(
    "name", ["a?mode=memory", "a%3Fb", "a#b", "a b", "größe", "new\nline", "[a]", "a&uri=true", "'"]
)
def test_the_queue_is_in_its_folder_whatever_the_folder_is_called(tmp_path: Path, name: str) -> None:
    from sqlalchemy import create_engine, text

    folder = tmp_path / name
    folder.mkdir()
    engine = create_engine(sqlite_url(folder / "queue.sqlite"))
    with engine.begin() as connection:
        connection.execute(text("create table t (a)"))
    engine.dispose()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert [path.name for path in folder.iterdir()] == ["queue.sqlite"]


def test_dbos_keeps_the_queue_in_a_folder_with_a_question_mark(tmp_path: Path) -> None:
    database = tmp_path / "r?mode=memory" / "queue.sqlite"
    database.parent.mkdir()
    assert asyncio.run(_drained(database, ["a"])) == ["a"]
    assert database.stat().st_size > 0
    assert [path.name for path in tmp_path.iterdir()] == [database.parent.name]


def test_a_queue_with_views_or_triggers_is_never_asked(tmp_path: Path) -> None:
    database = tmp_path / "queue.sqlite"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(ENDLESS.replace("NAME", "workflow_status"))
    with pytest.raises(DamagedFile, match=r"did not write: view workflow_status"):
        asyncio.run(_drained(database, ["a"]))


def test_only_plain_values_and_the_words_of_errors_are_stored() -> None:
    values = PlainValues()
    for plain in (None, "id", 1.5, [True, 0.25], {"args": ["id"], "kwargs": {}}):
        assert values.deserialize(values.serialize(plain)) == plain
    error = values.deserialize(values.serialize(KeyError("x" * 10_000)))
    assert isinstance(error, StoredError)
    assert str(error).startswith("KeyError: 'xxx")
    assert len(str(error)) < MAX_CHARACTERS
    with pytest.raises(TypeError):
        values.serialize(object())
    for foreign in ("gASVAA", "[" * 5_000, "1" * 20_000):
        with pytest.raises(ForeignQueue):
            values.deserialize(foreign)
