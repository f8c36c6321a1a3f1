"""What a verdict costs: the winner's month and its dollars per unit of work, and what costs least for the work."""

from collections.abc import Mapping, Sequence

from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.priced_quantity import PricedQuantity, priced_quantity
from nephoscope.model.records import Metric
from nephoscope.report import format as people
from nephoscope.report.lookup import Lookup
from nephoscope.report.main.names import enumerated
from nephoscope.report.parts import Book

BASES = ("on-demand", "stated")
"""Prices that bind nobody; cards use the first of these that is known."""


def basis_of(lookup: Lookup) -> str | None:
    """The basis of the prices on the main page; None without prices."""
    known = [row.basis for row in lookup.study.costs if row.month_usd is not None]
    return next((basis for basis in BASES if basis in known), known[0] if known else None)


def cost_lines(
    book: Book, benchmark: str, metric: Metric, winners: Sequence[str], names: Mapping[str, str]
) -> tuple[str, ...]:
    """Sentences without a subject that cards print; empty without prices."""
    basis = basis_of(book.lookup)
    if basis is None:
        return ()
    rows = {row.configuration: row for row in book.lookup.price_boards.get((benchmark, metric.name, basis), [])}
    sold = priced_quantity(metric.unit, min(row.usd_per_unit for row in rows.values())) if rows else None
    lines = []
    if len(winners) == 1:
        lines.append(_winner(book.lookup, winners[0], basis, rows.get(winners[0]), sold))
    if sold is not None and len(rows) > 1:
        lines.append(_cheapest(book.lookup, benchmark, metric, basis, rows, sold, names))
    return tuple(line for line in lines if line)


def _winner(lookup: Lookup, name: str, basis: str, row: PricePerformance | None, sold: PricedQuantity | None) -> str:
    month = next((cost.month_usd for cost in lookup.costs.get(name, []) if cost.basis == basis), None)
    if month is None:
        return "It has no price."
    per = f", {_per(row, sold)}" if row is not None and sold is not None else ""
    return f"Costs {people.dollars(month)} a month{per} ({basis})."


def _cheapest(
    lookup: Lookup,
    benchmark: str,
    metric: Metric,
    basis: str,
    rows: Mapping[str, PricePerformance],
    sold: PricedQuantity,
    names: Mapping[str, str],
) -> str:
    best = next(
        (
            row
            for row in lookup.study.best
            if (row.benchmark, row.metric, row.view, row.basis, row.scope)
            == (benchmark, metric.name, "per dollar", basis, "overall")
        ),
        None,
    )
    if best is None or best.method == "none" or not (best.excluded or best.tied):
        return ""
    candidates = [*best.best, *best.open]
    least = min((rows[name] for name in candidates if name in rows), key=lambda row: row.usd_per_unit, default=None)
    if least is None:
        return ""
    which = enumerated([names[name] for name in candidates], 3, last="or")
    return f"Least cost for the work: {which}, {'' if len(candidates) == 1 else 'from '}{_per(least, sold)}."


def _per(row: PricePerformance, sold: PricedQuantity) -> str:
    return f"{people.money(row.usd_per_unit * sold.size)} a month per {sold.text}"
