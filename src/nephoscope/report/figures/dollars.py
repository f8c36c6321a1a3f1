"""What a unit of performance costs a month, with every price basis side by side."""

from typing import Any

from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.priced_quantity import PricedQuantity, priced_quantity
from nephoscope.report import format as people
from nephoscope.report.figures import groups, row_charts
from nephoscope.report.figures.results import Results
from nephoscope.report.figures.tops import TEN
from nephoscope.report.lookup import unique
from nephoscope.report.parts import Book, Figure
from nephoscope.report.wording import metric_title


def dollars(book: Book, results: Results, *, most: int = TEN) -> Figure | None:
    """The cheapest machines overall, and of each cloud and size, with a sign for each basis; None without prices.

    The tables of costs have its data.
    """
    metric, rows = results.metric, results.prices(book.lookup)
    if not rows:
        return None
    bases = unique(row.basis for row in sorted(rows, key=lambda row: row.usd_per_unit))
    by_basis = {basis: {row.configuration: row for row in rows if row.basis == basis} for basis in bases}
    cheapest = {name: min(of[name].usd_per_unit for of in by_basis.values() if name in of)
                for name in {row.configuration for row in rows}}  # fmt: skip
    order = sorted(cheapest, key=lambda name: (cheapest[name], name))
    panels = groups.only({"Overall": order} | groups.clouds_and_sizes(book.lookup), order)
    shown = {title: names[:most] for title, names in panels.items()}
    sold = priced_quantity(metric.unit, min(cheapest.values()))
    series = row_charts.kinds(bases)
    kept = {name for names in shown.values() for name in names}
    ends = [row.high * sold.size for row in rows if row.configuration in kept]
    axis = f"$ a month per {sold.text}, lower is better"
    drawn = []
    for title, names in shown.items():
        data = [_point(of[name], basis, sold) for basis, of in by_basis.items() for name in names if name in of]
        spec = row_charts.signs(names, data, (0.0, max(ends) * 1.05), axis, series, "price basis")
        first = ", ".join(f"{name} {people.money(cheapest[name] * sold.size)}" for name in names[:6])
        drawn.append((title, f"{title}: cheapest first: {first}", spec))
    cut = any(len(names) > most for names in panels.values())
    return book.figure(
        f"{results.about}: $ per {sold.text}" + (f", the cheapest {most}" if cut else ""),
        f"{metric_title(metric)}; $ a month per {sold.text}, lower is better",
        "Signs: cost of a month divided by the median; bars: its interval. Sorted by the cheapest basis. All panels "
        "have the same axis, which starts at zero. Prices on different bases are conditions of the same machine: the "
        "commitment costs less an hour, for all hours of its term.",
        drawn,
        key=[sign.entry(basis) for basis, sign in series.items()],
        columns=min(2, len(drawn)),
    )


def _point(row: PricePerformance, basis: str, sold: PricedQuantity) -> dict[str, Any]:
    low, high = (people.money(end * sold.size) for end in (row.low, row.high))
    return {
        "row": row.configuration,
        "name": row.configuration,
        "series": basis,
        "median": row.usd_per_unit * sold.size,
        "low": row.low * sold.size,
        "high": row.high * sold.size,
        "text": people.money(row.usd_per_unit * sold.size),
        "interval_text": f"{low} \N{EN DASH} {high}",
    }
