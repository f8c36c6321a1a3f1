"""A world of fakes: a whole study in milliseconds, with no clock, no machine and no cloud."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

from nephoscope.app.stages.planning import load, plan
from nephoscope.benchmarks.fake import PROGRAM, fake_program
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.databases.fake import FakeDatabase
from nephoscope.machines.doctor import HostFindings
from nephoscope.machines.facts import gather_facts
from nephoscope.machines.fake import AnswerTo
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import NephoscopeError
from nephoscope.model.records import Facts, PlannedTrial, Status, VerdictKind
from nephoscope.providers.fake import FakeProvider
from nephoscope.run.clock import FakeClock
from nephoscope.run.study import adopt_plan
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.model import Study

STUDY = """
name = "rehearsal"
seed = 7
replicates = 6

[[configurations]]
name = "small"
provider = "fake"
database_machine = { type = "tiny", cpus = 2 }
database = { system = "fake" }

[[configurations]]
name = "large"
provider = "fake"
database_machine = { type = "huge", cpus = "all" }
database = { system = "fake" }

[[benchmarks]]
uses = "fake"
parameters = { value = 1000.0, cpu_exponent = 0.9, spread_percent = 0.5, duration_s = 10.0 }

[[benchmarks]]
uses = "fake"
name = "fake-with-database"
parameters = { database = true }
"""


@dataclass
class Heard:
    """A listener that remembers."""

    ended: list[tuple[str, str, VerdictKind | None, list[str]]] = field(default_factory=list)
    again: list[tuple[str, list[str], float]] = field(default_factory=list)
    repeated: list[tuple[str, str]] = field(default_factory=list)
    dropped: list[set[str]] = field(default_factory=list)
    pauses: list[tuple[int, str, float]] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    loads: list[tuple[str, float | None]] = field(default_factory=list)
    hosts: list[HostFindings] = field(default_factory=list)
    finished_before: int = 0

    def study_started(self, planned: int, finished_before: int) -> None:
        self.finished_before = finished_before

    def trial_started(self, trial: PlannedTrial) -> None:
        pass

    def notice(self, text: str) -> None:
        self.values.append(text)

    def value(self, text: str) -> None:
        self.values.append(text)

    def loading(self, trial_id: str, share: float | None) -> None:
        self.loads.append((trial_id, share))

    def loaded(self, trial_id: str) -> None:
        self.loads.append((trial_id, 1.0))

    def trial_again(self, trial: PlannedTrial, reasons: list[str], wait_s: float) -> None:
        self.again.append((trial.intent.id, reasons, wait_s))

    def hosts_examined(self, hosts: Sequence[HostFindings]) -> None:
        self.hosts.extend(hosts)

    def pausing(self, rejected: int, why: str, wait_s: float) -> None:
        self.pauses.append((rejected, why, wait_s))

    def trial_repeated(self, trial: PlannedTrial, why: str) -> None:
        self.repeated.append((trial.intent.id, why))

    def left_out(self, trials: Collection[str]) -> None:
        self.dropped.append({*trials})

    def trial_ended(self, trial: PlannedTrial, status: Status, verdict: VerdictKind | None, reasons: list[str]) -> None:
        self.ended.append((trial.intent.id, status.state, verdict, reasons))


async def observe_at_once(machine: MachineHandle) -> tuple[Facts, dict[str, str]]:
    return await gather_facts(machine, observe_s=0)


@dataclass
class Rehearsal:
    """A study, its folder and its world."""

    folder: ResultsFolder
    study: Study
    world: World
    heard: Heard
    database: FakeDatabase
    provider: FakeProvider
    clock: FakeClock


def rehearsal(
    path: Path,
    *,
    text: str = STUDY,
    programs: Mapping[str, AnswerTo] | None = None,
    provider_failures: Iterator[NephoscopeError | None] | None = None,
    database_failures: Iterator[NephoscopeError | None] | None = None,
) -> Rehearsal:
    clock = FakeClock(unix_ms=1_700_000_000_000)
    provider = FakeProvider(programs or {PROGRAM: fake_program}, clock, provider_failures or repeat(None))
    database = FakeDatabase(database_failures or repeat(None))
    heard = Heard()
    world = World(
        providers={"fake": provider},
        databases={"fake": database},
        benchmarks=BENCHMARKS,
        observe=observe_at_once,
        clock=clock,
        listener=heard,
        load_program="nephoscope-load",
        version="test",
    )
    study = load(text, "rehearsal.toml")
    folder = ResultsFolder(path)
    adopt_plan(folder, text, plan(study), replan=False)
    return Rehearsal(folder, study, world, heard, database, provider, clock)
