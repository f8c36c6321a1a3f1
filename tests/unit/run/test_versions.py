"""Folders that were planned with another version of a benchmark: read whole, or refused with a reason."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.stages import evaluation
from nephoscope.model.errors import InputError
from nephoscope.model.rows import Statistic
from nephoscope.run.preflight import preflight
from nephoscope.run.study import run_study
from nephoscope.store import files
from nephoscope.store.folder import ResultsFolder
from tests.support.fake_world import Rehearsal, rehearsal
from tests.support.stored_anew import stored_anew


def measured(tmp_path: Path) -> Rehearsal:
    study = rehearsal(tmp_path / "r")
    asyncio.run(run_study(study.folder, study.world))
    return study


def replanned(folder: ResultsFolder, **changes: Any) -> None:
    plan = folder.plan()
    trials = []
    for row in plan.trials:
        use = row.intent.benchmark.model_copy(update=changes)
        trials.append(row.model_copy(update={"intent": row.intent.model_copy(update={"benchmark": use})}))
    files.write(folder.plan_path, plan.model_copy(update={"trials": trials}))


@pytest.mark.parametrize(
    ("changes", "said"), [({"version": 99}, "has version 1"), ({"uses": "of-tomorrow"}, "does not know it")]
)
def test_a_plan_of_another_version_is_not_run_on(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    study = rehearsal(tmp_path / "r")
    replanned(study.folder, **changes)
    with pytest.raises(InputError, match=f"this nephoscope {said}"):
        asyncio.run(preflight(study.folder, study.study, study.world))


def test_what_both_versions_know_is_reported(tmp_path: Path) -> None:
    study = measured(tmp_path)
    replanned(study.folder, version=99)
    assert evaluation.analyze(study.folder)[Statistic]


def test_a_number_that_this_version_does_not_know_is_not_left_out_in_silence(tmp_path: Path) -> None:
    study = measured(tmp_path)
    _, trial = next(study.folder.planned())
    (attempt,) = trial.attempts()
    stored = attempt.measurements()
    attempt.write_measurements([*stored, stored[0].model_copy(update={"metric": "once_measured"})])
    stored_anew(attempt)
    with pytest.raises(InputError, match=r"version 1 of the benchmark 'fake', .* holds once_measured"):
        evaluation.analyze(study.folder)


def test_parameters_that_this_version_does_not_know_are_refused(tmp_path: Path) -> None:
    study = measured(tmp_path)
    replanned(study.folder, version=99, parameters={"once_asked": 1})
    with pytest.raises(InputError, match=r"version 99 of the benchmark 'fake', .*: once_asked: "):
        evaluation.analyze(study.folder)
