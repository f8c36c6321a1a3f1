"""Faults on real processes of this machine, which a test starts in a folder of its own."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.faults.inflict import LoadClock, Schedule, inflict, inflicted, victim_of
from nephoscope.benchmarks.faults.kinds import KINDS, STOPPED, Victim
from nephoscope.benchmarks.load import output as load_output
from nephoscope.databases.base import Server
from nephoscope.databases.fake import FakeDatabase
from nephoscope.model.errors import InputError
from nephoscope.model.records import FaultKind
from nephoscope.providers.base import Cluster
from tests.support.faulted_load import faulted
from tests.support.site import raw_of, site_here

PROGRAM = "sleep"
PATIENCE_S = 60.0


class Sleepers(FakeDatabase):
    """A server of two processes that sleep in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []

    def launch(self) -> None:
        self.started += [subprocess.Popen([PROGRAM, "600"], cwd=self.folder) for _ in range(2)]

    def servers(self, cluster: Cluster) -> Sequence[Server]:
        return [Server(cluster.database[0], str(self.folder), (PROGRAM,), ends_on=signal.SIGTERM)]

    async def start_again(self, cluster: Cluster, server: Server) -> None:
        for one in self.started:
            one.wait(PATIENCE_S)
        self.launch()


@dataclass(frozen=True)
class Place:
    """A site with a server, and processes of the same name beside it."""

    site: Site
    database: Sleepers
    beside: subprocess.Popen[bytes]

    @property
    def victim(self) -> Victim:
        return victim_of(self.site)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    for name in ("server", "elsewhere"):
        (tmp_path / name).mkdir()
    site, _ = site_here(tmp_path)
    database = Sleepers(tmp_path / "server")
    database.launch()
    beside = subprocess.Popen([PROGRAM, "600"], cwd=tmp_path / "elsewhere")
    yield Place(replace(site, database=database), database, beside)
    assert beside.poll() is None, "a process that is not the server's was hurt"
    for one in (*database.started, beside):
        one.kill()
        one.wait()


async def until_running(victim: Victim) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while STOPPED in (await victim.processes()).values():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_fault_hurts_its_server_alone_is_seen_and_undone(kind: FaultKind, place: Place) -> None:
    async def inflicted() -> None:
        fault, victim = KINDS[kind], place.victim
        before = await victim.processes()
        assert len(before) == 2
        assert not fault.happened(before, before), "nothing happened yet"
        await fault.apply(victim, 0.1)
        assert fault.happened(before, await victim.processes())
        await fault.undo(victim)
        await fault.undo(victim)
        after = await victim.processes()
        assert len(after) == 2
        assert STOPPED not in after.values()
        assert (after.keys() == before.keys()) == (kind == "pause")

    asyncio.run(inflicted())


def test_a_machine_resumes_a_paused_server_by_itself(place: Place) -> None:
    async def paused() -> None:
        await place.victim.act("pause", "0.5")
        await until_running(place.victim)

    asyncio.run(paused())


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from dataclasses import replace
from tests.unit.benchmarks.faults.test_kinds import Sleepers, victim_of
from tests.support.site import site_here

async def paused():
    folder = Path(sys.argv[1])
    site, _ = site_here(folder)
    await victim_of(replace(site, database=Sleepers(folder / "server"))).act("pause", "1")
    os.kill(os.getpid(), 9)

asyncio.run(paused())
"""


def test_a_controller_that_is_killed_leaves_no_stopped_process(place: Place) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _KILLED, str(place.database.folder.parent)], check=False, timeout=PATIENCE_S
    )
    assert ended.returncode == -signal.SIGKILL
    asyncio.run(until_running(place.victim))


def test_a_load_that_ends_early_ends_the_fault(place: Place) -> None:
    async def cut_short() -> None:
        task = asyncio.create_task(inflict(place.site, Schedule("pause", [0.0], 60.0), begun()))
        deadline = time.monotonic() + PATIENCE_S
        while set((await place.victim.processes()).values()) != {STOPPED}:
            assert time.monotonic() < deadline
        task.cancel()
        await asyncio.wait([task])
        assert STOPPED not in (await place.victim.processes()).values()

    asyncio.run(cut_short())


def begun() -> LoadClock:
    clock = LoadClock()
    clock.take(load_output.read(faulted(2, [])).intervals[0])
    return clock


def test_faults_are_noted_with_their_times_and_what_did_not_happen(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_ms = time.time() * 1000 - 1
    asyncio.run(inflict_at(place, [0.0, 0.2]))
    first, second = inflicted(raw_of(place.site))
    assert before_ms <= first.begin_unix_ms < first.lifted_unix_ms <= first.end_unix_ms <= second.begin_unix_ms
    assert first.lifted_unix_ms - first.begin_unix_ms >= 100
    assert all(one.confirmed and one.undone for one in (first, second))
    monkeypatch.setattr(type(KINDS["pause"]), "apply", not_at_all)
    asyncio.run(inflict_at(place, [0.0]))
    (nothing,) = inflicted(raw_of(place.site))
    assert (nothing.confirmed, nothing.undone) == (False, True)


async def inflict_at(place: Place, due_s: list[float]) -> None:
    await inflict(place.site, Schedule("pause", due_s, 0.1), begun())


async def not_at_all(fault: object, victim: Victim, duration_s: float) -> None:
    assert isinstance(fault, type(KINDS["pause"]))
    assert await victim.processes()
    assert duration_s > 0


def test_a_server_that_nephoscope_did_not_start_is_left_alone(tmp_path: Path) -> None:
    site, _ = site_here(tmp_path)
    with pytest.raises(InputError, match="a server that nephoscope starts itself"):
        victim_of(replace(site, database=FakeDatabase()))
