"""The table of a chapter about what an operation costs the server."""

from collections.abc import Mapping, Sequence

from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow
from nephoscope.report.parts import Book, Cell, Column, Row, Table, evidence_cell
from nephoscope.report.wording import interval_text

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
    scale = book.lookup.scale(row.benchmark, metric)
    note = interval_text(found[0].compared, scale) if found[0].n > 1 else "measured once"
    return evidence_cell(
        book,
        scale.text(found[0].compared),
        found[0].trials,
        f"{row.benchmark}: {metric.title} on {configuration}",
        note,
    )
