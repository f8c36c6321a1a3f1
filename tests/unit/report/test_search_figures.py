"""Figures of a search: the curve, the bracket, the limit line, the qualification table; from a recorded search."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.analysis.lookup import Lookup
from nephoscope.benchmarks.base import RawOutput
from nephoscope.benchmarks.database.highest_load import HighestLoad, HighestLoadParameters
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import Disk
from nephoscope.model.rows import MeasurementRow, Statistic, TrialRow
from nephoscope.model.units import GIB
from nephoscope.report.figures.latency import latency_figures
from nephoscope.report.figures.searches import curve_figures, pass_figures, qualification
from nephoscope.report.figures.spec import unpacked
from nephoscope.report.parts import Book, Figure
from nephoscope.report.sections.benchmarks import benchmark_section
from tests.support.some_tables import with_tables
from tests.unit.analysis.study_builder import inputs, measurement, observed, trial
from tests.unit.benchmarks.search.test_highest_load import MIXED, ReadsAndWrites
from tests.unit.benchmarks.search.test_highest_load import searched as search_of

GIVEN: dict[str, Any] = {
    "parameters": {"rows": 1000},
    "rule": "mean(read) < 300 ms",
    "point_s": 3,
    "confirmation_s": 3,
    "ramp_s": 0,
    "settle_s": 0.2,
    "resolution_percent": 30,
    "first_percent": 40,
}
NAMES = ("small", "large")
POINTS = 13


def searched() -> AnalysedStudy:
    """The recorded search."""
    folder = Path(__file__).parents[2] / "data" / "highest-load"
    raw = {path.name: path.read_bytes() for path in folder.iterdir()}
    return study_of(raw, HighestLoadParameters.model_validate(GIVEN))


def study_of(raw: RawOutput, parameters: HighestLoadParameters) -> AnalysedStudy:
    """A search as that of two configurations, twice each; `large` does twice as much."""
    found = HighestLoad().parse(raw, parameters)
    metrics = HighestLoad().metrics(parameters)
    by_name = {metric.name: metric for metric in metrics}
    trials: list[TrialRow] = []
    measurements: list[MeasurementRow] = []
    for replicate in (1, 2):
        for place, name in enumerate(NAMES, 1):
            row = trial(
                f"{name}-{replicate}",
                name,
                replicate,
                benchmark="qualify",
                uses="highest-load",
                position=len(trials) + 1,
                position_in_block=place,
            )
            trials.append(row)
            factor = {"small": 1.0, "large": 2.0}[name]
            measurements += [
                measurement(row, one.value * (factor if one.unit == "1/s" else 1), by_name[one.metric], at_s=one.at_s)
                for one in found
            ]
    disk = Disk(size_bytes=100 * GIB, rotational=False)
    built = inputs((trials, measurements), {"qualify": metrics}, machines=[observed(row, disk=disk) for row in trials])
    rows = [row.model_copy(update={"uses": "highest-load", "parameters": GIVEN}) for row in built.benchmarks]
    return analyse(replace(built, benchmarks=rows))


@pytest.fixture(scope="module")
def book() -> Book:
    return Book(Lookup(searched()))


@pytest.fixture(scope="module")
def figures(book: Book) -> list[Figure]:
    return curve_figures(book, book.lookup.study.benchmarks[0])


def spec_of(figure: Figure, panel: int) -> dict[str, Any]:
    found: dict[str, Any] = unpacked(figure.panels[panel].script)
    return found


def test_each_configuration_has_its_curve(figures: list[Figure]) -> None:
    assert [figure.title for figure in figures] == [
        "qualify: achieved and offered load",
        "qualify: response times of read against load",
    ]
    for figure in figures:
        assert {panel.title for panel in figure.panels} == set(NAMES)
    achieved = spec_of(figures[0], 0)["datasets"]
    assert len(achieved["points"]) == 2 * POINTS
    assert {point["counts"] for point in achieved["points"]} == {True, False}


def test_bracket_and_limit_are_drawn(figures: list[Figure]) -> None:
    small = next(index for index, panel in enumerate(figures[1].panels) if panel.title == "small")
    sets = spec_of(figures[1], small)["datasets"]
    assert [row["level"] for row in sets["bracket"]] == pytest.approx([11890.0, 14560.0])
    assert sets["limits"] == [{"limit": 300.0, "label": "limit of mean"}]
    assert {point["series"] for point in sets["points"]} == {"mean", "p95", "p99"}


def test_each_operation_that_the_rule_limits_is_drawn_with_its_own_limits(tmp_path: Path) -> None:
    """A mixed workload: `p999(read)` is no limit of writes, and no usual percentile."""
    _, raw, _ = search_of(tmp_path, MIXED, program=ReadsAndWrites)
    book = Book(Lookup(study_of(raw, MIXED)))
    _, reads, writes = curve_figures(book, book.lookup.study.benchmarks[0])
    for figure, operation, which, limit in ((reads, "read", "p999", 0.001), (writes, "write", "mean", 0.008)):
        assert figure.title == f"qualify: response times of {operation} against load"
        assert which in [entry.text for entry in figure.key]
        sets = spec_of(figure, 0)["datasets"]
        unit_s = {"s": 1.0, "ms": 1e-3}[figure.subtitle.split(",")[0]]
        assert sets["limits"] == [{"limit": pytest.approx(limit / unit_s), "label": f"limit of {which}"}]
        passed = [point["value"] for point in sets["points"] if point["counts"] and point["series"] == which]
        assert passed
        assert max(passed) * unit_s < limit


def test_what_a_rule_asks_for_is_no_latency_that_was_measured(tmp_path: Path) -> None:
    strict = HighestLoadParameters.model_validate({**MIXED.model_dump(), "rule": "p99(read) < 1 ms"})
    _, raw, _ = search_of(tmp_path, strict, program=ReadsAndWrites)
    book = Book(Lookup(study_of(raw, strict)))
    row = book.lookup.study.benchmarks[0]
    assert "limit.read.p99" in {metric.name for metric in row.metrics}
    titles = [panel.title.lower() for figure in latency_figures(book, row) for panel in figure.panels]
    assert titles
    assert not any("limit" in title for title in titles)
    table = curve_figures(book, row)[0].table
    assert table is not None
    assert not any("limit" in column.title for column in table.columns)


def test_the_qualification_table_says_what_is_published_and_how_sure_it_is(figures: list[Figure]) -> None:
    table = figures[0].table
    assert table is not None
    heads = [column.title for column in table.columns]
    assert heads[:3] == ["Configuration", "Highest load, per second", "Lowest failed load"]
    assert "point select p99" in heads
    rows = {row.cells[0].text: row.cells for row in table.rows}
    assert rows["small"][1].text == "11,890"
    assert rows["large"][1].text == "23,780"
    assert rows["small"][1].note.endswith("(50 %)")
    assert rows["small"][heads.index("Objects")].text == "1,000"
    assert rows["small"][heads.index("Object size")].text == "\N{EN DASH}"
    assert rows["small"][heads.index("Disk")].text == "100 GiB SSD"


def test_a_coverage_just_below_95_percent_does_not_read_as_95_and_one_value_has_none() -> None:
    study = searched()
    told = [
        one.model_copy(update={"n": 1} if one.configuration == "small" else {"coverage": 0.94992})
        for one in study[Statistic]
    ]
    of = Book(Lookup(with_tables(study, {Statistic: told})))
    table = curve_figures(of, study.benchmarks[0])[0].table
    assert table is not None
    notes = {row.cells[0].text: row.cells[1].note for row in table.rows}
    assert notes["small"] == "one value"
    assert notes["large"].endswith("(94.9 %)")


def test_searches_of_one_type_each_are_one_table_of_them_all(figures: list[Figure]) -> None:
    """As published qualifications are: each type has objects of its own size, and so a benchmark of its own."""
    study = searched()
    first = study.benchmarks[0]
    other = first.model_copy(update={"benchmark": "another"})
    moved = [
        one.model_copy(update={"benchmark": "another"}) if one.configuration == "large" else one
        for one in study[Statistic]
    ]
    book = Book(Lookup(with_tables(study.model_copy(update={"benchmarks": [first, other]}), {Statistic: moved})))
    table = qualification(book, [first, other])
    alone = figures[0].table
    assert table is not None
    assert alone is not None
    assert [column.title for column in table.columns] == [column.title for column in alone.columns]
    shown = [[cell.text for cell in row.cells] for row in table.rows]
    assert sorted(shown) == sorted([cell.text for cell in row.cells] for row in alone.rows)


def test_each_level_has_its_pass_probability_in_a_group_for_each_configuration(book: Book) -> None:
    (figure,) = pass_figures(book, book.lookup.study.benchmarks[0])
    assert figure.table is not None
    groups = [row.group.text for row in figure.table.rows if row.group]
    assert groups == [panel.title for panel in figure.panels]
    rows = [[cell.text for cell in row.cells] for row in figure.table.rows if not row.group]
    levels = {panel.title: spec_of(figure, index)["datasets"]["levels"] for index, panel in enumerate(figure.panels)}
    assert sum(map(len, levels.values())) == len(rows)
    confirmed = next(row for row in rows if row[0] == "small-1" and row[1] == "11,890")
    assert confirmed[2:] == ["4", "4", "3", "100 %", "40 \N{EN DASH} 100 %"]
    drawn = next(one for one in levels["small"] if (one["trial"], one["level"]) == ("small-1", 11890))
    assert (drawn["share"], drawn["text"], drawn["counts"]) == (100, "4 of 4", True)
    assert drawn["low"] == pytest.approx(100 * 0.025**0.25)
    assert pass_figures(book, book.lookup.study.benchmarks[0].model_copy(update={"benchmark": "other"})) == []


def test_points_are_no_seconds(book: Book) -> None:
    section = benchmark_section(book, book.lookup.study.benchmarks[0])
    titles = [figure.title for figures in section.headline for figure in figures]
    assert len(set(titles)) == len(titles)
    assert section.series == []
    assert [len(figures) for figures in section.headline[-3:]] == [1, 1, 1]


def test_a_benchmark_that_searched_nothing_has_no_curve(book: Book) -> None:
    row = book.lookup.study.benchmarks[0].model_copy(update={"metrics": book.lookup.study.benchmarks[0].metrics[:1]})
    assert curve_figures(book, row) == []
