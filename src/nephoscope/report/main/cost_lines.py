"""What a verdict costs: the winner's month and its dollars per unit of work, and what costs least for the work."""

from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.analysis.answers import answers
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import enumerated, names_of
from nephoscope.model import numbers as people
from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.priced_quantity import PricedQuantity
from nephoscope.model.questions import BestRow
from nephoscope.model.records import Direction, Metric
from nephoscope.report.parts import Book
from nephoscope.report.wording import basis_text, paid_for, sold_text

MAX_BEHIND = 0.05
"""A configuration whose level is so little behind the winner's does nearly the same."""
MAX_PRICE = 0.7
"""At this share of the winner's price it costs much less."""


def cost_lines(book: Book, benchmark: str, metric: Metric, winners: Sequence[str]) -> tuple[str, ...]:
    """Sentences without a subject that cards print; empty without prices."""
    if book.lookup.basis is None:
        return ()
    rows = {row.configuration: row for row in book.lookup.prices_of(benchmark, metric.name)}
    sold = book.lookup.sold(metric.unit) if rows else None
    lines = []
    if len(winners) == 1:
        lines.append(_winner(book.lookup, benchmark, metric, winners[0], rows.get(winners[0]), sold))
        lines.append(_nearly_as_good(book.lookup, benchmark, metric, winners[0]))
    least = cheapest(book.lookup, benchmark, metric)
    if least is not None and least.is_decided:
        which = enumerated(least.names, 3, last="or")
        lines.append(f"Least cost for the work: {which}, {'' if len(least.names) == 1 else 'from '}{least.price}.")
    return tuple(line for line in lines if line)


def _month_usd(lookup: Lookup, benchmark: str, name: str) -> float | None:
    """A month of what the benchmark measures of a configuration, on the page's price basis."""
    cost = lookup.cost_of(name, lookup.basis)
    return None if cost is None else cost.month_of(lookup.extents[benchmark])


def _winner(
    lookup: Lookup,
    benchmark: str,
    metric: Metric,
    name: str,
    row: PricePerformance | None,
    sold: PricedQuantity | None,
) -> str:
    cost, month = lookup.cost_of(name, lookup.basis), _month_usd(lookup, benchmark, name)
    if cost is None or month is None:
        return "It has no price."
    per = f", {_per(row, sold, metric)}" if row is not None and sold is not None else ""
    if row is not None and sold is not None and (row.usd_per_unit_with_transfer or 0.0) > row.usd_per_unit:
        per += f", {people.money((row.usd_per_unit_with_transfer or 0.0) * sold.size)} with transfer between them"
    what = paid_for(cost, lookup.extents[benchmark])
    return f"Costs {people.money(month)} a month for {what}{per} ({basis_text(cost.basis)})."


def _nearly_as_good(lookup: Lookup, benchmark: str, metric: Metric, winner: str) -> str:
    """'98 % of it for 23 % of its price: m9g, $326.40 a month.'; empty if no close follower costs much less."""
    levels = {row.configuration: row.compared.value for row in lookup.statistics_of(benchmark, metric.name)}
    month, best = _month_usd(lookup, benchmark, winner), levels.get(winner)
    if not month or not best:
        return ""
    sign = 1 if metric.direction is Direction.HIGHER else -1
    behind = {name: sign * (1 - level / best) for name, level in levels.items() if name != winner}
    priced = {name: _month_usd(lookup, benchmark, name) for name, share in behind.items() if share <= MAX_BEHIND}
    cheap = {name: usd for name, usd in priced.items() if usd is not None and usd <= MAX_PRICE * month}
    if not cheap:
        return ""
    name = min(cheap, key=lambda one: (cheap[one], one))
    share = people.share(levels[name] / best)
    what = f"{share} of it" if sign > 0 else f"{people.share(max(behind[name], 0.0))} more"
    price = f"{people.share(cheap[name] / month)} of its price"
    return f"{what} for {price}: {names_of(lookup)[name]}, {people.money(cheap[name])} a month."


@dataclass(frozen=True)
class Cheapest:
    """What costs least for a unit of work, on the page's price basis."""

    names: list[str]
    """Those that may cost least, for a reader."""
    of: int
    price: str
    """Of the one that costs least by its level: '$0.58 a month per 1,000 SET/s'."""
    basis: str
    is_decided: bool
    is_repeated: bool
    trials: list[str]

    @property
    def clause(self) -> str:
        """The end of a sentence."""
        prices = f"({basis_text(self.basis)} prices)"
        if self.of == 1:
            return f"the work costs {self.price} on {self.names[0]} {prices}"
        if self.is_decided:
            which = enumerated(self.names, 3, last="or")
            of_several = "" if len(self.names) == 1 else "from "
            return f"the work costs least on {which}, {of_several}{self.price} {prices}"
        return (
            f"which of {self.of:,} configurations costs least for the work is not decided; by the "
            f"{'levels' if self.is_repeated else 'single runs'} it is "
            f"{self.names[0]}, {self.price} {prices}"
        )


def cheapest(lookup: Lookup, benchmark: str, metric: Metric) -> Cheapest | None:
    """None without prices, and for a metric of which less is better."""
    rows = {row.configuration: row for row in lookup.prices_of(benchmark, metric.name)}
    if not rows:
        return None
    best = lookup.best_of(benchmark, metric.name, view="per dollar", basis=lookup.basis)
    decided = best is not None and best.method != "none" and (best.tied or _is_answered(best))
    candidates = [name for name in best.best if name in rows] if decided and best else [*rows]
    if not candidates:
        return None
    by_price = sorted(candidates, key=lambda name: rows[name].usd_per_unit)
    least, names = rows[by_price[0]], names_of(lookup)
    sold = lookup.sold(metric.unit)
    return Cheapest(
        names=[names[name] for name in (candidates if decided else by_price)],
        of=len(rows),
        price=_per(least, sold, metric),
        basis=least.basis,
        is_decided=decided,
        is_repeated=any(row.n > 1 for row in rows.values()),
        trials=[trial for row in rows.values() for trial in row.trials],
    )


def _is_answered(best: BestRow) -> bool:
    return best.excluded > 0 and answers(len(best.best), best.of - len(best.open))


def _per(row: PricePerformance, sold: PricedQuantity, metric: Metric) -> str:
    return f"{people.money(sold.price(row))} a month per {sold_text(metric, sold)}"
