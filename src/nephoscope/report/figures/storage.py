"""Figures over the number of threads or streams, and of I/O rates by job."""

from collections.abc import Iterable, Sequence

from nephoscope.insights.names import setups
from nephoscope.model import numbers as people
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow, Statistic
from nephoscope.report.figures import machine_charts
from nephoscope.report.figures.cloud_curves import best_curves, curves_by_cloud
from nephoscope.report.figures.counted_metrics import Curve, curves_of
from nephoscope.report.figures.results import results_of
from nephoscope.report.figures.storage_kinds import by_storage
from nephoscope.report.figures.theme import MAX_COLOURS
from nephoscope.report.figures.tops import tops
from nephoscope.report.parts import Book, Cell, Column, Figure, Row, Table, configuration_key
from nephoscope.report.tables.statistics import STATISTIC_COLUMNS, statistic_cells
from nephoscope.report.wording import direction_text, statistic_row, unit_text

_RATES = {"iops": "", "read_iops": ", its reads", "write_iops": ", its writes"}
"""Last part of a job's metric name -> what it adds to the job's name."""


def storage_figures(book: Book, row: BenchmarkRow) -> list[Figure]:
    """The figures of a benchmark; empty if it does not measure storage."""
    by_kind: dict[str, list[Curve]] = {}
    for curve in curves_of(row.metrics):
        if curve.counted == "threads":
            by_kind.setdefault(curve.what, []).append(curve)
    counted = {metric.name for curves in by_kind.values() for curve in curves for _, metric in curve.metrics}
    named = {one.name for one in row.metrics if one.name.rpartition(".")[2] in _RATES} - counted
    parted = {f"{name.rpartition('.')[0]}.iops" for name in named if name.endswith("_iops")}
    rates = [one for one in row.metrics if one.name in named - parted]
    return [*_curves(book, row, list(by_kind.values())), *_rates(book, row, rates)]


def _rates(book: Book, row: BenchmarkRow, rates: Sequence[Metric]) -> list[Figure]:
    """All jobs in one figure while colours can tell machines apart, else a figure for each job with a row for each."""
    if len(book.lookup.configurations) <= MAX_COLOURS:
        return book.figures(_jobs, row, rates)
    every = [results_of(book.lookup, row, metric) for metric in rates]
    return [
        figure
        for results in every
        if results.plain
        for figure in book.figures(by_storage, results) or book.figures(tops, results)
    ]


def _curves(book: Book, row: BenchmarkRow, by_kind: Sequence[Sequence[Curve]]) -> list[Figure]:
    """Over threads: all machines in one panel while colours can tell them apart, else a panel for each cloud.

    What is mounted in another way has a figure of its own.
    """
    measured = [one.configuration for one in row_statistics(book, row)]
    apart = setups(book.lookup, [name for name in book.lookup.configurations if name in measured])
    if all(len(names) <= MAX_COLOURS for names in apart.values()):
        return [
            figure
            for curves in by_kind
            for setup, names in apart.items()
            for figure in book.figures(curves_figure, row, curves, names, setup)
        ]
    every = [curve for curves in by_kind for curve in curves]
    draws = (curves_by_cloud, best_curves)
    return [figure for curve in every for draw in draws for figure in book.figures(draw, row, curve)]


def row_statistics(book: Book, row: BenchmarkRow) -> list[Statistic]:
    """Of every metric of a benchmark."""
    return [one for metric in row.metrics for one in book.lookup.statistics_of(row.benchmark, metric.name)]


def curves_figure(
    book: Book, row: BenchmarkRow, curves: Sequence[Curve], names: Sequence[str] = (), setup: str = ""
) -> Figure | None:
    """A panel per quantity over the number of threads, of some configurations or of all."""
    palette = names or book.lookup.configurations
    drawn = []
    rows_of_table: list[tuple[tuple[str, ...], Statistic, people.Scale]] = []
    for curve in curves:
        found = [
            (count, one)
            for count, metric in curve.metrics
            for one in book.lookup.statistics_of(row.benchmark, metric.name)
            if one.configuration in palette
        ]
        if not found:
            continue
        metric = curve.metrics[0][1]
        scale = people.scale_for(metric.unit, [one.compared.value for _, one in found])
        rows = [{**statistic_row(one, scale), "at": count} for count, one in found]
        counts = sorted({count for count, _ in found})
        quantity = curve.quantity.replace("_", " ")
        title = f"{quantity.replace('iops', 'IOPS')}, {direction_text(metric.direction)}"
        axis = unit_text(scale)
        spec = machine_charts.curves(rows, counts, curve.counted, axis, palette)
        drawn.append((title[:1].upper() + title[1:], f"{title} over the number of {curve.counted}", spec))
        rows_of_table += [((f"{quantity}, {scale.unit}", str(count)), one, scale) for count, one in found]
    if not drawn:
        return None
    what = f"{curves[0].what}s: " if curves[0].what else ""
    counted = curves[0].counted
    return book.figure(
        f"{row.benchmark}: {what}effect of more {counted}" + (f", {setup}" if setup else ""),
        f"over the number of {counted}",
        f"Points: levels over replicates; bars: their intervals. The horizontal axis shows the numbers of {counted} "
        "that were measured. Vertical axes start at zero.",
        drawn,
        key=configuration_key(palette, {one.configuration for _, one, _ in rows_of_table}),
        table=_table(book, f"{row.benchmark}: over {counted}", ("Quantity", counted.capitalize()), rows_of_table),
        columns=min(3, len(drawn)),
    )


def _jobs(book: Book, row: BenchmarkRow, rates: Sequence[Metric]) -> Figure | None:
    """I/O rates of reads and of writes, by job."""
    found = {metric.name: book.lookup.statistics_of(row.benchmark, metric.name) for metric in rates}
    every = [one for many in found.values() for one in many]
    positive = [one.compared.low for one in every if one.compared.low > 0]
    if len(rates) < 2 or not positive:
        return None
    scale = people.Scale(1.0, "IO/s", "IO/s")
    domain = (min(positive) / 1.3, max(one.high for one in every) * 1.3)
    drawn = []
    for kind in ("Reads", "Writes", "Both"):
        names = [name for name in found if _kind(name) == kind and found[name]]
        rows = [{**statistic_row(one, scale), "job": _job(name)} for name in names for one in found[name]]
        if rows:
            jobs = [_job(name) for name in names]
            axis = "IO/s, logarithmic axis   ·   higher is better →"
            spec = machine_charts.jobs(jobs, rows, domain, axis, book.lookup.configurations)
            drawn.append((kind, f"{kind}: I/O rate of the jobs {'; '.join(jobs)}", spec))
    return book.figure(
        f"{row.benchmark}: I/O rate by job",
        "IO/s, higher is better",
        "Signs: levels over replicates; bars: their intervals. All panels share one logarithmic axis, which does not "
        "start at zero.",
        drawn,
        key=book.configuration_key({one.configuration for one in every}),
        table=_table(
            book,
            f"{row.benchmark}: I/O rate by job, IO/s",
            ("Job",),
            [((_job(name),), one, scale) for name, many in found.items() for one in many],
        ),
        columns=min(2, len(drawn)),
    )


def _job(name: str) -> str:
    job, _, rate = name.rpartition(".")
    return f"{job}{_RATES[rate]}"


def _kind(name: str) -> str:
    """By the name of the rate, or else of the job; jobs of the Cloud Reports and of nephoscope have such names."""
    job, _, rate = name.rpartition(".")
    said = job if rate == "iops" else rate
    reads, writes = ("read" in said or "rd" in said), ("write" in said or "wr" in said)
    return "Both" if reads == writes else "Reads" if reads else "Writes"


def _table(
    book: Book, caption: str, first: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], Statistic, people.Scale]]
) -> Table:
    """Statistics, with their subject in the first columns."""
    columns = (*(Column(one) for one in first), Column("Configuration"), *STATISTIC_COLUMNS)
    body = tuple(
        Row((*(Cell(one) for one in named), Cell(statistic.configuration), *statistic_cells(book, statistic, scale)))
        for named, statistic, scale in rows
    )
    return Table(caption, columns, body, compact=True)
