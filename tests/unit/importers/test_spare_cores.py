"""Spare Cores' data become trials: one run each, with what is not known beside them; damage is never a number."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation, imports
from nephoscope.importers.registry import IMPORTERS
from nephoscope.importers.spare_cores import report as spare_cores
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import MachineRow, MeasurementRow, Statistic, TrialRow
from nephoscope.store.folder import ResultsFolder
from tests.support.inspector_data import cores, lscpu, redis, write_machine, write_sqlite, write_task
from tests.support.shared_data import shared


def imported(tree: Path, out: Path) -> list[TrialRow]:
    return imports.import_results("spare-cores", tree, ResultsFolder(out)).trials


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    write_machine(root, "aws/m5a.large")
    write_machine(root, "azure/Standard_D2as_v5", rate=150, facts={"Model name": "AMD EPYC 7763", "CPU family": "25"})
    write_machine(root, "hcloud/cx22", rate=90)
    return root


def test_a_type_becomes_a_configuration_with_facts_source_and_what_is_not_known(tree: Path, tmp_path: Path) -> None:
    rows = imported(tree, tmp_path / "out")
    assert {row.configuration for row in rows} == {"aws-m5a.large", "azure-standard-d2as-v5", "hcloud-cx22"}
    assert all(row.counts and row.replicate == 1 and row.cpus == 2 and row.conditions == ["imported"] for row in rows)
    folder = ResultsFolder(tmp_path / "out")
    study = evaluation.stored_study(folder)
    machines = {one.name: (one.provider, one.database_machine.type) for one in study.configurations}
    assert machines["azure-standard-d2as-v5"] == ("azure", "Standard_D2as_v5")
    assert machines["hcloud-cx22"] == ("other", "cx22")
    source = folder.source()
    assert source is not None
    assert any("ran once" in str(one) for one in source.unknown)
    assert any("argv" in str(one) for one in source.unknown)
    analysed = evaluation.analyze(folder)
    facts = {row.configuration: row.facts for row in analysed[MachineRow]}
    assert (facts["aws-m5a.large"].cpu_model, facts["aws-m5a.large"].cpus_online) == ("AMD EPYC 7571", 2)
    assert facts["azure-standard-d2as-v5"].cpu_family == 25
    assert analysed.started_unix_ms == 1717844400500
    medians = {(row.configuration, row.benchmark, row.metric, row.per_cpu): row.median for row in analysed[Statistic]}
    assert medians["aws-m5a.large", "stress-ng-cores-0.17.08", "bogo_ops_per_s", False] == 200
    assert medians["aws-m5a.large", "stress-ng-cores-0.17.08", "bogo_ops_per_s", True] == 100
    assert medians["aws-m5a.large", "redis-set-7.4", "sets_per_s_pipeline_16", False] == 8000


def test_raw_files_are_kept_verbatim_and_the_report_names_the_source(tree: Path, tmp_path: Path) -> None:
    rows = imported(tree, tmp_path / "out")
    one = next(row for row in rows if row.configuration == "aws-m5a.large" and row.benchmark == "redis-set-7.4")
    raw = tmp_path / "out" / str(one.folder) / "raw" / "redis.stdout"
    assert raw.read_bytes() == (tree / "aws/m5a.large/redis/stdout").read_bytes()
    page = evaluation.report(ResultsFolder(tmp_path / "out")).path.with_name("evidence.html").read_text()
    assert "Measured by others" in page
    assert "SpareCores/sc-inspector-data" in page
    assert "argv of the tools: not stored" in page


def test_importing_again_gives_the_same_bytes(tree: Path, tmp_path: Path) -> None:
    def stored() -> dict[str, bytes]:
        out = tmp_path / "out"
        found = [
            path
            for path in out.rglob("*")
            if path.name not in {"lock", "verified.json", "index.json"} and path.is_file()
        ]
        return {str(path.relative_to(out)): path.read_bytes() for path in found}

    imported(tree, tmp_path / "out")
    first = stored()
    imported(tree, tmp_path / "out")
    assert stored() == first


@pytest.mark.parametrize(
    ("task", "text", "why"),
    [
        ("stressngfull", "1,100.00\n3,200.00\n2,150.00\n", "line 3"),
        ("stressngfull", "2,100.00\n", "line 1"),
        ("stressngfull", "1,0.00\n2,1.00\n", "line 1"),
        ("stressngfull", "1,nan\n", "line 1"),
        ("stressngfull", "1,100.00\n2,15", "cut off"),
        ("stressngfull", "", "empty"),
        ("redis", "", "empty"),
        ("redis", redis({}), "no rows"),
        ("redis", redis({1: 5}).replace("SET", "GET"), "a row is"),
        ("redis", redis({1: 5}) + '"SET",1,1,6,2,8,25,15,30\n', "a row is"),
        ("redis", redis({1: 5}) + '"SET",1,4\n', "a row is"),
        ("redis", redis({1: 0}), "a row is"),
        ("redis", redis({1: 5}) + "SET\rx\n", "new-line character"),
    ],
)
def test_damaged_output_is_a_failed_trial_with_its_reason(task: str, text: str, why: str, tmp_path: Path) -> None:
    write_task(tmp_path / "data", "aws/m5a.large", task, text)
    (row,) = imported(tmp_path / "data", tmp_path / "out")
    assert row.state == "failed"
    assert why in str(row.reasons[0])
    assert evaluation.analyze(ResultsFolder(tmp_path / "out"))[MeasurementRow] == []


@pytest.mark.parametrize(
    ("cpus", "meta", "verdict"),
    [
        (2, {}, VerdictKind.VALID),
        (4, {}, VerdictKind.INVALID),
        (2, {"exit_code": 1}, VerdictKind.INVALID),
        (2, {"exit_code": None}, VerdictKind.UNKNOWN),
        (2, {"start": "yesterday"}, VerdictKind.UNKNOWN),
    ],
)
def test_what_speaks_against_a_run_keeps_it_out(
    cpus: int, meta: dict[str, object], verdict: VerdictKind, tmp_path: Path
) -> None:
    write_task(tmp_path / "data", "aws/m5a.large", "lscpu", lscpu(cpus))
    write_task(tmp_path / "data", "aws/m5a.large", "stressngfull", cores([1, 2]), **meta)
    (row,) = imported(tmp_path / "data", tmp_path / "out")
    assert row.verdict is verdict


def test_a_series_without_lscpu_is_unknown_and_an_alien_task_is_told(tmp_path: Path) -> None:
    write_task(tmp_path / "data", "aws/m5a.large", "stressngfull", cores([1, 2]))
    write_task(tmp_path / "data", "aws/m5a.large", "geekbench", "{}")
    write_task(tmp_path / "data", "aws/m5a.large", "redis", redis({1: 5}))
    found = imports.import_results("spare-cores", tmp_path / "data", ResultsFolder(tmp_path / "out"))
    assert {row.benchmark: str(row.verdict) for row in found.trials} == {
        "stress-ng-cores-0.17.08": "unknown",
        "redis-set-0.17.08": "valid",
    }
    assert [*map(str, found.source.left_out)] == ["geekbench of 1 type: no importer"]


def test_large_machines_with_some_numbers_of_workers_are_read() -> None:
    assert spare_cores.parse_cores("1,10.0\n2,20.0\n36,300.5\n") == {1: 10.0, 2: 20.0, 36: 300.5}
    with pytest.raises(OutputUnreadable):
        spare_cores.parse_cores("1,10.0\n36,1e400\n")


def test_the_sqlite_form_gives_the_same_metrics_and_counts_what_it_leaves_out(tmp_path: Path) -> None:
    found = imports.import_results("spare-cores", write_sqlite(tmp_path / "sc.db"), ResultsFolder(tmp_path / "out"))
    assert {(row.configuration, row.benchmark) for row in found.trials} == {
        ("aws-m5a.large", "stress-ng-cores"),
        ("aws-m5a.large", "redis-set"),
    }
    assert sum(int(str(one).split(" ")[0]) for one in found.source.left_out) == 4
    analysed = evaluation.analyze(ResultsFolder(tmp_path / "out"))
    medians = {(row.metric, row.per_cpu): row.median for row in analysed[Statistic]}
    assert (medians["bogo_ops_per_s", True], medians["sets_per_s_pipeline_1", False]) == (75, 1000)
    assert analysed[MachineRow][0].facts.memory_bytes == 8 * 2**30


@pytest.mark.parametrize("said", ["2024-06-08T10:00:00+02:00", "2024-06-08T08:00:00", "2024-06-08T08:00:00Z"])
def test_a_time_with_an_offset_is_that_moment_and_one_without_is_in_utc(said: str, tmp_path: Path) -> None:
    eight_unix_ms = 1717833600000
    write_machine(tmp_path / "data", "aws/m5a.large")
    meta = tmp_path / "data" / "aws" / "m5a.large" / "redis" / "meta.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"start": said, "end": "2024-06-08T08:01:00+00:00"}))
    of_files = next(
        one for one in IMPORTERS["spare-cores"].read(tmp_path / "data").trials if one.benchmark == "redis-set-7.4"
    )
    assert (of_files.started_unix_ms, of_files.duration_s) == (eight_unix_ms, 60)
    with closing(sqlite3.connect(write_sqlite(tmp_path / "sc.db"))) as connection, connection:
        connection.execute("update benchmark_score set observed_at = ?", (said,))
    of_scores = IMPORTERS["spare-cores"].read(tmp_path / "sc.db").trials
    assert {one.started_unix_ms for one in of_scores} == {eight_unix_ms}


def test_damaged_sqlite_and_empty_folders_are_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no inspector data"):
        spare_cores.read(tmp_path)
    (tmp_path / "text.db").write_text("no database")
    with pytest.raises(InputError, match="not a SQLite file"):
        spare_cores.read(tmp_path / "text.db")
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("create table t (a)")
        connection.commit()
    with pytest.raises(InputError, match="no such table"):
        spare_cores.read(tmp_path / "other.db")
    whole = write_sqlite(tmp_path / "sc.db").read_bytes()
    (tmp_path / "sc.db").write_bytes(whole[: len(whole) // 3])
    with pytest.raises(InputError, match="cannot be read"):
        spare_cores.read(tmp_path / "sc.db")


def test_an_import_does_not_touch_a_study_and_cannot_be_parsed(tree: Path, tmp_path: Path) -> None:
    out = ResultsFolder(tmp_path / "out")
    imported(tree, tmp_path / "out")
    with pytest.raises(InputError, match="imported results"):
        evaluation.parse(out, None)  # type: ignore[arg-type]  # no clock is asked
    (tmp_path / "out" / "source.json").unlink()
    with pytest.raises(InputError, match="holds a study"):
        imported(tree, tmp_path / "out")


def test_the_shared_inspector_data_are_read_without_a_loss(tmp_path: Path) -> None:
    rows = imported(shared("inspector"), tmp_path / "out")
    assert len(rows) == 164
    assert len({row.configuration for row in rows}) == 82
    assert all(row.counts for row in rows)
    assert sorted({row.cpus for row in rows if row.cpus}) == [8, 16, 24, 30, 32, 36]
