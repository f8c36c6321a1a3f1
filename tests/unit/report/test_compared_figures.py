"""Figures over many machines: what they select from simulated Cloud Reports, and when they are left out."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from nephoscope.analysis.lookup import Lookup, headlines
from nephoscope.model import numbers as people
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import CostRow, PricePerformance, TransferRow
from nephoscope.model.rows import ConfigurationRow, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.report.figures import groups, row_charts
from nephoscope.report.figures.dollars import cost_per_run, dollars
from nephoscope.report.figures.network import BINS, ranges_of, round_trips, throughput_histogram, throughput_ranges
from nephoscope.report.figures.results import all_steps, curves_of, maximum, of_databases, results_of
from nephoscope.report.figures.spec import Spec, unchecked, unpacked
from nephoscope.report.figures.steps import (
    MAX_LINES,
    best_over_warehouses,
    curves_by_cloud,
    over_memory,
    over_warehouses,
)
from nephoscope.report.figures.storage import by_storage, storage_shares
from nephoscope.report.figures.tops import best_of_clouds, consistency, tops
from nephoscope.report.parts import Book, Figure
from nephoscope.report.sections.machine_numbers import database_numbers
from tests.support import editions
from tests.support.some_tables import with_tables
from tests.unit.report import report_example


def book(study: AnalysedStudy) -> Book:
    return Book(Lookup(study))


def specs(figure: Figure | None) -> dict[str, Spec]:
    assert figure is not None
    return {panel.title: unpacked(panel.script) for panel in figure.panels}


def rows(figure: Figure | None, panel: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = specs(figure)[panel]["datasets"]["rows"]
    return found


def benchmark(of: Book, name: str) -> Any:
    return next(row for row in of.lookup.study.benchmarks if row.benchmark == name)


@pytest.fixture(scope="module", autouse=True)
def unvalidated() -> Any:
    with unchecked():
        yield


def test_sizes_that_differ_little_are_one_size() -> None:
    found = groups.sizes(Lookup(editions.cr2022()))
    assert list(found) == ["8 vCPUs", "30 to 36 vCPUs"]
    assert list(groups.clouds(Lookup(editions.cr2022()))) == ["AWS", "Azure", "Google Cloud"]
    assert groups.sizes(Lookup(editions.cr2020())) == {}, "all have 16 vCPUs"


def test_machines_outside_of_clouds_are_not_lost() -> None:
    study = editions.cr2020()
    first = study[ConfigurationRow][0].configuration
    own = [row.model_copy(update={"provider": "ssh"}) if row.configuration == first else row
           for row in study[ConfigurationRow]]  # fmt: skip
    costs = [row for row in study[CostRow] if row.configuration != first]
    lookup = Lookup(with_tables(study, {ConfigurationRow: own, CostRow: costs}))
    assert groups.everywhere(lookup)["Other machines"] == [first]
    assert groups.clouds_and_sizes(lookup)["Other machines"] == [first]


def test_the_best_of_a_cloud_is_its_largest_level() -> None:
    of = book(editions.cr2020())
    row = benchmark(of, "stress-ng")
    results = results_of(of.lookup, row, headlines(row)[0])
    levels = {one.configuration: one.compared.value for one in results.plain}
    wanted = {max(set(names) & set(levels), key=levels.__getitem__) for names in groups.clouds(of.lookup).values()}
    found = rows(best_of_clouds(of, results))
    assert {one["configuration"] for one in found} == wanted
    ranked = tops(of, results)
    assert [len(rows(ranked, panel)) for panel in ("Overall", "AWS", "Azure", "Google Cloud")] == [15, 12, 7, 7]
    best = [one["level"] for one in rows(ranked, "AWS")]
    assert best == sorted(best, reverse=True)


def test_lower_is_better_puts_the_shortest_round_trip_first() -> None:
    of = book(editions.cr2020())
    row = benchmark(of, "ping")
    first = rows(tops(of, results_of(of.lookup, row, headlines(row)[0])), "Overall")
    assert [one["level"] for one in first] == sorted(one["level"] for one in first)


def test_the_maximum_is_the_highest_step_with_a_valid_trial() -> None:
    lookup = Lookup(editions.cr2018())
    (steps,) = all_steps(lookup)
    found = {one.configuration: one.benchmark for one in maximum(lookup, steps).plain}
    assert set(found.values()) == {"tpcc-600", "tpcc-800"}, "no machine of the simulation passes 1,000 warehouses"
    assert [one.about for one in of_databases(lookup)] == ["tpcc, highest step that passed"]


@pytest.mark.parametrize("signs", [row_charts.levels, row_charts.kinds])
def test_there_may_be_more_steps_than_signs(signs: Callable[[Sequence[str]], dict[str, row_charts.Sign]]) -> None:
    names = [str(at) for at in range(25, 525, 25)]
    found = signs(names)
    assert list(found) == names
    assert found["25"].shape == found["225"].shape, "they begin again"


def test_150_warehouses_per_vcpu_are_1200_on_a_small_machine() -> None:
    lookup = Lookup(editions.cr2022())
    (found,) = of_databases(lookup)
    assert found.about == "tpcc at 1,200 warehouses"
    small, large = groups.sizes(lookup).values()
    ran = {row.trial: row.benchmark for row in lookup[TrialRow]}
    by_name = {one.configuration: {ran[trial] for trial in one.trials} for one in found.plain}
    assert {one.benchmark for one in found.plain} == {"tpcc-1200"}
    assert all(by_name[name] == {"tpcc-150"} for name in small if name in by_name)
    assert all(by_name[name] == {"tpcc-1200"} for name in large if name in by_name)
    assert len(found.per_cpu) == len(found.plain) == len(by_name)


def test_prices_are_those_of_the_selected_steps_on_every_basis() -> None:
    of = book(editions.cr2022())
    (results,) = of_databases(of.lookup)
    figure = dollars(of, results)
    assert figure is not None
    overall = rows(figure, "Overall")
    assert {one["series"] for one in overall} >= {"on-demand", "one-year commitment"}
    assert len({one["row"] for one in overall}) == 15
    chosen = {(one.configuration, one.benchmark) for one in results.plain}
    cheapest = min(
        (one for one in of.lookup[PricePerformance] if (one.configuration, one.benchmark) in chosen),
        key=lambda one: one.usd_per_unit,
    )
    assert overall[0]["row"] == cheapest.configuration


def test_every_line_has_its_name_and_no_panel_more_than_have_room() -> None:
    of = book(editions.cr2022())
    (steps,) = all_steps(of.lookup)
    figure = over_warehouses(of, steps)
    small = groups.clouds_and_sizes(of.lookup)["AWS, 8 vCPUs"]
    drawn = rows(figure, "AWS, 8 vCPUs")
    assert {one["series"] for one in drawn} <= set(small)
    parts = [one for title, spec in specs(figure).items() if title.startswith("AWS, 8") for one in [spec["datasets"]]]
    every = {row["series"] for part in parts for row in part["rows"]}
    assert {name["series"] for part in parts for name in part["names"]} == every
    assert len(every) > MAX_LINES
    for part in parts:
        places = sorted(name["place"] for name in part["names"])
        assert len(places) <= MAX_LINES
        assert all(later - earlier > 0 for earlier, later in pairwise(places))
    assert {one["at"] for one in drawn} == {50, 75, 100, 125, 150}
    wide = best_over_warehouses(of, steps)
    assert len({one["row"] for one in rows(wide, "Overall, 8 vCPUs")}) == 10


def test_steps_of_a_search_are_no_leaderboards() -> None:
    of = book(editions.cr2018())
    (steps,) = all_steps(of.lookup)
    assert (best_over_warehouses(of, steps), over_memory(of, steps)) == (None, None)
    assert not [figure for _, _, figures in database_numbers(of) for figure in figures if "tpcc-" in figure.title]


def test_a_step_without_a_valid_trial_ends_its_line() -> None:
    of = book(editions.cr2018())
    (steps,) = all_steps(of.lookup)
    assert max(one["at"] for one in rows(over_warehouses(of, steps), "Google Cloud")) < 1000


def test_machines_that_differ_in_memory_alone_share_a_panel() -> None:
    of = book(editions.cr2022())
    (steps,) = all_steps(of.lookup)
    found = rows(over_memory(of, steps), "Google Cloud, simulated n2, 8 vCPUs, pd-ssd")
    assert [one["series"].partition(" GiB")[0] for one in found[::5]] == ["1", "2", "4", "8"]


def test_the_spread_of_replicates_is_drawn_over_memory() -> None:
    of = book(editions.cr2020())
    (results,) = of_databases(of.lookup)
    spread = {one["configuration"]: one["cv"] for one in rows(consistency(of, results))}
    assert spread == {one.configuration: one.cv_percent for one in results.plain}


def test_kinds_of_storage_have_a_row_for_each_machine_type() -> None:
    of = book(editions.cr2022())
    (results,) = of_databases(of.lookup)
    found = rows(by_storage(of, results, per_cpu=True), "AWS")
    assert {one["series"] for one in found if one["row"] == "m6i.8xlarge"} == {"gp3", "io2"}
    shares = storage_shares(of)
    general, high = rows(shares, "General purpose"), rows(shares, "High performance")
    assert min(one["level"] for one in high) > max(one["level"] for one in general if "gp3" in one["row"]) / 2
    assert {one["series"] for one in general} >= {"on-demand", "one-year commitment"}


def test_a_histogram_holds_every_second_and_its_table_the_deviation() -> None:
    of = book(editions.cr2018())
    row = benchmark(of, "throughput")
    figure = throughput_histogram(of, row, headlines(row)[0])
    seconds = [one.value for one in of.lookup.series["throughput", "throughput"] if one.configuration == "c5d.4xlarge"]
    title = next(title for title in specs(figure) if title.startswith("c5d.4xlarge"))
    bins = specs(figure)[title]["datasets"]["bins"]
    assert sum(one["count"] for one in bins) == len(seconds)
    assert len(bins) <= BINS
    assert title == f"c5d.4xlarge: standard deviation {people.quantity(float(np.std(seconds, ddof=1)), 'bit/s')}"
    assert figure is not None
    assert figure.table is not None
    cells = next(one.cells for one in figure.table.rows if one.cells and one.cells[0].text == "c5d.4xlarge")
    assert cells[1].text == f"{np.mean(seconds) / 1e9:.4g}"


def test_pairs_of_regions_stand_beside_the_speed_of_light() -> None:
    of = book(editions.cr2022())
    (near,) = round_trips(of, benchmark(of, "request-response"))
    (far,) = round_trips(of, benchmark(of, "request-response-cross-region"))
    assert set(specs(near)) == {"AWS", "Azure", "Google Cloud"}
    assert all(not spec["datasets"]["light"] for spec in specs(near).values())
    for spec in specs(far).values():
        (light,) = spec["datasets"]["light"]
        assert all(light["floor"] < one["shortest"] <= one["level"] for one in spec["datasets"]["rows"])
    for name, machines in (("multi-stream", 60), ("multi-stream-cross-region", 6)):
        streams = benchmark(of, name)
        throughput = headlines(streams)[0]
        ranges = throughput_ranges(of, streams, throughput, ranges_of(of.lookup, streams, throughput))
        assert len(specs(ranges)) == 3
        assert sum(len(one["datasets"]["rows"]) for one in specs(ranges).values()) == machines


def test_a_run_between_regions_costs_what_both_directions_cost() -> None:
    of = book(editions.cr2022())
    name = "multi-stream-cross-region"
    figure = cost_per_run(of, benchmark(of, name))[0]
    transfers = [one for one in of.lookup[TransferRow] if one.benchmark == name]
    legs = [one for one in transfers if one.way == "between regions" and one.run_usd]
    name = legs[0].configuration
    (drawn,) = [one["level"] for one in rows(figure, "Transfer of one run") if one["configuration"] == name]
    assert drawn == pytest.approx(sum(one.run_usd or 0 for one in legs if one.configuration == name))


def test_curves_of_latency_name_every_machine_of_a_cloud() -> None:
    of = book(editions.cr2020())
    row = benchmark(of, "sysbench-fileio")
    curve = next(one for one in curves_of(row.metrics) if (one.what, one.quantity) == ("write", "latency_p95"))
    figure = curves_by_cloud(of, row, curve)
    drawn = {one["series"] for one in rows(figure, "Google Cloud")}
    assert {one["series"] for one in specs(figure)["Google Cloud"]["datasets"]["names"]} == drawn


def test_a_study_of_one_machine_has_none_of_these() -> None:
    of = book(report_example.laptop())
    assert database_numbers(of) == []
    assert storage_shares(of) is None
    assert [
        figure for row in of.lookup.study.benchmarks for figure in (*round_trips(of, row), *cost_per_run(of, row))
    ] == []
    for row in of.lookup.study.benchmarks:
        for metric in headlines(row):
            results = results_of(of.lookup, row, metric)
            drawn = (tops(of, results), best_of_clouds(of, results), by_storage(of, results), dollars(of, results))
            assert drawn == (None, None, None, None)
    assert {row.subject for row in of.lookup.study.benchmarks} >= {Subject.DATABASE, Subject.CPU}
