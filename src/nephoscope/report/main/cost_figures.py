"""The chapter on cost: what performance costs, what a month consists of, and what transfer adds."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from nephoscope.insights.names import enumerated, title_within
from nephoscope.model import numbers as people
from nephoscope.model.price_rows import CostRow, PricePerformance, TransferRow
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow
from nephoscope.model.words import counted
from nephoscope.report.figures import row_charts, theme
from nephoscope.report.figures.dollars import money_interval
from nephoscope.report.figures.spec import Rows, Spec, data, finished, rows_axis, tip
from nephoscope.report.main import charts
from nephoscope.report.main.boards import TOP_OF_CHAPTER, Board
from nephoscope.report.main.palette import Palette
from nephoscope.report.parts import Book, Cell, Column, Figure, KeyEntry, Row, Table, level_cell
from nephoscope.report.sections import costs
from nephoscope.report.wording import basis_text, line_of, lines_text

_PARTS = {"machines": "var(--muted)", "volumes": "var(--band-edge)", "transfer": "var(--link)"}
MAX_TRANSFERS = 8
FEWEST_BARS = 2
"""Of a figure: one bar beside nothing shows nothing."""


def per_unit(book: Book, board: Board, palette: Palette) -> Figure | None:
    """What one unit of the main metric costs a month, cheapest first."""
    every = sorted(board.prices(book.lookup), key=lambda row: (row.usd_per_unit, row.configuration))
    if len(every) < FEWEST_BARS:
        return None
    found = every[:TOP_OF_CHAPTER]
    sold = book.lookup.sold(board.metric)
    statistics = book.lookup.statistics[(*board.key, False)]
    priced = {row.configuration for row in every}
    unpriced = [palette.called[name] for name in statistics if name not in priced]
    rows: list[dict[str, Any]] = [
        {
            "configuration": palette.called[row.configuration],
            "shade": palette.of[row.configuration],
            "level": row.usd_per_unit * sold.size,
            "low": row.low * sold.size,
            "high": row.high * sold.size,
            "number": people.money(sold.price(row)),
            "level_text": people.money(sold.price(row)),
            "interval_text": money_interval(row, sold),
            "coverage_text": people.coverage(statistics[row.configuration].coverage),
            "line": line_of(statistics[row.configuration]),
            "n": str(row.n),
        }
        for row in found
    ]
    names = [row.configuration for row in found]
    cut = f"the cheapest {TOP_OF_CHAPTER} of {len(every)}; " if len(every) > TOP_OF_CHAPTER else ""
    per = f"$ a month per {sold.text}"
    spoken = "; ".join(f"{row['configuration']} {row['level_text']}" for row in rows[:6])
    return book.figure(
        f"Cost of {title_within(board.metric)}",
        f"{per}; {cut}{basis_text(found[0].basis)} prices; {lines_text([statistics[name] for name in names])}.",
        f"Without a price under these terms: {enumerated(unpriced)}." if unpriced else "",
        [
            (
                "",
                f"Bars of {per}: {spoken}.",
                row_charts.bars(
                    [palette.called[name] for name in names],
                    rows,
                    "$ a month, lower is better",
                    palette.encoding,
                    height=charts.height(len(names)),
                ),
            )
        ],
        key=palette.key(names),
    )


def months(book: Book, palette: Palette) -> Figure | None:
    """A month of each configuration, machines and volumes apart; None where no volume has a price."""
    basis = book.lookup.basis
    priced = [row for row in book.lookup[CostRow] if row.month_usd is not None and row.basis == basis]
    every = sorted((row for row in priced if row.storage_share), key=lambda row: row.storage_share or 0, reverse=True)
    if len(every) < FEWEST_BARS:
        return None
    names = [palette.called[row.configuration] for row in every]
    rows = [part for row, name in zip(every, names, strict=True) for part in _parts(row, name)]
    return book.figure(
        "Share of volumes in a month's cost",
        f"Largest share first; {basis_text(every[0].basis)} prices.",
        "",
        [("", f"Stacked bars of {counted(len(names), 'configuration')}.", _stacked(names, rows))],
        key=[KeyEntry("■", _PARTS[name], name) for name in ("machines", "volumes")],
    )


def _parts(row: CostRow, name: str) -> list[dict[str, Any]]:
    month, share = row.month_usd or 0.0, row.storage_share or 0.0
    ends = {"machines": (0.0, month * (1 - share)), "volumes": (month * (1 - share), month)}
    return [
        {
            "configuration": name,
            "part": part,
            "low": low,
            "high": high,
            "text": f"{people.money(high - low)} a month",
            "number": people.share(share) if part == "volumes" else "",
        }
        for part, (low, high) in ends.items()
    ]


def _stacked(names: list[str], rows: Rows, axis: str = "$ a month") -> Spec:
    most = max(row["high"] for row in rows)
    base = alt.Chart(data("rows")).encode(
        y=rows_axis(names, size=charts.LABEL_SIZE), tooltip=tip("configuration", "part", "text")
    )
    scale = alt.Scale(domain=[0, most * 1.15], nice=False, zero=True)
    colour = alt.Color("part:N", legend=None, scale=alt.Scale(domain=list(_PARTS), range=list(_PARTS.values())))
    layers = [
        base.mark_bar().encode(x=alt.X("low:Q", title=axis, scale=scale), x2=alt.X2("high:Q"), color=colour),
        base.mark_text(**theme.NUMBER).encode(x=alt.X("high:Q"), text=alt.Text("number:N")),
    ]
    return finished(layers, charts.height(len(names)), rows=rows)


def whole(book: Book, board: Board, palette: Palette) -> Figure | None:
    """What one unit costs with machines, volumes and the transfer between them; None where no transfer costs anything.

    Only configurations whose routes all have a price.
    """
    known = [row for row in board.prices(book.lookup) if row.usd_per_unit_with_transfer is not None]
    if not any((row.usd_per_unit_with_transfer or 0.0) > row.usd_per_unit for row in known):
        return None
    every = sorted(known, key=lambda row: (row.usd_per_unit_with_transfer or 0.0, row.configuration))
    found = every[:TOP_OF_CHAPTER]
    sold = book.lookup.sold(board.metric)
    names = [palette.called[row.configuration] for row in found]
    rows = [part for row in found for part in _parts_of_unit(book, board, row, palette.called[row.configuration])]
    cut = f"the cheapest {TOP_OF_CHAPTER} of {len(every)}; " if len(every) > TOP_OF_CHAPTER else ""
    drawn = {row["part"] for row in rows if row["high"] > row["low"]}
    per = f"$ a month per {sold.text}"
    return book.figure(
        f"Cost of {title_within(board.metric)} with storage and transfer",
        f"{per}; {cut}{basis_text(found[0].basis)} prices; transfer between machines "
        "as they stood, under load all month.",
        "",
        [("", f"Stacked bars of {per}: {'; '.join(names[:6])}.", _stacked(names, rows, "$ a month"))],
        key=[KeyEntry("■", colour, name) for name, colour in _PARTS.items() if name in drawn],
    )


def _parts_of_unit(book: Book, board: Board, row: PricePerformance, name: str) -> list[dict[str, Any]]:
    sold, cost = book.lookup.sold(board.metric), book.lookup.cost_of(row.configuration, row.basis)
    storage = cost.storage_share_of(board.row.extent) if cost else 0.0
    ends = [row.usd_per_unit * (1 - storage), row.usd_per_unit, row.usd_per_unit_with_transfer or row.usd_per_unit]
    lows = [0.0, *ends[:-1]]
    return [
        {
            "configuration": name,
            "part": part,
            "low": low * sold.size,
            "high": high * sold.size,
            "text": f"{people.money((high - low) * sold.size)} a month per {sold.text}",
            "number": people.money(high * sold.size) if part == "transfer" else "",
        }
        for part, low, high in zip(_PARTS, lows, ends, strict=True)
    ]


def transfer(book: Book, palette: Palette) -> Figure | None:
    """A month of the measured transfer between machines, placed as they were; None where it costs nothing."""
    priced = [row for row in book.lookup[TransferRow] if row.stood and row.month_usd]
    every = sorted(priced, key=lambda row: row.month_usd or 0.0, reverse=True)
    best: dict[str, dict[str, Any]] = {}
    for row in every:
        month = row.month_usd or 0.0
        route = f", {row.here} to {row.there}" if row.there and row.here != row.there else ""
        label = f"{palette.called[row.configuration]}, {row.benchmark}, {row.way}{route}"
        best.setdefault(
            label,
            {
                "configuration": label,
                "part": "volumes",
                "low": 0.0,
                "high": month,
                "text": f"{people.money(month)} a month",
                "number": people.money(month),
            },
        )
    rows = list(best.values())[:MAX_TRANSFERS]
    if not rows:
        return None
    names = [row["configuration"] for row in rows]
    return book.figure(
        "Cost of data transfer",
        "A month of the bytes that were measured between machines; the most expensive first.",
        "",
        [("", f"Bars of {counted(len(names), 'direction')} of transfer.", _stacked(names, rows))],
    )


def table(book: Book, board: Board, palette: Palette) -> Table | None:
    """What a unit of the metric costs on each configuration."""
    basis = book.lookup.basis
    return costs.per_unit(book, board.row, board.metric, basis, palette.called, brief=True) if basis else None


_COLUMNS = {
    "server_cpu_per_operation": "CPU time",
    "counted_cpu_per_operation": "CPU time, as it counts itself",
    "server_context_switches_per_operation": "Context switches",
    "server_minor_faults_per_operation": "Page faults",
    "server_disk_writes_per_operation": "Writes at the disk",
    "server_disk_written_bytes_per_operation": "Written at the disk",
    "server_disk_read_bytes_per_operation": "Read at the disk",
    "counted_log_bytes_per_operation": "Log",
    "server_sent_bytes_per_operation": "Sent",
    "server_energy_per_operation": "Energy",
}
"""Metric -> its column, if any configuration has it; all others are on the evidence page."""


def operation_costs(book: Book, rows: Sequence[BenchmarkRow], called: Mapping[str, str]) -> Table | None:
    """A row for each benchmark and configuration; None where nothing is known, as of results of earlier versions."""
    lookup = book.lookup
    found: list[tuple[BenchmarkRow, str]] = [
        (row, name)
        for row in rows
        for name in lookup.configurations
        if any(lookup.of_configuration(row.benchmark, metric, name) for metric in _COLUMNS)
    ]
    shown = [
        name for name in _COLUMNS if any(lookup.of_configuration(row.benchmark, name, where) for row, where in found)
    ]
    if not shown:
        return None
    declared: dict[str, Metric] = {metric.name: metric for row in rows for metric in row.metrics}
    several = len({row.benchmark for row, _ in found}) > 1
    first = [Column("Benchmark")] if several else []
    columns = [*first, Column("Configuration")]
    columns += [Column(_COLUMNS[name], numeric=True, hint=declared[name].clock) for name in shown]
    body = []
    for row, where in found:
        named = [Cell(row.benchmark, tone="name")] if several else []
        cells = [_cell(book, row, declared[name], where) for name in shown]
        body.append(Row((*named, Cell(called[where], tone="name"), *cells)))
    return Table("What an operation costs", tuple(columns), tuple(body), compact=True)


def _cell(book: Book, row: BenchmarkRow, metric: Metric, configuration: str) -> Cell:
    found = book.lookup.of_configuration(row.benchmark, metric.name, configuration)
    if not found:
        return Cell("–", tone="quiet")
    about = f"{row.benchmark}: {metric.title} on {configuration}"
    return level_cell(book, found[0], book.lookup.scale(row.benchmark, metric), about)
