"""What a unit of performance costs a month, with every price basis side by side."""

import math
from collections.abc import Sequence
from typing import Any

from nephoscope.analysis.lookup import headlines
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.price_rows import PricedQuantity, PricePerformance, TransferRow
from nephoscope.model.rows import BenchmarkRow, Statistic
from nephoscope.report.figures import groups, row_charts
from nephoscope.report.figures.results import Results
from nephoscope.report.figures.spec import coloured
from nephoscope.report.parts import Book, Figure, Link
from nephoscope.report.wording import basis_text, statistic_row, unit_text


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
    sold = book.lookup.sold(metric)
    kinds = row_charts.kinds(book.lookup.bases)
    series = {basis_text(basis): sign for basis, sign in kinds.items() if basis in bases}
    kept = {name for names in shown.values() for name in names}
    ends = [row.high * sold.size for row in rows if row.configuration in kept]
    axis = "$ a month, lower is better"
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
        table_link=Link("Every cost", book.href("costs")),
    )


def _first(rows: Sequence[PricePerformance], bases: Sequence[str]) -> PricePerformance:
    """What orders a machine: its cost on the first basis of which it has a price; of several steps the least."""
    return min(rows, key=lambda row: (bases.index(row.basis), row.usd_per_unit))


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


_BITS = "bit/s"
MAX_TRANSFERS = 40


def cost_per_run(book: Book, row: BenchmarkRow) -> list[Figure]:
    """A figure for each path whose bytes cost something; empty for a benchmark without a throughput or prices."""
    metric = headlines(row)[0] if row.metrics else None
    if metric is None or metric.unit != _BITS:
        return []
    legs: dict[tuple[str, bool], dict[str, list[float]]] = {}
    for one in book.lookup[TransferRow]:
        if one.benchmark == row.benchmark and one.run_usd:
            legs.setdefault((one.way, one.stood), {}).setdefault(one.configuration, []).append(one.run_usd)
    reached = {one.configuration: one for one in book.lookup.statistics_of(row.benchmark, metric.name)}
    found: list[Figure] = []
    for (way, stood), by_name in sorted(legs.items()):
        costs = {name: math.fsum(many) for name, many in by_name.items() if name in reached}
        if costs:
            where = f"{way}" if stood else f"{way}, if machines were placed like this"
            found += book.figures(_transfer_figure, row, where, costs, reached)
    return found


def _transfer_figure(
    book: Book, row: BenchmarkRow, where: str, costs: dict[str, float], reached: dict[str, Statistic]
) -> Figure:
    names = sorted(costs, key=lambda name: (costs[name], name))[:MAX_TRANSFERS]
    scale = people.scale_for(_BITS, [reached[name].compared.value for name in names])
    dollars = [_cost(name, costs[name]) for name in names]
    rates = [_rate(reached[name], scale) for name in names]
    unit = unit_text(scale)
    palette = coloured(book.lookup.configurations)
    most_usd, most_rate = max(costs[name] for name in names), max(rate["high"] for rate in rates)
    drawn = [
        (
            "Transfer of one run",
            f"$ of {', '.join(names[:6])}",
            row_charts.bars(names, dollars, "$ per run, lower is better", palette, most=most_usd),
        ),
        (
            "Throughput",
            f"{unit} of {', '.join(names[:6])}",
            row_charts.bars(names, rates, f"{unit}, higher is better", palette, most=most_rate),
        ),
    ]
    searches = row.measured_s is not None
    measured = f", of the {people.duration(row.measured_s)} that it measures without its search" if searches else ""
    more = f" Only the cheapest {MAX_TRANSFERS} of {len(costs)} are drawn." if len(costs) > MAX_TRANSFERS else ""
    return book.figure(
        f"{row.benchmark}: transfer cost of one run, {where}",
        "$ per run, and the throughput of the same run",
        f"Billed bytes of one trial{measured}, at the list price of the first bytes of a month: a faster "
        f"machine moves more bytes and costs more. Both panels have the same order, cheapest first.{more}",
        drawn,
        table_link=Link("Every cost", book.href("costs")),
        columns=2,
    )


def _cost(name: str, usd: float) -> dict[str, Any]:
    text = people.money(usd)
    return {
        "configuration": name,
        "level": usd,
        "low": usd,
        "high": usd,
        "number": text,
        "level_text": text,
        "interval_text": people.MISSING,
        "n": people.MISSING,
    }


def _rate(one: Statistic, scale: people.Scale) -> dict[str, Any]:
    return {**statistic_row(one, scale), "number": scale.number(one.compared)}
