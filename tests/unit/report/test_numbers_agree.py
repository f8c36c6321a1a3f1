"""Numbers that stand together agree: a ratio is the quotient of the two values beside it, wherever it is shown."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from nephoscope.analysis.editions import editions_of
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import PriceComparison, PricePerformance
from nephoscope.model.records import Direction
from nephoscope.model.rows import Statistic
from nephoscope.report.edition_page import render_editions
from nephoscope.report.parts import Book, Page
from nephoscope.report.sections.explorer import explorer_data
from tests.support.quotients import Printed, checked, not_quotients
from tests.support.reader import Reader
from tests.support.report_folder import main_page
from tests.unit.analysis.study_builder import TPMC, inputs, noisy, rows
from tests.unit.analysis.test_levels import SKEWED, STEADY
from tests.unit.report import priced_example
from tests.unit.report.priced_example import WAIT


def skewed(seed: int, names: Sequence[str] = ("a", "b"), *, n: int = 6) -> dict[str, list[float]]:
    """Values of which a few are far off, as those of the machine of a laptop."""
    generator = np.random.default_rng(seed)

    def value(place: int) -> float:
        slow = 0.65 if generator.random() < 0.25 else 1.0
        return float(20_000 * (1 + place) * slow * generator.lognormal(0, 0.03))

    return {name: [value(place) for _ in range(n)] for place, name in enumerate(names)}


def times(values: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    return {name: [1e-3 * 20_000 / value for value in many] for name, many in values.items()}


def study_of(values: Mapping[str, Sequence[float]], *, lower: bool = False, hole: bool = False) -> AnalysedStudy:
    metric = WAIT if lower else TPMC
    trials, measurements = rows(times(values) if lower else values, metric=metric)
    return analyse(inputs((trials, measurements[1:] if hole else measurements), {"tpcc": [metric]}))


STUDIES: dict[str, Callable[[], AnalysedStudy]] = {
    "two configurations": lambda: study_of(skewed(1)),
    "two, one trial missing": lambda: study_of(skewed(2), hole=True),
    "times": lambda: study_of(skewed(3), lower=True),
    "three configurations": lambda: study_of(skewed(4, "aef", n=12)),
    "three, one trial missing": lambda: study_of(skewed(5, "abc", n=12), hole=True),
    "nearly equal": lambda: analyse(inputs(noisy({"a": 1.0, "b": 1.001}, deviation=0.03))),
    "machines for sale": priced_example.priced,
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_ratio_of_a_card_is_the_quotient_of_the_bars_beside_it(name: str) -> None:
    cards = Reader(main_page(STUDIES[name]())).cards
    assert list(checked(cards))
    assert not_quotients(cards) == []


@pytest.mark.parametrize("name", STUDIES)
def test_ratios_of_the_explorer_are_those_of_its_values(name: str) -> None:
    data = explorer_data(Book(Lookup(STUDIES[name]())).turned_to(Page.MAIN))
    assert data is not None
    for board in data["boards"]:
        stored, sign = board["intervals"], 1 if board["higher"] else -1
        for one, level in zip(stored["configurations"], stored["levels"], strict=True):
            assert math.exp(sign * level) == pytest.approx(board["plain"][one][0])


def test_what_a_unit_costs_has_the_ratio_of_its_comparison() -> None:
    study = priced_example.priced()
    usd = {(row.benchmark, row.metric, row.basis, row.configuration): row for row in study[PricePerformance]}
    assert study[PriceComparison]
    for row in study[PriceComparison]:
        left, right = (usd[row.benchmark, row.metric, row.basis, name] for name in (row.left, row.right))
        assert right.usd_per_unit / left.usd_per_unit == pytest.approx(row.ratio)


def test_a_change_between_two_studies_is_the_quotient_of_the_values_beside_it() -> None:
    before, after = (study_of(skewed(seed, ["a"])) for seed in (7, 8))
    found = editions_of(before, after, basis="on-demand")
    (card,) = found.cards
    assert card.before is not None
    assert card.after is not None
    assert card.after / card.before == pytest.approx(card.ratio)
    (shown,) = (card for card in Reader(render_editions(found, ("before", "after"))).cards if card.text("strong"))
    was, arrow, is_now = shown.text("card-links").partition("→")
    assert arrow
    change = Printed.of(shown.text("strong").replace("\N{MINUS SIGN}", "-"))
    ratio = Printed(1 + change.value / 100, change.half_unit / 100)
    assert ratio.is_quotient(Printed.of(is_now), Printed.of(was))


def test_a_card_says_where_medians_tell_another_story() -> None:
    values = {"a": [100.0, 101, 102, 101, 100, 102], "b": [200.0, 201, 199, 201, 130, 131]}
    (card, *_) = Reader(main_page(study_of(values))).cards
    assert card.text("h3") == "Best: b"
    said = card.text("card-after")
    assert said.startswith("By medians 1.98×: 2 of 6 values of b are about 35 % lower than the median.")
    assert "Came in two kinds: b (2 of 6 values are 35 % lower than the others)." in said
    assert card.texts["bar-value"] == ["173.6 New-Orders/min", "101.0 New-Orders/min"]


def test_a_card_names_no_best_where_medians_order_two_the_other_way_round() -> None:
    two = {"steady": STEADY * 3, "skewed": SKEWED * 3}
    (card, *_) = Reader(main_page(study_of(two))).cards
    assert card.text("h3") == "Not decided"
    assert ", the other way round, so neither is called better" in card.text("card-after")
    assert "of 30 values of skewed are about" in card.text("card-after")
    (said, *_) = (str(row.text) for row in study_of(two).insights if row.rule == "answer")
    assert "not decided, as steady \N{DIVISION SIGN} skewed = 1.017× (" in said
    assert ", the other way round, so neither is called better: " in said
    three = two | {"slow": [0.7 * value for value in two["steady"]]}
    (card, *_) = Reader(main_page(study_of(three))).cards
    assert (card.state, card.text("h3")) == ("open", "Not decided")
    assert card.text("card-number") == "first by levels is steady, and by medians skewed, so no best is named"


def test_what_is_unknown_is_no_candidate_on_a_card() -> None:
    known = {"a": [99_794.0, 99_700, 99_900], "b": [80_061.0, 80_000, 80_100]}
    (card, *_) = Reader(main_page(study_of(known | {"c": [29_930.0, 29_900]}))).cards
    assert card.text("h3") == "Best of 2: a"
    assert card.text("card-after").endswith("Unknown, as measured only twice: c.")
    assert "may be" not in card.text("card-number")


def test_a_winner_says_how_many_are_unknown() -> None:
    known = {"a": [99_794.0, 99_700, 99_900], "b": [80_061.0, 80_000, 80_100]}
    unknown = {f"c{number}": [30_000.0 + number] for number in range(19)}
    (card, *_) = Reader(main_page(study_of(known | unknown))).cards
    assert card.text("h3") == "Best of 2: a"
    assert card.text("card-after").endswith("Unknown, as measured too rarely: 19 of 21.")


def test_the_page_says_once_what_a_level_is() -> None:
    text = Reader(main_page(STUDIES["two configurations"]())).text
    assert text.count("Configurations are compared by their levels") == 1
    alone = Reader(main_page(study_of({"a": STEADY}))).text
    assert "compared by their levels" not in alone


def test_a_single_configuration_keeps_its_median() -> None:
    study = study_of({"a": [100.0, 101, 102, 103, 104, 60]})
    (card, *_) = Reader(main_page(study)).cards
    assert card.text("card-number").startswith("median, n = 6")
    assert Printed.of(card.text("strong")).value == pytest.approx(101.5, abs=0.5)


def test_a_dozen_studies_have_no_ratio_beside_two_other_numbers() -> None:
    """Ratios near 1 and far from it, of rates and of times, with holes."""
    for seed in range(10, 16):
        for lower in (False, True):
            study = study_of(skewed(seed, "abc", n=5 + seed % 4), lower=lower, hole=seed % 2 == 0)
            assert not_quotients(Reader(main_page(study)).cards) == [], seed


def test_the_direction_of_a_metric_changes_no_level() -> None:
    values = skewed(21)
    rate, wait = study_of(values), study_of(times(values))
    assert {row.direction for row in rate[Statistic]} == {Direction.HIGHER}
    product = [a.level * b.level for a, b in zip(rate[Statistic], wait[Statistic], strict=True) if a.level and b.level]
    assert product == pytest.approx([20.0] * len(product))
