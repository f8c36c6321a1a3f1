"""What a verdict costs: the winner's month and its dollars per unit of work, and what costs least for the work."""

from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.priced_quantity import PricedQuantity
from nephoscope.model.records import Metric
from nephoscope.report import format as people
from nephoscope.report.lookup import Lookup
from nephoscope.report.main.names import enumerated, names_of
from nephoscope.report.parts import Book


def cost_lines(book: Book, benchmark: str, metric: Metric, winners: Sequence[str]) -> tuple[str, ...]:
    """Sentences without a subject that cards print; empty without prices."""
    basis = book.lookup.basis
    if basis is None:
        return ()
    rows = {row.configuration: row for row in book.lookup.prices_of(benchmark, metric.name)}
    sold = book.lookup.sold(metric.unit) if rows else None
    lines = []
    if len(winners) == 1:
        lines.append(_winner(book.lookup, winners[0], basis, rows.get(winners[0]), sold))
    least = cheapest(book.lookup, benchmark, metric)
    if least is not None and least.is_decided:
        which = enumerated(least.names, 3, last="or")
        lines.append(f"Least cost for the work: {which}, {'' if len(least.names) == 1 else 'from '}{least.price}.")
    return tuple(lines)


def _winner(lookup: Lookup, name: str, basis: str, row: PricePerformance | None, sold: PricedQuantity | None) -> str:
    month = next((cost.month_usd for cost in lookup.costs.get(name, []) if cost.basis == basis), None)
    if month is None:
        return "It has no price."
    per = f", {_per(row, sold)}" if row is not None and sold is not None else ""
    return f"Costs {people.dollars(month)} a month{per} ({basis})."


@dataclass(frozen=True)
class Cheapest:
    """What costs least for a unit of work, on the page's price basis."""

    names: list[str]
    """Those that may cost least, for a reader."""
    of: int
    price: str
    """Of the one that costs least by its median: '$0.58 a month per 1,000 SET/s'."""
    basis: str
    is_decided: bool
    trials: list[str]

    @property
    def clause(self) -> str:
        """The end of a sentence."""
        prices = f"({self.basis} prices)"
        if self.of == 1:
            return f"{self.names[0]} costs {self.price} {prices}"
        if self.is_decided:
            which = enumerated(self.names, 3, last="or")
            return f"{which} costs least for the work, {'' if len(self.names) == 1 else 'from '}{self.price} {prices}"
        return (
            f"which of {self.of:,} configurations costs least for the work is not decided; by the medians it is "
            f"{self.names[0]}, {self.price} {prices}"
        )


def cheapest(lookup: Lookup, benchmark: str, metric: Metric) -> Cheapest | None:
    """None without prices, and for a metric of which less is better."""
    rows = {row.configuration: row for row in lookup.prices_of(benchmark, metric.name)}
    if not rows:
        return None
    best = next(
        (
            row
            for row in lookup.study.best
            if (row.benchmark, row.metric, row.view, row.basis, row.scope)
            == (benchmark, metric.name, "per dollar", lookup.basis, "overall")
        ),
        None,
    )
    decided = best is not None and best.method != "none" and bool(best.excluded or best.tied)
    candidates = [name for name in (*best.best, *best.open) if name in rows] if decided and best else [*rows]
    if not candidates:
        return None
    by_price = sorted(candidates, key=lambda name: rows[name].usd_per_unit)
    least, names = rows[by_price[0]], names_of(lookup)
    sold = lookup.sold(metric.unit)
    return Cheapest(
        names=[names[name] for name in (candidates if decided else by_price)],
        of=len(rows),
        price=_per(least, sold),
        basis=least.basis,
        is_decided=decided,
        trials=[trial for row in rows.values() for trial in row.trials],
    )


def _per(row: PricePerformance, sold: PricedQuantity) -> str:
    return f"{people.money(row.usd_per_unit * sold.size)} a month per {sold.text}"
