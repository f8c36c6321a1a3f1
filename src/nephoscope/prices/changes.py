"""What a new price list changes: its prices beside those that a book had until then. Pure."""

from collections.abc import Iterable
from datetime import date

from nephoscope.model.frozen import Frozen
from nephoscope.prices.book import PriceBook, agree
from nephoscope.prices.rows import Price


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
