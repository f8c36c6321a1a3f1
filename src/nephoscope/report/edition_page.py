"""A self-contained page without scripts: what changed from one study to another."""

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
from nephoscope.report.parts import SIGNS, Badge, Cell, Column, Row, Table, verdict_badge
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
    money = (
        Column("Price", numeric=True, hint="Cost of a month, later / earlier."),
        Column("$ per unit", numeric=True, hint="Price / performance, later / earlier; lower is better."),
        Column("That is"),
    )
    columns = (
        Column("Configuration"),
        Column("Metric"),
        Column("Performance", numeric=True, hint="Later / earlier, with an interval that holds for all rows at once."),
        Column("It is"),
        *(money if priced else ()),
        Column("n", numeric=True, hint="Values of the earlier study, of the later one."),
    )
    more = len(rows) - MAX_ROWS
    note = f"For {counted(more, 'more row')}, see nephoscope compare --json." if more > 0 else ""
    body = tuple(_row(row, priced=priced) for row in rows[:MAX_ROWS])
    return Table("Each configuration", columns, body, note=note)


def _row(row: EditionRow, *, priced: bool) -> Row:
    months = f"{people.money(row.month_before_usd)} → {people.money(row.month_after_usd)}"
    sign, _, tone = SIGNS[row.verdict]
    money = (
        Cell(words.change(row.price_ratio), note=months if row.price_ratio else "a price is missing"),
        Cell(words.change(row.cost_ratio), note=words.interval(row.cost_low, row.cost_high)),
        Cell(people.MISSING) if row.cost_verdict is None else Cell(badges=(verdict_badge(row.cost_verdict),)),
    )
    return Row(
        (
            Cell(words.who(row), tone="name", note="; ".join(row.differs)),
            Cell(f"{row.benchmark}: {row.title}", note=words.direction(row)),
            Cell(words.change(row.ratio), note=words.interval(row.low, row.high) or "too few values"),
            Cell(badges=(Badge(sign, words.word(row), tone),), note=str(row.reason)),
            *(money if priced else ()),
            Cell(words.counts(row)),
        )
    )


def _best(rows: list[BestChange]) -> Table:
    columns = (Column("Metric"), Column("Among"), Column("Then"), Column("Now"), Column("The answer is"))
    body = tuple(
        Row(
            (
                Cell(_title(row), tone="name"),
                Cell(scope_name(row.scope)),
                Cell(_names(row.before, row.of_before)),
                Cell(_names(row.after, row.of_after)),
                Cell(badges=(_outcome(row.outcome),)),
            )
        )
        for row in rows[:MAX_ROWS]
    )
    return Table("Which configuration is the best", columns, body, compact=True)


def _contrasts(stored: list[ContrastChange]) -> Table:
    """Ratios of costs where the question is about cost; the verdicts are about the same."""
    rows = [row.as_costs() if row.view == "per dollar" else row for row in stored[:MAX_ROWS]]
    columns = (
        Column("Question"),
        Column("Metric"),
        Column("Then", numeric=True),
        Column("It was"),
        Column("Now", numeric=True),
        Column("It is"),
        Column("The answer is"),
    )
    body = tuple(
        Row(
            (
                Cell(f"{row.question}: {row.left} against {row.right}", tone="name"),
                Cell(_title(row)),
                Cell(words.change(row.ratio_before), note=words.interval(row.low_before, row.high_before)),
                Cell(badges=(verdict_badge(row.verdict_before),)),
                Cell(words.change(row.ratio_after), note=words.interval(row.low_after, row.high_after)),
                Cell(badges=(verdict_badge(row.verdict_after),)),
                Cell(badges=(_outcome(row.outcome),)),
            )
        )
        for row in rows
    )
    return Table("Effect of a single difference", columns, body, compact=True)


def _title(row: BestChange | ContrastChange) -> str:
    return f"{row.benchmark}: {row.title}{view_text(row.view, row.basis)}"


def _names(names: list[str], of: int) -> str:
    if len(names) == of:
        return f"any of {of}"
    return candidates_text(names, MAX_NAMED)


def _outcome(outcome: str) -> Badge:
    sign, tone = _SIGNS[outcome]
    return Badge(sign, outcome, tone)
