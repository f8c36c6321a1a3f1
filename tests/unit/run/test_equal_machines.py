"""Machines of another kind than most of their configuration are exchanged for new ones, within repeats and budget."""

import asyncio
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from typing_extensions import override

from nephoscope.app.stages import evaluation
from nephoscope.app.stages.planning import load
from nephoscope.app.stages.running import CliOptions, run_options
from nephoscope.benchmarks.fake import PROGRAM, fake_program
from nephoscope.checks.kinds import most_common
from nephoscope.machines.fake import Answer, AnswerTo, FakeRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import InputError, StudyError
from nephoscope.model.records import Facts
from nephoscope.providers.azure.cloud import AzureCloud
from nephoscope.providers.base import Cluster, ClusterRequest
from nephoscope.providers.cloud.provider import CloudMachine, CloudProvider
from nephoscope.providers.fake import FakeProvider, idle_answers
from nephoscope.run.clock import FakeClock
from nephoscope.run.repeats import KindJudge
from nephoscope.run.study import StudyOutcome, run_study
from nephoscope.study.model import Machine
from tests.support import fake_arm
from tests.support.fake_world import Rehearsal, rehearsal
from tests.support.made_cloud import AtOnce

STUDY = """
name = "kinds"
replicates = {replicates}
equal_machines = {equal}

[[configurations]]
name = "small"
provider = "fake"
price_usd_per_hour = 360.0

[[benchmarks]]
uses = "fake"
parameters = {{ duration_s = 10.0 }}
"""
ICE, LAKE = "Intel(R) Xeon(R) Platinum 8375C", "Intel(R) Xeon(R) Platinum 8259CL"


def lscpu_of(model: str) -> AnswerTo:
    said = {"Architecture": "fake", "CPU(s)": "8", "On-line CPU(s) list": "0-7", "Model name": model}
    fields = [{"field": f"{name}:", "data": data} for name, data in said.items()]
    return lambda _argv, _stdin: Answer(json.dumps({"lscpu": fields}).encode())


@dataclass
class Kinds(FakeProvider):
    """Its n-th cluster has the n-th CPU model; all later ones have the last."""

    models: Sequence[str] = (ICE,)
    given: list[str] = field(default_factory=list)

    @override
    async def create(self, request: ClusterRequest) -> Cluster:
        model = self.models[min(len(self.given), len(self.models) - 1)]
        self.given.append(model)
        self.programs = {PROGRAM: fake_program, "lscpu": lscpu_of(model)}
        return await super().create(request)


def measured(
    path: Path, models: Sequence[str], *, replicates: int = 5, equal: int = 4, max_usd: float | None = None
) -> tuple[StudyOutcome, list[list[bool]], Kinds, Rehearsal]:
    study = rehearsal(path, text=STUDY.format(replicates=replicates, equal=equal))
    provider = Kinds({}, study.clock, models=models)
    options = run_options(study.folder, study.study, CliOptions(max_usd=max_usd))
    outcome = asyncio.run(run_study(study.folder, replace(study.world, providers={"fake": provider}), options))
    attempts = [[attempt.valid() for attempt in trial.attempts()] for _, trial in study.folder.planned()]
    return outcome, attempts, provider, study


def test_a_machine_of_another_kind_is_exchanged_until_enough_are_alike(tmp_path: Path) -> None:
    outcome, attempts, provider, study = measured(tmp_path / "r", [ICE, LAKE, ICE, ICE], replicates=4)
    assert (outcome.finished, outcome.valid) == (4, 4)
    assert attempts == [[True], [False, True], [True], [True]]
    assert len(provider.given) == 5
    ((_, why),) = study.heard.repeated
    assert why.startswith("equal-machines: ")
    odd = list(study.folder.planned())[1][1].attempts()[0]
    (verdict,) = (one for one in odd.verdicts() if one.check == "equal-machines")
    assert f"cpu_model is {LAKE}, but {ICE} on " in str(verdict.reason)
    (told,) = [str(one.text) for one in evaluation.analyze(study.folder).insights if one.rule == "exchanged"]
    assert told == (
        "1 of 5 attempts of small got a machine that differs from most of this configuration in CPU model. Their "
        "trials ran again on new machines."
    )
    before = [trial.decisive_attempt() for _, trial in study.folder.planned()]
    evaluation.parse(study.folder, study.clock)
    assert [one.valid() for one in before if one] == [True] * 4, "what is usual is stored, so parsing finds the same"
    assert not odd.valid()


def test_no_more_are_exchanged_than_the_study_asks_for_but_the_odd_ones_do_not_count(tmp_path: Path) -> None:
    outcome, attempts, provider, _ = measured(tmp_path / "r", [ICE, ICE, ICE, LAKE, ICE], equal=4)
    assert attempts == [[True], [True], [True], [False], [True]], "the last block could still give the fourth"
    outcome, attempts, provider, _ = measured(tmp_path / "t", [ICE, ICE, ICE, LAKE, LAKE, ICE], equal=4)
    assert attempts == [[True], [True], [True], [False], [False, True]], "it did not"
    outcome, attempts, provider, _ = measured(tmp_path / "s", [ICE, ICE, ICE, ICE, LAKE], equal=4)
    assert attempts[-1] == [False]
    assert (outcome.finished, outcome.valid, len(provider.given)) == (5, 4, 5)


def test_a_zone_with_nothing_else_is_given_up_within_the_repeats_and_the_budget(tmp_path: Path) -> None:
    outcome, attempts, *_ = measured(tmp_path / "r", [ICE, ICE, LAKE], equal=4)
    assert attempts[:2] == [[False, True], [False]], "what is usual changed, and a fourth equal machine was enough"
    assert outcome.valid == 4
    outcome, attempts, *_ = measured(tmp_path / "s", [ICE, LAKE, ICE, ICE, ICE], max_usd=5.0, equal=5)
    assert (outcome.valid, sum(map(len, attempts))) == (4, 5)
    assert set(outcome.not_repeated.values()) == {"the budget does not allow it"}


def test_several_controllers_cannot_share_it_as_each_sees_only_its_own_machines(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r", text=STUDY.format(replicates=4, equal=4))
    with pytest.raises(InputError, match="equal_machines and --state cannot be combined"):
        run_options(study.folder, study.study, CliOptions(state_url="postgresql://me@here:5432/studies"))


def test_what_is_usual_is_judged_over_the_whole_plan_when_a_part_runs(tmp_path: Path) -> None:
    _, _, _, study = measured(tmp_path / "r", [ICE, ICE, ICE, ICE], replicates=4)
    rows = list(study.folder.planned())
    for path in study.folder.path.glob("trials/*/attempts/*/derived"):
        shutil.rmtree(path)
    KindJudge("fresh").judge(study.folder.only([rows[0][0].intent.id]).whole_plan(), ties=True)
    assert all(attempt.usual_kind() for _, trial in rows for attempt in trial.attempts())


ON_AZURE = """
name = "kinds"
replicates = 3
equal_machines = 3

[[configurations]]
name = "d8s"
provider = "azure"
region = "eastus"
zone = "1"
cloud = { image = "Debian:debian-12:12-gen2:0.20261012.1", ingress = "203.0.113.7/32" }
database_machine = { type = "Standard_D8s_v5", count = 3 }

[[benchmarks]]
uses = "fake"
"""


@dataclass
class KindOfMachine(AtOnce):
    """Of the machines that were created so far, the fifth has another CPU than all others."""

    odd: int = 5

    @override
    async def __call__(self, machine: CloudMachine, asked: Machine, request: ClusterRequest) -> MachineHandle:
        handle = await super().__call__(machine, asked, request)
        model = LAKE if len(self.entered) == self.odd else ICE
        answers = {**idle_answers(8), PROGRAM: fake_program, "lscpu": lscpu_of(model)}
        return replace(handle, remote=FakeRemote(answers, FakeClock()))


@pytest.mark.slow
def test_on_azure_one_odd_machine_of_three_makes_its_cluster_odd_and_nothing_is_left(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r", text=ON_AZURE)
    options = run_options(study.folder, study.study, CliOptions())
    with fake_arm.fake_arm() as arm:
        connect = KindOfMachine()
        cloud = AzureCloud(study.clock, lambda: fake_arm.api_of(arm))
        provider = CloudProvider(cloud, connect, study.clock, "me@here")
        world = replace(study.world, providers={"azure": provider})
        outcome = asyncio.run(run_study(study.folder, world, options))
        assert arm.resources == {}
    assert (outcome.finished, outcome.valid) == (3, 3)
    attempts = sorted(len(trial.attempts()) for _, trial in study.folder.planned())
    assert attempts == [1, 1, 2], "clusters are created at the same time, so the odd machine is in any of them"
    assert len(connect.entered) == 4 * 3, "the repeat has three new machines"


def test_a_tie_is_decided_only_when_no_machine_is_left_that_could_decide_it() -> None:
    kinds = [Facts(at_unix_ms=1, cpu_model=model) for model in (LAKE, ICE, ICE, LAKE)]
    assert most_common(kinds, ties=False) is None
    decided = most_common(kinds, ties=True)
    assert decided is not None
    assert (decided.facts, decided.alike, decided.machines) == ({"cpu_model": LAKE}, 2, 4)
    assert most_common(kinds[:2], ties=True) is None, "no two are alike"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({'provider = "fake"': 'provider = "local"'}, '"small" has no new machines for each replicate'),
        (
            {"equal_machines": 'placement = "per-configuration"\nequal_machines'},
            "needs new machines for each replicate",
        ),
        ({"replicates = 4": "replicates = 3"}, "4 is more than `replicates`, which is 3"),
    ],
)
def test_a_study_that_cannot_have_equal_machines_is_refused(changes: dict[str, str], why: str) -> None:
    text = STUDY.format(replicates=4, equal=4)
    for old, new in changes.items():
        text = text.replace(old, new)
    with pytest.raises(StudyError, match=why):
        load(text, "kinds.toml")
