"""Results that nephoscope 0.1 wrote are analysed and reported, and each of their rows says what it is about."""

import json
import shutil
from pathlib import Path

import pytest

from nephoscope.analysis import stored
from nephoscope.app.stages import evaluation, planning
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.records import Plan, PlanWarning
from nephoscope.model.subjects import Subject
from nephoscope.plan.expand import expand
from nephoscope.store.folder import ResultsFolder

STORED = Path(__file__).parents[2] / "data" / "results-0.1"
SUBJECTS = {
    "measured": {"fake": Subject.CPU, "fake-database": Subject.DATABASE},
    "imported": {"stress-ng-cores": Subject.CPU, "redis-set": Subject.DATABASE},
}


@pytest.fixture(params=sorted(SUBJECTS))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> ResultsFolder:
    """A copy: an analysis writes into it."""
    return ResultsFolder(Path(shutil.copytree(STORED / request.param, tmp_path / request.param)))


def test_every_row_has_the_subject_of_its_benchmark(folder: ResultsFolder) -> None:
    study = evaluation.analysed(folder)
    wanted = SUBJECTS[folder.path.name]
    assert all(row.counts for row in study.trials)
    for table in (study.benchmarks, study.trials, study.measurements, study.statistics, study.comparisons, study.ranks):
        assert {row.benchmark: row.subject for row in table} == wanted
    assert {row.benchmark: row.subject for row in evaluation.status(folder)} == wanted
    assert stored.read(folder).statistics == study.statistics


def test_a_report_calls_a_database_a_database_and_ranks_cpus(folder: ResultsFolder) -> None:
    main = evaluation.report(folder).path
    evidence = main.with_name("evidence.html").read_text(encoding="utf-8")
    assert "no trial drove a database" not in main.read_text(encoding="utf-8") + evidence
    assert evidence.count('id="numbers-cpu"') == 1


def test_the_old_files_state_no_subject() -> None:
    """Otherwise the tests above would show nothing."""
    source = json.loads((STORED / "imported" / "source.json").read_text(encoding="utf-8"))
    assert all("subject" not in one for one in source["benchmarks"])
    analysis = json.loads((STORED / "measured" / "analysis.json").read_text(encoding="utf-8"))
    assert all("subject" not in one for one in analysis["benchmarks"])


def test_a_trial_keeps_its_id() -> None:
    folder = ResultsFolder(STORED / "measured")
    study = planning.load(folder.study_text(), "study.toml")
    now = {trial.intent.id for trial in expand(study, BENCHMARKS).trials}
    assert now == {"68238251d549", "f0109b196ef8", "f762b5cfdf29", "334014b8ebf0"}
    assert now == {planned.intent.id for planned in folder.plan().trials}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "the hours include estimates: 240 s to create a cluster, loading at 60 MiB/s, restoring at 200 MiB/s",
            "hours",
        ),
        ("the time includes an estimate: 6 s for each emulated machine of a database", "hours"),
        ("the first read of a volume that comes from a snapshot: 30 MiB/s on aws", "hours"),
        ("aws: clusters load data sets again; to keep them, set `database.fixtures` to a bucket", "hours"),
        ("no price in these regions; the plan uses another region's: m9g in eu-west-1 (price of us-east-1)", "prices"),
        ("a, b: all replicates of a configuration run on the same hosts, so the report compares these", "placement"),
        ("1 replicate gives no interval at all; 6 are needed: add 5", "other"),
    ],
)
def test_a_warning_that_was_stored_as_a_sentence_has_its_kind(text: str, kind: str) -> None:
    stored = json.loads((STORED / "measured" / "plan.json").read_text()) | {"warnings": [text]}
    assert Plan.model_validate(stored).warnings == [PlanWarning.model_validate({"kind": kind, "text": text})]
