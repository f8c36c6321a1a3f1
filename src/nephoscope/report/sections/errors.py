"""Retries and errors of a benchmark by SQLSTATE, and its round trips per transaction."""

from nephoscope.model.rows import BenchmarkRow
from nephoscope.report import format as people
from nephoscope.report.parts import Book, Cell, Column, Row, Table, evidence_cell

ROUND_TRIPS = "round_trips_per_transaction"
MEANINGS = {
    "40001": "serialization failure",
    "40P01": "deadlock",
    "40003": "completion unknown",
    "57P01": "server shut down",
    "lost": "connection lost",
    "data": "impossible rows",
    "protocol": "protocol violation",
}


def errors_table(book: Book, row: BenchmarkRow) -> Table | None:
    """One row for each operation, SQLSTATE and configuration; None when nothing was retried or failed."""
    found = [one for one in book.lookup.study.errors if one.benchmark == row.benchmark]
    if not found:
        return None
    columns = (
        Column("Configuration"),
        Column("Operation"),
        Column("SQLSTATE"),
        Column("Meaning"),
        Column("Outcome"),
        Column("Count", numeric=True, hint="In the ramp and the measurement interval of all finished trials."),
    )
    rows = tuple(
        Row(
            (
                Cell(one.configuration),
                Cell(one.operation.replace("_", " ")),
                Cell(one.sqlstate, code=True),
                Cell(MEANINGS.get(one.sqlstate, "")),
                Cell("retried" if one.kind == "retried" else "failed", tone="warn" if one.kind == "failed" else ""),
                evidence_cell(book, people.integer(one.count), one.trials, f"{one.sqlstate} of {one.operation}"),
            )
        )
        for one in found
    )
    return Table(f"{row.benchmark}: retries and errors by SQLSTATE", columns, rows)


def round_trips(book: Book, row: BenchmarkRow) -> str:
    """'8.39 round trips per transaction': New-Orders of two studies are comparable only if it is the same."""
    medians = sorted(one.compared.value for one in book.lookup.statistics_of(row.benchmark, ROUND_TRIPS))
    texts = list(dict.fromkeys(people.grouped(median, 2) for median in (medians[:1] + medians[-1:])))
    return f"{' to '.join(texts)} round trips per transaction" if texts else ""
