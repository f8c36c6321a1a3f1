"""The monthly cost of measured data transfer between machines, as stored."""

from collections.abc import Iterable

from nephoscope.model.price_rows import TransferRow
from nephoscope.report import format as people
from nephoscope.report.parts import Book, Cell, Column, Row, Table, evidence_cell


def transfer_table(book: Book) -> Table | None:
    """One row for each path that has a price; None when none has."""
    rows = [row for row in book.lookup.study.transfers if row.month_usd is not None]
    if not rows:
        return None
    columns = (
        Column("Configuration"),
        Column("Benchmark"),
        Column("Path", hint="Where the machines were; in brackets, what another placement would cost."),
        Column("Bytes per second", numeric=True, hint="Billed bytes: median of the valid trials."),
        Column("$ per month", numeric=True, hint="If the load ran all month."),
        Column("Price from"),
        Column("Source", hint="The id of the row in the price book."),
        Column("n", numeric=True),
    )
    return Table("Monthly cost of data transfer, from measured bytes", columns, tuple(_row(book, row) for row in rows))


def transfer_formulas(rows: Iterable[TransferRow]) -> list[tuple[str, str]]:
    """Name and formula of each monthly cost that has a price."""
    return [
        (f"{row.configuration}, {row.benchmark}: transfer {_way(row)}", row.formula)
        for row in rows
        if row.month_usd is not None
    ]


def _row(book: Book, row: TransferRow) -> Row:
    rate = people.scale_for("B/s", [row.bytes_per_s]).text(row.bytes_per_s)
    return Row(
        (
            Cell(row.configuration, tone="name"),
            Cell(row.benchmark, tone="name"),
            Cell(_way(row), note=f"{row.here} to {row.there}" if row.here != row.there and row.there else ""),
            evidence_cell(book, rate, row.trials, f"transfer of {row.benchmark} on {row.configuration}", row.billed),
            Cell(people.dollars(row.month_usd)),
            Cell(row.date or people.MISSING, tone="name"),
            Cell(row.source or people.MISSING, note=row.price_row or ""),
            Cell(str(row.n)),
        )
    )


def _way(row: TransferRow) -> str:
    return row.way if row.stood else f"({row.way})"
