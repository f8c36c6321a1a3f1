"""The world of a rehearsal: every provider, database, benchmark and clock of a study, simulated."""

from collections.abc import Awaitable, Callable

import nephoscope
from nephoscope.app.rehearsal.benchmark import SimulatedBenchmark
from nephoscope.app.rehearsal.provider import Clusters, SimulatedClock, SimulatedProvider, SimulatedRemote, SimulatedRun
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.databases.fake import FakeDatabase
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.records import Facts
from nephoscope.plan.preparation import Before
from nephoscope.providers.base import Cluster, Provider
from nephoscope.run.clock import Clock
from nephoscope.run.world import Listener, World
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.managed import study_as_provided
from nephoscope.study.model import Study

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
