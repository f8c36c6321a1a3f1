"""Faults on real processes of this machine, which a test starts in a folder of its own."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.faults.inflict import KINDS, LoadClock, Schedule, inflict, inflicted, victim_of
from nephoscope.benchmarks.faults.kinds import STOPPED, State, Victim
from nephoscope.benchmarks.load import output as load_output
from nephoscope.databases.base import Server
from nephoscope.databases.fake import FakeDatabase
from nephoscope.model.errors import DatabaseFailed, InputError
from nephoscope.model.records import FaultKind, InflictedFault, ServerRole, VictimRule
from nephoscope.providers.base import Cluster
from tests.support.faulted_load import faulted
from tests.support.site import raw_of, site_here

PROGRAM = "sleep"
PATIENCE_S = 60.0


class Sleepers(FakeDatabase):
    """A server of two processes that sleep in a folder and in `data` there."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []

    def launch(self) -> None:
        places = (self.folder, self.folder / "data")
        self.started += [subprocess.Popen([PROGRAM, "600"], cwd=place) for place in places]

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

    async def victim(self) -> Victim:
        return await victim_of(self.site, pauses(1))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    for name in ("server/data", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    site, _ = site_here(tmp_path)
    database = Sleepers(tmp_path / "server")
    database.launch()
    beside = subprocess.Popen([PROGRAM, "600"], cwd=tmp_path / "elsewhere")
    yield Place(replace(site, database=database), database, beside)
    assert beside.poll() is None, "a process that is not the server's was hurt"
    for one in (*database.started, beside):
        one.kill()
        one.wait()


def test_an_outage_of_a_zone_takes_its_servers_alone_and_a_rolling_restart_all_in_turn(tmp_path: Path) -> None:
    site, _ = site_here(tmp_path)
    (one,) = site.cluster.database
    machines = tuple(
        replace(one, name=name, data_dir=str(tmp_path / name), zone=zone)
        for name, zone in (("db-1", "a"), ("db-2", "b"), ("db-3", "a"))
    )
    cluster, databases = replace(site.cluster, database=machines), dict[str, Sleepers]()
    for machine in machines:
        (tmp_path / machine.name / "data").mkdir(parents=True)
        databases[machine.name] = Sleepers(tmp_path / machine.name)
        databases[machine.name].launch()

    class Zoned(FakeDatabase):
        def servers(self, cluster: Cluster) -> Sequence[Server]:
            return [Server(each, each.data_dir, (PROGRAM,), ends_on=signal.SIGTERM) for each in cluster.database]

        async def start_again(self, cluster: Cluster, server: Server) -> None:
            await databases[server.machine.name].start_again(cluster, server)

    async def inflicted() -> None:
        zoned = Zoned()
        victim = Victim(zoned.servers(cluster)[0], "primary", zoned, cluster)
        kinds: dict[FaultKind, set[str]] = {
            "zone-outage": {"db-1", "db-3"},
            "rolling-restart": {"db-1", "db-2", "db-3"},
        }
        for kind, hit in kinds.items():
            fault, others = KINDS[kind], victim.everyone[1]
            before, beside = await fault.look(victim), await others.processes()
            assert {name.split()[0] for name in before} == hit
            await fault.apply(victim, 0.1, before)
            assert fault.happened(before, await fault.look(victim))
            assert (await others.processes() == beside) == (kind == "zone-outage")
            assert fault.is_over(before, await fault.look(victim)) == (kind == "rolling-restart")
            await fault.undo(victim, before)
            assert fault.is_over(before, await fault.look(victim))
        with pytest.raises(InputError, match="not in several zones"):
            await KINDS["zone-outage"].look(replace(victim, cluster=site.cluster))

    asyncio.run(inflicted())
    for database in databases.values():
        for process in database.started:
            process.kill()
            process.wait()


async def until_running(victim: Victim) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while STOPPED in (await victim.processes()).values():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("kind", [kind for kind, fault in KINDS.items() if fault.here and kind != "zone-outage"])
def test_a_fault_hurts_its_server_alone_is_seen_and_undone(kind: FaultKind, place: Place) -> None:
    async def inflicted() -> None:
        fault, victim = KINDS[kind], await place.victim()
        before = await fault.look(victim)
        assert len(before) == 2
        assert not fault.happened(before, before), "nothing happened yet"
        await fault.apply(victim, 0.1, before)
        assert fault.happened(before, await fault.look(victim))
        await fault.undo(victim, before)
        await fault.undo(victim, before)
        after = await fault.look(victim)
        assert len(after) == 2
        assert fault.is_over(before, after)
        assert (after.keys() == before.keys()) == (kind == "pause")

    asyncio.run(inflicted())


@pytest.mark.root
@pytest.mark.parametrize("kind", ["pause", "kill", "restart"])
def test_a_process_of_another_user_that_poses_as_the_server_is_left_alone(kind: FaultKind, place: Place) -> None:
    """It has the program's name and works in the server's folder."""

    async def inflicted() -> None:
        fault, victim = KINDS[kind], await place.victim()
        before = await fault.look(victim)
        assert str(poser.pid) not in before
        await fault.apply(victim, PATIENCE_S, before)
        (state,) = [line for line in Path(f"/proc/{poser.pid}/status").read_text().splitlines() if "State:" in line]
        assert state.split()[1] == "S"
        await fault.undo(victim, before)

    with subprocess.Popen([PROGRAM, "600"], cwd=place.database.folder, user=65534) as poser:
        try:
            asyncio.run(inflicted())
            assert poser.poll() is None
        finally:
            poser.kill()


def test_a_machine_resumes_a_paused_server_by_itself(place: Place) -> None:
    async def paused() -> None:
        victim = await place.victim()
        await victim.act("pause", "0.5")
        await until_running(victim)

    asyncio.run(paused())


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from dataclasses import replace
from tests.unit.benchmarks.faults.test_kinds import Sleepers, pauses, victim_of
from tests.support.site import site_here

async def paused():
    folder = Path(sys.argv[1])
    site, _ = site_here(folder)
    victim = await victim_of(replace(site, database=Sleepers(folder / "server")), pauses(1))
    await victim.act("pause", "1")
    os.kill(os.getpid(), 9)

asyncio.run(paused())
"""


def test_a_controller_that_is_killed_leaves_no_stopped_process(place: Place) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _KILLED, str(place.database.folder.parent)], check=False, timeout=PATIENCE_S
    )
    assert ended.returncode == -signal.SIGKILL

    async def resumed() -> None:
        await until_running(await place.victim())

    asyncio.run(resumed())


def test_a_load_that_ends_early_ends_the_fault(place: Place) -> None:
    async def cut_short() -> None:
        victim = await place.victim()
        task = asyncio.create_task(inflict(place.site, pauses(1, lasting_s=60.0), begun()))
        deadline = time.monotonic() + PATIENCE_S
        while set((await victim.processes()).values()) != {STOPPED}:
            assert time.monotonic() < deadline
        task.cancel()
        await asyncio.wait([task])
        assert STOPPED not in (await victim.processes()).values()

    asyncio.run(cut_short())


def begun() -> LoadClock:
    clock = LoadClock()
    clock.take(load_output.read(faulted(2, [])).intervals[0])
    return clock


def test_faults_are_noted_with_their_times_and_what_did_not_happen(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_ms = time.time() * 1000 - 1
    first, second = inflict_here(place.site, pauses(2))
    assert before_ms <= first.begin_unix_ms < first.lifted_unix_ms <= first.end_unix_ms <= second.begin_unix_ms
    assert first.lifted_unix_ms - first.begin_unix_ms >= 100
    assert all(one.confirmed and one.undone for one in (first, second))
    monkeypatch.setattr(type(KINDS["pause"]), "apply", not_at_all)
    (nothing,) = inflict_here(place.site, pauses(1))
    assert (nothing.confirmed, nothing.undone) == (False, True)


def pauses(count: int, **changes: Any) -> Schedule:
    values = {"first_s": 0.0, "lasting_s": 0.1, "rest_s": PATIENCE_S, "baseline_s": 0.1, "until_healthy": True}
    return Schedule(kind="pause", count=count, **{**values, **changes})


def inflict_here(site: Site, schedule: Schedule) -> list[InflictedFault]:
    async def all_of_it() -> None:
        clock = begun()
        task = asyncio.create_task(inflict(site, schedule, clock))
        while not task.done():
            clock.kept_since_s = clock.at_s
            await asyncio.sleep(0.01)
        await task

    asyncio.run(all_of_it())
    return inflicted(raw_of(site))


async def not_at_all(fault: object, victim: Victim, duration_s: float, before: State) -> None:
    assert isinstance(fault, type(KINDS["pause"]))
    assert await victim.processes() == before
    assert duration_s > 0


def test_a_server_that_nephoscope_did_not_start_is_left_alone(tmp_path: Path) -> None:
    site, _ = site_here(tmp_path)
    with pytest.raises(InputError, match="a server that nephoscope starts itself"):
        asyncio.run(victim_of(replace(site, database=FakeDatabase()), pauses(1)))


class Copied(Sleepers):
    """A primary and two replicas, whose copies are incomplete for the first looks after a fault."""

    def __init__(self, folder: Path, looks: int = 0) -> None:
        super().__init__(folder)
        self.looks = looks
        self.asked = 0

    def servers(self, cluster: Cluster) -> Sequence[Server]:
        (server,) = super().servers(cluster)
        return [replace(server, ends_on=signal.Signals[f"SIG{name}"]) for name in ("TERM", "INT", "HUP")]

    async def roles(self, cluster: Cluster) -> Sequence[ServerRole]:
        assert cluster.database
        return ("replica", "primary", "replica")

    async def is_complete(self, cluster: Cluster) -> bool:
        assert cluster.database
        self.asked += 1
        return self.asked % (self.looks + 1) == 0

    async def put_back(self, cluster: Cluster) -> None:
        assert cluster.database


def test_a_victim_has_the_role_that_the_rule_names_and_the_seed_draws_it(place: Place) -> None:
    site = replace(place.site, database=Copied(place.database.folder))

    async def hit(rule: VictimRule, seed: int = 7) -> list[tuple[ServerRole, str]]:
        victims = [await victim_of(replace(site, seed=seed), pauses(1, victim=rule), number) for number in range(30)]
        return [(victim.role, victim.server.ends_on.name) for victim in victims]

    async def drawn() -> None:
        assert set(await hit("primary")) == {("primary", "SIGINT")}
        replicas = await hit("replica")
        assert set(replicas) == {("replica", "SIGTERM"), ("replica", "SIGHUP")}
        assert len(set(await hit("any"))) == 3
        assert await hit("replica") == replicas, "the same trial hits the same servers"
        assert await hit("replica", seed=8) != replicas
        with pytest.raises(InputError, match="should hit a replica, but no server"):
            await victim_of(place.site, pauses(1, victim="replica"))

    asyncio.run(drawn())


def test_a_rest_lasts_until_copies_are_complete_and_clients_have_their_rate(place: Place) -> None:
    site = replace(place.site, database=Copied(place.database.folder, looks=3))
    first, second = inflict_here(site, pauses(2, victim="replica"))
    for one in (first, second):
        assert (one.rule, one.role) == ("replica", "replica")
        assert one.complete_unix_ms is not None
        assert one.rested_unix_ms is not None
        assert one.end_unix_ms < one.complete_unix_ms <= one.rested_unix_ms < one.begin_unix_ms + 1000 * PATIENCE_S
    assert second.begin_unix_ms >= (first.rested_unix_ms or 0) + 100, "a baseline later"


def test_a_fault_after_which_a_server_did_not_come_back_is_noted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(cluster: Cluster, server: Server) -> None:
        assert server in place.database.servers(cluster)
        raise DatabaseFailed("the server does not start")

    monkeypatch.setattr(place.database, "start_again", gone)
    with pytest.raises(DatabaseFailed, match="does not start"):
        inflict_here(place.site, replace(pauses(1), kind="kill"))
    (fault,) = inflicted(raw_of(place.site))
    assert (fault.kind, fault.undone) == ("kill", False)
    assert str(fault.problem) == "the server does not start"


def test_faults_go_on_once_copies_are_complete_that_were_not_at_the_end_of_the_rest(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nephoscope.benchmarks.faults.inflict.GRACE_S", 0.0)
    site = replace(place.site, database=Copied(place.database.folder, looks=4))
    first, *others = inflict_here(site, pauses(20, rest_s=0.1))
    assert others, "there was time for another fault"
    assert first.complete_unix_ms is not None
    assert first.complete_unix_ms > first.begin_unix_ms + 1000 * (0.1 + 0.1), "later than the rest"


def test_no_fault_is_inflicted_while_a_copy_is_incomplete(place: Place) -> None:
    site = replace(place.site, database=Copied(place.database.folder, looks=1_000_000))
    (alone,) = inflict_here(site, pauses(3, rest_s=0.5))
    assert (alone.confirmed, alone.undone, alone.complete_unix_ms) == (True, True, None)


def test_an_interval_in_which_less_or_more_ended_than_was_due_is_not_kept() -> None:
    async def kept(ended: int, due: int) -> bool:
        clock = LoadClock()
        steps = [ended, *[0] * 9]
        clock.take(load_output.read(faulted(2, [])).intervals[0].model_copy(
            update={"ended_per_100_ms": steps, "offered": due}
        ))  # fmt: skip
        return clock.kept_since_s is not None

    assert [asyncio.run(kept(ended, 100)) for ended in (0, 94, 95, 100, 105, 106)] == [
        False, False, True, True, True, False
    ]  # fmt: skip
