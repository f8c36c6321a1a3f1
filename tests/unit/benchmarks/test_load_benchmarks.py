"""Parsers of nephoscope-load's output, on recorded real outputs and on damaged ones."""

import json
from pathlib import Path

import pytest

from nephoscope.benchmarks import load_output
from nephoscope.benchmarks.histograms import LEAST_BEYOND, Quantile, latencies, merged
from nephoscope.benchmarks.point_select import PointSelect, PointSelectParameters
from nephoscope.benchmarks.tpcc import Tpcc, TpccParameters
from nephoscope.errors import OutputUnreadable

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
        "a number that is none": TPCC.replace(b'"elapsed_s":', b'"elapsed_s":NaN,"x":'),
        "a damaged histogram": TPCC.replace(some_histogram, b"AAAA" + some_histogram[8:]).replace(
            b'"phase":"ramp"', b'"phase":"measure"'
        ),
    }


@pytest.mark.parametrize("name", damaged())
def test_a_damaged_output_is_refused_and_nothing_becomes_zero(name: str) -> None:
    with pytest.raises(OutputUnreadable):
        Tpcc().parse({"load-run.stdout": damaged()[name]}, TPCC_PARAMETERS)


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
