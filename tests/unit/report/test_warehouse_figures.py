"""Figures of a search for the most warehouses: levels, bracket, limits, table; from a simulated search."""

from dataclasses import replace

import pytest

from nephoscope.analysis.lookup import Lookup
from nephoscope.benchmarks.database.max_warehouses import MaxWarehouses
from nephoscope.insights.registry import analyse
from nephoscope.model.rows import MeasurementRow, TrialRow
from nephoscope.report.figures.searches import warehouse_figures
from nephoscope.report.figures.spec import unpacked
from nephoscope.report.parts import Book
from nephoscope.report.sections.benchmarks import benchmark_section
from tests.unit.analysis.study_builder import inputs, measurement, trial
from tests.unit.benchmarks.search.test_max_warehouses import CAPACITY, PARAMETERS, searched

NAMES = {"small": 1.0, "large": 2.0}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    metrics = MaxWarehouses().metrics(PARAMETERS)
    by_name = {metric.name: metric for metric in metrics}
    trials: list[TrialRow] = []
    measurements: list[MeasurementRow] = []
    for position, (name, factor) in enumerate(NAMES.items(), 1):
        raw, _ = searched(tmp_path_factory.mktemp(name), lambda _, factor=factor: CAPACITY * factor)  # type: ignore[misc]
        row = trial(name, name, benchmark="most", uses="max-warehouses", position=position, position_in_block=position)
        trials.append(row)
        found = MaxWarehouses().parse(raw, PARAMETERS)
        measurements += [measurement(row, one.value, by_name[one.metric], at_s=one.at_s) for one in found]
    built = inputs((trials, measurements), {"most": metrics})
    rows = [row.model_copy(update={"uses": "max-warehouses"}) for row in built.benchmarks]
    return Book(Lookup(analyse(replace(built, benchmarks=rows))))


def test_levels_bracket_and_limits_are_drawn(book: Book) -> None:
    row = book.lookup.study.benchmarks[0]
    efficiency, response = warehouse_figures(book, row)
    assert (efficiency.title, response.title) == (
        "most: efficiency over warehouses",
        "most: New-Order response time over warehouses",
    )
    for figure, limit in ((efficiency, pytest.approx(100 * 9 / 12.86)), (response, 5)):
        assert {panel.title for panel in figure.panels} == set(NAMES)
        sets = unpacked(figure.panels[0].script)["datasets"]
        assert {point["counts"] for point in sets["points"]} == {True, False}
        assert [one["limit"] for one in sets["limits"]] == [limit]
        held = [point["warehouses"] for point in sets["points"] if point["counts"]]
        assert sets["bracket"][0]["level"] == max(held) < sets["bracket"][1]["level"]


def test_the_table_says_the_level_and_what_was_measured_at_it(book: Book) -> None:
    table = warehouse_figures(book, book.lookup.study.benchmarks[0])[0].table
    assert table is not None
    rows = {row.cells[0].text: [cell.text for cell in row.cells] for row in table.rows}
    most = {name: float(cells[1].replace(",", "")) for name, cells in rows.items()}
    assert most["large"] == pytest.approx(2 * most["small"], rel=0.05)
    assert float(rows["large"][3].replace(",", "")) == pytest.approx(12.6 * 2 * CAPACITY, rel=0.05)
    assert "," in rows["large"][3], "17,640 and not 1.764e+04"
    assert float(rows["small"][4]) > 70
    *told, interval, coverage = rows["small"]
    assert "\N{EN DASH}" not in told
    assert (interval, coverage) == ("one value", "\N{EN DASH}")


def test_a_section_has_them_and_no_curve_of_rates(book: Book) -> None:
    section = benchmark_section(book, book.lookup.study.benchmarks[0])
    titles = [figure.title for figures in section.headline for figure in figures]
    assert "most: efficiency over warehouses" in titles
    assert "most: pass probability of each level" in titles
    assert not any("offered load" in title for title in titles)
    assert len(set(titles)) == len(titles)
