"""Which configuration costs least for what it does on each price basis, and whether that is certain."""

from collections.abc import Mapping, Sequence

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.leaders import RATE, short
from nephoscope.insights.steal import cautioned
from nephoscope.insights.words import Draft, interval_of_one, plural, say
from nephoscope.model.numbers import Number
from nephoscope.model.price_rows import STATED, PricePerformance
from nephoscope.model.priced_quantity import priced_quantity
from nephoscope.model.words import enumeration
from nephoscope.prices.rows import Basis

NAME = "price_leaders"
_TERMS: Mapping[str, str] = {Basis.RESERVED_1Y: "one-year", Basis.RESERVED_3Y: "three-year"}
"""What a reader calls the price of a commitment."""


def price_leaders(lookup: Lookup) -> list[Draft]:
    """A sentence for each metric on the first basis, and for each other one on which another configuration costs least.

    Of at least two configurations with a price.
    """
    boards: dict[tuple[str, str], dict[str, list[PricePerformance]]] = {}
    for row in lookup.study.price_performance:
        boards.setdefault((row.benchmark, row.metric), {}).setdefault(row.basis, []).append(row)
    found: list[Draft] = []
    for _, by_basis in sorted(boards.items()):
        of_many = {basis: rows for basis, rows in sorted(by_basis.items()) if len(rows) > 1}
        first = min(of_many, key=lambda basis: (basis != lookup.basis, basis), default=None)
        if first is None:
            continue
        leads = {basis: _best(rows).configuration for basis, rows in of_many.items()}
        same = [basis for basis in of_many if basis != first and leads[basis] == leads[first]]
        told_of = [first, *(basis for basis in of_many if leads[basis] != leads[first])]
        found += [_sentence(lookup, of_many[basis], same if basis == first else ()) for basis in told_of]
    return found


def _called(basis: str) -> str:
    return _TERMS.get(basis, basis)


def _measured(row: PricePerformance) -> str:
    """What the month is of; a price that the study states is of the cluster."""
    if row.basis == STATED:
        return ""
    return ", {machines:count} " + plural(row.machines, "machine") + (" without volumes" if row.without_volumes else "")


def _best(rows: Sequence[PricePerformance]) -> PricePerformance:
    return min(rows, key=lambda row: (row.usd_per_unit, row.configuration))


def _sentence(lookup: Lookup, rows: Sequence[PricePerformance], same: Sequence[str]) -> Draft:
    """`same`: other bases on which the same configuration costs least."""
    best = _best(rows)
    row = lookup.best_of(best.benchmark, best.metric, view="per dollar", basis=best.basis)
    sold = priced_quantity(
        best.unit, min(row.usd_per_unit for row in lookup.study.price_performance if row.unit == best.unit)
    )
    numbers: dict[str, Number] = {
        "usd": sold.price(best),
        "quantity": sold.count,
        "month": best.month_usd,
        "coverage": 100 * best.coverage,
        "n": best.n,
        "machines": best.machines,
    }
    rate, certainty, delivered = "", "", ""
    words: Mapping[str, str] = {}
    if row is not None and row.best == [best.configuration] and row.excluded and not row.reason:
        rate = "; error rate {alpha:limit} %"
        if row.close:
            certainty = " {close} " + plural(len(row.close), "costs", "cost") + " less than {margin:limit} % more."
        words = {"close": enumeration(row.close)}
        numbers |= {"alpha": 100 * row.alpha, "margin": row.margin_percent}
    elif row is not None:
        may_be, more, words = short(row, "cheapest")
        certainty = f" Which one costs least: {may_be} {RATE}."
        certainty += " Any two of them differ by less than {margin:limit} %." if row.tied else ""
        numbers |= {**more, "alpha": 100 * row.alpha, "margin": row.margin_percent}
        delivered = "as delivered " if row.reason else ""
    measured = len(lookup.statistics_of(best.benchmark, best.metric))
    numbers |= {"priced": len(rows), "measured": measured}
    known = ", known for only {priced:count} of {measured:count}" if len(rows) < measured else ""
    insight = say(
        NAME,
        "answer",
        f"{{benchmark_name}}: at {{basis}} prices{known}, {delivered}"
        "{name} costs least for its {title}: {usd:money} a month per "
        + ("{quantity:count}{unit} (" if sold.needs_count else "{unit} (")
        + interval_of_one(best.n, "usd", "money")
        + "; price from {date}"
        + _measured(best)
        + rate
        + ")."
        + certainty
        + (" It also costs least at {same} prices." if same else ""),
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=best.benchmark,
        benchmark_name=best.benchmark,
        basis=_called(best.basis),
        name=best.configuration,
        title=lookup.title(best.benchmark, best.metric),
        unit=sold.suffix if sold.needs_count else sold.suffix.strip(),
        date=best.date or "the study",
        same=enumeration([_called(basis) for basis in same]),
        **words,
    )
    return cautioned(insight, lookup)
