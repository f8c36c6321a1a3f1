"""What is wrong or doubtful in a book: five findings, each with its own message. Pure: the caller gives the day."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date
from enum import StrEnum
from itertools import groupby

from nephoscope.model.frozen import Frozen
from nephoscope.model.words import listed
from nephoscope.prices.book import PriceBook, agree
from nephoscope.prices.rows import Basis, Price

MAX_AGE_DAYS = 365
_SHOWN = 6


class Problem(StrEnum):
    """What a finding is about."""

    MIXED_BASIS = "mixed-basis"
    ZERO = "zero"
    DUPLICATE = "duplicate"
    OLD = "old"
    DISAGREEMENT = "disagreement"


class Finding(Frozen):
    """One thing to look at."""

    problem: Problem
    message: str
    rejected: bool
    """True: the book must not be used in this state. False: a warning."""


def check(book: PriceBook, today: date, *, against: PriceBook | None = None) -> list[Finding]:
    """Everything doubtful in a book; problems that rule the book out come first.

    `against` is a second book to compare prices with, for example the built-in one; it is not checked itself.
    """
    known = PriceBook([*book.rows, *(against.rows if against else ())])
    mixed = list(_mixed(book, known))
    odd = {price for _, rows in mixed for price in rows}
    return [
        *(finding for finding, _ in mixed),
        *_zeros(book.rows),
        *_duplicates(book.rows),
        *_old(book.rows, today),
        *_disagreements([row for row in known.rows if row not in odd], set(book.rows)),
        *_fitting_nothing(book, known),
    ]


def _mixed(book: PriceBook, known: PriceBook) -> Iterator[tuple[Finding, list[Price]]]:
    """Columns (one source, kind and stated basis) in which some prices are those of another basis.

    Where a basis is stated, others must contradict the price under it: else the other one may be mislabelled.
    """
    columns: dict[tuple[str, str, Basis], list[Price]] = defaultdict(list)
    for row in book.rows:
        if not row.disputed:
            columns[row.source, row.kind, row.basis].append(row)
    for (source, _, stated), column in columns.items():
        fits = {row: _bases_of_this_price(row, known) for row in column}
        expected = stated if stated is not Basis.NOT_STATED else _most_common(fits.values())
        odd = [
            row
            for row, bases in fits.items()
            if bases and expected not in bases and (stated is Basis.NOT_STATED or _instead(row, expected, known))
        ]
        if not odd:
            continue
        others = [row for row, bases in fits.items() if expected in bases]
        parts = [f"{_list(others)} {'are' if len(others) > 1 else 'is'} {expected}"] if others else []
        parts += [f"{_said(row)} is {' or '.join(sorted(fits[row]))}{_instead(row, expected, known)}" for row in odd]
        said = "states no basis" if stated is Basis.NOT_STATED else f"states {stated}"
        message = f"one column mixes bases: {source} {said}, but {'; '.join(parts)}"
        yield Finding(problem=Problem.MIXED_BASIS, message=message, rejected=True), odd


def _bases_of_this_price(row: Price, known: PriceBook) -> set[Basis]:
    """Bases under which others price the item the same."""
    return {other.basis for other in _others(row, known) if agree(other.usd, row.usd)}


def _others(row: Price, known: PriceBook) -> Iterator[Price]:
    """Rows of other sources for the same thing, whatever their basis, terms and day."""
    for other in known.of_item(row.provider, row.region, row.item):
        same = other.kind is row.kind and other.unit is row.unit and other.above == row.above
        if same and other.source != row.source and other.basis is not Basis.NOT_STATED and not other.disputed:
            yield other


def _most_common(sets: Iterable[set[Basis]]) -> Basis:
    counts: dict[Basis, int] = defaultdict(int)
    for bases in sets:
        for basis in bases:
            counts[basis] += 1
    return max(sorted(counts), key=lambda basis: counts[basis], default=Basis.NOT_STATED)


def _instead(row: Price, expected: Basis, known: PriceBook) -> str:
    of_basis = sorted({other.usd for other in _others(row, known) if other.basis is expected})
    return f" ({expected} is {', '.join(f'{usd:g}' for usd in of_basis)})" if of_basis else ""


def _zeros(rows: Iterable[Price]) -> Iterator[Finding]:
    for row in rows:
        if row.unexplained_zero:
            message = (
                f"price 0: {row.place}, {row.basis}, {row.source} of {row.date}; if it is free, say so in its note"
            )
            yield Finding(problem=Problem.ZERO, message=message, rejected=False)


def _duplicates(rows: Iterable[Price]) -> Iterator[Finding]:
    def key(row: Price) -> tuple[str, ...]:
        return (*_thing(row), row.source, row.date)

    for _, group in groupby(sorted(rows, key=key), key=key):
        same = list(group)
        if len(same) > 1:
            row, prices = same[0], sorted({row.usd for row in same})
            message = (
                f"appears {len(same)} times: {row.place}, {row.basis}, {row.source} of {row.date}, "
                f"with {' and '.join(f'{usd:g}' for usd in prices)} USD"
            )
            yield Finding(problem=Problem.DUPLICATE, message=message, rejected=False)


def _old(rows: Iterable[Price], today: date) -> Iterator[Finding]:
    """One finding for each kind of thing of a provider whose newest price is old."""
    newest: dict[tuple[str, ...], Price] = {}
    for row in rows:
        if not row.disputed:
            key = _thing(row)
            newest[key] = max(newest.get(key, row), row, key=lambda one: one.since)
    old: dict[tuple[str, str, str, str], list[Price]] = defaultdict(list)
    for row in newest.values():
        if (today - row.since).days > MAX_AGE_DAYS:
            old[row.provider, row.region, row.kind, row.basis].append(row)
    for (provider, region, kind, basis), group in sorted(old.items()):
        oldest = min(group, key=lambda row: row.since)
        items = sorted({row.item for row in group})
        shown = listed(items, _SHOWN)
        message = (
            f"old: no {basis} price of {provider} {region} {kind} younger than {MAX_AGE_DAYS} days for {shown}; "
            f"the oldest is of {oldest.date}, {(today - oldest.since).days} days ago"
        )
        yield Finding(problem=Problem.OLD, message=message, rejected=False)


def _disagreements(rows: Iterable[Price], checked: set[Price]) -> Iterator[Finding]:
    """Newest prices of each source for one thing that differ by more than 1 %.

    A price that one source changed in time is no disagreement, and neither are prices of different terms.
    """
    things: dict[tuple[str, ...], dict[str, Price]] = defaultdict(dict)
    for row in rows:
        if row.basis is not Basis.NOT_STATED:
            of_source = things[_thing(row)]
            of_source[row.source] = max(of_source.get(row.source, row), row, key=lambda one: one.since)
    for by_source in things.values():
        prices = sorted(by_source.values(), key=lambda row: row.usd)
        if len(prices) < 2 or agree(prices[0].usd, prices[-1].usd) or not checked & set(prices):
            continue
        low, high = prices[0], prices[-1]
        by = f"by {100 * (high.usd / low.usd - 1):.1f} %" if low.usd else "(one is 0)"
        doubt = next((f"; considered wrong: {row.source}: {row.disputed}" for row in (low, high) if row.disputed), "")
        message = (
            f"sources disagree {by}: {low.place}, {low.basis}: {low.usd:g} ({low.source}, {low.date}), "
            f"{high.usd:g} ({high.source}, {high.date}){doubt}"
        )
        yield Finding(problem=Problem.DISAGREEMENT, message=message, rejected=False)


def _fitting_nothing(book: PriceBook, known: PriceBook) -> Iterator[Finding]:
    """Prices of no stated basis that are the price of others under none."""
    for row in book.rows:
        others = sorted({(other.basis, other.usd) for other in _others(row, known)})
        if row.basis is Basis.NOT_STATED and others and not _bases_of_this_price(row, known):
            there = ", ".join(f"{basis} {usd:g}" for basis, usd in others)
            message = (
                f"sources disagree: {row.place}: {row.usd:g} ({row.source}, {row.date}) matches no basis of {there}"
            )
            yield Finding(problem=Problem.DISAGREEMENT, message=message, rejected=False)


def _thing(row: Price) -> tuple[str, ...]:
    return (row.provider, row.region, row.kind, row.item, row.unit, repr(row.above), row.basis, row.terms)


def _said(row: Price) -> str:
    return f"{row.item} {row.usd:g}"


def _list(rows: list[Price]) -> str:
    return listed([_said(row) for row in rows], _SHOWN)


class Change(Frozen):
    """A price that is no longer what the book has."""

    before: Price
    now: Price

    @property
    def percent(self) -> float:
        """By how much it rose; below 0: fell."""
        return 100 * (self.now.usd / self.before.usd - 1)

    def __str__(self) -> str:
        basis = f"{self.now.basis}, {self.now.terms}" if self.now.terms else self.now.basis
        return (
            f"{self.now.place}, {basis}: ${self.before.usd:g} ({self.before.date}) is now ${self.now.usd:g} "
            f"({self.percent:+.1f} %)"
        )


class Changes(Frozen):
    """All rows of a list, by what became of them."""

    changed: tuple[Change, ...]
    """The largest change first."""
    unchanged: int
    new: int
    """Of what the book has no price."""


def changes(rows: Iterable[Price], book: PriceBook, on: date) -> Changes:
    """Compares each row that holds on a day with the book's price of its item, region, basis, unit, terms and tier."""
    changed: list[Change] = []
    unchanged = new = 0
    for row in rows:
        if row.since > on or row.ended(on):
            continue
        pick = book.price_at(on, row.provider, row.region, row.item, row.basis, unit=row.unit, terms=row.terms)
        before = next((price for price in pick.prices if price.above == row.above and price.usd > 0), None)
        if before is None:
            new += 1
        elif agree(before.usd, row.usd):
            unchanged += 1
        else:
            changed.append(Change(before=before, now=row))
    return Changes(
        changed=tuple(sorted(changed, key=lambda one: (-abs(one.percent), one.now.place))),
        unchanged=unchanged,
        new=new,
    )
