"""Results that nephoscope 0.1 wrote are read, analysed and reported, with the conclusions that it drew."""

import json
from pathlib import Path

import polars as pl
import pytest

from nephoscope.app.stages import evaluation, planning
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.records import Plan, PlanWarning
from nephoscope.model.rows import Comparison, MeasurementRow, RankRow, Statistic, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.plan.expand import expand
from nephoscope.store.folder import ResultsFolder
from tests.support.results_of_0_1 import unpacked

SUBJECTS = {
    "rehearsed": {"stress-ng": Subject.CPU, "point-select": Subject.DATABASE},
    "imported": {"stress-ng-cores": Subject.CPU, "redis-set": Subject.DATABASE},
}
CONCLUSIONS = {
    "statistics": ["n", "median", "low", "high"],
    "comparisons": ["left", "right", "ratio", "low", "high", "p_adjusted", "verdict"],
    "best": ["scope", "view", "best", "excluded"],
    "ranks": ["configuration", "view", "first", "last"],
    "contrasts": ["left", "right", "ratio", "verdict"],
    "costs": ["configuration", "basis", "month_usd"],
    "price_performance": ["configuration", "basis", "front"],
}
"""Table -> what of it must stay, besides benchmark and metric. Dollars are for one unit of the level since, which is
what comparisons divide, and no longer of the median."""


@pytest.fixture(params=sorted(SUBJECTS))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> ResultsFolder:
    return unpacked(request.param, tmp_path)


def conclusions(folder: ResultsFolder, table: str) -> list[dict[str, object]]:
    rows = pl.read_parquet(folder.path / f"{table}.parquet")
    keys = [name for name in ("benchmark", "metric") if name in rows.columns]
    if "basis" in rows.columns:  # 0.1 had spot prices unasked, and charged volumes to CPU benchmarks
        cpu = pl.col("subject") == Subject.CPU if "subject" in rows.columns else pl.lit(value=False)
        rows = rows.filter(pl.col("basis").is_null() | ~((pl.col("basis") == "spot") | cpu))
    found = rows.select([*keys, *CONCLUSIONS[table]])
    return found.with_columns(pl.col(pl.Float64).round_sig_figs(12)).to_dicts()


def test_the_same_trials_give_the_same_conclusions(folder: ResultsFolder) -> None:
    before = {table: conclusions(folder, table) for table in CONCLUSIONS}
    assert len(before["comparisons"]) > 1
    study = evaluation.analyze(folder)
    assert all(row.counts for row in study[TrialRow])
    assert {table: conclusions(folder, table) for table in CONCLUSIONS} == before


def test_every_row_has_the_subject_of_its_benchmark(folder: ResultsFolder) -> None:
    study = evaluation.analysed(folder)
    wanted = SUBJECTS[folder.path.name]
    for table in (
        study.benchmarks,
        study[TrialRow],
        study[MeasurementRow],
        study[Statistic],
        study[Comparison],
        study[RankRow],
    ):
        assert {row.benchmark: row.subject for row in table} == wanted
    assert {row.benchmark: row.subject for row in evaluation.status(folder)} == wanted


def test_a_report_calls_a_database_a_database_and_ranks_cpus(folder: ResultsFolder) -> None:
    path = evaluation.report(folder).path
    main, evidence = (path.with_name(name).read_text(encoding="utf-8") for name in ("index.html", "evidence.html"))
    assert "no trial drove a database" not in main + evidence
    assert main.count('id="chapter-cpu"') == 1


def test_a_trial_keeps_its_id(tmp_path: Path) -> None:
    folder = unpacked("rehearsed", tmp_path)
    study = planning.load(folder.study_text(), "study.toml")
    now = {trial.intent.id for trial in expand(study, BENCHMARKS, simulated=True).trials}
    assert len(now) == 12
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
def test_a_warning_that_was_stored_as_a_sentence_has_its_kind(text: str, kind: str, tmp_path: Path) -> None:
    folder = unpacked("rehearsed", tmp_path)
    stored = json.loads((folder.path / "plan.json").read_text()) | {"warnings": [text]}
    assert Plan.model_validate(stored).warnings == [PlanWarning.model_validate({"kind": kind, "text": text})]
