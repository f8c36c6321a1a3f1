"""A self-contained page without scripts: what changed from one study to another."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from nephoscope.analysis.edition_gate import reasons
from nephoscope.model import numbers as people
from nephoscope.model.editions import BestChange, ContrastChange, EditionCard, EditionRow, Editions
from nephoscope.model.rows import ComparisonVerdict
from nephoscope.model.text import visible
from nephoscope.model.words import SIMULATED, counted, scope_name
from nephoscope.report import edition_words as words
from nephoscope.report.page import environment, style
from nephoscope.report.parts import SIGNS, Badge, Cell, Column, Table, filled, verdict_badge
from nephoscope.report.wording import candidates_text, view_text

MAX_ROWS = 300
MAX_NAMED = 6
_TONES = {
    ComparisonVerdict.BETTER: "decided good",
    ComparisonVerdict.WORSE: "decided bad",
    ComparisonVerdict.TIE: "tie",
    ComparisonVerdict.UNRESOLVED: "open",
}
_SIGNS = {"same": ("=", "even"), "changed": ("≠", "bad"), "not decided": ("?", "doubt")}


@dataclass(frozen=True)
class ChangeCard:
    """One headline metric as a card prints it."""

    title: str
    who: str
    word: str
    tone: str
    change: str
    interval: str
    certainty: str
    levels: str
    counts: str
    direction: str


@dataclass(frozen=True)
class CardGroup:
    """Cards of configurations that changed in the same way."""

    differs: str
    cards: list[ChangeCard]


def render_editions(found: Editions, names: tuple[str, str], report: str | None = None) -> str:
    """The page; equal input gives equal bytes.

    Args:
        found: the comparison.
        names: of the earlier and the later study.
        report: link to the report of the later study; None: the page stands alone.
    """
    before, after = names
    priced = any(row.price_ratio is not None for row in found.rows)
    return visible(
        environment()
        .get_template("editions.html.j2")
        .render(
            before=before,
            after=after,
            report=report,
            simulated=SIMULATED if found.simulated else "",
            groups=[
                CardGroup(differs, [_card(card) for card in cards])
                for differs, cards in groupby(found.cards, key=words.differs)
            ],
            sure=words.sure(len(found.cards)),
            table=_table(found.rows, priced=priced) if found.rows else None,
            best=_best(found.best) if found.best else None,
            contrasts=_contrasts(found.contrasts) if found.contrasts else None,
            basis=found.rows[0].basis if found.rows else "",
            priced=priced,
            also_different=found.also_different,
            left_out=reasons(found.left_out),
            style=style(),
        )
    )


def _card(card: EditionCard) -> ChangeCard:
    return ChangeCard(
        title=f"{card.benchmark}: {card.title}",
        who=words.who(card),
        word=words.word(card).capitalize(),
        tone=_TONES[card.verdict],
        change=words.change(card.ratio),
        interval=words.interval(card.low, card.high),
        certainty=words.certainty(card),
        levels=words.levels(card),
        counts=words.counts(card),
        direction=words.direction(card),
    )


def _table(rows: list[EditionRow], *, priced: bool) -> Table:
    more = len(rows) - MAX_ROWS
    costs: list[tuple[Column, Callable[[EditionRow], Cell | str]]] = [
        (Column("Price", numeric=True, hint="Cost of a month, later / earlier."), _price),
        (
            Column("$ per unit", numeric=True, hint="Price / performance, later / earlier; lower is better."),
            lambda row: Cell(words.change(row.cost_ratio), note=words.interval(row.cost_low, row.cost_high)),
        ),
        (
            Column("That is"),
            lambda row: people.MISSING if row.cost_verdict is None else Cell(badges=(verdict_badge(row.cost_verdict),)),
        ),
    ]
    return filled(
        "Each configuration",
        rows[:MAX_ROWS],
        (Column("Configuration"), lambda row: Cell(words.who(row), tone="name", note="; ".join(row.differs))),
        (Column("Metric"), lambda row: Cell(f"{row.benchmark}: {row.title}", note=words.direction(row))),
        (
            Column(
                "Performance", numeric=True, hint="Later / earlier, with an interval that holds for all rows at once."
            ),
            lambda row: Cell(words.change(row.ratio), note=words.interval(row.low, row.high) or "too few values"),
        ),
        (Column("It is"), _verdict),
        *(costs if priced else []),
        (Column("n", numeric=True, hint="Values of the earlier study, of the later one."), words.counts),
        note=f"For {counted(more, 'more row')}, see nephoscope compare --json." if more > 0 else "",
        compact=False,
    )


def _price(row: EditionRow) -> Cell:
    months = f"{people.money(row.month_before_usd)} → {people.money(row.month_after_usd)}"
    return Cell(words.change(row.price_ratio), note=months if row.price_ratio else "a price is missing")


def _verdict(row: EditionRow) -> Cell:
    sign, _, tone = SIGNS[row.verdict]
    return Cell(badges=(Badge(sign, words.word(row), tone),), note=str(row.reason))


def _best(rows: list[BestChange]) -> Table:
    return filled(
        "Which configuration is the best",
        rows[:MAX_ROWS],
        (Column("Metric"), lambda row: Cell(_title(row), tone="name")),
        (Column("Among"), lambda row: scope_name(row.scope)),
        (Column("Then"), lambda row: _names(row.before, row.of_before)),
        (Column("Now"), lambda row: _names(row.after, row.of_after)),
        (Column("The answer is"), lambda row: Cell(badges=(_outcome(row.outcome),))),
    )


def _contrasts(stored: list[ContrastChange]) -> Table:
    """Ratios of costs where the question is about cost; the verdicts are about the same."""

    def ratio(of: float | None, low: float | None, high: float | None) -> Cell:
        return Cell(words.change(of), note=words.interval(low, high))

    return filled(
        "Effect of a single difference",
        [row.as_costs() if row.view == "per dollar" else row for row in stored[:MAX_ROWS]],
        (Column("Question"), lambda row: Cell(f"{row.question}: {row.left} against {row.right}", tone="name")),
        (Column("Metric"), _title),
        (Column("Then", numeric=True), lambda row: ratio(row.ratio_before, row.low_before, row.high_before)),
        (Column("It was"), lambda row: Cell(badges=(verdict_badge(row.verdict_before),))),
        (Column("Now", numeric=True), lambda row: ratio(row.ratio_after, row.low_after, row.high_after)),
        (Column("It is"), lambda row: Cell(badges=(verdict_badge(row.verdict_after),))),
        (Column("The answer is"), lambda row: Cell(badges=(_outcome(row.outcome),))),
    )


def _title(row: BestChange | ContrastChange) -> str:
    return f"{row.benchmark}: {row.title}{view_text(row.view, row.basis)}"


def _names(names: list[str], of: int) -> str:
    if len(names) == of:
        return f"any of {of}"
    return candidates_text(names, MAX_NAMED)


def _outcome(outcome: str) -> Badge:
    sign, tone = _SIGNS[outcome]
    return Badge(sign, outcome, tone)
