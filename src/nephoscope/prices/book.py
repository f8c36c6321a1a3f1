"""A price book: dated rows, and the one that held on a day. The book that ships is `shipped()`."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources

from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen
from nephoscope.prices.catalogue.index import architectures
from nephoscope.prices.rows import Basis, Price, Unit, parse_csv

_PARTITIONS = {
    "aws": ("us-gov-", "us-iso", "cn-"),
    "azure": ("usgov", "usdod", "china"),
}
"""Provider -> how the regions of its clouds for governments and for China start: they have accounts and prices of their
own, so that none of them stands for a public region, nor the other way round."""
AGREEMENT = 0.01
"""Two prices that differ by at most this share of the smaller one agree."""

ANY_REGION = "any"


class Pick(Frozen):
    """The tiers of one price, cheapest amounts first, or the reason why there is none."""

    prices: tuple[Price, ...] = ()
    reason_missing: str | None = None
    contradicted: bool = False
    """There are prices, which disagree. That is for somebody to settle; no other region's price stands for them."""

    @property
    def price(self) -> Price:
        """The price of the first units.

        Raises:
            InputError: there is none.
        """
        if not self.prices:
            raise InputError(f"no price: {self.reason_missing}")
        return self.prices[0]


def agree(left_usd: float, right_usd: float) -> bool:
    """Whether two prices are one price, rounded differently."""
    return abs(left_usd - right_usd) <= AGREEMENT * min(left_usd, right_usd)


def partition_of(provider: str, region: str) -> str:
    """The separate cloud of a provider to which a region belongs; empty: its public one."""
    return next((start for start in _PARTITIONS.get(provider, ()) if region.startswith(start)), "")


Further = Callable[[str, str, str | None], tuple[Price, ...]]
"""(provider, item, region or None for all) -> rows, which take time to load."""


class PriceBook:
    """Rows in the order of their files, found by what they price; and further ones, which are looked up by item."""

    def __init__(self, rows: Iterable[Price], further: Further | None = None) -> None:
        self.rows = tuple(rows)
        self._further = further
        self._by_item: dict[tuple[str, str, str], list[Price]] = defaultdict(list)
        for row in self.rows:
            self._by_item[row.provider, row.region, row.item].append(row)
        self._regions: dict[tuple[str, str], set[str]] = defaultdict(set)
        """(provider, item) -> where it has a price."""
        for provider, region, item in self._by_item:
            self._regions[provider, item].add(region)

    def over(self, base: "PriceBook") -> "PriceBook":
        """This book, and of another one the rows of what this one has no price of."""
        mine = {_what(row) for row in self.rows}

        def further(provider: str, item: str, region: str | None) -> tuple[Price, ...]:
            return tuple(row for row in base.further(provider, item, region) if _what(row) not in mine)

        return PriceBook([*self.rows, *(row for row in base.rows if _what(row) not in mine)], further)

    def further(self, provider: str, item: str, region: str | None = None) -> tuple[Price, ...]:
        """Rows of an item, in one region or in all, that are not among `rows`."""
        return self._further(provider, item, region) if self._further else ()

    @property
    def providers(self) -> set[str]:
        """Names of all providers with a row."""
        return {provider for provider, _, _ in self._by_item}

    def select(
        self,
        *,
        provider: str | None = None,
        region: str | None = None,
        item: str | None = None,
        basis: Basis | None = None,
    ) -> list[Price]:
        """Rows to look at; `item` may hold `*` and `?`."""
        return [
            row
            for row in self.rows
            if (provider is None or row.provider == provider)
            and (region is None or row.region == region)
            and (item is None or fnmatchcase(row.item, item))
            and (basis is None or row.basis is basis)
        ]

    def picks(self, rows: Iterable[Price], on: date) -> list[Pick]:
        """What `price_at` picks for a day, for each thing that the rows price."""
        things = dict.fromkeys((row.provider, row.region, row.item, row.basis, row.unit, row.terms) for row in rows)
        return [self.price_at(on, *thing[:4], unit=thing[4], terms=thing[5]) for thing in things]

    def of_item(self, provider: str, region: str, item: str) -> list[Price]:
        """Every row of one item in one region; those for any region where it has none of its own."""
        own = self._by_item.get((provider, region, item), [])
        return [*own, *self.further(provider, item, region)] or self._by_item.get((provider, ANY_REGION, item), [])

    def price_at(
        self,
        on: date,
        provider: str,
        region: str,
        item: str,
        basis: Basis,
        *,
        unit: Unit | None = None,
        terms: str | None = None,
    ) -> Pick:
        """The newest price that is not younger than the day `on`, not held wrong and no unexplained 0.

        Never a guess: an unknown item, a book that begins later, an open choice of unit or terms and sources that
        disagree on their day are reasons for no price.
        """
        what = f"{provider} {region} {item}"
        there_are = self.of_item(provider, region, item)
        rows = [row for row in there_are if not row.disputed and not row.unexplained_zero]
        if not rows:
            why = "only disputed rows or prices of 0" if there_are else "not"
            return Pick(reason_missing=f"{what}: {why} in the price book")
        of_basis = [row for row in rows if row.basis is basis]
        if not of_basis:
            there = ", ".join(sorted({row.basis for row in rows}))
            return Pick(reason_missing=f"{what}: no {basis} price, only {there}")
        fitting = [
            row for row in of_basis if (unit is None or row.unit is unit) and (terms is None or row.terms == terms)
        ]
        if not fitting:
            asked = " ".join(part for part in (f"by the {unit}" if unit else "", terms or "") if part)
            return Pick(reason_missing=f"{what}: no {basis} price {asked}".rstrip())
        before = [row for row in fitting if row.since <= on]
        if not before:
            first = min(fitting, key=lambda row: row.since)
            return Pick(reason_missing=f"{what}: the first {basis} price is of {first.date}, after {on}")
        day = max(row.since for row in before)
        newest = [row for row in before if row.since == day]
        held = [row for row in newest if not row.ended(on)]
        if not held:
            last = max(row.until for row in newest)
            return Pick(reason_missing=f"{what}: the last {basis} price held until {last}, before {on}")
        return _newest(held, f"{what}: {basis}")

    def price_elsewhere(
        self,
        on: date,
        provider: str,
        region: str,
        item: str,
        basis: Basis,
        *,
        unit: Unit | None = None,
        terms: str | None = None,
    ) -> Pick:
        """What `price_at` finds in the provider's other regions; of several the dearest, so that no bill is too low.

        Only regions of the same partition count, see `partition_of`. Each of its rows names its region: whoever uses
        one must say so.
        """
        further = {row.region for row in self.further(provider, item)}
        ours = partition_of(provider, region)
        known = (self._regions.get((provider, item), set()) | further) - {region}
        regions = sorted(one for one in known if partition_of(provider, one) == ours)
        found = [self.price_at(on, provider, one, item, basis, unit=unit, terms=terms) for one in regions]
        priced = [pick for pick in found if pick.prices]
        if not priced:
            return Pick(reason_missing=f"{provider} {item}: in no region of the price book")
        return max(priced, key=lambda pick: pick.price.usd)


def _what(row: Price) -> tuple[str, ...]:
    """What a row prices, under which basis."""
    return (row.provider, row.region, row.item, row.unit, row.basis)


def _newest(rows: list[Price], what: str) -> Pick:
    """The tiers of the newest day, of one source; every row is of one item and basis."""
    for name in ("unit", "terms"):
        choices = sorted({getattr(row, name) or "(not stated)" for row in rows})
        if len(choices) > 1:
            return Pick(reason_missing=f"{what} has several {name}, choose one: {'; '.join(choices)}")
    source = rows[0].source  # of equal rows, one of the book stands before those of the catalogue
    tiers = sorted((row for row in rows if row.source == source), key=lambda row: row.above)
    by_tier = {row.above: row for row in tiers}
    for row in rows:
        chosen = by_tier.get(row.above)
        if chosen is None or not agree(chosen.usd, row.usd):
            reason = f"{what}: {_disagreeing(source, row.source)} on {row.date}"
            return Pick(reason_missing=reason, contradicted=True)
    return Pick(prices=tuple(by_tier.values()))


def _disagreeing(left: str, right: str) -> str:
    return f"two rows of {left} disagree" if left == right else f"{left} and {right} disagree"


@cache
def shipped() -> PriceBook:
    """The book that ships with nephoscope, read once, with the prices of the catalogue: the newest of either holds."""
    folder = resources.files("nephoscope.prices").joinpath("data")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".csv")), key=lambda file: file.name)
    rows = [row for file in files for row in parse_csv(file.read_text(encoding="utf-8"), file.name)]

    @cache
    def further(provider: str, item: str, region: str | None) -> tuple[Price, ...]:
        if (provider, item) not in architectures():
            return ()
        from nephoscope.prices.catalogue.machines import prices_of  # Polars takes time to load

        return prices_of(provider, item, region)

    return PriceBook(rows, further)
