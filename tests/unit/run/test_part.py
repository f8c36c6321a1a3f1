"""A part of a study runs in a folder whose other part a killed controller left: its machines are not forgotten."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.app.stages.planning import cut_out, load, plan
from nephoscope.app.stages.running import adopt
from nephoscope.benchmarks.fake import PROGRAM, fake_program
from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.plan.cut import Cut
from nephoscope.run.study import RunOptions, adopt_plan, run_study
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.model import Study
from tests.support.fake_cloud import FakeCloud
from tests.support.fake_world import Rehearsal, rehearsal

STUDY = """
name = "parts"
replicates = 1

[[configurations]]
name = "here"
provider = "fake"

[[configurations]]
name = "there"
provider = "other"
price_usd_per_hour = 360.0

[[benchmarks]]
uses = "fake"
parameters = { duration_s = 0.2 }
"""


def parts(path: Path) -> tuple[Rehearsal, FakeCloud]:
    """The folder and the cloud of `there`, whose machines outlive a controller."""
    study = rehearsal(path / "r", text=STUDY)
    cloud = FakeCloud(path / "cloud", {PROGRAM: fake_program}, lambda _: None)
    cloud.name = "other"
    return replace(study, world=replace(study.world, providers={"fake": study.provider, "other": cloud})), cloud


def only(study: Rehearsal, name: str) -> ResultsFolder:
    return study.folder.only(
        [row.intent.id for row in study.folder.plan().trials if row.intent.configuration_name == name]
    )


async def killed(path: Path) -> None:
    """Copies of folder and cloud in the middle of a measurement are what a kill leaves."""
    study, _ = parts(path / "before")
    running = asyncio.create_task(run_study(only(study, "there"), study.world))
    while not list(path.glob("before/cloud/clusters/*/jobs/*")):  # noqa: ASYNC110 - what it waits for is a file
        await asyncio.sleep(0.005)
    shutil.copytree(path / "before", path / "after")
    running.cancel()
    await asyncio.wait({running})


@pytest.mark.parametrize("resumable", [True, False])
def test_machines_of_the_other_part_are_found_and_what_runs_on_them_is_measured_to_its_end(
    tmp_path: Path, *, resumable: bool
) -> None:
    asyncio.run(killed(tmp_path))
    study, cloud = parts(tmp_path / "after")
    trials = {row.intent.configuration_name: trial for row, trial in study.folder.planned()}
    (attempt,) = trials["there"].attempts()
    assert attempt.status() is None
    if not resumable:
        (attempt.folder / "resume.json").unlink()
    outcome = asyncio.run(run_study(only(study, "here"), study.world, RunOptions()))
    assert (outcome.finished, outcome.valid) == (1, 1), "it counts its own part"
    assert trials["here"].finished()
    assert (len(trials["there"].attempts()), trials["there"].finished()) == (1, resumable)
    assert (cloud.created(), cloud.terminated()) == (1, 1)


def test_a_provider_where_nothing_was_started_or_all_has_ended_is_not_asked(tmp_path: Path) -> None:
    class Locked(FakeCloud):
        async def list(self, study: str) -> list[str]:
            raise InputError("nobody is logged in")

    study, _ = parts(tmp_path)
    locked = replace(
        study.world, providers={**study.world.providers, "other": Locked(tmp_path / "c", {}, lambda _: None)}
    )
    assert asyncio.run(run_study(only(study, "here"), locked)).finished == 1
    asyncio.run(run_study(only(study, "there"), study.world))
    assert asyncio.run(run_study(study.folder, locked)).finished == 2


TYPES = """
name = "types"
replicates = 4
stop = "decided"
[[configurations]]
name = "a"
provider = "fake"
database_machine = { type = "a" }
[[configurations]]
name = "b"
provider = "fake"
database_machine = { type = "b" }
[[benchmarks]]
uses = "fake"
"""


def cut(name: str) -> tuple[Study, Plan, Plan]:
    study = load(TYPES, "types.toml")
    return study, plan(study, part=cut_out(study, Cut(types=(name,)))), plan(study)


def test_a_study_that_stops_when_decided_has_one_part_in_a_folder(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path)
    study, a, whole = cut("a")
    adopt(folder, TYPES, study, a, replan=False, whole=whole)
    adopt(folder, TYPES, study, a, replan=False, whole=whole)
    before = folder.plan_path.read_bytes()
    with pytest.raises(InputError, match=r"holds another part of this study.*not in this part: a"):
        adopt(folder, TYPES, study, cut("b")[1], replan=True, whole=whole)
    assert folder.plan_path.read_bytes() == before
    adopt(folder, TYPES, study, whole, replan=False)
    assert len(folder.plan().trials) == 8
    free = {"stop": "never"}
    ResultsFolder(tmp_path / "free").write_plan(TYPES, a.model_copy(update=free))
    adopt_plan(
        ResultsFolder(tmp_path / "free"),
        TYPES,
        cut("b")[1].model_copy(update=free),
        replan=False,
        whole=whole.model_copy(update=free),
    )
