"""What a study really costs never exceeds its budget, however slow machines come up and however long trials take.

The bound: every cluster, billed from the moment that it is asked for until its provider has taken it back (by clouds
for a minute at least), all of them together, with no allowance, as long as a cloud takes a cluster back within
`GIVE_BACK_S`. Where it takes longer, the machines end themselves when what is set aside for them is spent.
"""

import random
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nephoscope.app.stages import evaluation, tracking
from nephoscope.app.stages.running import CliOptions, run_options
from nephoscope.benchmarks.fake import PROGRAM, fake_program
from nephoscope.databases.base import Endpoint
from nephoscope.databases.fake import FakeDatabase
from nephoscope.machines.fake import FakeRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.control import State
from nephoscope.model.errors import CapacityLacking, DatabaseFailed, MachineLost, Throttled
from nephoscope.plan.preparation import GIVE_BACK_S, MAKE_S
from nephoscope.providers.base import Cluster, ClusterRequest
from nephoscope.providers.fake import FakeProvider, idle_answers
from nephoscope.run.cleaning import TRIES
from nephoscope.run.clock import FakeClock
from nephoscope.run.conductor import Conductor, Rules
from nephoscope.run.ledger import MIN_BILLED_MS, Limits, OwnLedger
from nephoscope.run.states import Patience
from nephoscope.run.study import RunOptions, StudyOutcome, run_study
from nephoscope.study.model import Database
from tests.support.fake_world import Rehearsal, rehearsal
from tests.support.virtual_time import LoopClock, run_virtually

USD_PER_HOUR = 3.6
USD_PER_S = USD_PER_HOUR / 3600
STUDY = """
name = "dear"
seed = 3
replicates = 3
placement = "{placement}"

[[configurations]]
name = "small"
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
cloud = {{ image = "ami-1", ingress = "203.0.113.7/32" }}
price_usd_per_hour = 3.6
database_machine = {{ type = "m6i.large" }}
database = {{ system = "fake" }}

[[configurations]]
name = "large"
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
cloud = {{ image = "ami-1", ingress = "203.0.113.7/32" }}
price_usd_per_hour = 3.6
database_machine = {{ type = "m6i.xlarge" }}
database = {{ system = "fake" }}

[[benchmarks]]
uses = "fake"
parameters = {{ duration_s = 100.0, database = {database} }}
"""
QUOTE_USD = (MAKE_S + 100) * USD_PER_S
TRIALS = 6


class Working(FakeRemote):
    """Really takes the time that it says."""

    async def _work(self, seconds: float, save_as: Path | None) -> None:
        await LoopClock().sleep(seconds)


@dataclass
class Billing(FakeProvider):
    """A cloud that takes time for everything and writes bills."""

    draws: random.Random = field(default_factory=random.Random)
    make_s: float = MAKE_S - GIVE_BACK_S
    """At most."""
    give_back_s: float = 0.0
    """At most."""
    run_s: float = 100.0
    """At most."""
    lose: float = 0.0
    """Share of clusters that are lost or lacking."""
    since_s: dict[str, float] = field(default_factory=dict)
    bills_usd: list[float] = field(default_factory=list)

    async def create(self, request: ClusterRequest) -> Cluster:
        clock = LoopClock()
        self.since_s.setdefault(request.key, clock.monotonic_s())
        if request.key not in self.existing:
            await clock.sleep(self.draws.uniform(0, self.make_s))
            if self.draws.random() < self.lose:
                raise self.draws.choice([CapacityLacking("none"), MachineLost("taken back")])
        return await super().create(request)

    async def delete(self, key: str) -> None:
        await LoopClock().sleep(self.draws.uniform(0, self.give_back_s))
        if key in self.since_s:
            billed_s = max(LoopClock().monotonic_s() - self.since_s.pop(key), MIN_BILLED_MS / 1000)
            self.bills_usd.append(billed_s * USD_PER_S)
        await super().delete(key)

    def _machine(self, name: str, request: ClusterRequest, cpus: int | str) -> MachineHandle:
        def program(argv: list[str], stdin: bytes) -> object:
            answer = fake_program(argv, stdin)
            return answer if argv[1:] == ["--version"] else replace(answer, takes_s=self.draws.uniform(0, self.run_s))

        remote = Working({**idle_answers(8), PROGRAM: program}, FakeClock())  # type: ignore[dict-item]
        return MachineHandle(name, remote, "192.0.2.1", tuple(range(8)), "/fake")


def dear(path: Path, provider: Billing, *, placement: str = "fresh", database: bool = False) -> Rehearsal:
    study = rehearsal(path, text=STUDY.format(placement=placement, database=str(database).lower()))
    return replace(study, world=replace(study.world, providers={"aws": provider}, clock=LoopClock()))


def conducted(study: Rehearsal, max_usd: float, clusters: int) -> StudyOutcome:
    conduct = run_options(study.folder, study.study, CliOptions(max_clusters=clusters, max_usd=max_usd))
    return run_virtually(run_study(study.folder, study.world, conduct))


def ends(study: Rehearsal) -> Mapping[str, State]:
    return tracking.progress(study.folder, 0).states


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    quotes=st.floats(0.5, 2 * TRIALS),
    run_s=st.floats(10, 5_000),
    make_s=st.floats(10, 2_000),
    clusters=st.integers(2, 4),
    placement=st.sampled_from(["fresh", "per-replicate", "per-configuration"]),
)
def test_no_bill_exceeds_the_budget(
    seed: int, quotes: float, run_s: float, make_s: float, clusters: int, placement: str
) -> None:
    provider = Billing(
        {},
        FakeClock(),
        repeat(None),
        draws=random.Random(seed),
        make_s=make_s,
        give_back_s=GIVE_BACK_S,
        run_s=run_s,
        lose=0.2,
    )
    max_usd = quotes * QUOTE_USD
    with tempfile.TemporaryDirectory() as folder:
        study = dear(Path(folder) / "r", provider, placement=placement)
        outcome = conducted(study, max_usd, clusters)
        assert not provider.existing
        assert sum(provider.bills_usd) <= max_usd + 1e-6
        assert (tracking.progress(study.folder, 0).spent_usd or 0.0) <= max_usd + 1e-6
        states = ends(study)
        assert {trial for trial, state in states.items() if state is State.OUT_OF_BUDGET} == set(outcome.refused)


def test_a_trial_that_is_ended_for_the_budget_is_named_does_not_count_and_begins_anew(tmp_path: Path) -> None:
    slow = Billing({}, FakeClock(), draws=random.Random(1), run_s=100_000.0, give_back_s=GIVE_BACK_S)
    study = dear(tmp_path / "r", slow)
    outcome = conducted(study, 1.5 * QUOTE_USD, 1)
    assert (outcome.finished, outcome.failed, len(outcome.refused)) == (0, 0, TRIALS)
    assert sum(slow.bills_usd) <= 1.5 * QUOTE_USD
    (attempt,) = [attempt for _, trial in study.folder.planned() for attempt in trial.attempts()]
    status, lease = attempt.status(), attempt.lease()
    assert status is not None
    assert (status.state, status.failure_class) == ("interrupted", "budget")
    assert "larger budget" in str(status.hint)
    assert lease is not None
    assert lease.reserved_usd == pytest.approx(1.5 * QUOTE_USD)
    assert status.duration_s == pytest.approx(1.5 * (MAKE_S + 100) - GIVE_BACK_S, abs=GIVE_BACK_S)
    assert study.heard.again == []
    assert {row.state for row in evaluation.status(study.folder)} == {"planned", "interrupted"}
    assert set(ends(study).values()) == {State.OUT_OF_BUDGET}
    quick = Billing({}, FakeClock(), draws=random.Random(1))
    assert conducted(dear(tmp_path / "r", quick), 100 * QUOTE_USD, 2).finished == TRIALS


def test_machines_end_themselves_with_their_money(tmp_path: Path) -> None:
    asked: list[ClusterRequest] = []

    class Noting(Billing):
        async def create(self, request: ClusterRequest) -> Cluster:
            asked.append(request)
            return await super().create(request)

    study = dear(tmp_path / "r", Noting({}, FakeClock(), draws=random.Random(1)))
    conducted(study, 100 * QUOTE_USD, 1)
    leases = [attempt.lease() for _, trial in study.folder.planned() for attempt in trial.attempts()]
    ends_ms = sorted(lease.begun_unix_ms + (2 * (MAKE_S + 100) + 600) * 1000 for lease in leases if lease)
    assert sorted(request.expires_unix_ms or 0 for request in asked) == pytest.approx(ends_ms, abs=2)


class Outliving(Billing):
    """Its machines live on when the controller dies."""

    detached = True


def test_no_orderly_end_of_a_database_is_waited_for_on_machines_that_go_anyway(tmp_path: Path) -> None:
    class Slow(FakeDatabase):
        async def stop(self, cluster: Cluster) -> None:
            await LoopClock().sleep(10 * GIVE_BACK_S)

    provider = Outliving({}, FakeClock(), draws=random.Random(1), run_s=100_000.0)
    study = dear(tmp_path / "r", provider, database=True)
    world = replace(study.world, databases={"fake": Slow()})
    ledger = OwnLedger(Limits(max_usd=QUOTE_USD), 0.0)
    conductor = Conductor(study.folder, study.folder.study_key(), world, ledger, Rules("fresh", Patience()))
    first = study.folder.plan().trials[0].intent.id
    assert run_virtually(conductor.advance(first)).ended
    assert first in conductor.refused
    assert sum(provider.bills_usd) <= QUOTE_USD
    assert ledger._books().spent_usd <= QUOTE_USD


@pytest.mark.parametrize("deletes", [True, False])
def test_a_failure_is_reported_though_the_budget_ends_while_its_machines_are_deleted(
    tmp_path: Path, *, deletes: bool
) -> None:
    class Reluctant(Outliving):
        async def delete(self, key: str) -> None:
            await LoopClock().sleep(ends_s + 10 if deletes else ends_s / TRIES)
            if not deletes:
                raise Throttled("later")
            await super().delete(key)

    class Broken(FakeDatabase):
        async def start(self, cluster: Cluster, settings: Database, log: Path) -> Endpoint:
            raise DatabaseFailed("it rejects shared_buffers")

    ends_s = MAKE_S + 100 - GIVE_BACK_S
    study = dear(tmp_path / "r", Reluctant({}, FakeClock(), make_s=0.0), database=True)
    ledger = OwnLedger(Limits(max_usd=QUOTE_USD), 0.0)
    world = replace(study.world, databases={"fake": Broken()})
    conductor = Conductor(study.folder, study.folder.study_key(), world, ledger, Rules("fresh", Patience()))
    planned, trial = next(study.folder.planned())
    assert run_virtually(conductor.advance(planned.intent.id)).ended
    (status,) = [attempt.status() for attempt in trial.attempts()]
    assert status is not None
    assert (status.failure_class, str(status.message)) == ("database_failed", "it rejects shared_buffers")
    assert conductor.refused == {}
    assert (ledger._books().spent_usd < QUOTE_USD - USD_PER_S) is deletes


def test_without_a_budget_nothing_is_ended(tmp_path: Path) -> None:
    slow = Billing({}, FakeClock(), draws=random.Random(1), run_s=500.0)
    study = dear(tmp_path / "r", slow)
    outcome = run_virtually(run_study(study.folder, study.world, RunOptions(limits=Limits(max_clusters=2))))
    assert outcome.finished == TRIALS
