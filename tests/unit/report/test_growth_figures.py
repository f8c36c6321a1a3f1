"""Figures of growth: the rate before the times, and in the order of their numbers on the page."""

import re

import pytest

from nephoscope.analysis.lookup import Lookup
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.rows import GrowthRow, Statistic
from nephoscope.model.subjects import Subject
from nephoscope.report.figures.growth import growth_figures
from nephoscope.report.figures.latency import latency_figures
from nephoscope.report.figures.spec import unpacked
from nephoscope.report.parts import Book
from tests.support.report_folder import evidence_page
from tests.support.some_tables import with_tables
from tests.unit.report.report_example import laptop

SMALL, LARGE = "local-1cpu", "local-all"


@pytest.fixture(scope="module")
def study() -> AnalysedStudy:
    whole = laptop()
    (metric,) = [one for row in whole.benchmarks if row.benchmark == "tpcc" for one in row.metrics if one.headline]
    medians = {
        one.configuration: one.median
        for one in whole[Statistic]
        if (one.benchmark, one.metric, one.per_cpu) == ("tpcc", metric.name, False)
    }
    growth = GrowthRow(
        group="postgres on small",
        system="postgres",
        benchmark="tpcc",
        subject=Subject.DATABASE,
        metric=metric.name,
        unit=metric.unit,
        configurations=[SMALL, LARGE],
        machines=[1, 2],
        medians=[medians[SMALL], medians[LARGE]],
        exponent=0.8,
        at_one=medians[SMALL],
        low=0.7,
        high=0.9,
        coverage=0.96,
        growth="not decided",
        trials=[],
    )
    return with_tables(whole, {GrowthRow: [growth]})


def test_figures_stand_in_the_order_of_their_numbers(study: AnalysedStudy) -> None:
    page = evidence_page(study)
    numbers = [int(number) for number in re.findall(r'class="figure-number">Figure (\d+)<', page)]
    assert len(numbers) > 10
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "the main page has those before"


def test_the_rate_and_then_the_times_are_drawn_over_machines(study: AnalysedStudy) -> None:
    row = next(row for row in study.benchmarks if row.benchmark == "tpcc")
    rate, times = growth_figures(Book(Lookup(study)), row)
    assert "over 1 and 2 machines" in rate.panels[0].alt
    assert rate.title.endswith("over the number of machines")
    assert times.title == "tpcc: response times over the number of machines"
    sets = unpacked(rate.panels[0].script)["datasets"]
    assert {point["machines"] for point in sets["points"]} == {1, 2}
    assert sets["linear"][1]["value"] == pytest.approx(2 * sets["linear"][0]["value"])


def test_latencies_have_no_row_for_who_was_not_measured(study: AnalysedStudy) -> None:
    def rows_of(one: AnalysedStudy) -> list[list[str]]:
        row = next(row for row in one.benchmarks if row.benchmark == "tpcc")
        panels = [panel for figure in latency_figures(Book(Lookup(one)), row) for panel in figure.panels]
        specs = [unpacked(panel.script) for panel in panels]
        return [spec["layer"][0]["encoding"]["y"]["scale"]["domain"] for spec in specs]

    both = rows_of(study)
    assert both
    assert all(names == [SMALL, LARGE] for names in both)
    kept = [one for one in study[Statistic] if (one.benchmark, one.configuration) != ("tpcc", SMALL)]
    assert rows_of(with_tables(study, {Statistic: kept})) == [[LARGE]] * len(both)
