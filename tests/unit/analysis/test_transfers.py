"""Measured bytes become dollars by the way on which they went; without a way or a price they stay missing, never 0."""

from dataclasses import replace
from typing import Any

import pytest

from nephoscope.analysis.inputs import ObservedMachine
from nephoscope.analysis.transfers import months_of
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import PricePerformance, TransferRow
from nephoscope.model.records import Direction, Facts, Metric, TelemetrySample, VerdictKind
from nephoscope.model.rows import TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.run.derive import network_bytes
from nephoscope.study.model import Study
from tests.unit.analysis.study_builder import inputs, measurement, rows, traffic, trial

VALUES = [1000.0, 1001, 1002, 1003, 1004, 1005]
MONTH_S = 730 * 3600
CLUSTER = {"database-1": "database", "load-1": "load"}


def sold(region: str = "us-east-1", **more: Any) -> dict[str, Any]:
    machine = {"type": "m6i.2xlarge"}
    return {"name": "c", "provider": "aws", "region": region, "database_machine": machine, **more}


def measured(
    configuration: dict[str, Any], machines: dict[str, str] = CLUSTER, *, seen: dict[str, str] | None = None
) -> AnalysedStudy:
    """Six trials of 10 s in which each machine sends 1, 2, ... MB/s, and receives half of that."""
    trials, measurements = rows({"c": VALUES})
    trials[5] = trials[5].model_copy(update={"verdict": VerdictKind.INVALID})
    network = [
        traffic(row, machine, role, sent=10e6 * row.replicate, received=5e6 * row.replicate)
        for row in trials
        for machine, role in (machines if seen is None else seen).items()
    ]
    found = [
        ObservedMachine(trial=row.trial, configuration="c", role=role, machine=machine, facts=Facts(at_unix_ms=1))
        for row in trials
        for machine, role in machines.items()
    ]
    study = Study(name="s", configurations=[configuration], benchmarks=[{"uses": "tpcc"}], costs={"date": "2026-11-21"})
    made = inputs((trials, measurements), machines=found)
    return analyse(replace(made, study=study, network=network))


def ways(found: AnalysedStudy) -> dict[str, TransferRow]:
    return {row.way: row for row in found[TransferRow]}


LOAD: dict[str, Any] = {"load_machine": {"type": "m6i.2xlarge"}, "zone": "us-east-1a"}


def test_machines_of_one_zone_pay_nothing_and_two_zones_would_pay_both_directions() -> None:
    found = ways(measured(sold(**LOAD)))
    same, zones = found["same zone"], found["between zones"]
    assert (same.stood, same.month_usd, same.n) == (True, 0.0, 5), "free says the book, and a refused trial is no n"
    assert same.bytes_per_s == 6e6, "median trial, two machines"
    assert (zones.stood, zones.bytes_per_s) == (False, 9e6), "what is sent, and again what is received"
    assert zones.month_usd == pytest.approx(9e6 * MONTH_S / 1e9 * 0.01)
    assert zones.price_row is not None


def test_a_run_costs_its_own_bytes_at_the_price_of_the_first_ones() -> None:
    found = ways(measured(sold(**LOAD)))
    same, zones = found["same zone"], found["between zones"]
    assert (same.run_bytes, same.run_usd) == (6e7, 0.0), "10 s of the median trial"
    assert zones.run_usd == pytest.approx(9e7 / 1e9 * 0.01)
    assert ways(measured(sold("nowhere-1", **LOAD)))["between zones"].run_usd is None


def test_between_regions_each_end_pays_for_what_it_sends() -> None:
    elsewhere: dict[str, Any] = {"load_machine": {"type": "m6i.2xlarge", "region": "us-west-2"}}
    found = measured(sold(**elsewhere))[TransferRow]
    assert {(row.here, row.there): row.bytes_per_s for row in found} == {
        ("us-west-2", "us-east-1"): 3e6,
        ("us-east-1", "us-west-2"): 1.5e6,
    }
    assert all(row.stood and row.way == "between regions" for row in found)
    assert sum(row.month_usd or 0 for row in found) == pytest.approx(4.5e6 * MONTH_S / 1e9 * 0.02)


THREE = {"type": "m6i.2xlarge", "count": 3, "zones": ["us-east-1a", "us-east-1b", "us-east-1c"]}
FOUR = {"database-1": "database", "database-2": "database", "database-3": "database", "load": "load"}


def test_in_three_zones_what_passes_between_them_is_paid_at_both_ends_and_the_rest_is_free() -> None:
    """All send 12 MB/s and receive 6, the load a quarter of it, a third of which stays in its zone."""
    load: dict[str, Any] = {"type": "m6i.2xlarge", "zones": ["us-east-1a"]}
    found = ways(measured(sold(database_machine=THREE, load_machine=load), FOUR))
    same, zones = found["same zone"], found["between zones"]
    assert (same.stood, zones.stood, same.month_usd) == (True, True, 0.0)
    sent, received, of_load = 12e6, 6e6, 4.5e6
    among = (sent - of_load) + (received - of_load)
    assert zones.bytes_per_s == pytest.approx(2 * of_load * 2 / 3 + among)
    assert same.bytes_per_s == pytest.approx(of_load / 3), "sent alone: nobody pays twice for nothing"
    assert zones.month_usd == pytest.approx(zones.bytes_per_s * MONTH_S / 1e9 * 0.01)
    assert "between zones: 67% of the load's bytes, 100% of those among database machines" in zones.formula


def test_three_zones_and_a_load_in_another_region_pay_for_both() -> None:
    load: dict[str, Any] = {"type": "m6i.2xlarge", "region": "us-west-2", "zones": ["us-west-2a"]}
    found = measured(sold(database_machine=THREE, load_machine=load), FOUR)[TransferRow]
    assert [(row.way, row.here, row.there) for row in found] == [
        ("between regions", "us-east-1", "us-west-2"),
        ("between regions", "us-west-2", "us-east-1"),
        ("between zones", "us-east-1", "us-east-1"),
    ]
    assert found[2].bytes_per_s == pytest.approx((12e6 - 4.5e6) + (6e6 - 4.5e6))


def test_zones_without_a_price_in_the_book_have_no_cost_and_say_so() -> None:
    zones = {**THREE, "zones": ["eu-west-1a", "eu-west-1b"]}
    load = {"type": "m6i.2xlarge", "zones": ["eu-west-1a"]}
    found = measured(sold("eu-west-1", database_machine=zones, load_machine=load), FOUR)
    row = ways(found)["between zones"]
    assert (row.stood, row.month_usd) == (True, None)
    assert row.reason_missing == "aws eu-west-1: transfer between zones: not in the price book"
    assert {row.usd_per_unit_with_transfer for row in found[PricePerformance]} <= {None}


def test_dollars_for_a_unit_with_transfer_and_a_sentence_where_it_is_much() -> None:
    study = measured(sold(load_machine={"type": "m6i.2xlarge", "region": "us-west-2"}))
    row = next(row for row in study[PricePerformance] if row.basis == "on-demand")
    moved = sum(one.month_usd or 0 for one in study[TransferRow])
    assert row.usd_per_unit_with_transfer == pytest.approx((row.month_usd + moved) / row.median)
    (said,) = [one for one in study.insights if one.rule == "transfer"]
    assert said.numbers["most"] == pytest.approx(100 * moved / row.month_usd)
    (elsewhere,) = [one for one in measured(sold(**LOAD)).insights if one.rule == "transfer"]
    assert " if load generator and database were in different zones" in str(elsewhere.text)


def test_a_benchmark_that_takes_the_trials_of_another_has_their_transfer() -> None:
    study = measured(sold(load_machine={"type": "m6i.2xlarge", "region": "us-west-2"}))
    trials = [row.model_copy(update={"also": ["twin"]}) for row in study[TrialRow]]
    months = months_of(study[TransferRow], trials)
    (own,) = months_of(study[TransferRow], study[TrialRow])
    assert months[own[0], "twin"] == months[own] > 0


def test_without_a_zone_in_the_study_no_way_is_taken_for_the_one_that_was() -> None:
    study = measured(sold(load_machine={"type": "m6i.2xlarge"}))
    assert not any(row.stood for row in study[TransferRow])
    assert {row.usd_per_unit_with_transfer for row in study[PricePerformance]} == {None}


@pytest.mark.parametrize(
    ("configuration", "machines", "reason"),
    [
        ({"name": "c"}, {"here": "database"}, "local machines: their transfer has no price"),
        (sold(zone="us-east-1a"), {"database-1": "database"}, "one machine: what it sent did not go to another one"),
    ],
)
def test_what_nobody_sells_is_missing_with_its_reason(
    configuration: dict[str, Any], machines: dict[str, str], reason: str
) -> None:
    (row,) = measured(configuration, machines)[TransferRow]
    assert (row.way, row.month_usd, row.n) == ("none", None, 5)
    assert row.bytes_per_s == 3e6
    assert str(row.reason_missing).startswith(reason)


def test_a_machine_whose_counters_were_not_seen_leaves_nothing() -> None:
    assert measured(sold(**LOAD), seen={"load-1": "load"})[TransferRow] == []


# from telemetry


def sample(at_s: float, sent: float | None, received: float | None = 1.0) -> TelemetrySample:
    shares = dict.fromkeys(("busy", "user", "system", "iowait", "steal"), 0.0)
    return TelemetrySample(
        at_s=at_s,
        duration_s=2,
        cpus_busy_share={},
        cpus_steal_share={},
        disk_read_bytes_per_s=None,
        disk_write_bytes_per_s=None,
        network_receive_bytes_per_s=received,
        network_send_bytes_per_s=sent,
        **{f"cpu_{name}_share": value for name, value in shares.items()},
    )


def test_rates_times_durations_are_bytes_and_a_gap_leaves_no_sum() -> None:
    telemetry = {"b": [sample(2, 10.0), sample(4, 20.0)], "a": [sample(2, None), sample(4, 1.0)], "c": []}
    (found,) = network_bytes(telemetry)
    assert found.model_dump() == {"machine": "b", "sampled_s": 4.0, "received_bytes": 4.0, "sent_bytes": 60.0}


FILLED = Metric(name="throughput", unit="bit/s", direction=Direction.HIGHER, title="throughput", headline=True)
BITS_PER_S = 840e9 * 8 / 720
"""Of which 12 minutes are 840 GB."""


def filled(*, measured_s: float | None) -> TransferRow:
    """A network between two regions that is filled for 12 minutes, after a search that moves ten times as much."""
    far: dict[str, Any] = {"load_machine": {"type": "m6i.2xlarge", "region": "us-west-2"}}
    trials, measurements, network, found = [], [], [], []
    for replicate in range(1, 7):
        row = trial(f"n{replicate}", "c", replicate, benchmark="net", uses="multi-stream", subject=Subject.NETWORK)
        trials.append(row)
        measurements.append(measurement(row, BITS_PER_S, FILLED))
        for machine, role in CLUSTER.items():
            sent = 9_676.5e9 if role == "load" else 0.0
            network.append(traffic(row, machine, role, sent=sent, received=9_676.5e9 - sent, sampled_s=7200))
            facts = Facts(at_unix_ms=1)
            found.append(ObservedMachine(trial=row.trial, configuration="c", role=role, machine=machine, facts=facts))
    study = Study(name="s", configurations=[sold(**far)], benchmarks=[{"uses": "tpcc"}], costs={"date": "2026-11-21"})
    made = inputs((trials, measurements), {"net": [FILLED]}, machines=found)
    benchmarks = [row.model_copy(update={"measured_s": measured_s}) for row in made.benchmarks]
    out = analyse(replace(made, study=study, benchmarks=benchmarks, network=network))[TransferRow]
    return next(row for row in out if row.billed == "sent by load")


def test_a_benchmark_that_fills_the_network_has_the_cost_of_a_run_and_none_of_a_month() -> None:
    row = filled(measured_s=720)
    assert (row.month_usd, row.reason_missing) == (None, None)
    assert row.formula.startswith("transfer of a run = bytes × rate")


def test_a_run_is_what_was_measured_without_the_search_for_streams() -> None:
    assert filled(measured_s=None).run_usd == pytest.approx(193.53)
    row = filled(measured_s=720)
    assert row.run_bytes == pytest.approx(840e9)
    assert row.run_usd == pytest.approx(16.80)
