"""Parsers of nephoscope-load's output, on recorded real outputs and on damaged ones."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks import load_output
from nephoscope.benchmarks.histograms import LEAST_BEYOND, Quantile, latencies, merged
from nephoscope.benchmarks.point_select import PointSelect, PointSelectParameters
from nephoscope.benchmarks.tpcc import Tpcc, TpccParameters
from nephoscope.databases.base import Endpoint
from nephoscope.errors import OutputUnreadable, ToolFailed
from nephoscope.machines.remote import Completed, MachineHandle
from tests.support.site import site_here

DATA = Path(__file__).parents[2] / "data"
TPCC = (DATA / "tpcc" / "run.jsonl").read_bytes()
POINT_SELECT = (DATA / "point-select" / "run.jsonl").read_bytes()
TPCC_PARAMETERS = TpccParameters(warehouses=1, ramp_s=1, duration_s=3)


def values_of(text: bytes) -> dict[str, float]:
    rows = Tpcc().parse({"load-run.stdout": text}, TPCC_PARAMETERS)
    return {row.metric: row.value for row in rows if row.at_s is None}


def test_tpcc_is_read_as_its_own_totals_say() -> None:
    finished = json.loads(TPCC.splitlines()[-1])
    new_orders = sum(row["measured"] for row in finished["operations"] if row["operation"] == "new_order")
    everything = sum(row["measured"] for row in finished["operations"])
    values = values_of(TPCC)
    assert values["new_orders_per_minute"] == pytest.approx(60 * new_orders / finished["measured_s"], rel=1e-12)
    assert values["transactions_per_s"] == pytest.approx(everything / finished["measured_s"], rel=1e-12)
    assert values["client_cpu"] == pytest.approx(finished["client_cpu_s"] / finished["measured_s"], rel=1e-12)
    assert 8 < values["round_trips_per_transaction"] < 9
    assert 0 < values["new_order.service_p50"] < values["new_order.service_p99"] < 1
    declared = {metric.name: metric.unit for metric in Tpcc().metrics(TPCC_PARAMETERS)}
    rows = Tpcc().parse({"load-run.stdout": TPCC}, TPCC_PARAMETERS)
    assert {row.metric: row.unit for row in rows}.items() <= declared.items()


def test_rates_come_with_their_series_and_the_ramp_is_in_it_but_not_in_the_rate() -> None:
    rows = [row for row in Tpcc().parse({"load-run.stdout": TPCC}, TPCC_PARAMETERS) if row.at_s is not None]
    intervals = [json.loads(line) for line in TPCC.splitlines()[1:-1]]
    assert {row.at_s for row in rows} == {interval["end_s"] for interval in intervals}
    assert {"ramp", "measure"} == {interval["phase"] for interval in intervals}


def test_point_selects_are_read() -> None:
    parameters = PointSelectParameters(rows=1000, ramp_s=0.5, duration_s=2)
    rows = PointSelect().parse({"load-run.stdout": POINT_SELECT}, parameters)
    values = {row.metric: row.value for row in rows if row.at_s is None}
    finished = json.loads(POINT_SELECT.splitlines()[-1])
    assert values["selects_per_s"] == finished["operations"][0]["measured"] / finished["measured_s"]
    assert {row.metric: row.unit for row in rows}.items() <= {
        metric.name: metric.unit for metric in PointSelect().metrics(parameters)
    }.items()


def test_evidence_for_the_checks() -> None:
    evidence = Tpcc().operations({"load-run.stdout": TPCC}, TPCC_PARAMETERS, client_cpus=2)
    finished = json.loads(TPCC.splitlines()[-1])
    assert evidence.attempted == sum(row["measured"] for row in finished["operations"])
    assert (evidence.failed, evidence.exit_code, evidence.broken_conditions) == (0, 0, [])
    assert evidence.conditions_checked == 15
    assert (evidence.counters_compared, evidence.counters_expected, evidence.failed_audits) == (2, True, [])
    assert evidence.audits_passed > 30
    assert evidence.client_cpu_share == finished["client_cpu_s"] / finished["measured_s"] / 2


def without_durations(which: str) -> bytes:
    """The recording with the histograms of one clock empty, as if every duration had been out of range."""
    rows = [json.loads(line) for line in TPCC.splitlines()]
    for row in rows[1:-1]:
        for operation in row["operations"]:
            operation["out_of_range"] = operation["count"]
            operation["histograms"][which] = merged([]).encode().decode()
    return b"\n".join(json.dumps(row).encode() for row in rows)


def damaged() -> dict[str, bytes]:
    lines = TPCC.splitlines(keepends=True)
    some_histogram = json.loads(lines[1])["operations"][0]["histograms"]["service"].encode()
    return {
        "nothing": b"",
        "garbage": b"garbage",
        "no first line": b"".join(lines[1:]),
        "no last line": b"".join(lines[:-1]),
        "cut in a line": TPCC[: len(TPCC) // 2],
        "only the first line": lines[0],
        "two outputs": TPCC + TPCC,
        "a line of another program": TPCC + b"done\n",
        "a newer contract": TPCC.replace(b"load-output/1", b"load-output/2"),
        "an unknown key": TPCC.replace(b'"phase"', b'"face"', 1),
        "a negative count": lines[0] + lines[1].replace(b'"count":', b'"count":-', 1) + b"".join(lines[2:]),
        "an interval is missing": b"".join(lines[:2] + lines[3:]),
        "an interval stands twice": b"".join([*lines[:2], *lines[1:]]),
        "intervals are out of order": b"".join([lines[0], lines[2], lines[1], *lines[3:]]),
        "the first interval is missing": lines[0] + b"".join(lines[2:]),
        "the last interval is missing": b"".join(lines[:-2]) + lines[-1],
        "other counts than in the totals": TPCC.replace(b'"measured":', b'"measured":1', 1),
        "a total is of another operation": b"".join(lines[:-1]) + lines[-1].replace(b'"delivery"', b'"deliverance"', 1),
        "durations out of range": without_durations("service"),
        "a number that is none": TPCC.replace(b'"elapsed_s":', b'"elapsed_s":NaN,"x":'),
        "a damaged histogram": TPCC.replace(some_histogram, b"AAAA" + some_histogram[8:]).replace(
            b'"phase":"ramp"', b'"phase":"measure"'
        ),
    }


@pytest.mark.parametrize("name", damaged())
def test_a_damaged_output_is_refused_and_nothing_becomes_zero(name: str) -> None:
    with pytest.raises(OutputUnreadable):
        Tpcc().parse({"load-run.stdout": damaged()[name]}, TPCC_PARAMETERS)


def test_the_damage_is_done() -> None:
    """A replacement that finds nothing would prove nothing."""
    assert TPCC not in damaged().values()


def test_an_output_that_was_stopped_early_is_evidence() -> None:
    """Exit codes 6 and 130 write fewer intervals; what is there adds up."""
    lines = POINT_SELECT.splitlines(keepends=True)
    finished = json.loads(lines[-1])
    (total,) = finished["operations"]
    total["measured"] -= sum(row["count"] for row in json.loads(lines[-2])["operations"])
    stopped = {**finished, "exit_code": 130, "message": "interrupted", "measured_s": 1.0}
    text = b"".join(lines[:-2]) + json.dumps(stopped).encode()
    assert load_output.evidence(load_output.read(text), None).exit_code == 130
    assert load_output.evidence(load_output.read(text), None).client_cpu_share is None


def test_queue_times_below_the_clock_are_counted_and_not_lost() -> None:
    values = values_of(without_durations("queue"))
    assert values["payment.queue_p99"] == values["payment.queue_mean"] == pytest.approx(1e-9)
    assert values["payment.service_p99"] == values_of(TPCC)["payment.service_p99"]


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(OutputUnreadable):
        Tpcc().parse({}, TPCC_PARAMETERS)


def test_merged_histograms_are_the_exact_sum() -> None:
    output = load_output.read(TPCC)
    texts = [row.histograms.service for interval in output.measured for row in interval.operations]
    assert merged(texts).get_total_count() == sum(merged([text]).get_total_count() for text in texts)
    assert merged([]).get_total_count() == 0


def test_a_percentile_is_told_only_with_ten_values_beyond_it() -> None:
    histogram = merged([])
    for value_ns in range(1, 1000):
        histogram.record_value(value_ns * 1000)
    told = {row.metric for row in latencies("x", histogram)}
    assert told == {"x_mean", "x_p50", "x_p90", "x_p95"}
    histogram.record_value(1_000_000)
    assert LEAST_BEYOND - 1e-9 <= 1000 * (1 - 0.99)
    assert "x_p99" in {row.metric for row in latencies("x", histogram)}
    assert latencies("x", merged([])) == []


@pytest.mark.parametrize("value", [0, 1, 50, 99, -0.1])
def test_a_quantile_lies_between_0_and_1(value: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Quantile(value)


class _Says:
    """The `Execute` of a site whose load generator ends like this."""

    def __init__(self, stdout: bytes, exit_code: int) -> None:
        self.stdout, self.exit_code = stdout, exit_code
        self.timeouts_s: list[float] = []

    async def __call__(
        self, machine: MachineHandle, name: str, argv: Sequence[str], *, timeout_s: float, **_: Any
    ) -> Completed:
        self.timeouts_s.append(timeout_s)
        return Completed(tuple(argv), self.exit_code, self.stdout, b"", 1.0)


def drive(folder: Path, says: _Says, parameters: TpccParameters = TPCC_PARAMETERS) -> None:
    site, _ = site_here(folder)
    endpoint = Endpoint("postgresql://db/x", {}, "18", "fake")
    asyncio.run(Tpcc().run(replace(site, execute=says, endpoint=endpoint), parameters))


def test_a_broken_data_set_fails_the_trial_in_the_programs_own_words(tmp_path: Path) -> None:
    first, *_, last = TPCC.splitlines()
    finished = json.loads(last) | {
        "exit_code": 5,
        "measured_s": None,
        "operations": [],
        "message": "condition 3 does not hold",
    }
    with pytest.raises(ToolFailed, match="measured nothing: condition 3 does not hold"):
        drive(tmp_path, _Says(first + b"\n" + json.dumps(finished).encode(), 5))
    drive(tmp_path, _Says(TPCC, 5))


def test_a_large_data_set_is_given_more_time(tmp_path: Path) -> None:
    small, large = _Says(TPCC, 0), _Says(TPCC, 0)
    drive(tmp_path, small)
    drive(tmp_path, large, TPCC_PARAMETERS.model_copy(update={"warehouses": 1000}))
    assert large.timeouts_s[0] > small.timeouts_s[0] + 3600
