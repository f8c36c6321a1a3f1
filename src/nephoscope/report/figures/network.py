"""Figures of the network: round-trip times, slowest to fastest second, and the effect of more streams."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from nephoscope.analysis.lookup import Lookup, grouped, headlines
from nephoscope.insights.advertised import deliveries
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow, Statistic, WanFloor, WithinRow
from nephoscope.model.words import counted
from nephoscope.report.figures import charts, groups, row_charts, theme
from nephoscope.report.figures.results import courses, curves_of
from nephoscope.report.figures.row_charts import AXIS_HEIGHT, PLOT_HEIGHT, ROW, shares
from nephoscope.report.figures.spec import Rows, Spec, axis_note, coloured, data, finished, rows_axis, tip
from nephoscope.report.figures.storage import curves_figure
from nephoscope.report.parts import Book, Figure, KeyEntry, Table
from nephoscope.report.tables.rows import data_of_figure, table_of
from nephoscope.report.wording import interval_row

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
    axis = f"{scale.unit}, higher is better"
    ends = [one[end] for one in rows.values() for end in ("low", "high")]
    drawn = []
    for panel, names in by_place(book.lookup, row, list(found)).items():
        spoken = f"Ranges of {title}: slowest, median and fastest second of {', '.join(names[:6])}"
        spec = row_charts.ranges(names, [rows[name] for name in names], axis, book.lookup.configurations, ends)
        drawn.append((panel, spoken, spec))
    shared = " All panels have the same axis." if len(drawn) > 1 else ""
    return book.figure(
        f"{row.benchmark}: {title}, slowest to fastest second",
        f"{scale.unit}, higher is better",
        "Bars: slowest to fastest second of a trial; tick: its median second. All are medians over replicates. "
        f"{axis_note(ends)}{shared}",
        drawn,
        key=(KeyEntry("┃", "var(--ink)", "median second"), KeyEntry("▬", "var(--band-edge)", "slowest to fastest")),
        table=data_of_figure(book, [one["middle"] for one in found.values()], f"{row.benchmark}: median second"),
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
            spec = charts.series(points, [], (0.0, top), colour, scale.unit)
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
    axis = f"{scale.unit}, logarithmic axis, lower is better"
    every = grouped(series, lambda one: one.configuration)
    values = {name: [scale.value(one.value) for one in every[name]] for name in names[:MAX_PANELS]}
    binned = {
        name: _bins(
            many,
            lambda place: 10 ** (place / BINS_PER_DECADE),
            lambda value: math.floor(math.log10(value) * BINS_PER_DECADE),
            scale.unit,
        )
        for name, many in values.items()
    }
    most = max(one["share"] for bins in binned.values() for one in bins)
    titles = {one.configuration: titled(one, scale) for one in within(book, row, metric)}
    drawn = []
    for name, bins in binned.items():
        colour = theme.colour(book.lookup.configurations.index(name), len(book.lookup.configurations))
        floor = floors.get(name)
        line = [] if floor is None else [{"floor": scale.value(floor.round_trip_s), "label": "light in fibre"}]
        replies = counted(sum(one["count"] for one in bins), "reply", "replies")
        spoken = f"Histogram of {metric_title(metric)} for {name}, {replies}."
        spec = row_charts.histogram(bins, line, domain, most, colour, axis)
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


def _bins(values: Sequence[float], edge: Callable[[int], float], place: Callable[[float], int], unit: str) -> Rows:
    """Shares of the values in bins: `place` says in which one a value is, `edge` where a bin begins."""
    found = []
    for at, count in sorted(Counter(map(place, values)).items()):
        low, high = edge(at), edge(at + 1)
        text = f"{people.significant(low, 4)} to {people.significant(high, 4)} {unit}"
        found.append({"low": low, "high": high, "share": count / len(values), "count": count, "range_text": text})
    return found


_LOW, _HIGH = "_min", "_p99"
_FAR = "between regions, against the speed of light"
_TRIP_ENDS = {"_min": "shortest", "": "mean", "_p99": "p99"}


def round_trips(book: Book, row: BenchmarkRow) -> list[Figure]:
    """A figure for machines of one region, and one for pairs of regions; empty if nothing like it was measured."""
    metric = headlines(row)[0] if row.metrics else None
    if metric is None or not metric.name.endswith("round_trip"):
        return []
    found = {
        ending: {one.configuration: one for one in book.lookup.statistics_of(row.benchmark, f"{metric.name}{ending}")}
        for ending in _TRIP_ENDS
    }
    names = [name for name in book.lookup.ranked(row.benchmark, metric) if all(name in one for one in found.values())]
    floors = floors_of(book.lookup, row)
    near, far = [name for name in names if name not in floors], [name for name in names if name in floors]
    return [
        *book.figures(_round_trips_figure, row, found, _near(book.lookup, near), "within a region", {}),
        *book.figures(_round_trips_figure, row, found, _pairs(book.lookup, far, floors), _FAR, floors),
    ]


def floors_of(lookup: Lookup, row: BenchmarkRow) -> dict[str, WanFloor]:
    """By configuration; none for a benchmark that ran between database machines, which are in one region."""
    if row.parameters.get("between") == "databases":
        return {}
    return {one.configuration: one for one in lookup[WanFloor]}


def by_place(lookup: Lookup, row: BenchmarkRow, names: Sequence[str]) -> groups.Groups:
    """Machines of one region by cloud, and others by their pair of regions; a single group has no title."""
    floors = floors_of(lookup, row)
    near, far = [name for name in names if name not in floors], [name for name in names if name in floors]
    return {**_near(lookup, near), **_pairs(lookup, far, floors)}


def _near(lookup: Lookup, names: Sequence[str]) -> groups.Groups:
    return groups.only(groups.everywhere(lookup) or {"": list(names)}, names) if names else {}


def _pairs(lookup: Lookup, names: Sequence[str], floors: dict[str, WanFloor]) -> groups.Groups:
    found: groups.Groups = {}
    for name in names:
        floor = floors[name]
        cloud = groups.cloud_of(lookup, name)
        where = f"{floor.database_region} and {floor.load_region}, {floor.distance_m / METRES_PER_KM:,.0f} km"
        found.setdefault(f"{cloud}: {where}" if cloud else where, []).append(name)
    return found


def _round_trips_figure(
    book: Book,
    row: BenchmarkRow,
    found: dict[str, dict[str, Statistic]],
    panels: groups.Groups,
    where: str,
    floors: dict[str, WanFloor],
) -> Figure | None:
    names = [name for many in panels.values() for name in many]
    if not names:
        return None
    scale = people.scale_for("s", [found[""][name].compared.value for name in names])
    ends = [scale.value(found[end][name].compared.value) for end in _TRIP_ENDS for name in names]
    ends += [scale.value(floors[name].round_trip_s) for name in names if name in floors]
    axis = f"{scale.unit}, lower is better"
    drawn = []
    for title, many in panels.items():
        rows = [_trip(name, found, scale) for name in many]
        light = [{"floor": scale.value(floors[many[0]].round_trip_s), "label": "light in fibre"}] if floors else []
        spec = _trips_chart(many, rows, light, max(ends) * 1.05, axis, book.lookup.configurations)
        drawn.append((title, f"{title}: mean round trips of {', '.join(many[:6])}", spec))
    physics = (
        " The dashed line is the time that light in fibre takes there and back by the shortest path." if floors else ""
    )
    return book.figure(
        f"{row.benchmark}: round trips {where}",
        f"{scale.unit}, lower is better",
        f"Lines: from the shortest round trip of a trial to the 99th percentile; bars: interval of the mean; all are "
        f"medians over replicates.{physics} All panels have the same axis, which starts at zero.",
        drawn,
        key=(
            KeyEntry("┃", "var(--ink)", "mean"),
            KeyEntry("▬", "var(--band-edge)", "its interval"),
            KeyEntry("─", "var(--muted)", "shortest to p99"),
            *((KeyEntry("┆", "var(--muted)", "light in fibre"),) if floors else ()),
        ),
        table=data_of_figure(book, [found[""][name] for name in names], f"{row.benchmark}: mean round trip {where}"),
    )


def _trip(name: str, found: dict[str, dict[str, Statistic]], scale: people.Scale) -> dict[str, Any]:
    mean = found[""][name]
    return {
        "configuration": name,
        "shortest": scale.value(found[_LOW][name].compared.value),
        "longest": scale.value(found[_HIGH][name].compared.value),
        **interval_row(mean, scale),
        "shortest_text": scale.text(found[_LOW][name].compared),
        "longest_text": scale.text(found[_HIGH][name].compared),
    }


def _trips_chart(names: Sequence[str], rows: Rows, light: Rows, most: float, axis: str, palette: Sequence[str]) -> Spec:
    scale = alt.Scale(domain=[0, most], nice=True)
    base = alt.Chart(data("rows")).encode(
        y=rows_axis(names),
        tooltip=tip("configuration", "level_text", "interval_text", "shortest_text", "longest_text"),
    )
    x = alt.X("low:Q", title=axis, scale=scale)
    layers = [
        base.mark_rule(**theme.INTERVAL, strokeWidth=14).encode(x=x, x2=alt.X2("high:Q")),
        base.mark_rule(strokeWidth=1.6).encode(
            x=alt.X("shortest:Q", title=axis), x2=alt.X2("longest:Q"), color=coloured(palette)
        ),
        base.mark_tick(**theme.MEDIAN, size=16).encode(x=alt.X("level:Q", title=axis)),
    ]
    if light:
        layers.append(alt.Chart(data("light")).mark_rule(**theme.REFERENCE).encode(x=alt.X("floor:Q", title=axis)))
    return finished(layers, ROW * max(1, len(names)) + AXIS_HEIGHT, rows=rows, light=light)


BINS = 40


def throughput_histogram(book: Book, row: BenchmarkRow, metric: Metric) -> Figure | None:
    """A histogram of all seconds for each configuration, on one axis; None where no second is stored."""
    series = [one for one in book.lookup.series.get((row.benchmark, metric.name), []) if one.valid]
    spreads = within(book, row, metric)
    if metric.unit != "bit/s" or not series or not spreads:
        return None
    best = sorted(spreads, key=lambda one: (-one.mean, one.configuration))
    scale = people.scale_for(metric.unit, [one.maximum for one in best])
    low, high = min(one.minimum for one in best), max(one.maximum for one in best)
    width = (high - low) / BINS or high / BINS or 1.0
    binned = {
        one.configuration: _bins(
            [row.value for row in series if row.configuration == one.configuration],
            lambda place: scale.value(low + place * width),
            lambda value: min(BINS - 1, math.floor((value - low) / width)),
            scale.unit,
        )
        for one in best[:MAX_PANELS]
    }
    most = max(one["share"] for bins in binned.values() for one in bins)
    domain = (scale.value(low), scale.value(low + BINS * width))
    drawn = []
    for one in best[:MAX_PANELS]:
        name = one.configuration
        colour = theme.colour(book.lookup.configurations.index(name), len(book.lookup.configurations))
        title = titled(one, scale)
        x = alt.X("low:Q", title=scale.unit, scale=alt.Scale(domain=list(domain), zero=False, nice=True))
        spec = finished([shares(x, most, "seconds", colour)], PLOT_HEIGHT, bins=binned[name])
        drawn.append((title, f"Histogram of {counted(one.values, 'second')} of {title}", spec))
    more = f" Only the best {MAX_PANELS} of {len(best)} configurations are drawn." if len(best) > MAX_PANELS else ""
    return book.figure(
        f"{row.benchmark}: distribution of {metric_title(metric).lower()}, in seconds",
        f"{scale.unit}, higher is better",
        "Every second of every valid trial, in bins of equal width. All panels share both axes. "
        f"Seconds within a trial are not replicates.{more}",
        drawn,
        table=within_table(book, row, metric),
        columns=min(3, len(drawn)),
    )


def within(book: Book, row: BenchmarkRow, metric: Metric) -> list[WithinRow]:
    """What the analysis says of the values within trials."""
    return [one for one in book.lookup[WithinRow] if (one.benchmark, one.metric) == (row.benchmark, metric.name)]


def within_table(book: Book, row: BenchmarkRow, metric: Metric) -> Table | None:
    """Mean, standard deviation and ends of the values within trials; None if the analysis has none."""
    columns = ("configuration", "mean", "deviation", "minimum", "maximum", "values")
    return table_of(book, within(book, row, metric), columns=columns, of=row.benchmark)


def titled(row: WithinRow, scale: people.Scale) -> str:
    """Of a panel: the configuration with the standard deviation of what the panel shows, where there is one."""
    if row.deviation is None:
        return row.configuration
    return f"{row.configuration}: standard deviation {scale.text(row.deviation)}"
