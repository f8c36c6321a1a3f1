"""What configurations cost: a month of each with its formula, and a unit of each headline metric, as stored."""

from collections.abc import Mapping
from dataclasses import dataclass

from nephoscope.model.price_rows import OLD_PRICE_DAYS, CostRow, PricePerformance, TransferRow
from nephoscope.model.priced_quantity import PricedQuantity
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow
from nephoscope.report import format as people
from nephoscope.report.figures.dollars import dollars, money_interval
from nephoscope.report.figures.results import all_steps, every_step, of_databases
from nephoscope.report.figures.storage_kinds import storage_shares
from nephoscope.report.figures.transfer_costs import cost_per_run
from nephoscope.report.limits import MAX_FORMULAS
from nephoscope.report.lookup import headlines, unique
from nephoscope.report.parts import Book, Cell, Column, Figure, Link, Row, Table, evidence_cell
from nephoscope.report.tables.statistics import rank_cell
from nephoscope.report.tables.transfers import transfer_formulas, transfer_table
from nephoscope.report.wording import ENOUGH, metric_title, paid_for

_CAVEATS = {"spot": "changes daily; the machine may be taken back"}
_MORE_COLUMNS = (
    Column("$ per million operations", numeric=True, hint="Only for rates of operations; machines are busy all month."),
    Column(
        "Discount to lead",
        numeric=True,
        hint="Discount on its machines that would make it cost as little as the first.",
    ),
)


@dataclass(frozen=True)
class CostSection:
    """What the template prints about costs."""

    months: Table | None
    missing: Table | None
    figures: list[Figure]
    per_unit: list[Table]
    transfers: Table | None
    formulas: list[tuple[str, str]]
    """Configuration with price basis, and the formula."""
    more_formulas: int
    method: str
    day: str
    dates: str
    """Of the oldest and the newest price."""


def cost_section(book: Book) -> CostSection:
    """Monthly costs, what has no price, what a unit of each headline metric costs, and every formula."""
    study = book.lookup.study
    priced = [row for row in study.costs if row.month_usd is not None]
    missing = [row for row in study.costs if row.month_usd is None]
    formulas = [(f"{row.configuration}, {row.basis}", row.formula) for row in priced]
    formulas += transfer_formulas(study.transfers)
    first = study.costs[0] if study.costs else None
    own = {name: name for name in book.lookup.configurations}
    return CostSection(
        months=_months(priced),
        missing=_missing(missing, study.transfers),
        figures=_figures(book),
        per_unit=[
            table
            for benchmark in study.benchmarks
            for metric in headlines(benchmark)
            for basis in book.lookup.bases
            if (table := per_unit(book, benchmark, metric, basis, own))
        ],
        transfers=transfer_table(book),
        formulas=formulas[:MAX_FORMULAS],
        more_formulas=max(0, len(formulas) - MAX_FORMULAS),
        method=f"{first.method}: {first.hours:g} hours, {first.counted}" if first else "",
        day=study.price_date or "the newest price list, because no trial has a date",
        dates=_dates(book),
    )


def _dates(book: Book) -> str:
    """'The oldest price is of 2021-05, the newest of 2022-06-23.'."""
    study = book.lookup.study
    dates = sorted({row.date for row in study.costs if row.date is not None} | {row.date for row in study.cost_lines})
    if not dates:
        return ""
    if len(dates) == 1:
        return f"Every price is of {dates[0]}."
    return f"The oldest price is of {dates[0]}, the newest of {dates[-1]}."


def _figures(book: Book) -> list[Figure]:
    """Dollars per unit of each database metric, shares of storage, and the transfer of one run."""
    found = of_databases(book.lookup) + [every_step(book.lookup, one) for one in all_steps(book.lookup) if one.per_cpu]
    return [
        *(figure for results in found for figure in book.figures(dollars, results)),
        *book.figures(storage_shares),
        *(figure for row in book.lookup.study.benchmarks for figure in book.figures(cost_per_run, row)),
    ]


def _months(rows: list[CostRow]) -> Table | None:
    if not rows:
        return None
    columns = (
        Column("Configuration"),
        Column("Basis"),
        Column("Machines"),
        Column(
            "$ per hour", numeric=True, hint="One machine without volumes; the whole cluster if the study prices it."
        ),
        Column("$ per month", numeric=True, hint="All machines that the cost method includes, with their volumes."),
        Column("Storage", numeric=True, hint="Share of the volumes; none stated: the cost is for machines only."),
        Column("Break-even", numeric=True, hint="Hours of use per month above which the commitment is cheaper."),
        Column("Price from"),
        Column("Source", hint="The id of the row in the price book."),
    )
    return Table("Monthly cost of each configuration", columns, tuple(_month(row) for row in rows), compact=True)


def _month(row: CostRow) -> Row:
    old = row.age_days is not None and row.age_days > OLD_PRICE_DAYS
    age = f"{row.age_days:,} days old" if old and row.age_days else ""
    return Row(
        (
            Cell(row.configuration, tone="name"),
            Cell(row.basis, note=_CAVEATS.get(row.basis, row.terms), tone="name"),
            Cell(
                f"{row.machines} {people.TIMES} {row.machine_type}" if row.machine_type else "cluster",
                note=row.region or "",
            ),
            Cell(people.MISSING if row.usd_per_hour is None else f"{row.usd_per_hour:,g}"),
            Cell(people.dollars(row.month_usd)),
            Cell(people.share(row.storage_share) if row.storage_share else "none stated"),
            Cell(people.MISSING if row.break_even_hours is None else f"{row.break_even_hours:,.0f} h"),
            Cell(row.date or people.MISSING, note=age, tone="name warn" if old else "name"),
            Cell(row.source or people.MISSING, note=row.price_row or ""),
        )
    )


def _missing(rows: list[CostRow], transfers: list[TransferRow]) -> Table | None:
    by_reason: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        by_reason.setdefault((row.basis, row.reason_missing or ""), []).append(row.configuration)
    for one in transfers:
        if one.month_usd is None:
            by_reason.setdefault(("transfer", one.reason_missing or ""), []).append(one.configuration)
    if not by_reason:
        return None
    columns = (Column("Configuration"), Column("Basis"), Column("Reason"))
    body = tuple(
        Row((Cell(", ".join(unique(names))), Cell(basis), Cell(reason))) for (basis, reason), names in by_reason.items()
    )
    return Table("Without a price", columns, body, compact=True)


def per_unit(
    book: Book, benchmark: BenchmarkRow, metric: Metric, basis: str, called: Mapping[str, str], *, brief: bool = False
) -> Table | None:
    """What a unit of a metric costs a month under one price basis, cheapest first; None without prices.

    `called` has the names of the configurations for a reader; `brief` leaves out what the page of evidence has besides.
    """
    found = book.lookup.price_boards.get((benchmark.benchmark, metric.name, basis), [])
    if not found:
        return None
    sold = book.lookup.sold(metric.unit)
    moved = any(row.usd_per_unit_with_transfer is not None for row in found)
    columns = (
        Column("Configuration"),
        Column("Rank", numeric=True, hint="By this cost, lowest first; a range if it is not certain; = marks a tie."),
        Column(f"$ a month per {sold.text}", numeric=True),
        Column("Interval", numeric=True, hint="From the interval of the level; the cost itself is a constant."),
        *([Column("With transfer", numeric=True, hint="With a month of the measured data transfer.")] if moved else []),
        Column("Pareto front", hint="On it: nothing is both cheaper and better. Open: behind, but not with certainty."),
        *(() if brief else _MORE_COLUMNS),
        Column("n", numeric=True, hint="Valid replicates."),
    )
    title = f"{benchmark.benchmark}: {metric_title(metric)}, {basis}"
    rows = [
        _priced(book, row, called[row.configuration], sold, moved=moved, brief=brief)
        for row in sorted(found, key=lambda row: (row.usd_per_unit, row.configuration))
    ]
    return Table(title, columns, (Row(group=Link(title, "")), *rows))


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
                people.money(row.usd_per_unit * size),
                row.trials,
                f"{row.benchmark} on {row.configuration}",
                f"{people.dollars(row.month_usd)} a month for {_paid_for(book, row)}",
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
