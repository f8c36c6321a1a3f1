"""Studies that stop when their questions are answered: what runs, what is stored, and what a killed run leaves."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import nephoscope
from nephoscope.analysis.collect import collect
from nephoscope.analysis.looks import not_repeatable, replayed
from nephoscope.app.stages import evaluation, tracking
from nephoscope.app.stages.running import CliOptions, run_options
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.checks.registry import CHECKS
from nephoscope.model.errors import InputError
from nephoscope.model.looks import RULE, Look
from nephoscope.model.records import PlannedTrial, Status, VerdictKind
from nephoscope.model.rows import Statistic
from nephoscope.providers.fake import FakeProvider
from nephoscope.run.study import run_study
from nephoscope.store.folder import ResultsFolder
from tests.support.fake_world import Heard, Rehearsal, rehearsal
from tests.support.many_machines import conducted, many

COUNT, REPLICATES = 9, 6
TWO_NAMES = """
name = "two-names"
seed = 5
replicates = 6
stop = "decided"

[[benchmarks]]
uses = "fake"
name = "first"
configurations = ["a", "b"]
parameters = { value = 1000.0, spread_percent = 2.0, duration_s = 1.0 }

[[benchmarks]]
uses = "fake"
name = "second"
configurations = ["c"]
parameters = { value = 1000.0, spread_percent = 2.0, duration_s = 1.0 }
""" + "".join(
    f"""
[[configurations]]
name = "{name}"
provider = "fake"
database_machine = {{ type = "{name}", cpus = 2 }}
database = {{ system = "fake" }}
"""
    for name in "abc"
)


@pytest.fixture(autouse=True, scope="module")
def _no_disk_waits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    study = many(tmp_path_factory.mktemp("looks") / "whole", COUNT, REPLICATES)
    conducted(study)
    return study


def sets(folder: ResultsFolder) -> list[tuple[object, ...]]:
    """What looks say, without the numbers of attempts."""
    return [(look.block, look.level, look.questions, look.measured, look.inputs_digest) for look in folder.looks()]


def test_after_the_third_block_only_what_an_open_question_needs_is_measured(done: Rehearsal) -> None:
    looks = done.folder.looks()
    assert [look.block for look in looks] == list(range(3, 3 + len(looks)))
    assert 1 < len(looks) <= REPLICATES - 2
    measured = {look.block: look.measured.get("fake", []) for look in looks}
    assert len(measured[4]) < COUNT
    for planned, trial in done.folder.planned():
        block, name = planned.intent.block, planned.intent.configuration_name
        assert trial.finished() == (block <= 3 or name in measured.get(block - 1, [])), (block, name)
    overall = next(row for row in looks[-1].questions if (row.view, row.about) == ("plain", "overall"))
    assert overall.configurations == ["m00", "m01", "m02"]
    assert overall.state in {"out of reach", "tie"}


def test_trials_that_are_not_needed_are_neither_failed_nor_missing(done: Rehearsal) -> None:
    rows = evaluation.status(done.folder)
    left_out = [row for row in rows if row.state == "not needed"]
    assert {row.state for row in rows} == {"finished", "not needed"}
    assert str(left_out[0].reasons[0]).startswith("no open question needed it after block ")
    progress = tracking.progress(done.folder, 0)
    assert progress.words == f"{len(rows) - len(left_out)} done, {len(left_out)} not needed"
    assert (progress.left_s, progress.ended) == (0.0, len(rows) - len(left_out))
    statistics = evaluation.analyze(done.folder)[Statistic]
    assert {row.n_excluded for row in statistics} == {0}
    assert min(row.n for row in statistics) < REPLICATES


def test_looks_can_be_made_again_from_stored_trials(done: Rehearsal) -> None:
    inputs = collect(done.folder, done.study, BENCHMARKS, CHECKS, nephoscope.__version__)
    assert replayed(inputs, done.folder.looks()) == done.folder.looks()


def test_looks_of_an_earlier_rule_stand_and_are_not_called_changed(done: Rehearsal) -> None:
    inputs = collect(done.folder, done.study, BENCHMARKS, CHECKS, nephoscope.__version__)
    other = [look.model_copy(update={"rule": 1, "measured": {}}) for look in done.folder.looks()]
    assert replayed(inputs, other) == other
    assert not_repeatable(replace(inputs, looks=other)) == []
    assert not_repeatable(replace(inputs, looks=[look.model_copy(update={"rule": RULE}) for look in other])) != []


def test_a_study_that_is_done_takes_no_more_looks(done: Rehearsal) -> None:
    before = done.folder.looks()
    again = many(done.folder.path, COUNT, REPLICATES)
    outcome = conducted(again)
    assert again.heard.ended == []
    assert re.match(
        rf"(stopped after|ended with) block {before[-1].block} of 6: no question is open \(", outcome.stopped
    )
    assert done.folder.looks() == before


@dataclass
class Killer(Heard):
    """Ends the run after so many trials."""

    after: int = 0

    def trial_ended(self, trial: PlannedTrial, status: Status, verdict: VerdictKind | None, reasons: list[str]) -> None:
        super().trial_ended(trial, status, verdict, reasons)
        if len(self.ended) == self.after:
            raise KeyboardInterrupt


def killed(study: Rehearsal, after: int) -> None:
    world = replace(study.world, listener=Killer(after=after))
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run_study(study.folder, world, run_options(study.folder, study.study, CliOptions())))


@pytest.mark.parametrize("moments", [(4, 25), (30, 9)])
def test_killed_twice_it_ends_with_the_same_sets(tmp_path: Path, done: Rehearsal, moments: tuple[int, int]) -> None:
    for after in moments:
        killed(many(tmp_path / "r", COUNT, REPLICATES), after)
    study = many(tmp_path / "r", COUNT, REPLICATES)
    conducted(study)
    assert sets(study.folder) == sets(done.folder)


def test_a_folder_merged_from_two_controllers_goes_on_as_one(tmp_path: Path, done: Rehearsal) -> None:
    parts = [tmp_path / "a", tmp_path / "b"]
    for part, after in zip(parts, (30, 20), strict=True):
        killed(many(part, COUNT, REPLICATES), after)
    keep = sorted((parts[0] / "trials").iterdir())[::2]
    for folder in keep:
        shutil.rmtree(folder)
    shutil.copytree(parts[1] / "trials", parts[0] / "trials", dirs_exist_ok=True)
    study = many(parts[0], COUNT, REPLICATES)
    conducted(study)
    assert sets(study.folder) == sets(done.folder)


def test_stored_looks_stand_when_a_trial_of_theirs_comes_late(tmp_path: Path, done: Rehearsal) -> None:
    shutil.copytree(done.folder.path, tmp_path / "r")
    folder = ResultsFolder(tmp_path / "r")
    before = folder.looks()
    planned, trial = next(folder.planned())
    shutil.rmtree(trial.folder)
    study = many(tmp_path / "r", COUNT, REPLICATES)
    conducted(study)
    assert folder.trial(planned.intent.id).finished()
    assert folder.looks() == before


def test_without_the_key_every_trial_runs(tmp_path: Path) -> None:
    study = many(tmp_path / "r", 3, 4, stop="never")
    assert conducted(study).finished == 12
    assert study.folder.looks() == []


def test_it_excludes_other_rules_and_several_controllers(tmp_path: Path) -> None:
    study = many(tmp_path / "r", 3, 4)
    with pytest.raises(InputError, match='--until and stop = "decided" cannot be combined'):
        run_options(study.folder, study.study, CliOptions(until="margin=2%"))
    with pytest.raises(InputError, match='stop = "decided" and --state cannot be combined'):
        run_options(study.folder, study.study, CliOptions(state_url="postgresql://me@here:5432/studies"))


def test_more_replicates_before_the_last_look_go_on_and_after_it_measure_nothing(
    tmp_path: Path, done: Rehearsal
) -> None:
    killed(many(tmp_path / "r", COUNT, REPLICATES), 38)
    before = ResultsFolder(tmp_path / "r").looks()
    study = many(tmp_path / "r", COUNT, REPLICATES + 1)
    conducted(study)
    looks = study.folder.looks()
    assert looks[: len(before)] == before
    assert (before[-1].last, looks[-1].last) == (REPLICATES, REPLICATES + 1)
    shutil.copytree(done.folder.path, tmp_path / "s")
    late = many(tmp_path / "s", COUNT, REPLICATES + 1)
    conducted(late)
    assert late.heard.ended == []


def test_other_configurations_need_another_folder(tmp_path: Path, done: Rehearsal) -> None:
    shutil.copytree(done.folder.path, tmp_path / "r")
    study = many(tmp_path / "r", COUNT + 1, REPLICATES)
    last = done.folder.looks()[-1].block
    with pytest.raises(InputError, match=f"since the look after block {last} the plan of m09 has changed"):
        conducted(study)


@dataclass
class Counting(Heard):
    """Remembers how many clusters exist whenever a trial starts."""

    provider: FakeProvider | None = None
    existing: dict[int, set[str]] = field(default_factory=dict)

    def trial_started(self, trial: PlannedTrial) -> None:
        assert self.provider is not None
        there = self.existing.setdefault(trial.intent.block, set())
        there.update(cluster.split("/")[1] for cluster in self.provider.existing)


def test_a_benchmark_under_two_names_goes_on_after_each_look(tmp_path: Path) -> None:
    """Its trials answer questions under both names, but the plan has each under one."""
    study = rehearsal(tmp_path / "r", text=TWO_NAMES)
    assert conducted(study).finished > 0
    looks = study.folder.looks()
    assert len(looks) > 1
    assert looks[-1].planned == {"first": ["a", "b"], "second": ["c"]}
    assert any(set(row.configurations) > {"c"} for row in looks[0].questions), "they share a leaderboard"


def test_a_kept_cluster_that_nothing_needs_any_more_is_deleted_at_once(tmp_path: Path) -> None:
    study = many(tmp_path / "r", COUNT, REPLICATES, placement="per-configuration")
    heard = Counting(provider=study.provider)
    conducted(replace(study, world=replace(study.world, listener=heard)), max_clusters=COUNT)
    looks = study.folder.looks()
    assert len(heard.existing[3]) == COUNT
    still = [{name for names in look.measured.values() for name in names} for look in looks]
    assert len(still[1]) < COUNT
    for look, names in zip(looks[:-1], still[:-1], strict=True):
        assert heard.existing[look.block + 1] == names


def test_stop_does_not_enter_the_ids_of_trials(tmp_path: Path) -> None:
    ids = [
        [row.intent.id for row in many(tmp_path / stop, 3, 4, stop=stop).folder.plan().trials]
        for stop in ("never", "decided")
    ]
    assert ids[0] == ids[1]


def last_sets(looks: list[Look]) -> dict[tuple[str, ...], list[str]]:
    return {row.key: row.configurations for row in looks[-1].questions}


@pytest.mark.slow
def test_94_configurations_killed_twice_with_kill_9_end_with_the_same_sets(tmp_path: Path) -> None:
    whole = many(tmp_path / "whole", 94, 6)
    outcome = conducted(whole)
    argv = [sys.executable, "-m", "tests.support.many_machines", str(tmp_path / "killed"), "94", "6"]
    for trials in (150, 330):
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(list((tmp_path / "killed").glob("trials/*/attempts/*/status.json"))) < trials:
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(argv, check=True)
    folder = ResultsFolder(tmp_path / "killed")
    assert sets(folder) == sets(whole.folder)
    assert last_sets(folder.looks()) == last_sets(whole.folder.looks())
    assert outcome.finished < 0.9 * 94 * 6
