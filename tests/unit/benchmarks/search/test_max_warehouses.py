"""The most warehouses of TPC-C on simulated servers: what is driven, found, kept and refused."""

import asyncio
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nephoscope.benchmarks.base import RawOutput
from nephoscope.benchmarks.database.max_warehouses import (
    RULES,
    MaxWarehouses,
    MaxWarehousesParameters,
    RuleName,
    read_search,
)
from nephoscope.benchmarks.database.tpcc import Tpcc, TpccParameters
from nephoscope.benchmarks.load.benchmark import CALIBRATION
from nephoscope.benchmarks.search.levels import Outcome, Purpose
from nephoscope.benchmarks.search.trail import CONDITIONS
from nephoscope.checks.operations import PassRule, SearchEnded
from nephoscope.databases.base import Endpoint
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import VerdictKind
from tests.support.evidence import evidence
from tests.support.simulated_load import SimulatedLoad
from tests.support.simulated_tpcc import CYCLE_S, RESPONSE_S, Capacity, SimulatedTpcc
from tests.support.site import raw_of, site_here

DATA = Path(__file__).parents[3] / "data"
LOADED = 2_000
PARAMETERS = MaxWarehousesParameters(warehouses=LOADED, point_s=10, confirmation_s=10, ramp_s=0, settle_s=0)
CAPACITY = 700.0
LIMITS_S = {"tpc-c": 5, "tpccbench": 5, "cloud-report-2020": 5, "cloud-report-2021": 10}


def searched(
    folder: Path,
    capacity: Capacity,
    parameters: MaxWarehousesParameters = PARAMETERS,
    program: type[SimulatedTpcc] = SimulatedTpcc,
) -> tuple[RawOutput, SimulatedTpcc]:
    site, _ = site_here(folder)
    execute = program(folder / "raw", capacity)
    site = replace(site, execute=execute, endpoint=Endpoint("postgresql://nobody@127.0.0.1/x", {}, "18", "fake"))
    spec = {"schema": "nephoscope/load-spec/1", "action": "run", "target": {"kind": "postgres", "dsn": "x"}, "seed": 1}
    null = SimulatedLoad(folder, lambda *_: 1e6).lines_at({**spec, "workload": {"kind": "null"}, "duration_s": 2}, 1e6)
    (site.raw_dir / f"{CALIBRATION}.stdout").write_text("\n".join(json.dumps(line) for line in null))
    asyncio.run(MaxWarehouses().run(site, parameters))
    return raw_of(site), execute


Found = tuple[RawOutput, SimulatedTpcc]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    return searched(tmp_path_factory.mktemp("found"), lambda _: CAPACITY)


def limit_of(rule: str) -> float:
    """Warehouses at which the simulated server just keeps a rule."""
    by_time = CAPACITY * (1 + (LIMITS_S[rule] - RESPONSE_S) / CYCLE_S)
    asked = RULES[rule]  # type: ignore[index]
    least = asked.least_efficiency_percent or 100 * (asked.least_tpmc_per_warehouse or 0) / asked.most_tpmc
    return min(by_time, CAPACITY * 12.6 / asked.most_tpmc * 100 / least)


@pytest.mark.parametrize("rule", LIMITS_S)
def test_the_most_are_found_by_each_rule(tmp_path: Path, rule: str) -> None:
    parameters = MaxWarehousesParameters.model_validate({**PARAMETERS.model_dump(), "rule": rule})
    raw, _ = searched(tmp_path, lambda _: CAPACITY, parameters)
    values = {row.metric: row.value for row in MaxWarehouses().parse(raw, parameters) if row.at_s is None}
    assert values["most_warehouses"] <= limit_of(rule) <= values["least_failing_warehouses"]
    assert values["least_failing_warehouses"] <= 1.021 * values["most_warehouses"]
    assert values["confirmations"] == 3
    assert values["tpmc"] == pytest.approx(12.6 * min(values["most_warehouses"], CAPACITY), rel=0.02)


def test_the_rules_differ() -> None:
    assert limit_of("cloud-report-2021") < limit_of("tpccbench") < limit_of("tpc-c")


def test_each_level_drives_so_many_of_the_warehouses_loaded_once(found: Found) -> None:
    raw, load = found
    workloads = [spec["workload"] for _, spec in load.specs]
    levels = [one.ask.level for one in read_search(raw, PARAMETERS).points]
    assert [workload["active_warehouses"] for workload in workloads] == levels
    assert {(workload["warehouses"], workload["wait"]) for workload in workloads} == {(LOADED, "spec")}
    assert levels[0] == LOADED // 8
    assert {spec.get("action") for _, spec in load.specs} == {"run"}


def test_a_plan_counts_the_loading_of_all_warehouses() -> None:
    assert MaxWarehouses().fixture_bytes(PARAMETERS) == LOADED * Tpcc().fixture_bytes(TpccParameters(warehouses=1))


def test_the_curve_is_kept(found: Found) -> None:
    raw, _ = found
    rows = [row for row in MaxWarehouses().parse(raw, PARAMETERS) if row.at_s is not None]
    moments = sorted({row.at_s or 0.0 for row in rows})
    points = [{row.metric: row.value for row in rows if row.at_s == moment} for moment in moments]
    for point, one in zip(points, read_search(raw, PARAMETERS).points, strict=True):
        assert point["point.warehouses"] == one.ask.level
        assert point["point.passed"] == one.point.passed
        assert point["point.efficiency"] == pytest.approx(100 * point["point.tpmc"] / (12.86 * one.ask.level))
        assert (point["point.new_order_response"] <= 5) == one.point.passed
    declared = {metric.name: metric.unit for metric in MaxWarehouses().metrics(PARAMETERS)}
    assert {row.metric: row.unit for row in MaxWarehouses().parse(raw, PARAMETERS)}.items() <= declared.items()


def test_evidence_is_of_the_confirmations(found: Found) -> None:
    operations = MaxWarehouses().operations(found[0], PARAMETERS, client_cpus=1)
    for check in (SearchEnded(), PassRule()):
        verdict = check(evidence(operations=operations))
        assert verdict is not None
        assert verdict.verdict is VerdictKind.VALID


class WithDeferred(SimulatedTpcc):
    """Tells of queued Deliveries: nine in ten in time in one confirmation, all of them in the others."""

    def lines(self, spec: dict[str, Any], calls: int) -> Iterator[dict[str, Any]]:
        share, draws = (0.9, 300) if spec.get("check") != "none" and not self.told else (1.0, 100)
        self.told = self.told or share < 1
        line = {"name": "deferred_within_80_s", "observed": share, "low": 0.9, "high": 1.0, "draws": draws}
        for one in super().lines(spec, calls):
            yield one | ({"audit": [*one["audit"], {**line, "passed": True}]} if one["event"] == "finished" else {})

    told = False


def test_what_each_confirmation_tells_by_name_is_one_number_of_the_trial(tmp_path: Path) -> None:
    parameters = PARAMETERS.model_copy(update={"parameters": {"delivery": "deferred"}})
    raw, _ = searched(tmp_path, lambda _: CAPACITY, parameters, program=WithDeferred)
    values = [(row.metric, row.value) for row in MaxWarehouses().parse(raw, parameters) if row.at_s is None]
    assert len(dict(values)) == len(values)
    assert dict(values)["deferred_within_80_s"] == pytest.approx(100 * (0.9 * 300 + 2 * 100) / 500)
    operations = MaxWarehouses().operations(raw, parameters, client_cpus=1)
    assert (operations.audits_passed, operations.audits_unjudged, operations.failed_audits) == (2, 0, [])


def test_more_than_is_loaded_is_a_lower_bound_and_does_not_count(tmp_path: Path) -> None:
    raw, _ = searched(tmp_path, lambda _: 10 * LOADED)
    ended = read_search(raw, PARAMETERS).ended
    assert (ended.outcome, ended.level) == (Outcome.LOWER_BOUND, LOADED)
    verdict = SearchEnded()(evidence(operations=MaxWarehouses().operations(raw, PARAMETERS, client_cpus=1)))
    assert verdict is not None
    assert verdict.verdict is VerdictKind.INVALID


def test_a_server_slowed_in_a_confirmation_loses_its_level(found: Found, tmp_path: Path) -> None:
    points = read_search(found[0], PARAMETERS).points
    first = next(index for index, one in enumerate(points) if one.ask.purpose is Purpose.CONFIRM)
    raw, _ = searched(tmp_path, lambda calls: CAPACITY / (2 if calls > first + 1 else 1))
    ended = read_search(raw, PARAMETERS).ended
    assert ended.outcome in (Outcome.FOUND, Outcome.UNSTABLE)
    assert ended.level is None or ended.level < 0.7 * points[first].ask.level


@given(
    level=st.integers(1, LOADED),
    rule=st.sampled_from(sorted(RULES)),
    point_s=st.floats(10, 600),
    long=st.booleans(),
)
def test_a_level_that_keeps_the_rate_of_its_rule_has_the_percentile(
    level: int, rule: RuleName, point_s: float, *, long: bool
) -> None:
    parameters = MaxWarehousesParameters(warehouses=LOADED, rule=rule, point_s=point_s, confirmation_s=point_s + 1)
    lasting_s, asked = parameters.lasting_s(level, long=long), RULES[rule]
    least = asked.least_tpmc_per_warehouse or asked.most_tpmc * (asked.least_efficiency_percent or 0) / 100
    assert asked.quantile.is_supported_by(math.floor(level * least * lasting_s / 60 + 1e-6))
    assert lasting_s >= (point_s + 1 if long else point_s)
    wanted_s = asked.quantile.least_count * 60 / (level * least)
    assert lasting_s <= max(point_s + 1, wanted_s + 1), "no longer than it takes"


@pytest.mark.parametrize("first", [1, 6, 8, 20])
def test_few_warehouses_pass_wherever_the_search_starts(tmp_path: Path, first: int) -> None:
    """Ten seconds of 6 warehouses are 13 New-Orders: too few to judge, which is no failure."""
    few = MaxWarehousesParameters(warehouses=20, first=first, point_s=10, confirmation_s=10, ramp_s=0, settle_s=0)
    raw, _ = searched(tmp_path, lambda _: 7.0, few)
    search = read_search(raw, few)
    assert search.ended.level == pytest.approx(limit_of("tpc-c") * 7 / CAPACITY, abs=1)
    assert not any(one.ask.level < 6 and not one.held for one in search.points)


def test_points_of_another_search_are_refused(found: Found) -> None:
    raw, _ = found
    with pytest.raises(OutputUnreadable, match="was measured at"):
        read_search(raw, PARAMETERS.model_copy(update={"first": 300}))
    with pytest.raises(OutputUnreadable):
        read_search({**raw, CONDITIONS: b""}, PARAMETERS)
    last = max(name for name in raw if name.startswith("point-"))
    with pytest.raises(OutputUnreadable, match="did not finish: its next level would have been"):
        MaxWarehouses().parse({name: text for name, text in raw.items() if name != last}, PARAMETERS)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"parameters": {"wait": "none"}}, "contains `wait`, which the search sets"),
        ({"parameters": {"profil": "proc"}}, "`parameters` of tpcc: Extra inputs are not permitted"),
        ({"warehouses": 10, "first": 11}, "must not be above `warehouses` 10"),
        ({"rule": "mine"}, "Input should be"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        MaxWarehousesParameters.model_validate(given)
    assert said in str(refused.value)


# a real search

RECORDED = {path.name: path.read_bytes() for path in (DATA / "max-warehouses").iterdir()}
RECORDED_PARAMETERS = MaxWarehousesParameters(
    warehouses=2, least=1, first=2, ramp_s=2, point_s=10, confirmation_s=10, settle_s=0.2
)


def test_a_recorded_search_is_made_again() -> None:
    search = read_search(RECORDED, RECORDED_PARAMETERS)
    assert [one.ask.level for one in search.points] == [2, 1]
    assert search.ended.outcome is Outcome.BELOW_MIN
    for one in search.points:
        unjudged = {asked.what for asked in one.asked if asked.met is None}
        assert "new order p90" in unjudged
        assert one.tpmc > 0
    values = {row.metric for row in MaxWarehouses().parse(RECORDED, RECORDED_PARAMETERS)}
    assert "most_warehouses" not in values
    assert {"points", "point.efficiency"} <= values


def test_a_recorded_search_cut_anywhere_is_refused() -> None:
    text = RECORDED["point-001.stdout"]
    for end in range(0, len(text) - 2, len(text) // 50):
        with pytest.raises(OutputUnreadable):
            MaxWarehouses().parse({**RECORDED, "point-001.stdout": text[:end]}, RECORDED_PARAMETERS)
