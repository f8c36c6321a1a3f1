"""The benchmark over the search: what is driven, what is kept, and that all of it can be made again from raw output."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from nephoscope.benchmarks.base import RawOutput, Site
from nephoscope.benchmarks.database.highest_load import HighestLoad, HighestLoadParameters, read_search
from nephoscope.benchmarks.histograms import merged
from nephoscope.benchmarks.load.benchmark import CALIBRATION
from nephoscope.benchmarks.load.output import read
from nephoscope.benchmarks.search.levels import Outcome, Purpose
from nephoscope.benchmarks.search.observe import backlog_grows
from nephoscope.benchmarks.search.trail import CONDITIONS
from nephoscope.checks.operations import PassRule, RateKept, SearchEnded
from nephoscope.databases.base import Database, Endpoint
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import VerdictKind
from tests.support.evidence import evidence
from tests.support.load_lines import changed
from tests.support.simulated_load import SimulatedLoad, operation
from tests.support.site import raw_of, site_here

DATA = Path(__file__).parents[3] / "data"
PARAMETERS = HighestLoadParameters(
    parameters={"rows": 1000}, point_s=3, confirmation_s=3, ramp_s=0, settle_s=0, resolution_percent=5
)
CALIBRATED = {"workload": {"kind": "null"}, "duration_s": 2}


def searched(
    folder: Path, parameters: HighestLoadParameters = PARAMETERS, *, database: Database | None = None, **load: Any
) -> tuple[Site, RawOutput, SimulatedLoad]:
    """A search on a simulated server of 50,000 operations per second, unless told otherwise."""
    site, _ = site_here(folder)
    execute = load.pop("program", SimulatedLoad)(folder / "raw", load.pop("capacity", lambda *_: 50_000), **load)
    endpoint = Endpoint("postgresql://nobody@127.0.0.1/x", {}, "18", "fake")
    site = replace(site, execute=execute, endpoint=endpoint, database=database)
    spec = {"schema": "nephoscope/load-spec/1", "action": "run", "target": {"kind": "postgres", "dsn": "x"}, "seed": 1}
    lines = execute.lines_at({**spec, **CALIBRATED}, 1e6)
    text = "\n".join(json.dumps(line) for line in lines)
    (site.raw_dir / f"{CALIBRATION}.stdout").write_text(text)
    asyncio.run(HighestLoad().run(site, parameters))
    return site, raw_of(site), execute


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Site, RawOutput, SimulatedLoad]:
    return searched(tmp_path_factory.mktemp("found"))


Found = tuple[Site, RawOutput, SimulatedLoad]
LIMIT = 40_000
"""0.2 ms / (1 - load / 50,000) reaches the 1 ms of the rule."""


def test_the_limit_is_found_confirmed_and_measured(found: Found) -> None:
    _, raw, _ = found
    rows = HighestLoad().parse(raw, PARAMETERS)
    values = {row.metric: row.value for row in rows if row.at_s is None}
    assert values["highest_load_per_s"] <= LIMIT < values["lowest_failing_load_per_s"]
    assert values["lowest_failing_load_per_s"] <= 1.06 * values["highest_load_per_s"]
    assert values["confirmations"] == 3
    assert values["closed_loop_per_s"] == pytest.approx(49_000)
    assert values["point_select.response_mean"] <= 0.001
    assert values["selects_per_s"] == pytest.approx(values["highest_load_per_s"], rel=1e-3)
    declared = {metric.name: metric.unit for metric in HighestLoad().metrics(PARAMETERS)}
    assert {row.metric: row.unit for row in rows}.items() <= declared.items()
    assert [metric.name for metric in HighestLoad().metrics(PARAMETERS) if metric.headline] == ["highest_load_per_s"]


def test_the_whole_curve_is_kept(found: Found) -> None:
    _, raw, _ = found
    rows = [row for row in HighestLoad().parse(raw, PARAMETERS) if row.at_s is not None]
    search = read_search(raw, PARAMETERS)
    by_moment = {
        at_s: {row.metric: row.value for row in rows if row.at_s == at_s} for at_s in {row.at_s for row in rows}
    }
    assert len(by_moment) == len(search.points)
    for at_s, one in zip(sorted(by_moment, key=lambda at_s: at_s or 0), search.points, strict=True):
        point = by_moment[at_s]
        assert point["point.level_per_s"] == one.ask.level
        assert point["point.passed"] == one.point.passed
        assert point["point.achieved_per_s"] <= point["point.offered_per_s"]
        assert point["point.read.response_mean"] > 0
    assert len(HighestLoad().steps(raw, PARAMETERS)) == len(search.points) - len(search.decisive) > 0


class ReadsAndWrites(SimulatedLoad):
    """Of ten operations one is a write, which takes ten times as long."""

    def lines_at(self, spec: dict[str, Any], capacity: float) -> Iterator[dict[str, Any]]:
        for line in super().lines_at(spec, capacity):
            if line["event"] == "interval":
                (both,) = line["operations"]
                response_s = merged([both["histograms"]["response"]]).get_max_value() / 1e9
                writes = both["count"] // 10
                rows = operation(both["count"] - writes, response_s), operation(writes, 10 * response_s)
                line["operations"] = [row | {"operation": name} for row, name in zip(rows, NAMES, strict=True)]
            elif line["event"] == "finished":
                (both,) = line["operations"]
                writes = line["measured_s"] * (both["measured"] // line["measured_s"] // 10)
                counts = zip(NAMES, (both["measured"] - writes, writes), strict=True)
                line["operations"] = [both | {"operation": name, "measured": n, "all": n} for name, n in counts]
            yield line


NAMES = ("read", "write")
MIXED = HighestLoadParameters(
    **{**PARAMETERS.model_dump(), "benchmark": "kv", "rule": "p999(read) < 1 ms and mean(write) < 8 ms"}
)


def test_the_curve_tells_each_operation_that_the_rule_limits_by_itself(tmp_path: Path) -> None:
    _, raw, _ = searched(tmp_path, MIXED, program=ReadsAndWrites)
    rows = HighestLoad().parse(raw, MIXED)
    limits = {row.metric: row.value for row in rows if row.metric.startswith("limit.")}
    assert limits == {"limit.read.p999": 0.001, "limit.write.mean": 0.008}
    points: dict[float, dict[str, float]] = {}
    for row in rows:
        if row.at_s is not None:
            points.setdefault(row.at_s, {})[row.metric] = row.value
    for point in points.values():
        told = {name for name in point if "response" in name}
        assert told == {
            *(f"point.read.response_{which}" for which in ("mean", "p95", "p99", "p999")),
            *(f"point.write.response_{which}" for which in ("mean", "p95", "p99")),
        }
        assert point["point.write.response_mean"] == pytest.approx(10 * point["point.read.response_mean"], rel=0.01)
        kept = point["point.read.response_p999"] < 0.001 and point["point.write.response_mean"] < 0.008
        assert kept or not point["point.passed"]
    assert {point["point.passed"] for point in points.values()} == {0, 1}
    declared = {metric.name: metric.unit for metric in HighestLoad().metrics(MIXED)}
    assert {row.metric: row.unit for row in rows}.items() <= declared.items()


def test_what_is_driven_is_an_open_pace_of_the_workload_and_a_larger_client_at_the_end(found: Found) -> None:
    _, _, load = found
    names = [name for name, _ in load.specs]
    assert names == ["search-probe", *[f"point-{index:03d}" for index in range(1, len(names))]]
    probe, *points, last = [spec for _, spec in load.specs]
    assert "pace" not in probe
    assert {spec["pace"]["kind"] for spec in points} == {"poisson"}
    assert {json.dumps(spec["workload"]) for spec in points} == {'{"kind": "point_select", "rows": 1000}'}
    assert last["threads"] == 1  # two were wanted, and there is one connection


def test_every_point_draws_operations_of_its_own_and_the_same_search_the_same_ones(
    found: Found, tmp_path: Path
) -> None:
    """Equal draws would find the rows of the point before in memory, and add the rows that it added."""
    seeds = [spec["seed"] for _, spec in found[2].specs]
    assert len(set(seeds)) == len(seeds) > 10
    _, _, again = searched(tmp_path)
    assert [spec["seed"] for _, spec in again.specs] == seeds


def test_confirmations_last_until_there_were_enough_operations_for_each_row(tmp_path: Path) -> None:
    parameters = PARAMETERS.model_copy(update={"operations_per_row": 600.0})  # of 1,000 rows, at about 39,000 a second
    _, raw, load = searched(tmp_path, parameters)
    search = read_search(raw, parameters)
    by_purpose = {
        one.ask.purpose: spec["duration_s"] for one, (_, spec) in zip(search.points, load.specs[1:], strict=True)
    }
    level = search.ended.level or 0
    assert by_purpose[Purpose.CONFIRM] == ceil(1.02 * 600_000 / (3 * level)) == 6
    assert by_purpose[Purpose.BELOW] == by_purpose[Purpose.RAMP] == 3
    verdict = PassRule()(evidence(operations=HighestLoad().operations(raw, parameters, client_cpus=1)))
    assert verdict is not None
    assert verdict.verdict is VerdictKind.VALID


def test_a_server_is_driven_in_a_closed_loop_until_it_is_steady(tmp_path: Path) -> None:
    """It loses half of its speed after 300 operations per row: the search starts from what it does then."""
    parameters = PARAMETERS.model_copy(update={"conditioning_operations_per_row": 400.0})
    _, raw, load = searched(tmp_path, parameters, capacity=slower_from(2, 0.5))
    names = [name for name, _ in load.specs]
    assert names[:4] == ["search-probe", "search-conditioning-001", "search-conditioning-002", "point-001"]
    before = [spec for _, spec in load.specs[:3]]
    assert all("pace" not in spec for spec in before)
    assert len({spec["seed"] for spec in before}) == 3
    assert [spec["duration_s"] for spec in before] == [3, 6, 5]
    values = {row.metric: row.value for row in HighestLoad().parse(raw, parameters)}
    assert values["closed_loop_per_s"] == pytest.approx(24_500)
    assert read_search(raw, parameters).points[0].ask.level == pytest.approx(2_450)
    shorter = {name: content for name, content in raw.items() if "conditioning-002" not in name}
    for stored, met in ((raw, True), (shorter, False)):
        asked = HighestLoad().operations(stored, parameters, client_cpus=1).requirements[-1]
        assert (asked.what, asked.limit, asked.met) == ("operations per row before the search", 400, met)


@pytest.mark.parametrize("key", ["operations_per_row", "conditioning_operations_per_row"])
def test_operations_per_row_need_rows(key: str) -> None:
    with pytest.raises(ValidationError, match="need a number of rows, but tpcb has none"):
        HighestLoadParameters.model_validate({"benchmark": "tpcb", key: 3, "rule": "mean(all) <= 1 ms"})


def test_a_larger_client_has_twice_the_threads(tmp_path: Path) -> None:
    parameters = PARAMETERS.model_copy(update={"parameters": {"rows": 1000, "connections": 8, "threads": 2}})
    _, raw, load = searched(tmp_path, parameters)
    assert load.specs[-1][1]["threads"] == 4
    assert read_search(raw, parameters).points[-1].ask.purpose is Purpose.LARGER_CLIENT


def test_only_confirmations_look_at_the_data_afterwards(found: Found) -> None:
    _, raw, load = found
    asked = [one.ask.purpose for one in read_search(raw, PARAMETERS).points]
    checks = [spec.get("check", "conditions") for _, spec in load.specs[1:]]
    assert checks == ["conditions" if purpose is Purpose.CONFIRM else "none" for purpose in asked]


def test_evidence_is_of_the_confirmations(found: Found) -> None:
    _, raw, _ = found
    operations = HighestLoad().operations(raw, PARAMETERS, client_cpus=1)
    values = {row.metric: row.value for row in HighestLoad().parse(raw, PARAMETERS)}
    assert operations.attempted == pytest.approx(3 * 3 * values["highest_load_per_s"])
    for check in (RateKept(), SearchEnded()):
        verdict = check(evidence(operations=operations))
        assert verdict is not None
        assert verdict.verdict is VerdictKind.VALID


@pytest.mark.parametrize(("asked", "kind"), [(3.0, VerdictKind.VALID), (1e6, VerdictKind.INVALID)])
def test_a_qualification_may_ask_for_operations_by_the_size_of_the_data(
    found: Found, asked: float, kind: VerdictKind
) -> None:
    parameters = PARAMETERS.model_copy(update={"operations_per_row": asked})
    verdict = PassRule()(evidence(operations=HighestLoad().operations(found[1], parameters, client_cpus=1)))
    assert verdict is not None
    assert verdict.verdict is kind
    assert any("Short" in note for note in HighestLoad().notes(PARAMETERS))
    assert not any("Short" in note for note in HighestLoad().notes(parameters))


def slower_from(call: int, factor: float) -> Callable[[dict[str, Any], int], float]:
    return lambda _, calls: 50_000 * (factor if calls >= call else 1)


def test_half_of_the_server_taken_away_ends_in_a_lower_level_or_unstable(found: Found, tmp_path: Path) -> None:
    before = read_search(found[1], PARAMETERS)
    first = next(index for index, one in enumerate(before.points) if one.ask.purpose is Purpose.CONFIRM)
    _, raw, _ = searched(tmp_path, capacity=slower_from(first + 3, 0.5))
    ended = read_search(raw, PARAMETERS).ended
    assert ended.outcome in (Outcome.FOUND, Outcome.UNSTABLE)
    assert ended.level is None or ended.level <= LIMIT / 2


def test_a_client_that_is_the_limit_leaves_a_number_that_does_not_count(tmp_path: Path) -> None:
    parameters = PARAMETERS.model_copy(update={"parameters": {"rows": 1000, "connections": 4}})

    def by_threads(spec: dict[str, Any], _: int) -> float:
        return 25_000.0 * int(spec.get("threads", 1))

    _, raw, _ = searched(tmp_path, parameters, capacity=by_threads)
    verdict = SearchEnded()(evidence(operations=HighestLoad().operations(raw, parameters, client_cpus=1)))
    assert verdict is not None
    assert verdict.verdict is VerdictKind.INVALID
    assert str(verdict.reason).startswith("generator bound: with twice the client")


def test_a_thread_that_is_busy_speaks_against_a_point(tmp_path: Path) -> None:
    parameters = PARAMETERS.model_copy(update={"parameters": {"rows": 1000, "connections": 4}})
    _, raw, _ = searched(tmp_path, parameters, busiest_cpu_s=lambda per_s: per_s / 25_000)
    search = read_search(raw, parameters)
    assert search.ended.outcome is Outcome.GENERATOR_BOUND
    assert (search.ended.level or 0) <= 0.8 * 25_000
    signs = [sign for one in search.points for sign in one.signs]
    assert any("its thread used" in sign for sign in signs)


@pytest.mark.parametrize("stolen_s", [0.03, 0.01])
def test_a_point_that_fails_while_cpus_are_taken_is_measured_again(tmp_path: Path, stolen_s: float) -> None:
    """The fifth point loses most of its server; over 2 % of its one CPU were stolen, or not."""
    slow, robbed = 6, stolen_s > 0.02
    capacity: Callable[[dict[str, Any], int], float] = lambda _, calls: 5_000 if calls == slow else 50_000  # noqa: E731
    _, raw, load = searched(tmp_path, capacity=capacity, steal_s=lambda calls: stolen_s if calls == slow else 0.0)
    search = read_search(raw, PARAMETERS)
    levels = [spec["pace"]["rate_per_s"] for _, spec in load.specs[1:]]
    assert (levels[4] == levels[5]) is robbed
    assert (len(search.points), search.void) == (len(search.measured) - robbed, int(robbed))
    values = {row.metric: row.value for row in HighestLoad().parse(raw, PARAMETERS) if row.at_s is None}
    assert values["void_points"] == robbed
    assert 0.94 * LIMIT < (search.ended.level or 0) <= LIMIT


def test_no_level_leaves_no_level(tmp_path: Path) -> None:
    parameters = HighestLoadParameters(**{**PARAMETERS.model_dump(), "rule": "mean(read) < 100 us"})
    _, raw, _ = searched(tmp_path, parameters)
    names = {row.metric for row in HighestLoad().parse(raw, parameters) if row.at_s is None}
    assert "highest_load_per_s" not in names
    assert "closed_loop_per_s" in names
    search = read_search(raw, parameters)
    assert search.ended.outcome is Outcome.BELOW_MIN
    assert "mean(read) 0.2" in search.points[0].reasons[0]


# what cannot be read


def without(raw: RawOutput, name: str) -> RawOutput:
    return {key: text for key, text in raw.items() if key != name}


def test_a_search_that_was_not_finished_is_refused(found: Found) -> None:
    _, raw, _ = found
    last = max(name for name in raw if name.startswith("point-"))
    with pytest.raises(OutputUnreadable, match="the search did not finish: its next level would have been"):
        HighestLoad().parse(without(raw, last), PARAMETERS)


@pytest.mark.parametrize("name", [CONDITIONS, "search-probe.stdout", f"{CALIBRATION}.stdout"])
def test_missing_files_are_refused(found: Found, name: str) -> None:
    with pytest.raises(OutputUnreadable):
        HighestLoad().parse(without(found[1], name), PARAMETERS)


def test_points_of_another_search_are_refused(found: Found) -> None:
    _, raw, _ = found

    def faster(line: dict[str, Any]) -> None:
        if line["event"] == "started":
            line["spec"]["pace"]["rate_per_s"] += 1

    other = {**raw, "point-003.stdout": changed(raw["point-003.stdout"], faster)}
    with pytest.raises(OutputUnreadable, match="point 3 was measured at"):
        HighestLoad().parse(other, PARAMETERS)


def test_points_cut_short_are_refused(found: Found) -> None:
    _, raw, _ = found
    text = raw["point-002.stdout"]
    for end in range(0, len(text) - 2, len(text) // 50):
        with pytest.raises(OutputUnreadable):
            HighestLoad().parse({**raw, "point-002.stdout": text[:end]}, PARAMETERS)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"benchmark": "tpcc"}, "`benchmark` is 'tpcc', but must be point-select"),
        ({"parameters": {"rate_per_s": 1}}, "contains `rate_per_s`, which the search sets"),
        ({"parameters": {"row": 1}}, "`parameters` of point-select: Extra inputs are not permitted"),
        ({"rule": "p99(read) < 5"}, "`rule`: `p99(read) < 5` has no unit"),
        ({"rule": "p99(write) < 5 ms"}, "names the operation 'write'; point-select has all, point_select, read"),
        ({"lowest_per_s": 2, "highest_per_s": 1}, "`lowest_per_s` 2 is above `highest_per_s` 1"),
        ({"confirmations": 2}, "greater than or equal to 3"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        HighestLoadParameters.model_validate(given)
    assert said in str(refused.value)


# the backlog


@pytest.mark.parametrize(
    ("queued", "grows"),
    [
        ([0] * 12, False),
        ([100 * second for second in range(12)], True),
        ([round(300 * second**0.5) for second in range(12)], True),  # as at the critical load
        ([0] * 8 + [5000, 3000, 1000, 0], False),  # a stall, worked off
        ([900, 500, 800, 600, 900, 700, 800, 500, 900, 400, 800, 600], False),  # long, and not growing
        ([0, 0, 1, 0, 2, 1, 3, 2, 2, 3, 2, 2], False),  # growing, and of no interest
    ],
)
def test_a_backlog_grows_when_it_never_empties(tmp_path: Path, queued: list[int], grows: bool) -> None:
    spec = {"schema": "nephoscope/load-spec/1", "action": "run", "target": {"kind": "postgres", "dsn": "x"}, "seed": 1}
    pace = {"pace": {"kind": "constant", "rate_per_s": 10_000}, "duration_s": len(queued)}
    load = SimulatedLoad(tmp_path, lambda *_: 20_000)
    lines = list(load.lines_at({**spec, **pace, "workload": {"kind": "point_select", "rows": 1}}, 20_000))
    for line, count in zip(lines[1:-1], queued, strict=True):
        line["client"]["queued"] = count
    assert backlog_grows(read(b"\n".join(json.dumps(line).encode() for line in lines))) is grows


# a real search

RECORDED = {path.name: path.read_bytes() for path in (DATA / "highest-load").iterdir()}
RECORDED_PARAMETERS = HighestLoadParameters(
    parameters={"rows": 1000},
    rule="mean(read) < 300 ms",
    point_s=3,
    confirmation_s=3,
    ramp_s=0,
    settle_s=0.2,
    resolution_percent=30,
    first_percent=40,
)


def test_a_recorded_search_is_made_again() -> None:
    search = read_search(RECORDED, RECORDED_PARAMETERS)
    ended = search.ended
    assert (ended.outcome, ended.level, ended.failing) == (Outcome.FOUND, 11890, 14560)
    assert len(search.points) == 13
    values = {row.metric: row.value for row in HighestLoad().parse(RECORDED, RECORDED_PARAMETERS) if row.at_s is None}
    assert values["selects_per_s"] == pytest.approx(11890, rel=0.02)
    assert values["point_select.response_mean"] < 0.3


def test_a_recorded_search_is_another_one_by_another_rule() -> None:
    strict = RECORDED_PARAMETERS.model_copy(update={"rule": "mean(read) < 1 ms"})
    with pytest.raises(OutputUnreadable, match="was measured at"):
        read_search(RECORDED, strict)


@pytest.mark.parametrize(
    ("benchmark", "driven", "version"),
    [
        ("point-select", {}, 3),
        ("oltp-insert", {}, 3),
        ("tpcb", {}, 3),
        ("tpcb", {"profile": "pipelined"}, 4),
        ("kv", {}, 3),
        ("ycsb", {}, 4),
    ],
)
def test_a_newer_version_of_what_is_driven_makes_the_search_newer(
    benchmark: str, driven: dict[str, str], version: int
) -> None:
    assert HighestLoad().version_of({"benchmark": benchmark, "parameters": driven}) == version
