"""How busy the database machines were during a benchmark, and what limited them."""

from nephoscope.model.rows import BenchmarkRow, BoundRow
from nephoscope.report import format as people
from nephoscope.report.parts import Book, Cell, Column, Row, Table, trial_links

_QUOTA = (
    "Share of scheduling periods in which the machine used up its CPU quota. A machine with a quota runs on the CPUs "
    "of its host, which may also be busy with other work."
)


def bounds_table(book: Book, row: BenchmarkRow) -> Table | None:
    """One row per configuration; None when no machine was sampled."""
    by_name = {one.configuration: one for one in book.lookup.study.bounds if one.benchmark == row.benchmark}
    found = [by_name[name] for name in book.lookup.configurations if name in by_name]
    if not found:
        return None
    has_quota = any(one.cpu_quota_used_up_share is not None for one in found)
    columns = (
        Column("Configuration"),
        Column(
            "Limited by",
            hint="CPUs, or otherwise a disk, at least 90 % busy in the median second of a trial; or the CPU quota used "
            "up in at least 90 % of periods.",
        ),
        Column(
            "CPUs busy",
            numeric=True,
            hint="Of the measured CPUs, stolen time included: median second, busiest machine.",
        ),
        *([Column("Quota used up", numeric=True, hint=_QUOTA)] if has_quota else []),
        Column("Disk busy", numeric=True, hint="Share of time with requests in flight: busiest disk."),
        Column("Disk read", numeric=True),
        Column("Disk written", numeric=True),
        Column("Network in", numeric=True),
        Column("Network out", numeric=True),
        Column("Trials"),
    )
    note = (
        "From kernel counters, read once a second: medians over the seconds of a trial, then over trials, for the "
        "machine with the highest value. A disk that serves many requests at once can be busy all the time and still "
        "have capacity left."
    )
    rows = tuple(_row(book, one, has_quota=has_quota) for one in found)
    return Table(f"What limited {row.benchmark}", columns, rows, note=note, compact=True)


def _row(book: Book, row: BoundRow, *, has_quota: bool) -> Row:
    return Row(
        (
            Cell(row.configuration),
            Cell(row.words),
            Cell(people.share(row.cpu_busy_share)),
            *([Cell(people.share(row.cpu_quota_used_up_share))] if has_quota else []),
            Cell(people.share(row.disk_busy_share)),
            *(
                Cell(people.MISSING if rate is None else f"{people.byte_size(rate)}/s")
                for rate in (
                    row.disk_read_bytes_per_s,
                    row.disk_write_bytes_per_s,
                    row.network_receive_bytes_per_s,
                    row.network_send_bytes_per_s,
                )
            ),
            Cell(links=trial_links(row.trials, book)),
        )
    )
