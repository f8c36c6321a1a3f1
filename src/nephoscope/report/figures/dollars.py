"""What a unit of performance costs a month, with every price basis side by side."""

from collections.abc import Sequence
from typing import Any

from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.priced_quantity import PricedQuantity
from nephoscope.report.figures import groups, row_charts
from nephoscope.report.figures.results import Results
from nephoscope.report.parts import Book, Cell, Column, Figure, Row, Table, evidence_cell
from nephoscope.report.wording import basis_text


def dollars(book: Book, results: Results) -> Figure | None:
    """The cheapest machines overall, and of each cloud and size, with a sign for each basis; None without prices."""
    metric, rows = results.metric, results.prices(book.lookup)
    if not rows:
        return None
    bases = [basis for basis in book.lookup.bases if any(row.basis == basis for row in rows)]
    by_name: dict[str, list[PricePerformance]] = {}
    for row in rows:
        by_name.setdefault(row.configuration, []).append(row)
    first = {name: _first(many, bases) for name, many in by_name.items()}
    order = sorted(first, key=lambda name: (bases.index(first[name].basis), first[name].usd_per_unit, name))
    panels = {groups.OVERALL: order} | groups.only(groups.clouds_and_sizes(book.lookup), order, least=2)
    each = "A sign for each number of warehouses" if len(rows) > len(by_name) * len(bases) else "Signs"
    shown = groups.ranked(panels)
    sold = book.lookup.sold(metric.unit)
    kinds = row_charts.kinds(book.lookup.bases)
    series = {basis_text(basis): sign for basis, sign in kinds.items() if basis in bases}
    kept = {name for names in shown.values() for name in names}
    ends = [row.high * sold.size for row in rows if row.configuration in kept]
    axis = f"$ a month per {sold.text}, lower is better"
    drawn = []
    for title, names in shown.items():
        data = [_point(row, sold) for name in names for row in by_name[name]]
        spec = row_charts.signs(names, data, (0.0, max(ends) * 1.05), axis, series)
        begins = ", ".join(f"{name} {people.money(sold.price(first[name]))}" for name in names[:6])
        drawn.append((title, f"{title}: cheapest first: {begins}", spec))
    cut = any(len(names) > len(shown[title]) for title, names in panels.items())
    return book.figure(
        f"{results.about}: $ per {sold.text}" + (", the cheapest" if cut else ""),
        f"{metric_title(metric)}; $ a month per {sold.text}, lower is better",
        f"{each}: cost of a month divided by the level; bars: its interval. Sorted by {basis_text(bases[0])} prices. "
        "All panels have the same axis, which starts at zero. A commitment costs less per hour, but is paid for all "
        "hours of its term.",
        drawn,
        key=[sign.entry(basis) for basis, sign in series.items()],
        table=_table(book, results, [row for name in order if name in kept for row in by_name[name]], sold),
        columns=min(2, len(drawn)),
    )


def _first(rows: Sequence[PricePerformance], bases: Sequence[str]) -> PricePerformance:
    """What orders a machine: its cost on the first basis of which it has a price; of several steps the least."""
    return min(rows, key=lambda row: (bases.index(row.basis), row.usd_per_unit))


def _table(book: Book, results: Results, rows: Sequence[PricePerformance], sold: PricedQuantity) -> Table:
    columns = (
        Column("Configuration"),
        Column("Benchmark"),
        Column("Basis"),
        Column(f"$ a month per {sold.text}", numeric=True),
        Column("Interval", numeric=True),
        Column("$ per month", numeric=True),
    )
    body = tuple(
        Row(
            (
                Cell(row.configuration, tone="name"),
                Cell(row.benchmark),
                Cell(row.basis),
                evidence_cell(book, people.money(sold.price(row)), row.trials, results.about),
                Cell(money_interval(row, sold)),
                Cell(people.money(row.month_usd)),
            )
        )
        for row in rows
    )
    return Table(f"{results.about}: $ per {sold.text}", columns, body, compact=True)


def money_interval(row: PricePerformance, sold: PricedQuantity) -> str:
    """Both ends of the interval of what a quantity costs."""
    of = sold.price(row)
    return people.dashed(of, people.money_form(of))


def _point(row: PricePerformance, sold: PricedQuantity) -> dict[str, Any]:
    return {
        "row": row.configuration,
        "configuration": row.configuration,
        "series": basis_text(row.basis),
        "level": row.usd_per_unit * sold.size,
        "low": row.low * sold.size,
        "high": row.high * sold.size,
        "text": people.money(sold.price(row)),
        "interval_text": money_interval(row, sold),
    }
