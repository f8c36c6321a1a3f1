"""Figures of a search for the highest load: achieved and response times against what was offered, and its table."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import altair as alt

from nephoscope.records import Metric
from nephoscope.report import format as people
from nephoscope.report import theme
from nephoscope.report.lookup import Lookup, headlines
from nephoscope.report.parts import Book, Cell, Column, Figure, KeyEntry, Row, Table
from nephoscope.report.spec import Rows, Spec, by_counting, data, finished, limit_lines
from nephoscope.report.wording import unit_text
from nephoscope.results import BenchmarkRow

POINT = "point."
"""Begins the names of metrics that have a value for each point of a search."""
OFFERED, ACHIEVED, PASSED = "point.offered_per_s", "point.achieved_per_s", "point.passed"
FAILING = "lowest_failing_load_per_s"
RESPONSES = ("mean", "p95", "p99")
_HEIGHT = 230
_SHAPES = ("circle", "square", "triangle-up")
_GLYPHS = ("●", "■", "▲")

Point = dict[str, float | bool | str]


def is_of_curve(metric: Metric) -> bool:
    """True for a metric of single points: it is no series of seconds."""
    return metric.name.startswith(POINT)


def curve_figures(book: Book, row: BenchmarkRow) -> list[Figure]:
    """Both figures; empty for a benchmark that searched nothing."""
    points = _points(book.lookup, row)
    if not points:
        return []
    return [_achieved(book, row, points), _responses(book, row, points)]


def _points(lookup: Lookup, row: BenchmarkRow) -> dict[str, list[Point]]:
    """By configuration: points with all their numbers, in SI units, by what was offered."""
    found: dict[tuple[str, str, float], Point] = defaultdict(dict)
    for metric in row.metrics:
        if is_of_curve(metric):
            for one in lookup.series.get((row.benchmark, metric.name), []):
                point = found[one.configuration, one.trial, one.at_s or 0.0]
                point |= {metric.name: one.value, "trial": one.trial}
    by_configuration: dict[str, list[Point]] = {}
    for name in lookup.configurations:
        mine = [point for (configuration, _, _), point in found.items() if configuration == name and OFFERED in point]
        if mine:
            by_configuration[name] = sorted(mine, key=lambda point: float(point[OFFERED]))
    return by_configuration


def _achieved(book: Book, row: BenchmarkRow, points: dict[str, list[Point]]) -> Figure:
    most = max(float(point[OFFERED]) for many in points.values() for point in many)
    scale = people.scale_for("1/s", [most])
    drawn = []
    for name, many in points.items():
        rows = [
            {
                "offered": scale.value(float(point[OFFERED])),
                "value": scale.value(float(point[ACHIEVED])),
                "series": "achieved",
                "counts": bool(point[PASSED]),
                "trial": point["trial"],
            }
            for point in many
        ]
        colours = [theme.colour(book.lookup.configurations.index(name), len(book.lookup.configurations))]
        spec = _chart(rows, _bracket(book, row, name, scale), [], ("achieved",), colours, scale, (scale.unit, False))
        drawn.append((name, f"Achieved against offered of {name}: {people.plural(len(many), 'point')}.", spec))
    return book.figure(
        f"{row.benchmark}: achieved against offered",
        f"{unit_text(scale)}, on the line is better",
        "Each sign is one point of a search. Dashed lines: the bracket, from the highest level that was confirmed to "
        "the lowest above which none held; medians over replicates. Both axes start at zero.",
        drawn,
        key=(KeyEntry("●", "var(--ink)", "filled: the rule held"), KeyEntry("○", "var(--muted)", "hollow: it did not")),
        table=_qualification(book, row),
        columns=min(2, len(drawn)),
    )


def _responses(book: Book, row: BenchmarkRow, points: dict[str, list[Point]]) -> Figure:
    seen = [
        which for which in RESPONSES if any(_response(which) in point for many in points.values() for point in many)
    ]
    rates = people.scale_for("1/s", [float(point[OFFERED]) for many in points.values() for point in many])
    times = [float(point[_response(which)]) for many in points.values() for point in many for which in seen
             if _response(which) in point]  # fmt: skip
    scale = people.scale_for("s", times)
    colours = list(theme.PERCENTILE_COLOURS[: len(seen)])
    drawn = []
    for name, many in points.items():
        rows = [
            {
                "offered": rates.value(float(point[OFFERED])),
                "value": scale.value(float(point[_response(which)])),
                "series": which,
                "counts": bool(point[PASSED]),
                "trial": point["trial"],
            }
            for point in many
            for which in seen
            if _response(which) in point
        ]
        limits = [
            {"limit": scale.value(one.median), "label": f"limit of {which}"}
            for which in RESPONSES
            for one in book.lookup.of_configuration(row.benchmark, f"limit.{which}", name)
        ]
        spec = _chart(rows, _bracket(book, row, name, rates), limits, seen, colours, rates, (scale.unit, True))
        spoken = f"Response times against load of {name}: {', '.join(seen)} of {people.plural(len(many), 'point')}."
        drawn.append((name, spoken, spec))
    return book.figure(
        f"{row.benchmark}: response times against load",
        f"{scale.unit}, lower is better",
        "Of all operations of a point, from the moment each was due; logarithmic axis. A point that held lies below "
        "the limits of the rule, drawn across. Hollow signs: it did not hold. Percentiles that too few operations "
        "support are left out.",
        drawn,
        key=[KeyEntry(glyph, colour, which) for glyph, colour, which in zip(_GLYPHS, colours, seen, strict=False)],
        columns=min(2, len(drawn)),
    )


def _response(which: str) -> str:
    return f"point.response_{which}"


def _chart(
    rows: Rows,
    bracket: Rows,
    limits: Rows,
    names: Iterable[str],
    colours: list[str],
    rates: people.Scale,
    axis: tuple[str, bool],
) -> Spec:
    """Signs over what was offered; `axis` is the unit of the other axis, and whether it is logarithmic."""
    unit, logarithmic = axis
    order = list(names)
    y = alt.Y(
        "value:Q",
        title=unit,
        scale=alt.Scale(type="log") if logarithmic else alt.Scale(zero=True),
        axis=alt.Axis(titleAlign="left", titleX=0, titleY=-14),
    )
    base = alt.Chart(data("points")).encode(
        x=alt.X("offered:Q", title=f"offered, {rates.unit}", scale=alt.Scale(zero=True), axis=alt.Axis(grid=False)),
        y=y,
        color=alt.Color("series:N", legend=None, scale=alt.Scale(domain=order, range=colours)),
        shape=alt.Shape("series:N", legend=None, scale=alt.Scale(domain=order, range=list(_SHAPES[: len(order)]))),
        tooltip=[
            alt.Tooltip("series:N"),
            alt.Tooltip("offered:Q", format=",.4~r"),
            alt.Tooltip("value:Q", title=unit, format=",.4~r"),
            alt.Tooltip("trial:N"),
        ],
    )
    layers = by_counting(rows, base.mark_point(filled=True, size=55), base.mark_point(filled=False, size=55))
    return finished(
        alt.layer(*layers, *limit_lines(bracket, limits)), _HEIGHT, points=rows, bracket=bracket, limits=limits
    )


def _bracket(book: Book, row: BenchmarkRow, configuration: str, scale: people.Scale) -> list[dict[str, Any]]:
    ends = (headlines(row)[0].name, FAILING)
    return [
        {"level": scale.value(one.median)}
        for end in ends
        for one in book.lookup.of_configuration(row.benchmark, end, configuration)
    ]


def _qualification(book: Book, row: BenchmarkRow) -> Table | None:
    """Type, level, response times at it, objects, price: as qualifications are published, with intervals."""
    metric = headlines(row)[0]
    found = book.lookup.statistics_of(row.benchmark, metric.name)
    if not found:
        return None
    scale = book.lookup.scale(row.benchmark, metric)
    tails = [one for one in row.metrics if one.name.endswith((".response_mean", ".response_p95", ".response_p99"))]
    shown = [one for one in tails if not is_of_curve(one) and book.lookup.statistics_of(row.benchmark, one.name)]
    columns = (
        Column("Configuration"),
        Column("Machine type"),
        Column(f"Highest load, {unit_text(scale)}", numeric=True),
        Column("Interval of the median", numeric=True, hint="Over replicates."),
        Column("Coverage", numeric=True),
        Column("Lowest that failed", numeric=True),
        *(Column(_short(one), numeric=True, hint="Median, at the level found.") for one in shown),
        Column("Object size", numeric=True, hint="Bytes of a value."),
        Column("Objects", numeric=True, hint="Rows loaded before the search."),
        Column("Disk", hint="Of the data, as observed."),
        Column("Price"),
    )
    types = {one.configuration: one.machine_type for one in book.lookup.study.configurations}
    body = []
    for one in found:
        failing = book.lookup.of_configuration(row.benchmark, FAILING, one.configuration)
        body.append(
            Row(
                (
                    Cell(one.configuration),
                    Cell(types.get(one.configuration) or people.MISSING),
                    Cell(scale.number(one.median)),
                    Cell(f"{scale.number(one.low)} to {scale.number(one.high)}"),
                    Cell(f"{one.coverage:.1%}"),
                    Cell(scale.number(failing[0].median) if failing else people.MISSING),
                    *(Cell(_time(book, row, each, one.configuration)) for each in shown),
                    Cell(_number(book, row, "object_bytes", one.configuration, " B")),
                    Cell(_number(book, row, "objects", one.configuration)),
                    Cell(_disk(book, one.configuration)),
                    Cell(_price(book, one.configuration)),
                )
            )
        )
    return Table(f"{row.benchmark}: qualification", columns, tuple(body), compact=True)


def _short(metric: Metric) -> str:
    operation, _, which = metric.name.rpartition(".")
    return f"{operation.replace('_', ' ')} {which.removeprefix('response_')}"


def _time(book: Book, row: BenchmarkRow, metric: Metric, configuration: str) -> str:
    found = book.lookup.of_configuration(row.benchmark, metric.name, configuration)
    return people.scale_for("s", [found[0].median]).text(found[0].median) if found else people.MISSING


def _number(book: Book, row: BenchmarkRow, metric: str, configuration: str, unit: str = "") -> str:
    found = book.lookup.of_configuration(row.benchmark, metric, configuration)
    return f"{people.integer(found[0].median)}{unit}" if found else people.MISSING


def _disk(book: Book, configuration: str) -> str:
    """Size and kind of the disk of the data, on the first machine that told them."""
    disks = [one.facts.disk for one in book.lookup.study.machines if one.configuration == configuration]
    disk = next((one for one in disks if one is not None and one.size_bytes), None)
    if disk is None:
        return people.MISSING
    kind = {True: " HDD", False: " SSD", None: ""}[disk.rotational]
    return f"{people.byte_size(disk.size_bytes)}{kind}"


def _price(book: Book, configuration: str) -> str:
    priced = [one for one in book.lookup.costs.get(configuration, []) if one.month_usd is not None]
    return f"${priced[0].month_usd:,.0f} a month, {priced[0].basis}" if priced else people.MISSING
