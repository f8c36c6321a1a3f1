"""What the measured bytes between machines cost a month, as stored."""

from collections.abc import Iterable

from nephoscope.model.rows import TransferRow
from nephoscope.report import format as people
from nephoscope.report.parts import Book, Cell, Column, Row, Table, evidence_cell


def transfer_table(book: Book) -> Table | None:
    """A row for each way that has a price; None when none has."""
    rows = [row for row in book.lookup.study.transfers if row.month_usd is not None]
    if not rows:
        return None
    columns = (
        Column("Configuration"),
        Column("Benchmark"),
        Column("Way", hint="Where the machines stood; in brackets what another way would cost."),
        Column("Bytes a second", numeric=True, hint="That are billed: median of the trials that count."),
        Column("$ a month", numeric=True, hint="As if the load went on all month."),
        Column("Price of"),
        Column("Source", hint="The id is that of the row in the price book."),
        Column("n", numeric=True),
    )
    return Table("A month of transfer, from measured bytes", columns, tuple(_row(book, row) for row in rows))


def transfer_formulas(rows: Iterable[TransferRow]) -> list[tuple[str, str]]:
    """Name and formula of each month that has a price."""
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
