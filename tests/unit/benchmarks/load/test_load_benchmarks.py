"""Parsers of nephoscope-load's output, on recorded real outputs and on damaged ones."""

import asyncio
import base64
import json
import math
import random
import struct
import zlib
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.database.point_select import PointSelect, PointSelectParameters
from nephoscope.benchmarks.database.tpcc import Tpcc, TpccParameters
from nephoscope.benchmarks.histograms import Quantile, latencies, mean_ns, merged, value_ns
from nephoscope.benchmarks.load import output as load_output
from nephoscope.databases.base import Endpoint
from nephoscope.machines.remote import Command, Completed, MachineHandle
from nephoscope.model.errors import OutputUnreadable, ToolFailed
from nephoscope.model.records import Saturation
from tests.support.load_lines import Line, at_rate, changed, histogram_of, with_a_retry, with_client, with_waits
from tests.support.site import site_here

DATA = Path(__file__).parents[3] / "data"
TPCC = (DATA / "tpcc" / "run.jsonl").read_bytes()
WITHOUT_THREADS = (DATA / "tpcc" / "run-without-threads.jsonl").read_bytes()
POINT_SELECT = (DATA / "point-select" / "run.jsonl").read_bytes()
TPCC_PARAMETERS = TpccParameters(warehouses=1, ramp_s=1, duration_s=3)
WITH_WAITS = TPCC_PARAMETERS.model_copy(update={"wait": "spec"})


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


def test_the_counters_of_a_server_are_expected_of_what_it_counts() -> None:
    def expected(workload: Line, shards: int = 1, **target: str) -> bool:
        def of(line: Line) -> None:
            if line["event"] == "started":
                line["spec"]["workload"] = workload
                line["spec"]["target"] |= target
                line["shards"] = shards

        return load_output.evidence(load_output.read(changed(POINT_SELECT, of)), 2).counters_expected

    select, kv = {"kind": "point_select", "rows": 1000}, {"kind": "kv", "rows": 1000}
    assert expected(select)
    assert not expected(select, dialect="cockroachdb"), "it does not count reads by table"
    assert not expected(select, shards=2), "statistics of tables are those of all sessions"
    assert expected(kv, dialect="cockroachdb")
    assert expected(kv, shards=2), "rows are counted before all of them began, and after all have ended"
    assert not expected({"kind": "null"})


@pytest.mark.parametrize("prepared", ["named", "unnamed"])
def test_how_statements_are_prepared_is_passed_on_and_only_a_choice_changes_the_id(
    tmp_path: Path, prepared: Any
) -> None:
    site, _ = site_here(tmp_path)
    endpoint = Endpoint("postgresql://u@h/d", {}, "18.0", "user")
    left = PointSelectParameters(rows=1000)
    assert "prepared" not in left.model_dump()
    assert "prepared" not in PointSelectParameters(rows=1000, prepared="auto").model_dump()
    made = PointSelectParameters(rows=1000, prepared=prepared)
    assert made.model_dump() == {**left.model_dump(), "prepared": prepared}
    specs = [PointSelect().run_spec(site, endpoint, one).model_dump() for one in (left, made)]
    assert [spec["target"].get("prepared") for spec in specs] == [None, prepared]


def test_deferred_work_of_several_load_machines_is_of_all_that_was_queued() -> None:
    def with_lines(*lines: tuple[str, float, int]) -> dict[str, float]:
        def of(line: Line) -> None:
            if line["event"] == "finished":
                line["audit"] = [
                    {"name": name, "observed": observed, "low": 0.9, "high": 1, "draws": draws, "passed": True}
                    for name, observed, draws in lines
                ]

        return values_of(changed(TPCC, of))

    name = "deferred_within_80_s"
    assert with_lines((name, 0.95, 200))[name] == pytest.approx(95)
    both = with_lines((f"{name}.shard_0", 1.0, 300), (f"{name}.shard_1", 0.9, 100), ("mix.shard_0", 0.5, 100))
    assert both[name] == pytest.approx(97.5)
    assert name not in with_lines((f"{name}.shard_0", 0.0, 0))


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


def tpcc_values(text: bytes, parameters: TpccParameters) -> dict[str, float]:
    rows = Tpcc().parse({"load-run.stdout": text}, parameters)
    declared = {metric.name: metric.unit for metric in Tpcc().metrics(parameters)}
    assert {row.metric: row.unit for row in rows}.items() <= declared.items()
    return {row.metric: row.value for row in rows if row.at_s is None}


def test_with_waits_the_number_is_tpmc_and_has_two_efficiencies() -> None:
    values = tpcc_values(with_waits(TPCC, warehouses=20, active_warehouses=10), WITH_WAITS)
    assert values["tpmc"] == values_of(TPCC)["new_orders_per_minute"]
    assert values["efficiency_of_12_86"] == pytest.approx(100 * values["tpmc"] / (12.86 * 10))
    assert values["efficiency_of_12_605"] == pytest.approx(100 * values["tpmc"] / (12.605 * 10))
    assert "new_orders_per_minute" not in values
    assert values["payment.response_p99"] >= values["payment.service_p99"]


@pytest.mark.parametrize(
    ("parameters", "recording"),
    [
        (TPCC_PARAMETERS, TPCC),
        (WITH_WAITS.model_copy(update={"wait_factor": 0.5}), with_waits(TPCC, wait_factor=0.5)),
    ],
)
def test_without_the_waits_of_the_specification_there_is_no_efficiency(
    parameters: TpccParameters, recording: bytes
) -> None:
    values = tpcc_values(recording, parameters)
    assert "new_orders_per_minute" in values
    assert not [name for name in values if "efficiency" in name or name == "tpmc"]
    assert not [metric.name for metric in Tpcc().metrics(parameters) if "efficiency" in metric.name]
    assert "No tpmC and no efficiency" in Tpcc().notes(parameters)[-1]
    assert Tpcc().operations({"load-run.stdout": recording}, parameters, 2).requirements == []


def test_without_waits_response_time_is_not_told() -> None:
    assert not [name for name in values_of(TPCC) if ".response_" in name]


def test_the_headline_names_waits_and_its_clock_the_profile() -> None:
    found = [
        Tpcc().metrics(TpccParameters.model_validate(given))[0]
        for given in ({"profile": "chatty"}, {"wait": "spec"}, {"wait": "spec", "wait_factor": 0.1})
    ]
    assert [metric.title for metric in found] == [
        "TPC-C New-Orders per minute, no wait times",
        "TPC-C tpmC",
        "TPC-C New-Orders per minute, wait times x 0.1",
    ]
    assert ["; profile chatty;" in metric.clock for metric in found] == [True, False, False]


def test_the_rule_of_the_specification_is_asked_where_there_are_waits() -> None:
    found = Tpcc().operations({"load-run.stdout": with_waits(TPCC)}, WITH_WAITS, 2).requirements
    assert {one.source for one in found} == {"TPC-C 5.2.5 and 4.2"}
    known = {one.what: one.met for one in found if one.observed is not None}
    assert known["new order p90"] is True
    assert known["tpmC per warehouse"] is True
    of_2021 = WITH_WAITS.model_copy(update={"edition": "cr2021"})
    asked = Tpcc().operations({"load-run.stdout": with_waits(TPCC)}, of_2021, 2).requirements
    assert [one.what for one in asked] == ["efficiency of 12.86", "new order p95"]


def test_retries_are_counted_and_single_attempts_told() -> None:
    assert values_of(TPCC)["retries_per_operation"] == 0
    assert not [name for name in values_of(TPCC) if ".attempt_" in name]
    retried = with_a_retry(TPCC, "payment", (3_000_000, 5_000_000))
    values = tpcc_values(retried, TPCC_PARAMETERS)
    ended = sum(row["measured"] for row in json.loads(TPCC.splitlines()[-1])["operations"])
    assert values["retries_per_operation"] == pytest.approx(1 / ended)
    assert [name for name in values if ".attempt_" in name] == ["payment.attempt_mean", "payment.attempt_p99"]
    (row,) = Tpcc().operations({"load-run.stdout": retried}, TPCC_PARAMETERS, 2).errors
    assert (row.operation, row.sqlstate, row.kind, row.count) == ("payment", "40001", "retried", 1)


def test_an_open_pace_tells_what_was_offered_and_ranks_by_response_time() -> None:
    parameters = PointSelectParameters(rows=1000, ramp_s=0.5, duration_s=2, pace="constant", rate_per_s=100)
    text = at_rate(POINT_SELECT, 100, offered=200_000, not_sent=7)
    rows = PointSelect().parse({"load-run.stdout": text}, parameters)
    values = {row.metric: row.value for row in rows if row.at_s is None}
    assert values["offered_per_s"] == pytest.approx(200_000 / json.loads(text.splitlines()[-1])["measured_s"])
    headlines = [metric.name for metric in PointSelect().metrics(parameters) if metric.headline]
    assert headlines == ["point_select.response_p99"]
    assert values["point_select.response_p99"] > 0
    evidence = PointSelect().operations({"load-run.stdout": text}, parameters, 2)
    assert (evidence.offered, evidence.not_sent) == (200_000, 7)


@pytest.mark.parametrize("given", [{"pace": "poisson"}, {"rate_per_s": 5.0}])
def test_a_rate_belongs_to_an_open_pace(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="rate_per_s"):
        PointSelectParameters.model_validate(given)


def saturation_of(text: bytes, calibration: bytes | None = None) -> Saturation | None:
    raw = {"load-run.stdout": text} | ({} if calibration is None else {"load-calibration.stdout": calibration})
    return Tpcc().operations(raw, TPCC_PARAMETERS, 2).saturation


@pytest.mark.parametrize(("measured_s", "steal_s"), [(5e-324, 0.0), (1e-300, 1.0), (1e-9, 1e99)])
def test_shares_that_cannot_be_are_damage_and_no_defect(measured_s: float, steal_s: float) -> None:
    def change(line: Line) -> None:
        if line["event"] == "finished":
            line["measured_s"] = measured_s

    text = changed(with_client(TPCC, steal_s=steal_s), change)
    with pytest.raises(OutputUnreadable, match="cannot be: Input should be"):
        Tpcc().operations({"load-run.stdout": text}, TPCC_PARAMETERS, 1)


def test_an_output_without_threads_says_nothing_of_saturation() -> None:
    assert saturation_of(WITHOUT_THREADS) is None
    assert "generator_thread_cpu_share" not in values_of(WITHOUT_THREADS)


def test_an_output_that_says_nothing_of_its_threads_is_read() -> None:
    values = values_of(WITHOUT_THREADS)
    assert values["new_orders_per_minute"] == pytest.approx(60 * (1702 + 22) / 3)
    assert values["round_trips_per_transaction"] == pytest.approx(42036 / 5012)
    assert "generator_thread_cpu_share" in values_of(TPCC)


@pytest.mark.parametrize(("workload", "rows"), [("tpcc", 100_000), ("point-select", 1_000)])
def test_an_output_of_loading_tells_its_tables_and_measured_nothing(workload: str, rows: int) -> None:
    output = load_output.read((DATA / workload / "load.jsonl").read_bytes())
    assert max(table.rows for table in output.finished.tables if table.table in {"item", "sbtest1"}) == rows
    with pytest.raises(OutputUnreadable, match="measured nothing"):
        _ = output.measured_s


def test_the_busiest_second_of_the_busiest_thread_counts_and_not_the_ramp() -> None:
    def busy(line: Line) -> None:
        if line["event"] == "interval":
            spent_s = {0: 0.99, 2: 0.9}.get(line["index"], 0.2) * (line["end_s"] - line["start_s"])
            line["client"]["threads"][1]["cpu_s"] = spent_s

    text = changed(with_client(TPCC), busy)
    assert json.loads(TPCC.splitlines()[1])["phase"] == "ramp"
    found = saturation_of(text)
    assert found is not None
    assert found.threads == 2
    assert found.thread_cpu_share == pytest.approx(0.9)
    series = {
        row.at_s: row.value
        for row in Tpcc().parse({"load-run.stdout": text}, TPCC_PARAMETERS)
        if row.metric == "generator_thread_cpu_share"
    }
    assert series[None] == pytest.approx(0.9)
    assert len(series) == len(TPCC.splitlines()) - 1


def test_what_nobody_could_say_stays_unknown() -> None:
    threads = [{"cpu_s": 0.1, "run_queue_s": None, "involuntary_switches": None}]
    found = saturation_of(with_client(TPCC, threads=threads, steal_s=None, throttled=None, network=None))
    assert found is not None
    assert (found.run_queue_share, found.steal_s_per_s, found.throttled_share) == (None, None, None)
    assert found.calibration_thread_cpu_share is None
    assert (found.pacing_error_p99_s, found.retransmitted_segments, found.calibration_per_s) == (None, None, None)


def test_waking_up_is_no_wait_for_other_threads() -> None:
    """Of 30,000 answers a second, each wakes the thread up for microseconds: no other thread is in its way."""

    def share(run_queue_s: float, runs: int | None, lost: int = 0) -> float:
        threads = [{"cpu_s": 0.4, "run_queue_s": run_queue_s, "runs": runs, "involuntary_switches": lost}]
        found = saturation_of(with_client(TPCC, threads=threads))
        assert found is not None
        assert found.run_queue_share is not None
        return found.run_queue_share

    assert share(0.14, 30_000) == 0
    assert share(0.25, 30_000) == pytest.approx(share(0.10, None), rel=1e-6)
    assert share(0.14, 30_000, lost=30_000) == share(0.14, None), "who lost a CPU waits for the thread that has it"
    assert share(0.15, 100) == pytest.approx(share(0.1495, None), rel=1e-6)
    assert share(0.15, None) == pytest.approx(0.15, rel=0.1)


def test_saturation_is_summed_over_the_measurement() -> None:
    network = {"sent_bytes": 1, "received_bytes": 1, "retransmitted_segments": 2, "dropped_packets": 0}
    late = histogram_of(*[20_000] * 95, *[3_000_000] * 5)
    use = {"steal_s": 0.1, "throttled": 1, "pacing_error": late, "queued_while_idle": 3, "network": network}
    found = saturation_of(with_client(TPCC, **use), with_client(POINT_SELECT))
    assert found is not None
    seconds = sum(json.loads(line)["phase"] == "measure" for line in TPCC.splitlines()[1:-1])
    measured_s = json.loads(TPCC.splitlines()[-1])["measured_s"]
    assert found.run_queue_share == pytest.approx(0.02 * seconds / measured_s, rel=0.01)
    assert found.steal_s_per_s == pytest.approx(0.1 * seconds / measured_s)
    assert found.throttled_share == pytest.approx(seconds / (10 * measured_s))
    assert found.pacing_error_p99_s == pytest.approx(0.003, rel=0.001)
    assert found.retransmitted_segments == 2 * seconds
    finished = json.loads(TPCC.splitlines()[-1])
    ended = sum(row["measured"] for row in finished["operations"])
    assert found.queued_while_idle_share == pytest.approx(3 * seconds / ended)
    everything = sum(row["all"] for row in finished["operations"])
    assert found.round_trips_per_s == pytest.approx(ended / measured_s * finished["round_trips"] / everything)
    assert found.calibration_thread_cpu_share == pytest.approx(0.5, rel=0.01)
    selects = json.loads(POINT_SELECT.splitlines()[-1])
    assert found.calibration_per_s == pytest.approx(selects["operations"][0]["measured"] / selects["measured_s"])


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


def test_a_damaged_output_is_refused_and_nothing_becomes_zero(subtests: pytest.Subtests) -> None:
    for name in damaged():
        with subtests.test(name=name), pytest.raises(OutputUnreadable):
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


def test_a_histogram_that_unpacks_to_more_than_one_can_hold_is_not_unpacked() -> None:
    content = zlib.compress(bytes(2 << 20))
    bomb = base64.b64encode(struct.pack(">II", 0x1C849304, len(content)) + content).decode()
    with pytest.raises(OutputUnreadable, match="unpacks to more than"):
        merged([bomb])


def test_merged_histograms_are_the_exact_sum() -> None:
    output = load_output.read(TPCC)
    texts = [row.histograms.service for interval in output.measured for row in interval.operations]
    assert merged(texts).get_total_count() == sum(merged([text]).get_total_count() for text in texts)
    assert merged([]).get_total_count() == 0


def test_a_percentile_is_told_only_with_ten_values_beyond_it() -> None:
    histogram = merged([])
    for value_us in range(1, 1000):
        histogram.record_value(value_us * 1000)
    told = {row.metric for row in latencies("x", histogram)}
    assert told == {"x_mean", "x_p50", "x_p90", "x_p95"}
    histogram.record_value(1_000_000)
    assert "x_p99" in {row.metric for row in latencies("x", histogram)}
    assert latencies("x", merged([])) == []


@pytest.mark.parametrize(("value", "count"), [(0.5, 20), (0.9, 100), (0.95, 200), (0.99, 1000), (0.999, 10_000)])
def test_ten_values_beyond_a_percentile_suffice_and_nine_do_not(value: float, count: int) -> None:
    assert [Quantile(value).is_supported_by(many) for many in (count - 1, count)] == [False, True]


@pytest.mark.parametrize("value", [0, 1, 50, 99, -0.1])
def test_a_quantile_lies_between_0_and_1(value: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Quantile(value)


class _Says:
    """The `Execute` of a site whose load generator ends like this."""

    def __init__(self, stdout: bytes, exit_code: int) -> None:
        self.stdout, self.exit_code = stdout, exit_code
        self.timeouts_s: list[float] = []

    async def __call__(self, machine: MachineHandle, name: str, command: Command) -> Completed:
        self.timeouts_s.append(command.timeout_s)
        return Completed(tuple(command.argv), self.exit_code, self.stdout, b"", 1.0)


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


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_the_mean_is_that_of_the_library(count: int) -> None:
    draw = random.Random(count)
    histogram = merged([histogram_of(*(int(draw.lognormvariate(13, 2)) + 1 for _ in range(count)))])
    assert mean_ns(histogram) == histogram.get_mean_value()


def test_a_percentile_is_the_value_of_rank_p_times_n_rounded_up(subtests: pytest.Subtests) -> None:
    percents: list[Decimal | int] = [50, 90, 95, 99, Decimal("99.9"), Decimal("99.99")]
    for percent in percents:
        for count in [1, 9, 10, 11, 55, 99, 100, 101, 121, 270, 999, 1000, 1001]:
            with subtests.test(percent=percent, count=count):
                rank = math.ceil(Fraction(percent) * count / 100)
                quantile = Quantile(float(percent) / 100)
                assert quantile.rank(count) == rank
                # Up to 2,047, every value has a bucket of its own.
                histogram = merged([histogram_of(*range(1, count + 1))])
                assert value_ns(histogram, quantile) == rank
                assert value_ns(merged([]), quantile) == 0
