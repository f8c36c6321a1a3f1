"""What configurations cost: a month of each with its formula, and a unit of each headline metric, as stored."""

from collections.abc import Mapping

from nephoscope.analysis.lookup import headlines
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.price_rows import PricedQuantity, PricePerformance
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow
from nephoscope.report.figures.dollars import cost_per_run, dollars, money_interval
from nephoscope.report.figures.results import all_steps, every_step, of_databases
from nephoscope.report.figures.storage import storage_shares
from nephoscope.report.parts import Book, Cell, Column, Figure, Row, Table, evidence_cell, rank_cell
from nephoscope.report.wording import ENOUGH, basis_text, paid_for

_MORE_COLUMNS = (
    Column("$ per million operations", numeric=True, hint="Only for rates of operations; machines are busy all month."),
    Column(
        "Discount to lead",
        numeric=True,
        hint="Discount on its machines that would make it cost as little as the first.",
    ),
)


def tables_per_unit(book: Book) -> list[Table]:
    """What a unit of each headline metric costs a month, on every basis with prices."""
    own = {name: name for name in book.lookup.configurations}
    return [
        table
        for benchmark in book.lookup.study.benchmarks
        for metric in headlines(benchmark)
        for basis in book.lookup.bases
        if (table := per_unit(book, benchmark, metric, basis, own))
    ]


def cost_figures(book: Book) -> list[Figure]:
    """Dollars per unit of each database metric, shares of storage, and the transfer of one run."""
    found = of_databases(book.lookup) + [every_step(book.lookup, one) for one in all_steps(book.lookup) if one.per_cpu]
    return [
        *(figure for results in found for figure in book.figures(dollars, results)),
        *book.figures(storage_shares),
        *(figure for row in book.lookup.study.benchmarks for figure in book.figures(cost_per_run, row)),
    ]


def per_unit(
    book: Book, benchmark: BenchmarkRow, metric: Metric, basis: str, called: Mapping[str, str], *, brief: bool = False
) -> Table | None:
    """What a unit of a metric costs a month under one price basis, cheapest first; None without prices.

    `called` has the names of the configurations for a reader; `brief` leaves out what the page of evidence has besides.
    """
    found = book.lookup.price_boards.get((benchmark.benchmark, metric.name, basis), [])
    if not found:
        return None
    sold = book.lookup.sold(metric)
    moved = any(row.usd_per_unit_with_transfer is not None for row in found)
    columns = (
        Column("Configuration"),
        Column("Rank", numeric=True, hint="By this cost, lowest first; a range if it is not certain; = marks a tie."),
        Column(f"$ a month per {sold.text}", numeric=True),
        Column(
            "Interval",
            numeric=True,
            hint="From the interval of the level; the cost itself is a constant.",
            is_aside=brief,
        ),
        *([Column("With transfer", numeric=True, hint="With a month of the measured data transfer.")] if moved else []),
        Column(
            "Pareto front",
            hint="On it: nothing is both cheaper and better. Open: behind, but not with certainty.",
            is_aside=brief,
        ),
        *(() if brief else _MORE_COLUMNS),
        Column("n", numeric=True, hint="Valid replicates.", is_aside=brief),
    )
    title = f"{benchmark.benchmark}: {metric_title(metric)}, {basis_text(basis)} prices"
    rows = [
        _priced(book, row, called[row.configuration], sold, moved=moved, brief=brief)
        for row in sorted(found, key=lambda row: (row.usd_per_unit, row.configuration))
    ]
    return Table(title, columns, tuple(rows))


def _paid_for(book: Book, row: PricePerformance) -> str:
    cost = book.lookup.cost_of(row.configuration, row.basis)
    return paid_for(cost, book.lookup.extents[row.benchmark]) if cost else "the cluster"


def _priced(book: Book, row: PricePerformance, name: str, sold: PricedQuantity, *, moved: bool, brief: bool) -> Row:
    with_transfer = row.usd_per_unit_with_transfer
    size, ends = sold.size, money_interval(row, sold)
    lead = row.discount_to_lead_percent
    discount = "not possible" if lead is None else "leads" if lead == 0 else people.percent(lead)
    million = Cell(people.MISSING if row.usd_per_million is None else people.money(row.usd_per_million))
    rank = book.lookup.ranks.get((row.benchmark, row.metric, "per dollar", row.basis), {}).get(row.configuration)
    return Row(
        (
            Cell(name, tone="name"),
            rank_cell(rank),
            evidence_cell(
                book,
                people.money(sold.price(row)),
                row.trials,
                f"{row.benchmark} on {row.configuration}",
                f"{people.money(row.month_usd)} a month for {_paid_for(book, row)}",
            ),
            Cell(people.MISSING, note="single run")
            if row.n == 1
            else Cell(ends, note="" if row.coverage >= ENOUGH else f"range, {people.coverage(row.coverage)}"),
            *([Cell(people.MISSING if with_transfer is None else people.money(with_transfer * size))] if moved else []),
            Cell(row.front),
            *(() if brief else (million, Cell(discount))),
            Cell(str(row.n)),
        )
    )
