"""What the transfer of one run of a network benchmark costs, beside the throughput that it reached."""

import math
from typing import Any

from nephoscope.analysis.lookup import headlines
from nephoscope.model import numbers as people
from nephoscope.model.price_rows import TransferRow
from nephoscope.model.rows import BenchmarkRow, Statistic
from nephoscope.report.figures import row_charts
from nephoscope.report.figures.spec import coloured
from nephoscope.report.parts import Book, Cell, Column, Figure, Row, Table, evidence_cell
from nephoscope.report.wording import interval_text, unit_text

_BITS = "bit/s"
MAX_ROWS = 40


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
            found += book.figures(_figure, row, where, costs, reached)
    return found


def _figure(
    book: Book, row: BenchmarkRow, where: str, costs: dict[str, float], reached: dict[str, Statistic]
) -> Figure:
    names = sorted(costs, key=lambda name: (costs[name], name))[:MAX_ROWS]
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
    more = f" Only the cheapest {MAX_ROWS} of {len(costs)} are drawn." if len(costs) > MAX_ROWS else ""
    return book.figure(
        f"{row.benchmark}: transfer cost of one run, {where}",
        "$ per run, and the throughput of the same run",
        f"Billed bytes of one trial{measured}, at the list price of the first bytes of a month: a faster "
        f"machine moves more bytes and costs more. Both panels have the same order, cheapest first.{more}",
        drawn,
        table=_table(book, row, where, names, costs, reached, scale),
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
    return {
        "configuration": one.configuration,
        "level": scale.value(one.compared.value),
        "low": scale.value(one.compared.low),
        "high": scale.value(one.compared.high),
        "number": scale.number(one.compared),
        "level_text": scale.text(one.compared),
        "interval_text": interval_text(one.compared, scale),
        "n": str(one.n),
    }


def _table(
    book: Book,
    row: BenchmarkRow,
    where: str,
    names: list[str],
    costs: dict[str, float],
    reached: dict[str, Statistic],
    scale: people.Scale,
) -> Table:
    columns = (
        Column("Configuration"),
        Column("$ per run", numeric=True),
        Column(f"Throughput, {scale.unit}", numeric=True),
        Column("Interval", numeric=True),
    )
    body = tuple(
        Row(
            (
                Cell(name, tone="name"),
                Cell(people.money(costs[name])),
                evidence_cell(
                    book, scale.number(reached[name].compared), reached[name].trials, f"{row.benchmark}: {name}"
                ),
                Cell(interval_text(reached[name].compared, scale)),
            )
        )
        for name in names
    )
    return Table(f"{row.benchmark}: transfer cost of one run, {where}", columns, body, compact=True)
