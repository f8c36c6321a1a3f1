"""placement = "per-replicate": new machines for each replicate, on which its benchmarks run one after the other."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, repeat
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from nephoscope.app.stages import evaluation
from nephoscope.app.stages.planning import load, plan
from nephoscope.app.stages.running import CliOptions, run_options
from nephoscope.benchmarks.fake import PROGRAM, fake_program
from nephoscope.machines.fake import Answer, AnswerTo
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import InputError, MachineLost, NephoscopeError
from nephoscope.model.records import Facts, Status
from nephoscope.model.rows import Statistic
from nephoscope.providers.base import Cluster, ClusterRequest
from nephoscope.providers.fake import FakeProvider
from nephoscope.run.study import StudyOutcome, run_study
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import Trial
from tests.support.fake_world import Rehearsal, observe_at_once, rehearsal

REPLICATES, BENCHMARKS = 4, ("a", "b", "c")
STUDY = """
name = "shared"
seed = 3
replicates = {replicates}
placement = "per-replicate"

[[configurations]]
name = "small"
provider = "fake"
price_usd_per_hour = 360.0
database_machine = {{ cpus = "all", expect_cpu_model = "Right" }}

[[configurations]]
name = "large"
provider = "fake"
price_usd_per_hour = 720.0
database_machine = {{ cpus = "all", expect_cpu_model = "Right" }}
"""
STUDY += "".join(
    f'\n[[benchmarks]]\nuses = "fake"\nname = "{name}"\nparameters = {{{{ duration_s = 10.0 }}}}\n'
    for name in BENCHMARKS
)


def lscpu_of(model: str) -> AnswerTo:
    said = {"Architecture": "fake", "CPU(s)": "8", "On-line CPU(s) list": "0-7", "Model name": model}
    fields = [{"field": f"{name}:", "data": data} for name, data in said.items()]
    return lambda _argv, _stdin: Answer(json.dumps({"lscpu": fields}).encode())


@dataclass
class Noting(FakeProvider):
    """Notes each cluster that it makes, and how many there were at once. The n-th may have the wrong processor."""

    wrong: frozenset[int] = frozenset()
    made: list[str] = field(default_factory=list)
    most: int = 0

    @override
    async def create(self, request: ClusterRequest) -> Cluster:
        if request.key not in self.existing:
            model = "Wrong" if len(self.made) in self.wrong else "Right"
            self.programs = {**self.programs, "lscpu": lscpu_of(model)}
            self.made.append(request.key.partition("/")[2])
        cluster = await super().create(request)
        self.most = max(self.most, len(self.existing))
        await asyncio.sleep(0)
        return cluster


def shared(path: Path, *failures: NephoscopeError | None, wrong: Sequence[int] = (), **more: Any) -> Rehearsal:
    study = rehearsal(path, text=STUDY.format(replicates=more.pop("replicates", REPLICATES)))
    programs = {PROGRAM: more.pop("program", fake_program)}
    provider = Noting(programs, study.clock, chain(failures, repeat(None)), wrong=frozenset(wrong))
    return replace(study, provider=provider, world=replace(study.world, providers={"fake": provider}, **more))


def conducted(study: Rehearsal, clusters: int = 1, max_usd: float | None = None) -> StudyOutcome:
    conduct = run_options(study.folder, study.study, CliOptions(max_clusters=clusters, max_usd=max_usd))
    return asyncio.run(run_study(study.folder, study.world, conduct))


def made(study: Rehearsal) -> list[str]:
    assert isinstance(study.provider, Noting)
    assert not study.provider.existing
    return study.provider.made


def valid(trial: Trial) -> list[bool]:
    return [attempt.valid() for attempt in trial.attempts()]


def test_trials_of_a_replicate_follow_each_other_in_an_order_of_their_own_and_keep_their_ids() -> None:
    text = STUDY.format(replicates=REPLICATES)
    own, fresh = (plan(load(one, "s.toml")) for one in (text, text.replace("per-replicate", "fresh")))
    assert {row.intent.id for row in own.trials} == {row.intent.id for row in fresh.trials}
    rows = [(row.intent.configuration_name, row.intent.replicate, row.intent.benchmark.name) for row in own.trials]
    runs = [rows[place : place + len(BENCHMARKS)] for place in range(0, len(rows), len(BENCHMARKS))]
    assert all(len({row[:2] for row in run}) == 1 for run in runs)
    assert len({tuple(row[2] for row in run) for run in runs}) > 2, (
        "the order of benchmarks is drawn for each replicate"
    )
    first = [[row.intent for row in one.trials if row.intent.block == 1] for one in (own, fresh)]
    small = [[one.benchmark.name for one in rows if one.configuration_name == "small"] for rows in first]
    assert small[0] == small[1], "as on fresh machines"


@pytest.mark.parametrize("clusters", [1, 3])
@pytest.mark.parametrize("max_usd", [None, 1000.0])
def test_a_replicate_has_one_cluster_and_no_two_have_the_same(
    tmp_path: Path, clusters: int, max_usd: float | None
) -> None:
    study = shared(tmp_path / "r")
    assert conducted(study, clusters, max_usd).valid == 2 * REPLICATES * len(BENCHMARKS)
    assert sorted(made(study)) == sorted(
        f"{name}/replicate-{number}" for name in ("small", "large") for number in range(1, REPLICATES + 1)
    )
    assert isinstance(study.provider, Noting)
    assert study.provider.most == clusters
    analysis = evaluation.analyze(study.folder)
    assert {(row.n, row.machines, row.scope) for row in analysis[Statistic]} == {(REPLICATES, REPLICATES, "types")}
    leases = [attempt.lease() for _, trial in study.folder.planned() for attempt in trial.attempts()]
    assert {lease.placement for lease in leases if lease} == {"per-replicate"}


def test_a_lost_machine_is_exchanged_for_the_rest_of_its_replicate(tmp_path: Path) -> None:
    study = shared(tmp_path / "r", None, MachineLost("taken back"), replicates=1)
    assert conducted(study).valid == 2 * len(BENCHMARKS)
    first = made(study)[0]
    assert Counter(made(study)) == {first: 2, made(study)[-1]: 1}
    attempts = sorted(len(trial.attempts()) for _, trial in study.folder.planned())
    assert attempts == [1, 1, 1, 1, 1, 2], "what was measured before counts"


def test_a_wrong_machine_is_exchanged_before_the_next_trial(tmp_path: Path) -> None:
    study = shared(tmp_path / "r", wrong=[0], replicates=1)
    assert conducted(study).valid == 2 * len(BENCHMARKS)
    assert Counter(made(study)) == {made(study)[0]: 2, made(study)[-1]: 1}, "and its own repeat runs on the new one"
    assert sorted(map(len, (valid(trial) for _, trial in study.folder.planned()))) == [1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize("max_usd", [None, 1000.0])
@pytest.mark.parametrize("disturbed", [{0}, {1}, {2}, {0, 2}])
def test_rejected_trials_are_repeated_on_the_cluster_of_their_replicate(
    tmp_path: Path, disturbed: set[int], max_usd: float | None
) -> None:
    measured = count()
    busy = {"now": 0 in disturbed}

    def program(argv: Sequence[str], stdin: bytes) -> Answer:
        if argv[1:] != ["--version"]:
            busy["now"] = next(measured) + 1 in disturbed
        return fake_program(argv, stdin)

    async def observe(machine: MachineHandle) -> tuple[Facts, dict[str, str]]:
        facts, verbatim = await observe_at_once(machine)
        return facts.model_copy(update={"busy_share": 0.5 if busy["now"] else 0.0}), verbatim

    study = shared(tmp_path / "r", replicates=1, program=program, observe=observe)
    assert conducted(study, max_usd=max_usd).valid == 2 * len(BENCHMARKS)
    assert len(made(study)) == 2, "one for each replicate"
    assert [valid(trial) for _, trial in study.folder.planned()][:3] == [
        [False, True] if place in disturbed else [True] for place in range(3)
    ]


def test_what_is_read_after_a_replicate_does_not_grow_with_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    status = Attempt.status

    def reading(attempt: Attempt) -> Status | None:
        read.append(attempt.folder)
        return status(attempt)

    monkeypatch.setattr(Attempt, "status", reading)

    def reads_per_trial(replicates: int, wrong: Sequence[int]) -> float:
        read.clear()
        study = shared(tmp_path / f"{replicates} {len(wrong)}", replicates=replicates, wrong=wrong)
        trials = 2 * len(BENCHMARKS) * replicates
        assert conducted(study, max_usd=100_000.0).valid == trials
        return len(read) / trials

    for wrong in (range(0), range(0, 60, 2)):
        assert reads_per_trial(12, wrong) < 1.3 * reads_per_trial(3, wrong)


def test_several_controllers_cannot_share_a_replicate(tmp_path: Path) -> None:
    study = shared(tmp_path / "r")
    with pytest.raises(InputError, match="the trials of a replicate share a cluster"):
        run_options(study.folder, study.study, CliOptions(state_url="postgresql://me@db.example.com/conductor"))
