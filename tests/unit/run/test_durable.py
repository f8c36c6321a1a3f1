"""The queue of DBOS on SQLite: what an earlier plan, or another controller's, left in it."""

import asyncio
from collections.abc import Collection
from pathlib import Path

import pytest

from nephoscope.run.durable import DurableQueue, sqlite_url
from nephoscope.run.queue import Step


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
    database = tmp_path / "conductor.sqlite"

    async def story() -> None:
        with pytest.raises(_Killed):
            await _drained(database, ["old", "kept"], dies_at={"old"})
        assert await _drained(database, ["kept", "new"]) == ["kept", "new"]
        assert await _drained(database, ["old", "kept"]) == ["old"]

    asyncio.run(story())
