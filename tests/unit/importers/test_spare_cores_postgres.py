"""Spare Cores' PostgreSQL and the tasks beside it: a ladder, its highest rung, and what is damaged, doubled or old."""

import json
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.stages import evaluation, imports
from nephoscope.importers.spare_cores.report import read
from nephoscope.model.price_rows import CostRow
from nephoscope.model.records import VerdictKind
from nephoscope.store.folder import ResultsFolder
from tests.support.inspector_data import BW_MEM, MEMBENCH, WEB, ladder, lscpu, write_task
from tests.support.shared_data import shared

POSTGRES = "pgbench_postgres_multi_ro_durable"
RUNGS = {1: 100.0, 2: 190.0, 4: 180.0}
DAY = {"start": "2026-08-03T11:00:00", "end": "2026-08-03T11:25:00", "version": "main"}
INTEL = {"Vendor ID": "GenuineIntel", "Model name": "Intel(R) Xeon(R) CPU @ 2.80GHz", "CPU family": "6", "Model": "85"}


def write_postgres(root: Path, text: str, *, kind: str = "gcp/n2-standard-2", **meta: Any) -> None:
    write_task(root, kind, "lscpu", lscpu(2, INTEL), **(DAY | {"version": "2.39.3"} | meta))
    write_task(root, kind, POSTGRES, text, **DAY)


def test_a_ladder_becomes_its_highest_rung_a_curve_latencies_settings_and_memory(tmp_path: Path) -> None:
    write_postgres(tmp_path, ladder(2, RUNGS))
    (trial,) = read(tmp_path).trials
    values = {one.metric: one.value for one in trial.measurements}
    assert (values["transactions_per_min"], values["clients"]) == (190, 2)
    assert {key: values[f"transactions_per_min_{key}_clients"] for key in RUNGS} == RUNGS
    assert values["latency_mean"] == pytest.approx(120 / 190)
    assert (values["latency_p50"], values["latency_p95"]) == (0.2, 0.4)
    assert "latency_p99" not in values, "of 60 transactions, the 99th percentile is the maximum"
    assert trial.settings == {"jit": "off", "shared_buffers": "1GB"}
    assert trial.facts is not None
    assert (trial.facts.memory_bytes, trial.facts.cpu_family) == (round(3.8 * 1024**3), 6)
    assert {one.verdict for one in trial.verdicts} == {VerdictKind.VALID}
    assert trial.machine.priced_in == "us-central1"


def test_a_ladder_that_falls_and_a_type_with_shared_vcpus_are_named(tmp_path: Path) -> None:
    write_postgres(tmp_path, ladder(2, {1: 40.0, 2: 32.0, 4: 45.0}), kind="gcp/e2-medium")
    write_postgres(tmp_path, ladder(2, RUNGS | {4: 180.6}))
    odd = [line for line in read(tmp_path).unknown if "gcp-" in line]
    assert ["gcp-e2-medium" in line for line in odd] == [True, True]
    assert not any("n2-standard-2" in line for line in odd)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ladder(2, RUNGS)[:-1], "pgbench JSON"),
        (ladder(2, RUNGS) * 2, "2 documents"),
        (ladder(2, RUNGS, score_unit="tps"), "not transactions a minute"),
        (ladder(2, {2: 190.0, 1: 100.0}), "do not rise"),
        (ladder(2, RUNGS, db_vcpus="2"), "db_vcpus"),
        (ladder(2, RUNGS).replace('"tpm": 100.0', '"tpm": -100.0'), "tpm"),
        (ladder(2, RUNGS).replace('"p95": 400.0', '"p95": 100.0'), "percentiles"),
        (ladder(2, RUNGS).replace('"postgres"', '"mysql"'), "postgres"),
        ("", "empty"),
    ],
)
def test_a_damaged_ladder_is_a_failed_trial_of_the_benchmark_that_others_have(
    text: str, why: str, tmp_path: Path
) -> None:
    write_postgres(tmp_path, text)
    write_postgres(tmp_path, ladder(2, RUNGS), kind="gcp/n2-standard-4")
    damaged, whole = read(tmp_path).trials
    assert damaged.failure is not None
    assert why in damaged.failure
    assert damaged.measurements == []
    assert damaged.benchmark == whole.benchmark


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ladder(2, RUNGS, score=200.0), "the score is 200"),
        (ladder(2, RUNGS).replace('"tx_failed": 0', '"tx_failed": 3', 1), "3 transactions failed"),
        (ladder(2, RUNGS).replace('"tx_processed": 500', '"tx_processed": 600'), "120 by transactions"),
        (ladder(4, RUNGS), "lscpu saw 2 CPUs"),
    ],
)
def test_a_ladder_that_contradicts_itself_counts_for_nothing(text: str, why: str, tmp_path: Path) -> None:
    write_postgres(tmp_path, text)
    (trial,) = read(tmp_path).trials
    assert [why in str(one.reason) for one in trial.verdicts if one.verdict is VerdictKind.INVALID] == [True]


def test_old_facts_do_not_name_the_cpu_and_copies_and_missing_outputs_are_said(tmp_path: Path) -> None:
    write_postgres(tmp_path / "a", ladder(2, RUNGS), start="2024-06-01T00:00:00")
    write_postgres(tmp_path / "a", ladder(2, RUNGS), kind="gcp/e2-standard-2", start="2024-06-01T00:00:00")
    write_postgres(tmp_path / "b", ladder(2, RUNGS))
    write_task(tmp_path / "a", "gcp/n2-standard-2", "redis", "").joinpath("stdout").unlink()
    study = read(tmp_path)
    assert [(one.machine.name, one.facts.cpu_vendor, one.facts.cpu_model) for one in study.trials if one.facts] == [
        ("gcp-e2-standard-2", None, None),
        ("gcp-n2-standard-2", "GenuineIntel", None),
    ]
    assert any("CPU under PostgreSQL on 2 of 3 types" in line for line in study.unknown)
    assert study.refused == [
        f"b/gcp/n2-standard-2/{POSTGRES}: a copy of a/gcp/n2-standard-2/{POSTGRES}, which counts once"
    ]
    assert study.left_out == ["a/gcp/n2-standard-2/redis: no output"]


def test_memory_and_web_tasks_become_their_largest_working_set_and_highest_rate(tmp_path: Path) -> None:
    for task, text in {"membench": MEMBENCH, "bw_mem": BW_MEM, "static_web": WEB}.items():
        write_task(tmp_path, "gcp/n2-standard-2", task, text)
    values = {one.metric: one.value for trial in read(tmp_path).trials for one in trial.measurements}
    assert values["latency_memory"] == pytest.approx(100.5e-9)
    assert values["latency_1024_kib"] == values["latency_cache"] == pytest.approx(5e-9)
    assert values["read_bytes_per_s_1024_kib"] == 4000.5e6
    assert values["read_and_write_bytes_per_s"] == 70e6
    assert values["read_bytes_per_s_0_016384_mb"] == 900.5e6
    assert (values["requests_per_s_1k"], values["requests_per_s_16k"]) == (150, 50)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("membench", MEMBENCH.replace("copy", "swap")),
        ("membench", MEMBENCH + "131072,latency,0,100.5,0.01,7,1,7,0.6\n"),
        ("membench", MEMBENCH.replace("100.5", "0")),
        ("membench", MEMBENCH[:-3]),
        ("membench", MEMBENCH.replace("size_kb", "size")),
        ("bw_mem", BW_MEM + "rd 64.00 90.5\n"),
        ("bw_mem", BW_MEM.replace("rdwr", "xx")),
        ("bw_mem", "rd 64.00 90.5\n"),
        ("static_web", WEB.replace("150,0.00004,0", "150,0.00004,7")),
        ("static_web", WEB + '"1k",1,2,150,0.00004,0,1.9,3.0,0.9,4.1\n'),
        ("static_web", WEB.replace("150", "nan")),
    ],
)
def test_damaged_tasks_beside_it_are_failed_trials(task: str, text: str, tmp_path: Path) -> None:
    write_task(tmp_path, "gcp/n2-standard-2", task, text)
    (trial,) = read(tmp_path).trials
    assert trial.failure is not None
    assert trial.measurements == []


def test_the_published_data_of_2026_are_imported_whole() -> None:
    data = shared("inspector-postgres/data")
    study = read(data)
    assert study.refused == []
    assert len(study.left_out) == 3, "two types lack Redis, one of them the web server"
    of_postgres = [trial for trial in study.trials if trial.identity.tool == "pgbench"]
    assert len(of_postgres) == 159
    assert {verdict.verdict for trial in study.trials for verdict in trial.verdicts} == {VerdictKind.VALID}
    for trial in of_postgres:
        stored = json.loads((data / trial.origin / "stdout").read_bytes())
        assert {one.metric: one.value for one in trial.measurements}["transactions_per_min"] == stored["score"]
        assert len(trial.settings) == len(stored["postgres"]["settings"])
    assert study.priced is not None
    assert study.priced.on == "2026-08-03"


def test_an_import_of_postgres_is_priced_at_its_newest_day_on_four_bases(tmp_path: Path) -> None:
    write_postgres(tmp_path / "data", ladder(2, RUNGS))
    folder = ResultsFolder(tmp_path / "out")
    imports.import_results("spare-cores", tmp_path / "data", folder)
    costs = {row.basis: row for row in evaluation.analyze(folder)[CostRow]}
    assert set(costs) == {"on-demand", "spot", "reserved-1y", "reserved-3y"}
    assert all(row.region == "us-central1" and row.month_usd for row in costs.values())
