"""Every shipped study, rehearsed to its report, and the report read as a reader does.

The large ones are in a file of their own, so that two workers make them and the others at the same time.
"""

import re
from collections.abc import Hashable, Iterable
from typing import Any

import pytest

from nephoscope.analysis.equal_benchmarks import under_test
from nephoscope.analysis.lookup import Lookup
from nephoscope.analysis.published import BUNDLE
from nephoscope.app.stages.verifying import verify_bundle
from nephoscope.model.rows import TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.report.figures.spec import unchecked
from nephoscope.report.parts import Book, Figure, Table
from tests.docs.counterparts import Source, counts, sources
from tests.support.quotients import not_quotients
from tests.support.reader import Card
from tests.wholes.conftest import OTHERS, Whole

pytestmark = pytest.mark.parametrize("whole", OTHERS, indirect=True)

BROKEN = re.compile(r"\b(nan|NaN|inf|Infinity|undefined|Traceback|\w+Error:)\b|\bNone\b(?! (of|is|can))")
"""Words that no reader should meet; a sentence may begin with 'None of'."""
FACTORS = [
    1.0,
    *(10.0**power for power in (-12, -9, -6, -3, 3, 6, 9, 12)),
    *(1024.0**power for power in (-3, -2, -1, 1, 2, 3)),
]
"""Of the units in which a card shows a number, against those of the tables."""


def test_every_trial_is_valid_and_nothing_is_said_to_be_broken(whole: Whole) -> None:
    finished = [row for row in whole.analysed[TrialRow] if row.state == "finished"]
    assert finished
    assert {row.trial: row.reasons for row in finished if not row.counts} == {}
    assert "Traceback" not in whole.said
    assert "missing:" not in whole.said


def test_its_answers_follow_from_the_measurements_that_it_publishes(whole: Whole) -> None:
    assert verify_bundle(whole.report / BUNDLE).differences == []


def test_both_pages_have_the_title_of_the_study(whole: Whole) -> None:
    title = whole.analysed.title or whole.analysed.study
    for page in (whole.main, whole.evidence):
        assert page.headings["h1"] == [title]
        assert title in page.headings["title"][0]
        assert "missing" not in page.anchors


def test_every_card_asks_answers_and_shows_a_number(whole: Whole) -> None:
    assert whole.main.cards
    for card in whole.main.cards:
        assert all((card.text("card-question"), card.benchmark, card.text("h3"))), card
        assert re.search(r"\d", card.text("card-number") + card.text("strong") + card.text("bar-value")), card


def test_every_ratio_of_a_card_is_the_quotient_of_the_two_numbers_beside_it(whole: Whole) -> None:
    assert not_quotients(whole.main.cards) == []


def test_a_benchmark_measures_networks_over_one_distance_and_takes_trials_of_its_own_kind_only(whole: Whole) -> None:
    """A leaderboard of pairs of machines in a zone and of pairs between regions ranks their distances.

    Databases share a benchmark only where the study asks for that by its name: which of them is faster.
    """
    subjects = {row.benchmark: row.subject for row in whole.analysed.benchmarks}
    own: dict[str, set[Hashable]] = {name: set() for name in subjects}
    taken: dict[str, set[Hashable]] = {name: set() for name in subjects}
    for row in whole.analysed[TrialRow]:
        for name, of in ((row.benchmark, own), *((name, taken) for name in row.also)):
            of[name].add(under_test(whole.intents[row.trial].configuration, subjects[name]))
    assert {name: kinds for name, kinds in taken.items() if not kinds <= own[name]} == {}
    assert {name for name, kinds in own.items() if subjects[name] is Subject.NETWORK and len(kinds) > 1} == set()


def test_the_bars_of_a_card_are_levels_of_the_table(whole: Whole) -> None:
    rows = whole.table("statistics")
    for card in whole.main.cards:
        per_cpu = str(is_per_cpu(card)).lower()
        several = card.text("h3") == "Not compared"
        of_benchmark = [
            row for row in rows if row["per_cpu"] == per_cpu and (several or row["benchmark"] == card.benchmark)
        ]
        levels = {(row["configuration"], float(row["level"] or row["median"])) for row in of_benchmark}
        names = {name for name, _ in levels}
        for name, value in zip(card.texts.get("bar-name", ()), card.texts.get("bar-value", ()), strict=False):
            mine = [level for configuration, level in levels if configuration == name or name not in names]
            assert any(reads_as(value, level) for level in mine), (card.benchmark, name, value)


def is_per_cpu(card: Card) -> bool:
    """Whether the question of a study's headline is about one vCPU."""
    return card.text("card-question").endswith("per CPU")


def reads_as(text: str, value: float) -> bool:
    """Whether a number, such as '69,983/min' or '1.2 ms', is this value in some unit, rounded to its last digit."""
    found = re.match(r"[$]?([\d,]+(?:\.(\d+))?)", text)
    assert found, text
    shown, digits = float(found[1].replace(",", "")), len(found[2] or "")
    last = 0.5 * 10.0**-digits
    return any(abs(value * factor - shown) <= last * 1.001 for factor in FACTORS) or rounded_up(found[1], value)


def rounded_up(text: str, value: float) -> bool:
    """A whole number may be rounded to three digits: '12,300'."""
    shown = float(text.replace(",", ""))
    return any(abs(value * factor / shown - 1) < 0.005 for factor in FACTORS if shown)


def test_no_percentile_is_above_a_higher_one(whole: Whole) -> None:
    levels: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in whole.table("statistics"):
        if found := re.fullmatch(r"(.+_)p(50|90|95|99)", row["metric"]):
            levels.setdefault((row["configuration"], row["benchmark"], found[1]), {})[found[2]] = float(row["median"])
    rising = {key: [found[name] for name in sorted(found)] for key, found in levels.items()}
    assert {key: values for key, values in rising.items() if values != sorted(values)} == {}


def test_the_state_of_a_card_is_that_of_the_table_of_bests(whole: Whole) -> None:
    rows = [row for row in whole.table("best") if (row["basis"], row["scope"]) == ("", "overall")]
    for card in whole.main.cards:
        asked = (card.benchmark, "per CPU" if is_per_cpu(card) else "plain")
        states = {state for row in rows if (row["benchmark"], row["view"]) == asked for state in states_of(row)}
        assert not states or card.state in states, (card.benchmark, card.state, states)


def states_of(row: dict[str, str]) -> set[str]:
    """What a card may say of one row; where several may be the best and others are worse, that depends on how many."""
    if not row["best"]:
        return {"open"}
    if row["tied"] == "true" or row["close"]:
        return {"tie"}
    if ";" not in row["best"]:
        return {"decided"}
    return {"decided", "open"} if int(row["excluded"]) else {"open"}


def test_no_word_is_that_of_a_program(whole: Whole) -> None:
    for page in (whole.main, whole.evidence):
        found = BROKEN.search(page.text)
        assert found is None, page.text[max(0, found.start() - 80) : found.end() + 80]


def test_no_figure_is_empty(whole: Whole) -> None:
    several = len({row["configuration"] for row in whole.table("statistics")}) > 1
    bars = any(len(card.texts.get("bar-name", ())) > 1 for card in whole.main.cards)
    assert whole.main.figures or bars or not several, "one configuration has nothing to be drawn beside"
    for page in (whole.main, whole.evidence):
        assert [figure.title for figure in page.figures if figure.is_empty or not figure.title] == []


def test_the_figures_that_the_docs_promise_are_on_the_page(whole: Whole) -> None:
    report = whole.name.removeprefix("cloud-report-")
    if report not in counts():
        pytest.skip("docs/reference/figures.md promises nothing for this study")
    book = Book(Lookup(whole.analysed))
    promised = [row for row in sources() if row.report == report and row.ours]
    assert {row.title: lacking for row in promised if (lacking := missing(whole, row, book))} == {}


def missing(whole: Whole, row: Source, book: Book) -> set[str]:
    """What evidence.html lacks of the figure: itself, the panel that is named, or the bars and lines of machines."""
    assert row.ours
    try:
        with unchecked():
            drawn: Figure | Table | None = row.ours.draw(book)
    except (StopIteration, LookupError, ValueError):
        return {"it was not measured"}
    if drawn is None:
        return {"it has no data"}
    if isinstance(drawn, Table):
        return {drawn.caption} - {*whole.evidence.headings["caption"]}
    figures = [figure for figure in whole.evidence.figures if figure.title == drawn.title]
    charts = [chart for figure in figures for chart in figure.charts_of(row.ours.panel)]
    return row.ours.lacks(book, configurations_in(charts)) if charts else {f"panel {row.ours.panel} of {drawn.title}"}


def configurations_in(charts: Iterable[Any]) -> set[str]:
    """All that have a bar, a sign or a line; and where a chart writes names beside lines, whose name is there."""
    found: set[str] = set()
    for chart in charts:
        rows = [row for many in chart["datasets"].values() for row in many]
        named = {row["series"] for row in chart["datasets"].get("names", [])}
        drawn = {row["configuration"] for row in rows if "configuration" in row}
        found |= drawn & named if named else drawn
    return found


def test_a_browser_draws_every_chart_of_the_main_page_in_silence(whole: Whole, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    try:
        page, said = context.new_page(), []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto((whole.report / "index.html").as_uri())
        page.wait_for_selector("html[data-charts=drawn]", timeout=120_000)
        empty = page.evaluate(
            "[...document.querySelectorAll('.drawing')].filter(one => !one.querySelector('path')).map(one => one.id)"
        )
        assert (said, empty) == ([], [])
    finally:
        context.close()


def test_cards_of_a_single_bar_each_ask_something_else(whole: Whole) -> None:
    """Configurations that each ran a benchmark of their own for one question are on one card."""
    lone = [card for card in whole.main.cards if len(card.texts.get("bar-name", ())) == 1]
    asked = {card.text("card-question") for card in lone}
    assert len(lone) < len(whole.main.cards) or len(lone) <= 1 or len(asked) > 1
