"""A self-contained page without scripts that compares two studies like for like."""

from collections.abc import Sequence

from nephoscope.model.editions import EditionOverall, EditionRow
from nephoscope.model.rows import ComparisonVerdict
from nephoscope.report import format as people
from nephoscope.report.page import environment, style
from nephoscope.report.parts import Cell, Column, Row, Table, verdict_badge


def render_editions(
    rows: Sequence[EditionRow], overall: Sequence[EditionOverall], left_out: Sequence[str], names: tuple[str, str]
) -> str:
    """The page; equal rows give equal bytes."""
    before, after = names
    return (
        environment()
        .get_template("editions.html.j2")
        .render(
            before=before,
            after=after,
            table=_table(rows) if rows else None,
            overall=_overall(overall) if overall else None,
            basis=rows[0].basis if rows else "",
            left_out=left_out,
            style=style(),
        )
    )


def _table(rows: Sequence[EditionRow]) -> Table:
    columns = (
        Column("Configuration"),
        Column("Metric"),
        Column("Performance", numeric=True, hint="B / A, Hodges\N{EN DASH}Lehmann, with its exact interval."),
        Column("B is"),
        Column("Price", numeric=True, hint="Cost of a month, B / A."),
        Column(
            "Per dollar", numeric=True, hint="Performance / price; the price is a constant and adds no uncertainty."
        ),
        Column("B is, per dollar"),
        Column("n", numeric=True, hint="A, B."),
    )
    return Table("B compared with A", columns, tuple(_row(row) for row in rows))


def _overall(rows: Sequence[EditionOverall]) -> Table:
    columns = (
        Column("Metric"),
        Column("Mean performance", numeric=True, hint="Geometric mean of B / A, with its bootstrap interval."),
        Column("Configurations", numeric=True),
        Column("Smallest n", numeric=True, hint="The smallest number of replicates of any configuration in A or B."),
    )
    body = tuple(
        Row(
            (
                Cell(f"{row.benchmark} {row.metric}", note=f"{row.direction.value} is better"),
                Cell(people.ratio(row.ratio), note=_interval(row.low, row.high) or "no interval below six replicates"),
                Cell(str(row.configurations)),
                Cell(str(row.least_n)),
            )
        )
        for row in rows
    )
    return Table("B compared with A over all configurations", columns, body, compact=True)


def _row(row: EditionRow) -> Row:
    months = f"{people.dollars(row.month_before_usd)} → {people.dollars(row.month_after_usd)}"
    return Row(
        (
            Cell(row.configuration, tone="name"),
            Cell(f"{row.benchmark} {row.metric}", note=f"{row.direction.value} is better"),
            Cell(people.ratio(row.ratio), note=_interval(row.low, row.high)),
            Cell(badges=(verdict_badge(row.verdict),)),
            Cell(_ratio(row.price_ratio), note=months if row.price_ratio else "a price is missing"),
            Cell(_ratio(row.dollar_ratio), note=_interval(row.dollar_low, row.dollar_high)),
            _badge(row.dollar_verdict),
            Cell(f"{row.n_before}, {row.n_after}"),
        )
    )


def _ratio(value: float | None) -> str:
    return people.MISSING if value is None else people.ratio(value)


def _badge(verdict: ComparisonVerdict | None) -> Cell:
    return Cell(people.MISSING) if verdict is None else Cell(badges=(verdict_badge(verdict),))


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{people.ratio(low)} \N{EN DASH} {people.ratio(high)}"
