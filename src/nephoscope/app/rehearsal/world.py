"""The world of a rehearsal: every provider, database, benchmark and clock of a study, simulated."""

import asyncio
import heapq
import os
import selectors
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from typing_extensions import override

import nephoscope
from nephoscope.app.rehearsal.benchmark import PROGRAM, SimulatedBenchmark, invent, sent_bytes_per_s
from nephoscope.app.rehearsal.machines import SimulatedMachine
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.databases.fake import FakeDatabase
from nephoscope.machines.fake import Answer, FakeRemote, idle_line
from nephoscope.machines.remote import Background, MachineHandle
from nephoscope.model.records import Facts
from nephoscope.plan.preparation import MAKE_S, Before
from nephoscope.providers.base import Cluster, ClusterRequest, Provider, cluster_of, study_of
from nephoscope.providers.fake import load_names
from nephoscope.run.clock import Clock, FakeClock
from nephoscope.run.world import Listener, World
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.managed import study_as_provided
from nephoscope.study.model import Study
from nephoscope.study.provisioning import CLOUDS


class SimulatedClock(FakeClock):
    """Jumps to the moment at which the first sleeper wakes up, once all others sleep, too.

    Whoever sleeps by it runs in a loop of `new_loop`, which knows when all sleep.
    """

    def __init__(self, unix_ms: int) -> None:
        super().__init__(unix_ms)
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = count()

    @override
    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.monotonic_s() + seconds, next(self._numbers), woken))
        await woken

    def new_loop(self) -> asyncio.AbstractEventLoop:
        """An event loop in which this time passes."""
        return asyncio.SelectorEventLoop(_Skipping(self._wake_first))

    def _wake_first(self) -> bool:
        """False if nobody sleeps."""
        while self._sleepers:
            wakes_s, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():  # else it was cancelled
                self.elapse(wakes_s - self.monotonic_s())
                woken.set_result(None)
                return True
        return False


class _Skipping(selectors.DefaultSelector):
    """Where its event loop would wait, as nobody has anything to do, it wakes a sleeper instead."""

    def __init__(self, wake_first: Callable[[], bool]) -> None:
        super().__init__()
        self._wake_first = wake_first

    @override
    def select(self, timeout: float | None = None) -> Any:
        would_wait = timeout is None or timeout > 0
        return super().select(0 if would_wait and self._wake_first() else timeout)


_CREATED, _DELETED = "+", "-"
_FIELDS = 3
_LINES = 3


@dataclass(frozen=True)
class Clusters:
    """The file: a line for each cluster that is created or deleted."""

    path: Path

    def note(self, sign: str, provider: str, key: str) -> None:
        """Appends a line, in place of one that a kill cut off."""
        with self.path.open("a+b") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
            if file.read(1) not in (b"", b"\n"):
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
            file.write(f"{sign}\t{provider}\t{key}\n".encode())

    def existing(self, provider: str) -> dict[str, None]:
        """Keys of the clusters of a provider that were not deleted; a line that a kill cut off says nothing."""
        found: dict[str, None] = {}
        text = self.path.read_text(encoding="utf-8", errors="replace") if self.path.exists() else ""
        for line in text.split("\n")[:-1]:
            fields = line.split("\t")
            if len(fields) == _FIELDS and fields[1] == provider:
                sign, _, key = fields
                found.update({key: None}) if sign == _CREATED else found.pop(key, None)
        return found


@dataclass
class SimulatedProvider(Provider):
    """Replaces the provider of that name."""

    name: str
    clusters: Clusters
    clock: SimulatedClock
    _existing: dict[str, None] = field(init=False)

    def __post_init__(self) -> None:
        """Reads what an earlier controller left."""
        self._existing = self.clusters.existing(self.name)

    @override
    async def create(self, request: ClusterRequest) -> Cluster:
        configuration = request.configuration
        if request.key not in self._existing:
            self.clusters.note(_CREATED, self.name, request.key)
            self._existing[request.key] = None
            await self.clock.sleep(MAKE_S if configuration.provider in CLOUDS else 0.0)
        asked, load = configuration.database_machine, configuration.load_machine
        names = asked.hosts or [f"database-{number}" for number in range(1, asked.count + 1)]
        loads = (load.hosts or load_names(load.count)) if load else []
        run = SimulatedRun(SimulatedMachine.of(configuration), self.clock, frozenset(loads))
        return cluster_of(request.key, [run.machine(name) for name in (*names, *loads)], len(names))

    @override
    async def list(self, study: str) -> list[str]:
        return [key for key in self._existing if study_of(key) == study]

    @override
    async def delete(self, key: str) -> None:
        if key in self._existing:
            self.clusters.note(_DELETED, self.name, key)
            del self._existing[key]


@dataclass
class SimulatedRun:
    """What the machines of one cluster share: what was run on them says how busy their network was."""

    simulated: SimulatedMachine
    clock: SimulatedClock
    loads: frozenset[str]
    """Names of the load machines."""
    seconds: float = 0.0
    sent_bytes_per_s: float = 0.0

    def machine(self, name: str) -> MachineHandle:
        """One of them."""
        cpus = tuple(range(self.simulated.cpus))
        return MachineHandle(name, SimulatedRemote(self, name), "192.0.2.1", cpus, f"/rehearsal/{name}")

    def invent(self, argv: Sequence[str], _stdin: bytes) -> Answer:
        """What the program prints; the network is busy for as long as it takes."""
        answer = invent(argv, self.simulated)
        self.seconds, self.sent_bytes_per_s = answer.takes_s, sent_bytes_per_s(BENCHMARKS[argv[1]], self.simulated)
        return answer

    def telemetry(self, name: str, cpus: int) -> bytes:
        """Idle CPUs, and a network that carried what the load machine sent."""
        many, few = self.sent_bytes_per_s, self.sent_bytes_per_s / 10
        sends, receives = (many, few) if name in self.loads else (few, many)
        moments_s = [self.seconds * line / (_LINES - 1) for line in range(_LINES)]
        return b"".join(
            idle_line(
                at_s, cpus, [{"name": "eth0", "rx_bytes": round(receives * at_s), "tx_bytes": round(sends * at_s)}]
            )
            for at_s in moments_s
        )


class SimulatedRemote(FakeRemote):
    """A machine on which a single program is installed. What it was busy with is known when its sampler stops."""

    def __init__(self, run: SimulatedRun, name: str) -> None:
        super().__init__({PROGRAM: run.invent}, run.clock)
        self.run = run
        self.name = name

    @override
    async def _work(self, seconds: float, save_as: Path | None) -> None:
        await self.run.clock.sleep(seconds)

    @override
    async def start(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        errors: Path | None = None,
        environment: Mapping[str, str] | None = None,
        pinned: bool = True,
    ) -> Background:
        log.parent.mkdir(parents=True, exist_ok=True)
        return _Sampler(self, log)


class _Sampler:
    """Writes what it saw when it is stopped."""

    def __init__(self, remote: SimulatedRemote, log: Path) -> None:
        self._remote = remote
        self._log = log

    def running(self) -> bool:
        return True

    async def stop(self, *, signal: int, timeout_s: float) -> int | None:  # noqa: ARG002 - it stops at once
        run = self._remote.run
        self._log.write_bytes(run.telemetry(self._remote.name, run.simulated.cpus))
        return 0


Observe = Callable[[MachineHandle], Awaitable[tuple[Facts, dict[str, str]]]]


def rehearsed_world(listener: Listener, folder: ResultsFolder, study: Study, now_unix_ms: int) -> World:
    """A world whose time continues after what an earlier controller of the folder stored, and passes at once."""
    clock = SimulatedClock(max(now_unix_ms, _last_unix_ms(folder) + 1))
    clusters = Clusters(folder.rehearsal_path)
    configurations = study_as_provided(study).configurations
    load = _loading(clock)
    providers: dict[str, Provider] = {
        name: SimulatedProvider(name, clusters, clock) for name in {one.provider for one in configurations}
    }
    return World(
        providers=providers,
        databases={one.database.system: FakeDatabase(name=one.database.system) for one in configurations},
        benchmarks={name: SimulatedBenchmark(real, load) for name, real in BENCHMARKS.items()},
        observe=_observing(clock),
        clock=clock,
        listener=listener,
        load_program="nephoscope-load",
        version=nephoscope.__version__,
        new_loop=clock.new_loop,
    )


def _observing(clock: Clock) -> Observe:
    async def observe(machine: MachineHandle) -> tuple[Facts, dict[str, str]]:
        run = _run(machine)
        return run.simulated.facts(machine.name, clock.unix_ms(), is_load=machine.name in run.loads), {}

    return observe


def _loading(clock: Clock) -> Callable[[Cluster, int], Awaitable[None]]:
    """What the plan expects of loading or restoring; a new controller does not know what an earlier one kept."""
    before = Before()

    async def load(cluster: Cluster, fixture_bytes: int) -> None:
        asked = _run(cluster.database[0]).simulated.asked
        setup = before.of(asked, fixture_bytes, cluster.key if cluster.shared else None)
        await clock.sleep(setup.load_s + setup.restore_s)

    return load


def _run(machine: MachineHandle) -> SimulatedRun:
    if not isinstance(machine.remote, SimulatedRemote):
        raise TypeError(f"{machine.name} is no simulated machine")
    return machine.remote.run


def _last_unix_ms(folder: ResultsFolder) -> int:
    """The last moment that is stored; 0: none is."""
    moments = [0]
    for _, trial in folder.planned():
        for attempt in trial.attempts():
            lease, status = attempt.lease(), attempt.status()
            moments += [lease.begun_unix_ms] if lease else []
            moments += [status.at_unix_ms] if status and status.at_unix_ms else []
    return max(moments)
