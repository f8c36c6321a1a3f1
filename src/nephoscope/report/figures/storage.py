"""Figures over the number of threads or streams, and of I/O rates by job."""

from collections.abc import Sequence
from typing import Any

from nephoscope.analysis.lookup import unique
from nephoscope.insights.names import metric_title, setups, type_name
from nephoscope.model import numbers as people
from nephoscope.model.price_rows import CostRow
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, ConfigurationRow, Statistic
from nephoscope.model.words import GENERAL, HIGH, LOCAL, storage_class
from nephoscope.report.figures import groups, row_charts
from nephoscope.report.figures.groups import Groups
from nephoscope.report.figures.results import Curve, Results, curves_of, results_of
from nephoscope.report.figures.row_charts import Sign
from nephoscope.report.figures.steps import best_curves, curves_by_cloud
from nephoscope.report.figures.theme import MAX_COLOURS
from nephoscope.report.figures.tops import tops
from nephoscope.report.parts import Book, Figure, Link, configuration_key
from nephoscope.report.tables.rows import data_of_figure
from nephoscope.report.wording import basis_text, direction_text, interval_row, statistic_row, unit_text

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
    shown: list[Statistic] = []
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
        spec = row_charts.curves(rows, counts, curve.counted, axis, palette)
        drawn.append((title[:1].upper() + title[1:], f"{title} over the number of {curve.counted}", spec))
        shown += [one for _, one in found]
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
        key=configuration_key(palette, {one.configuration for one in shown}),
        table=data_of_figure(book, shown, f"{row.benchmark}: over {counted}"),
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
            axis = "IO/s, logarithmic axis, higher is better"
            spec = row_charts.jobs(jobs, rows, domain, axis, book.lookup.configurations)
            drawn.append((kind, f"{kind}: I/O rate of the jobs {'; '.join(jobs)}", spec))
    return book.figure(
        f"{row.benchmark}: I/O rate by job",
        "IO/s, higher is better",
        "Signs: levels over replicates; bars: their intervals. All panels share one logarithmic axis, which does not "
        "start at zero.",
        drawn,
        key=book.configuration_key({one.configuration for one in every}),
        table=data_of_figure(book, every, f"{row.benchmark}: I/O rate by job"),
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


_CLASSES = (GENERAL, HIGH, LOCAL)
MAX_TYPES = 40
"""Machine types in a panel, best first."""


def by_storage(book: Book, results: Results, *, per_cpu: bool = False) -> Figure | None:
    """A row for each machine type and a sign for each kind of storage; None if no type was measured with two kinds."""
    found, metric = results.view(per_cpu=per_cpu), results.metric
    described = book.lookup.described
    stored = [one for one in found if one.configuration in described and described[one.configuration].storage]
    by_type: dict[str, list[Statistic]] = {}
    for one in stored:
        by_type.setdefault(_type(described[one.configuration]), []).append(one)
    if not any(len({_storage_of(book, one.configuration) for one in many}) > 1 for many in by_type.values()):
        return None
    sign = -1 if metric.direction is Direction.HIGHER else 1
    best = sorted(by_type, key=lambda name: (min(sign * one.compared.value for one in by_type[name]), name))
    panels = groups.only(_types_by_cloud(book, stored), best)
    shown = {title: names[:MAX_TYPES] for title, names in panels.items()}
    drawn_rows = [one for names in shown.values() for name in names for one in by_type[name]]
    scale = people.scale_for(metric.unit, [one.compared.value for one in drawn_rows])
    series = _signs([_storage_of(book, one.configuration) for one in drawn_rows])
    unit = unit_text(scale, per_cpu=per_cpu)
    end = max(scale.value(one.compared.high) for one in drawn_rows) * 1.05
    drawn = []
    for title, names in shown.items():
        rows = [_point(book, name, one, scale) for name in names for one in by_type[name]]
        spec = row_charts.signs(names, rows, (0.0, end), unit, series)
        drawn.append((title, f"{title}: {metric_title(metric)} of {', '.join(names[:6])} by kind of storage", spec))
    title = metric_title(metric, per_cpu=per_cpu)
    return book.figure(
        f"{results.about}: {title}, by kind of storage",
        f"{unit}, {direction_text(metric.direction)}",
        "A row for each machine type. Signs: levels over replicates; bars: their intervals. All panels have the same "
        "axis, which starts at zero.",
        drawn,
        key=[entry.entry(kind) for kind, entry in series.items()],
        table=data_of_figure(book, drawn_rows, f"{results.about}: {title} by kind of storage"),
    )


def storage_shares(book: Book, only: str | None = None) -> Figure | None:
    """The volumes' share of the monthly cost, a panel for each class of storage; None if no volume has a price.

    Args:
        book: of the page.
        only: the price basis of a page that shows one.
    """
    bases = [basis for basis in book.lookup.bases if only in {None, basis}]
    described = book.lookup.described
    priced = [
        row
        for row in book.lookup[CostRow]
        if row.basis in bases
        and row.storage_share
        and row.configuration in described
        and described[row.configuration].storage
    ]
    if not priced:
        return None
    by_class: dict[str, list[CostRow]] = {name: [] for name in _CLASSES}
    for row in priced:
        by_class[storage_class(_storage_of(book, row.configuration))].append(row)
    series = row_charts.kinds([basis_text(basis) for basis in bases])
    sizes = {name: title for title, names in groups.sizes(book.lookup).items() for name in names}
    drawn = []
    for title, many in by_class.items():
        if many:
            rows = [_share(book, row, sizes) for row in many]
            names = sorted({str(row["row"]) for row in rows})
            axis = "share of the monthly cost, %"
            spec = row_charts.signs(names, rows, (0.0, 100.0), axis, series)
            shares = [row.storage_share or 0.0 for row in many]
            ends = f"{people.share(min(shares))} to {people.share(max(shares))}"
            drawn.append((title[:1].upper() + title[1:], f"{title}: volumes are {ends} of the monthly cost", spec))
    grows = " A commitment makes machines cheaper but not volumes, so their share grows." if len(bases) > 1 else ""
    return book.figure(
        "Storage as a share of the monthly cost",
        f"% of machines and volumes together{'' if only is None else f'; {basis_text(only)} prices'}",
        f"Each sign is one configuration. The share comes from prices, not from measurements.{grows}",
        drawn,
        key=[sign.entry(basis) for basis, sign in series.items()],
        table_link=Link("Every cost", book.href("costs")),
    )


def _share(book: Book, row: CostRow, sizes: dict[str, str]) -> dict[str, Any]:
    share = 100 * (row.storage_share or 0.0)
    parts = (
        groups.cloud_of(book.lookup, row.configuration),
        _storage_of(book, row.configuration),
        sizes.get(row.configuration),
    )
    return {
        "row": ", ".join(part for part in parts if part),
        "configuration": row.configuration,
        "series": basis_text(row.basis),
        "level": share,
        "low": share,
        "high": share,
        "text": f"{people.percent(share)} of {people.money(row.month_usd)} a month",
        "interval_text": people.MISSING,
    }


def _types_by_cloud(book: Book, rows: Sequence[Statistic]) -> Groups:
    found: Groups = {}
    for one in rows:
        cloud = groups.cloud_of(book.lookup, one.configuration) or "Other machines"
        found.setdefault(cloud, []).append(_type(book.lookup.described[one.configuration]))
    if len(found) == 1:
        return {"": unique(next(iter(found.values())))}
    return {title: unique(names) for title, names in sorted(found.items())}


def _type(row: ConfigurationRow) -> str:
    """What stays the same when the storage changes."""
    if row.machine_type:
        return type_name(row.configuration, row.machine_type)
    return row.cpu_model or row.configuration


def _storage_of(book: Book, configuration: str) -> str:
    return book.lookup.described[configuration].storage or ""


def _signs(found: Sequence[str]) -> dict[str, Sign]:
    """General-purpose kinds filled, high-performance kinds hollow, so that both look alike in every cloud."""
    by_class = {name: sorted({kind for kind in found if storage_class(kind) == name}) for name in _CLASSES}
    tones = dict(zip(_CLASSES, row_charts.kinds(_CLASSES).values(), strict=True))
    return {kind: tones[name] for name, kinds in by_class.items() for kind in kinds}


def _point(book: Book, name: str, one: Statistic, scale: people.Scale) -> dict[str, Any]:
    named = {"row": name, "configuration": one.configuration, "series": _storage_of(book, one.configuration)}
    return {**interval_row(one, scale), **named, "text": scale.text(one.compared)}
