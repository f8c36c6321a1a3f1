"""PostgresBench's files: what a service is, what is compared, what fell, and what is damaged."""

import json
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.stages import evaluation, imports
from nephoscope.importers.postgresbench import RUN, read
from nephoscope.model.errors import InputError
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import Statistic
from nephoscope.store.folder import ResultsFolder

STANDBY = {"label": "HA", "mode": "sync", "standbys": 1, "live_settings": {"synchronous_commit": "on", "names": None}}


def run(number: int, rates: list[float] | None = None, tps: float = 100.0, **other: Any) -> dict[str, Any]:
    """Of ten minutes; rates of half minutes as the files of July 2026 have them, and of what came after the end."""
    latencies = {"latency_avg_ms": 50.2, "latency_p95_ms": 88.6, "latency_p99_ms": 117.9}
    whole = {
        "run": number,
        "tps": tps,
        "transactions": round(tps * 600),
        "failed_transactions": 0,
        **latencies,
        **other,
    }
    if rates is None:
        return whole
    series = [
        {"interval": at, "elapsed_s": 30 * at, "tps": rate, "transactions": round(rate * 30)}
        for at, rate in enumerate([*rates, 0.1])
    ]
    return whole | {"interval_seconds": 30, "timeseries": series}


def write(root: Path, name: str, *runs: dict[str, Any], scale: int = 6849, vcpus: int = 4, **other: Any) -> None:
    instance = {"type": "db.m8gd.xlarge", "vcpus": vcpus, "ram_gb": 16, "primary_storage": "1000 GB - GP3"}
    benchmark = {"tool": "pgbench", "workload": "TPC-B (built-in)", "scale_factor": scale, "clients": 256}
    benchmark |= {"threads": 16, "duration": 600, "query_mode": "prepared"}
    document = {"system": "AWS RDS", "date": "2026-03-17", "instance": instance, "cluster_size": 1, "tuned": "no"}
    document |= {"postgres_version": "18.3", "benchmark": benchmark, "results": list(runs) or [run(1)]}
    (root / name).write_text(json.dumps(document | other), encoding="utf-8")


def test_three_runs_are_repeats_on_one_instance(tmp_path: Path) -> None:
    write(tmp_path, "rds.json", *(run(number, tps=100.0 + number) for number in (3, 1, 2)))
    trials = read(tmp_path).trials
    assert [trial.measurements[0].value for trial in trials] == [101, 102, 103], "in the order in which they ran"
    assert {trial.machine.name for trial in trials} == {"aws-rds-db.m8gd.xlarge-4-vcpus-1000-gb-gp3"}
    assert len({trial.same_machine for trial in trials}) == 1
    (trial, *_) = trials
    values = {each.metric: each.value for each in trial.measurements}
    assert (values["latency_mean"], values["latency_p99"]) == (0.0502, 0.1179)
    assert (trial.cpus, trial.tool_versions) == (4, {"postgres": "18.3"})


def test_unequal_copies_scales_and_tuning_are_other_benchmarks(tmp_path: Path) -> None:
    write(tmp_path, "a.json")
    write(tmp_path, "b.json", ha=STANDBY, region="us-east-2", cloud="aws")
    write(tmp_path, "c.json", scale=34247)
    write(tmp_path, "d.json", tuned="yes", date="2026-03-18")
    study = read(tmp_path)
    assert len({trial.benchmark for trial in study.trials}) == 4
    replicated = next(trial for trial in study.trials if trial.settings)
    assert replicated.settings == {"synchronous_commit": "on"}
    assert replicated.machine.name.startswith("aws-rds-db.m8gd.xlarge-4-vcpus-1-standby-sync-us-east-")
    assert replicated.machine.provider == "aws"


def test_sizes_of_data_are_boards_of_their_own(tmp_path: Path) -> None:
    """A service measured at one size only has no value at the other."""
    source = tmp_path / "source"
    source.mkdir()
    for vcpus, scales in ((4, (6849,)), (16, (6849, 34247))):
        for scale in scales:
            runs = (run(number, tps=float(vcpus * 100 + number)) for number in (1, 2, 3))
            write(source, f"{vcpus}-{scale}.json", *runs, scale=scale, vcpus=vcpus)
    folder = ResultsFolder(tmp_path / "results")
    imports.import_results("postgresbench", source, folder)
    measured = {
        (row.benchmark.partition("scale-")[2].partition("-")[0], row.configuration)
        for row in evaluation.analysed(folder)[Statistic]
    }
    assert {scale for scale, name in measured if "-4-vcpus" in name} == {"6849"}
    assert {scale for scale, name in measured if "-16-vcpus" in name} == {"6849", "34247"}


def test_a_rate_that_falls_is_told_and_what_came_after_the_end_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a.json", run(1, [170.0, 160.0] + [93.0] * 18, tps=100.0), run(2, [100.0] * 20, tps=100.0))
    study = read(tmp_path)
    (fall,) = [line for line in study.unknown if "run 1" in line]
    assert "from 170 transactions a second at first to 93 in its last half (45 % less)" in fall
    assert not any("run 2" in line for line in study.unknown)
    series = [each for each in study.trials[0].measurements if each.at_s is not None]
    assert ([series[0].at_s, series[-1].at_s], len(series)) == ([30, 600], 20)
    values = {each.metric: each.value for each in study.trials[0].measurements if each.at_s is None}
    assert values["transactions_per_s_last_half"] == 93


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        (run(1, failed_transactions=3), "3 transactions failed"),
        (run(1, transactions=50_000), "83 by transactions and seconds"),
        (run(1, [90.0] * 20), "its intervals have 54,003"),
    ],
)
def test_a_run_whose_numbers_contradict_each_other_is_rejected(
    tmp_path: Path, damaged: dict[str, Any], why: str
) -> None:
    write(tmp_path, "a.json", damaged)
    (trial,) = read(tmp_path).trials
    (verdict,) = [each for each in trial.verdicts if each.check == RUN]
    assert verdict.verdict is VerdictKind.INVALID
    assert why in str(verdict.reason)


@pytest.mark.parametrize(
    ("runs", "other", "why"),
    [
        ([run(1), run(1)], {}, "two runs have one number"),
        ([run(1, latency_p99_ms=1.0)], {}, "percentiles that do not rise"),
        ([run(1, tps=-1.0)], {}, "tps"),
        ([run(1, latency_avg_ms="50")], {}, "latency_avg_ms"),
        ([], {"results": []}, "results"),
        ([run(1)], {"instance": {"type": "x", "vcpus": 0, "ram_gb": 1}}, "vcpus"),
        ([run(1)], {"ha": {"mode": "semi", "standbys": 1}}, "ha.mode"),
    ],
)
def test_a_damaged_file_is_named_and_the_others_are_read(
    tmp_path: Path, runs: list[dict[str, Any]], other: dict[str, Any], why: str
) -> None:
    write(tmp_path, "damaged.json", *runs, **other)
    with pytest.raises(InputError, match=r"no result of PostgresBench.*damaged\.json"):
        read(tmp_path)
    write(tmp_path, "whole.json")
    study = read(tmp_path)
    assert len(study.trials) == 1
    assert why in study.refused[0]


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.json")
    text = (tmp_path / "a.json").read_text()
    for length in range(0, len(text) - 1, 41):
        (tmp_path / "a.json").write_text(text[:length])
        with pytest.raises(InputError):
            read(tmp_path)
