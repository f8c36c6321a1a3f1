"""Figures of the network: round-trip times, slowest to fastest second, and the effect of more streams."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.advertised import deliveries
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow, MeasurementRow, Statistic, WanFloor
from nephoscope.model.words import counted
from nephoscope.report.figures import machine_charts, panels, theme
from nephoscope.report.figures.counted_metrics import curves_of
from nephoscope.report.figures.distributions import throughput_histogram, titled, within, within_table
from nephoscope.report.figures.round_trips import by_place, floors_of, round_trips
from nephoscope.report.figures.seconds import courses
from nephoscope.report.figures.spec import axis_note
from nephoscope.report.figures.storage import curves_figure
from nephoscope.report.parts import Book, Figure, KeyEntry
from nephoscope.report.tables.statistics import figure_table

MAX_PANELS = 6
"""Configurations that get their own chart."""
BINS_PER_DECADE = 24
METRES_PER_KM = 1000
_BITS = "bit/s"
_ROUND_TRIPS = ("round_trip", "round_trip_mean")
_ENDS = {"low": "_min_1s", "middle": "_median_1s", "high": "_max_1s"}
"""Slowest, median and fastest second, as in metric names."""


def network_figures(book: Book, row: BenchmarkRow) -> list[Figure]:
    """The figures of a benchmark; empty if it does not measure the network."""
    ranged = [(metric, ranges) for metric in row.metrics if (ranges := ranges_of(book.lookup, row, metric))]
    trips = [metric for metric in row.metrics if metric.name in _ROUND_TRIPS]
    rates = [metric for metric in row.metrics if metric.unit == _BITS]
    curves = [curve for curve in curves_of(row.metrics) if curve.counted == "streams"]
    found = [
        book.figures(round_trips, row),
        *(book.figures(latency_histogram, row, metric) for metric in trips),
        *(book.figures(throughput_histogram, row, metric) for metric in rates),
        *(book.figures(throughput_ranges, row, metric, ranges) for metric, ranges in ranged),
        *(book.figures(throughput_by_second, row, metric, ranges) for metric, ranges in ranged),
        *(book.figures(curves_figure, row, [curve]) for curve in curves),
    ]
    return [figure for figures in found for figure in figures]


def has_ranges(lookup: Lookup, row: BenchmarkRow, metric: Metric) -> bool:
    """Whether this section draws a throughput second by second, so that no other section draws it again."""
    return bool(ranges_of(lookup, row, metric))


Ranges = dict[str, dict[str, Statistic]]
"""Configuration -> 'low', 'middle', 'high' -> statistic."""


def ranges_of(lookup: Lookup, row: BenchmarkRow, metric: Metric) -> Ranges:
    """Of the configurations with all three, best first; empty for a metric without them."""
    if metric.unit != _BITS:
        return {}
    found = {
        key: {one.configuration: one for one in lookup.statistics_of(row.benchmark, f"{metric.name}{end}")}
        for key, end in _ENDS.items()
    }
    names = [name for name in lookup.ranked(row.benchmark, metric) if all(name in one for one in found.values())]
    return {name: {key: found[key][name] for key in _ENDS} for name in names}


def throughput_by_second(book: Book, row: BenchmarkRow, metric: Metric, found: Ranges) -> Figure | None:
    """Every second of every valid trial: of machines that were throttled, then of the best; None without seconds."""
    scale = _scale(metric, found)
    throttled = {one.configuration for one in deliveries(book.lookup, row) if one.is_throttled}
    drawn = _series_panels(book, row, metric, sorted(found, key=lambda name: name not in throttled), scale)
    if not drawn:
        return None
    first = "those that were throttled, then the best" if throttled else "the best"
    more = f" {MAX_PANELS} of {len(found)} configurations are drawn: {first}." if len(found) > MAX_PANELS else ""
    return book.figure(
        f"{row.benchmark}: {metric_title(metric).lower()}, second by second",
        f"{scale.unit}, higher is better",
        "One line per valid trial. All panels have the same vertical axis, which starts at zero. Seconds "
        f"within a trial are not replicates.{more}",
        drawn,
        columns=min(3, len(drawn)),
    )


def throughput_ranges(book: Book, row: BenchmarkRow, metric: Metric, found: Ranges) -> Figure:
    """Slowest, median and fastest second of each machine: a panel for each cloud, and for each pair of regions."""
    scale, title = _scale(metric, found), metric_title(metric).lower()
    rows: dict[str, dict[str, Any]] = {
        name: {
            "configuration": name,
            **{key: scale.value(one.compared.value) for key, one in ends.items()},
            **{f"{key}_text": scale.text(one.compared) for key, one in ends.items()},
        }
        for name, ends in found.items()
    }
    axis = f"{scale.unit}   ·   higher is better →"
    ends = [one[end] for one in rows.values() for end in ("low", "high")]
    drawn = []
    for panel, names in by_place(book.lookup, row, list(found)).items():
        spoken = f"Ranges of {title}: slowest, median and fastest second of {', '.join(names[:6])}"
        spec = machine_charts.ranges(names, [rows[name] for name in names], axis, book.lookup.configurations, ends)
        drawn.append((panel, spoken, spec))
    shared = " All panels have the same axis." if len(drawn) > 1 else ""
    return book.figure(
        f"{row.benchmark}: {title}, slowest to fastest second",
        f"{scale.unit}, higher is better",
        "Bars: slowest to fastest second of a trial; tick: its median second. All are medians over replicates. "
        f"{axis_note(ends)}{shared}",
        drawn,
        key=(KeyEntry("┃", "var(--ink)", "median second"), KeyEntry("▬", "var(--band-edge)", "slowest to fastest")),
        table=figure_table(
            book, f"{row.benchmark}: median second, {scale.unit}", [one["middle"] for one in found.values()], scale
        ),
        columns=min(2, len(drawn)),
    )


def _scale(metric: Metric, found: Ranges) -> people.Scale:
    return people.scale_for(metric.unit, [one["high"].compared.value for one in found.values()])


def _series_panels(
    book: Book, row: BenchmarkRow, metric: Metric, names: Sequence[str], scale: people.Scale
) -> list[tuple[str, str, dict[str, Any]]]:
    drawable = courses(one for one in book.lookup.series.get((row.benchmark, metric.name), []) if one.valid)
    values = [one for many in drawable.values() for one in many]
    top = max((scale.value(one.value) for one in values), default=1.0)
    drawn = []
    for name in names[:MAX_PANELS]:
        points = [
            {"s": one.at_s, "v": float(f"{scale.value(one.value):.5g}"), "trial": one.trial}
            for one in values
            if one.configuration == name
        ]
        if points:
            colour = theme.colour(book.lookup.configurations.index(name), len(book.lookup.configurations))
            spec = panels.series(points, [], (0.0, top), colour, scale.unit)
            drawn.append((name, f"{metric_title(metric)} of {name} by second", spec))
    return drawn


def latency_histogram(book: Book, row: BenchmarkRow, metric: Metric) -> Figure | None:
    """A histogram of every reply for each configuration, with the physical minimum; None where no reply is stored."""
    series = [one for one in book.lookup.series.get((row.benchmark, metric.name), []) if one.valid and one.value > 0]
    if not series:
        return None
    scale = people.scale_for("s", [one.value for one in series])
    floors = floors_of(book.lookup, row)
    names = [name for name in book.lookup.configurations if any(one.configuration == name for one in series)]
    ends = [scale.value(one.value) for one in series]
    ends += [scale.value(floors[name].round_trip_s) for name in names if name in floors]
    domain = (min(ends) / 1.15, max(ends) * 1.15)
    axis = f"{scale.unit}, logarithmic axis   ·   ← lower is better"
    binned = {name: _bins([one for one in series if one.configuration == name], scale) for name in names[:MAX_PANELS]}
    most = max(one["share"] for bins in binned.values() for one in bins)
    titles = {one.configuration: titled(one, scale) for one in within(book, row, metric)}
    drawn = []
    for name, bins in binned.items():
        colour = theme.colour(book.lookup.configurations.index(name), len(book.lookup.configurations))
        floor = floors.get(name)
        line = [] if floor is None else [{"floor": scale.value(floor.round_trip_s), "label": "light in fibre"}]
        replies = counted(sum(one["count"] for one in bins), "reply", "replies")
        spoken = f"Histogram of {metric_title(metric)} for {name}, {replies}."
        spec = machine_charts.histogram(bins, line, domain, most, colour, axis)
        drawn.append((titles.get(name, name), spoken, spec))
    physics = " ".join(f"{name}: {_physics(floors[name])}" for name in names[:MAX_PANELS] if name in floors)
    more = f" Only the first {MAX_PANELS} of {len(names)} configurations are drawn." if len(names) > MAX_PANELS else ""
    return book.figure(
        f"{row.benchmark}: distribution of round-trip times",
        f"{scale.unit}, lower is better",
        f"Every reply in every valid trial. Replies within a trial are not replicates.{more}"
        f"{f' {physics}' if physics else ''}",
        drawn,
        table=within_table(book, row, metric),
        columns=min(3, len(drawn)),
    )


def _physics(floor: WanFloor) -> str:
    return (
        f"{floor.database_region} and {floor.load_region} are {floor.distance_m / METRES_PER_KM:,.0f} km apart: light "
        f"in fibre takes {floor.round_trip_s * 1000:.1f} ms there and back by the shortest path."
    )


def _bins(rows: list[MeasurementRow], scale: people.Scale) -> list[dict[str, Any]]:
    """Counts in bins of equal width on a logarithmic axis."""
    counts = Counter(math.floor(math.log10(scale.value(one.value)) * BINS_PER_DECADE) for one in rows)
    found: list[dict[str, Any]] = []
    for place, count in sorted(counts.items()):
        low, high = (10 ** (edge / BINS_PER_DECADE) for edge in (place, place + 1))
        text = f"{people.significant(low, 3)} to {people.significant(high, 3)} {scale.unit}"
        found.append({"low": low, "high": high, "share": count / len(rows), "count": count, "range_text": text})
    return found
