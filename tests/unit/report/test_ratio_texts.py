"""Ratios: intervals as every table writes them, and the band of ties as the verdicts use it."""

from collections.abc import Callable
from typing import Any

import pytest

from nephoscope.analysis.lookup import Lookup
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.questions import ContrastRow
from nephoscope.model.rows import ClaimRow, Comparison, FamilyComparison
from nephoscope.report.figures.spec import unpacked
from nephoscope.report.main import ratios
from nephoscope.report.main.chapter_figures import contrasts
from nephoscope.report.parts import Book, Table
from nephoscope.report.sections import tables
from nephoscope.report.sections.benchmarks import compared_headlines
from nephoscope.stats.decide import relation
from nephoscope.stats.ratio import RatioInterval
from tests.support.some_tables import with_tables
from tests.unit.report import priced_example, report_example

ABOVE_ONE = {"ratio": 1.02, "low": 1.0003, "high": 1.0412}
SAID = "1.0003 \N{EN DASH} 1.0412\N{MULTIPLICATION SIGN}"
AS_COSTS = "0.9604 \N{EN DASH} 0.9997\N{MULTIPLICATION SIGN}"
"""Questions about cost show what a unit costs, which is the inverse."""


@pytest.fixture(scope="module")
def study() -> AnalysedStudy:
    """Every ratio as 1.02, significantly above 1."""
    whole = priced_example.everything()
    kinds: list[type[Any]] = [Comparison, ContrastRow, FamilyComparison, ClaimRow]
    return with_tables(whole, {kind: [row.model_copy(update=ABOVE_ONE) for row in whole[kind]] for kind in kinds})


@pytest.mark.parametrize("make", [tables.comparisons, tables.questions, tables.families, tables.claims])
def test_no_table_shows_an_interval_above_one_as_if_it_began_there(
    make: Callable[[Book], list[Table]], study: AnalysedStudy
) -> None:
    found = make(Book(Lookup(study)))[-1]
    titles = [column.title for column in found.columns]
    if "Interval" in titles:
        place = titles.index("Interval")
        assert {row.cells[place].text for row in found.rows if row.cells} - {AS_COSTS} == {SAID}
    else:
        assert f"Interval: {SAID}" in found.note, "equal in all rows"


def test_nor_does_the_main_page(study: AnalysedStudy) -> None:
    figure = contrasts(Book(Lookup(study)), ["tpcc"])
    assert figure is not None
    told = [row["interval_text"] for panel in figure.panels for row in unpacked(panel.script)["datasets"]["rows"]]
    assert set(told) == {SAID}


ROW: dict[str, Any] = {"label": "a", "ratio": 0.94, "low": 0.905, "high": 0.98, "verdict": "unresolved"}


def test_the_drawn_band_is_the_range_of_a_tie() -> None:
    (band,) = ratios.chart(["a"], [ROW], 0.1, "")["datasets"]["margin"]

    def verdict(low: float, high: float) -> str:
        return relation(RatioInterval(low, high, 0.95), 0.9, equivalence_margin=0.1)

    assert verdict(band["low"], band["high"]) == "tie"
    assert verdict(band["low"] - 1e-9, 1) == verdict(1, band["high"] + 1e-9) == "unresolved"
    assert ROW["low"] < band["low"], "no tie, though less than 10 % below 1"


def test_the_caption_names_both_ends_of_the_band() -> None:
    study = report_example.laptop().model_copy(update={"equivalence_margin_percent": 10})
    (figure,) = compared_headlines(Book(Lookup(study)))
    assert "the equivalence margin of 10 %, 0.909 \N{EN DASH} 1.100\N{MULTIPLICATION SIGN}: an" in figure.caption
