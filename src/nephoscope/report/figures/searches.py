"""Figures of a search for the highest load or the most warehouses: curves over its points, and its table."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from nephoscope.analysis.lookup import Lookup, headlines
from nephoscope.insights.names import type_name
from nephoscope.model import numbers as people
from nephoscope.model.records import OF_OUTAGE, Metric
from nephoscope.model.rows import BenchmarkRow, MachineRow, PassRow, Statistic
from nephoscope.model.words import capitalised, counted
from nephoscope.report.figures import charts, theme
from nephoscope.report.figures.spec import (
    Rows,
    Spec,
    by_colour,
    by_counting,
    by_shape,
    data,
    finished,
    limit_lines,
    tip,
    upwards,
)
from nephoscope.report.parts import (
    Book,
    Cell,
    Column,
    Figure,
    KeyEntry,
    Row,
    Table,
    evidence_cell,
    interval_cells,
    validity_key,
)
from nephoscope.report.tables.rows import table_of
from nephoscope.report.wording import unit_text

POINT = "point."
"""Prefix of the metrics that have a value for each point of a search."""
LIMIT = "limit."
"""Prefix of the metrics that hold the limits of a rule; they are not measured."""
OFFERED, ACHIEVED, PASSED = "point.offered_per_s", "point.achieved_per_s", "point.passed"
FAILING_LOAD = "lowest_failing_load_per_s"
_RESPONSE = re.compile(r"point\.(?P<operation>.+)\.response_(?P<which>\w+)")
_HEIGHT = 230

Point = dict[str, float | bool | str]


def is_of_curve(metric: Metric) -> bool:
    """True for a metric of single points or single faults, which is not a series of seconds."""
    return metric.name.startswith((POINT, OF_OUTAGE))


def curve_figures(book: Book, row: BenchmarkRow) -> list[Figure]:
    """Achieved against offered, and response times of each operation that the rule limits.

    Empty for a benchmark that searched nothing.
    """
    points = points_of(book.lookup, row)
    if not points:
        return []
    responses = [book.figures(_responses, row, points, operation) for operation in limited(row)]
    return [*book.figures(_achieved, row, points), *(figure for figures in responses for figure in figures)]


def limited(row: BenchmarkRow) -> list[str]:
    """Operations of which points have response times, as the rule calls them."""
    return list(dict.fromkeys(found["operation"] for one in row.metrics if (found := _RESPONSE.fullmatch(one.name))))


def statistics_shown(row: BenchmarkRow, operation: str, points: dict[str, list[Point]]) -> list[str]:
    """'mean', 'p99' and the like, if any point has them, in the order of the metrics."""
    told = [found for one in row.metrics if (found := _RESPONSE.fullmatch(one.name))]
    has = {name for many in points.values() for point in many for name in point}
    return [found["which"] for found in told if found["operation"] == operation and found[0] in has]


def points_of(lookup: Lookup, row: BenchmarkRow, at: str = OFFERED) -> dict[str, list[Point]]:
    """By configuration: points with all their numbers, in SI units, by the metric that says where they are."""
    found: dict[tuple[str, str, float], Point] = defaultdict(dict)
    for metric in row.metrics:
        if is_of_curve(metric):
            for one in lookup.series.get((row.benchmark, metric.name), []):
                point = found[one.configuration, one.trial, one.at_s or 0.0]
                point |= {metric.name: one.value, "trial": one.trial}
    by_configuration: dict[str, list[Point]] = {}
    for name in lookup.configurations:
        mine = [point for (configuration, _, _), point in found.items() if configuration == name and at in point]
        if mine:
            by_configuration[name] = sorted(mine, key=lambda point: float(point[at]))
    return by_configuration


@dataclass(frozen=True)
class _Over:
    """Where the points of a search are."""

    metric: str
    field: str
    about: str
    """'offered load', as text alternatives say it."""
    title: str
    """Of the axis."""
    scale: people.Scale
    ends: tuple[str, str]
    """Metrics between which the limit lies: the highest confirmed level, and the lowest from which on none passed."""


def _panels(
    book: Book,
    row: BenchmarkRow,
    points: Mapping[str, Sequence[Point]],
    over: _Over,
    what: str,
    series: Mapping[str, tuple[str, str]],
    limits: Mapping[str, str],
    up: tuple[people.Scale, bool],
) -> list[tuple[str, str, Spec]]:
    """One for each configuration.

    Args:
        book: of the page.
        row: the benchmark that searched.
        points: by configuration.
        over: where they are.
        what: is drawn, for text alternatives.
        series: metric -> its name and its colour; an empty colour: that of the configuration.
        limits: metric that holds a limit -> the label of its line.
        up: scale of the vertical axis, and whether it is logarithmic.
    """
    scale, log = up
    drawn = []
    for name, many in points.items():
        rows = [
            {
                over.field: over.scale.value(float(point[over.metric])),
                "value": scale.value(float(point[metric])),
                "series": called,
                "counts": bool(point[PASSED]),
                "trial": point["trial"],
            }
            for point in many
            for metric, (called, _) in series.items()
            if metric in point
        ]
        lines = [
            {"limit": scale.value(one.compared.value), "label": label}
            for metric, label in limits.items()
            for one in book.lookup.of_configuration(row.benchmark, metric, name)
        ]
        bracket = [
            {"level": over.scale.value(one.compared.value)}
            for end in over.ends
            for one in book.lookup.of_configuration(row.benchmark, end, name)
        ]
        own = theme.colour(book.lookup.configurations.index(name), len(book.lookup.configurations))
        signs = {called: colour or own for called, colour in series.values()}
        spec = chart(rows, bracket, lines, signs, (over.field, over.title), (scale.unit, log))
        drawn.append((name, f"{what} of {name} over {over.about}: {counted(len(many), 'point')}.", spec))
    return drawn


def _offered(row: BenchmarkRow, points: Mapping[str, Sequence[Point]]) -> _Over:
    scale = people.scale_for("1/s", [float(point[OFFERED]) for many in points.values() for point in many])
    return _Over(
        OFFERED, "offered", "offered load", f"offered, {scale.unit}", scale, (headlines(row)[0].name, FAILING_LOAD)
    )


def _passed_key(points: Mapping[str, Sequence[Point]]) -> list[KeyEntry]:
    return validity_key((bool(point[PASSED]) for many in points.values() for point in many), "passed", "did not pass")


def _achieved(book: Book, row: BenchmarkRow, points: dict[str, list[Point]]) -> Figure:
    over = _offered(row, points)
    return book.figure(
        f"{row.benchmark}: achieved and offered load",
        f"{unit_text(over.scale)}, closer to the diagonal is better",
        "Each sign is one point of a search. A point passed if the rule held and the load generator was not the limit. "
        "The limit lies between the dashed lines: the highest confirmed level, and the lowest level from which on none "
        "passed (medians over replicates). Both axes start at zero.",
        _panels(book, row, points, over, "Achieved load", {ACHIEVED: ("achieved", "")}, {}, (over.scale, False)),
        key=_passed_key(points),
        table=qualification(book, [row]),
    )


def _responses(book: Book, row: BenchmarkRow, points: dict[str, list[Point]], operation: str) -> Figure | None:
    """None when no point has enough of these operations."""
    seen = statistics_shown(row, operation, points)
    if not seen:
        return None
    colours = [theme.PERCENTILE_COLOURS[place % len(theme.PERCENTILE_COLOURS)] for place, _ in enumerate(seen)]
    series = {
        f"point.{operation}.response_{which}": (which, colour) for which, colour in zip(seen, colours, strict=True)
    }
    limits = {f"{LIMIT}{operation}.{which}": f"limit of {which}" for which in seen}
    scale = _scale_of("s", points, series)
    what = f"{capitalised(', '.join(seen))} of {operation}"
    return book.figure(
        f"{row.benchmark}: response times of {operation} against load",
        f"{scale.unit}, lower is better",
        f"For {_all_of(operation)} of a point, measured from the moment each was due; logarithmic axis. Horizontal "
        "lines are the limits of the rule. Filled signs passed; hollow signs failed this limit or another one. "
        "Percentiles with too few operations are left out.",
        _panels(book, row, points, _offered(row, points), what, series, limits, (scale, True)),
        key=[
            KeyEntry(theme.sign(place)[1], colour, which)
            for place, (which, colour) in enumerate(zip(seen, colours, strict=True))
        ],
    )


def _scale_of(unit: str, points: Mapping[str, Sequence[Point]], metrics: Collection[str]) -> people.Scale:
    every = (float(point[one]) for many in points.values() for point in many for one in metrics if one in point)
    return people.scale_for(unit, list(every))


def _all_of(operation: str) -> str:
    return "all operations" if operation == "all" else f"“{operation}” operations"


def chart(
    rows: Rows, bracket: Rows, limits: Rows, signs: Mapping[str, str], across: tuple[str, str], up: tuple[str, bool]
) -> Spec:
    """Signs of points over where they are, hollow where they did not pass.

    Args:
        rows: `value`, `series`, `counts`, `trial`, and the field that `across` names.
        bracket: `level` of lines upwards.
        limits: `limit` and `label` of lines across.
        signs: series -> its colour.
        across: field and title of the horizontal axis.
        up: unit of the vertical axis, and whether it is logarithmic.
    """
    field, title = across
    unit, logarithmic = up
    scale = alt.Scale(zero=True)
    marks: dict[str, Any] = {}
    if logarithmic:
        drawn = [row[name] for name, many in (("value", rows), ("limit", limits)) for row in many]
        ends = [min(drawn) / charts.LOG_ROOM, max(drawn) * charts.LOG_ROOM]
        scale = alt.Scale(type="log", domain=ends, nice=False)
        marks = {"format": ",~f", "labelOverlap": False}
    base = alt.Chart(data("points")).encode(
        x=alt.X(f"{field}:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(grid=False)),
        y=upwards("value", unit, scale, **marks),
        color=by_colour("series", list(signs), list(signs.values())),
        shape=by_shape("series", list(signs)),
        tooltip=tip("series", f"{field}:Q", "value:Q", "trial"),
    )
    layers = by_counting(rows, base.mark_point(filled=True, size=55), base.mark_point(filled=False, size=55))
    return finished([*layers, *limit_lines(bracket, limits)], _HEIGHT, points=rows, bracket=bracket, limits=limits)


def qualification(book: Book, rows: Sequence[BenchmarkRow]) -> Table | None:
    """Type, level, response times at that level, objects, price: like published qualifications, with intervals.

    One table for all searches, as each type may have objects of its own size; None if nothing else was measured.
    """
    searched = [row for row in rows if any(metric.name == FAILING_LOAD for metric in row.metrics)]
    levels = [
        (row, one) for row in searched for one in book.lookup.statistics_of(row.benchmark, headlines(row)[0].name)
    ]
    if not levels or len(searched) < len(rows):
        return None
    scale = people.scale_for("1/s", [one.compared.value for _, one in levels])
    tails = _tails(book, [row for row, _ in levels])
    failing = [one for row, _ in levels for one in book.lookup.statistics_of(row.benchmark, FAILING_LOAD)]
    columns = (
        Column("Configuration", hint="With its machine type."),
        Column(f"Highest load, {unit_text(scale)}", numeric=True, hint="With the interval over replicates."),
        *([Column("Lowest failed load", numeric=True)] if failing else []),
        *(Column(_short(one), numeric=True, hint="Median, at the level found.") for one in tails.values()),
        Column("Object size", numeric=True, hint="Size of a value."),
        Column("Objects", numeric=True, hint="Rows loaded before the search."),
        Column("Disk", hint="Where the data is, as observed."),
        Column("Price"),
    )
    body = tuple(_qualified(book, row, one, scale, tails.values(), fails=bool(failing)) for row, one in levels)
    about = f"{rows[0].benchmark}: qualification" if len(rows) == 1 else "Qualification"
    return Table(about, columns, body, compact=True)


def _tails(book: Book, rows: Sequence[BenchmarkRow]) -> Mapping[str, Metric]:
    """Response times at the levels that were found, by name: of the operations that a rule limits, else of all."""
    names = ("response_mean", "response_p95", "response_p99")
    found = {
        metric.name: (metric, metric.name.rpartition(".")[0] in limited(row))
        for row in rows
        for metric in row.metrics
        if metric.name.endswith(names)
        and not is_of_curve(metric)
        and book.lookup.statistics_of(row.benchmark, metric.name)
    }
    is_any_limited = any(is_limited for _, is_limited in found.values())
    return {name: metric for name, (metric, is_limited) in found.items() if is_limited or not is_any_limited}


def _qualified(
    book: Book, row: BenchmarkRow, one: Statistic, scale: people.Scale, tails: Collection[Metric], *, fails: bool
) -> Row:
    name = one.configuration
    failing = book.lookup.of_configuration(row.benchmark, FAILING_LOAD, name)
    interval, coverage = (cell.text for cell in interval_cells(one, scale))
    note = f"{interval} ({coverage})" if one.n > 1 else interval
    return Row(
        (
            Cell(name, tone="name", note=_type_beside(book, name)),
            evidence_cell(book, scale.number(one.compared), one.trials, f"{row.benchmark} on {name}", note),
            *([Cell(scale.number(failing[0].compared) if failing else people.MISSING)] if fails else []),
            *(Cell(_time(book, row, each, name)) for each in tails),
            Cell(_number(book, row, "object_bytes", name, " B")),
            Cell(_number(book, row, "objects", name)),
            Cell(_disk(book, name)),
            Cell(_price(book, name)),
        )
    )


def _type_beside(book: Book, configuration: str) -> str:
    """The machine type, where the configuration has another name."""
    described = book.lookup.described.get(configuration)
    called = type_name(configuration, (described.machine_type if described else None) or "")
    return "" if called == configuration else called


def _short(metric: Metric) -> str:
    operation, _, which = metric.name.rpartition(".")
    return f"{operation.replace('_', ' ')} {which.removeprefix('response_')}"


def _time(book: Book, row: BenchmarkRow, metric: Metric, configuration: str) -> str:
    found = book.lookup.of_configuration(row.benchmark, metric.name, configuration)
    return people.quantity(found[0].compared, "s") if found else people.MISSING


def _number(book: Book, row: BenchmarkRow, metric: str, configuration: str, unit: str = "") -> str:
    found = book.lookup.of_configuration(row.benchmark, metric, configuration)
    return f"{people.integer(found[0].compared.value)}{unit}" if found else people.MISSING


def _disk(book: Book, configuration: str) -> str:
    """Size and kind of the data disk, from the first machine that reports them; else its kind as the study asks."""
    disks = [one.facts.disk for one in book.lookup[MachineRow] if one.configuration == configuration]
    disk = next((one for one in disks if one is not None and one.size_bytes), None)
    if disk is None:
        described = book.lookup.described.get(configuration)
        return (described.storage if described else None) or people.MISSING
    kind = {True: " HDD", False: " SSD", None: ""}[disk.rotational]
    return f"{people.byte_size(disk.size_bytes)}{kind}"


def _price(book: Book, configuration: str) -> str:
    months = {one.basis: one.month_usd for one in book.lookup.costs.get(configuration, [])}
    basis = next((one for one in book.lookup.bases if months.get(one) is not None), None)
    return f"${months[basis]:,.0f} a month, {basis}" if basis else people.MISSING


_PASSES_HEIGHT = 170
_PASSED = ("trial", "level", "points", "passed", "confirmations", "share", "low")


def pass_figures(book: Book, row: BenchmarkRow) -> list[Figure]:
    """One figure; empty for a benchmark without a search."""
    mine = [one for one in book.lookup[PassRow] if one.benchmark == row.benchmark]
    if not mine:
        return []
    by_name = {name: [one for one in mine if one.configuration == name] for name in book.lookup.configurations}
    scale = people.scale_for(mine[0].unit, [one.level for one in mine])
    drawn = []
    for name, many in by_name.items():
        if many:
            colour = theme.colour(book.lookup.configurations.index(name), len(book.lookup.configurations))
            spoken = f"Pass probability of {counted(len(many), 'level')} of {name}."
            drawn.append((name, spoken, _passes_chart(many, colour, scale)))
    figure = book.figure(
        f"{row.benchmark}: pass probability of each level",
        "share of measurements at a level that passed, %",
        "Each sign is one level of one search; the line through it is the 95 % Clopper\N{EN DASH}Pearson interval, "
        "which assumes that the measurements at a level are independent, although the search chose its levels by "
        "earlier results. Measurements with the larger client, and those set aside because of stolen CPU time, are "
        "left out.",
        drawn,
        key=validity_key((one.counts for one in mine), "a valid trial"),
        table=table_of(book, mine, columns=_PASSED, by=("configuration",), of=row.benchmark),
    )
    return [figure]


def _passes_chart(many: list[PassRow], colour: str, scale: people.Scale) -> Spec:
    rows: list[dict[str, Any]] = [
        {
            "level": scale.value(one.level),
            "share": 100 * one.share,
            "low": 100 * one.low,
            "high": 100 * one.high,
            "text": f"{one.passed} of {one.points}",
            "counts": one.counts,
            "trial": one.trial,
        }
        for one in many
    ]
    return finished(_passes_layers(rows, colour, unit_text(scale)), _PASSES_HEIGHT, levels=rows)


def _passes_layers(rows: Rows, colour: str, unit: str) -> list[alt.Chart]:
    base = alt.Chart(data("levels")).encode(
        x=alt.X("level:Q", title=f"level, {unit}", scale=alt.Scale(zero=True), axis=alt.Axis(grid=False)),
        tooltip=tip("level:Q", "text", "trial"),
    )
    share = base.encode(y=upwards("share", "%", alt.Scale(domain=[0, 100])))
    signs = [share.mark_point(filled=filled, size=55, color=colour) for filled in (True, False)]
    low = alt.Y("low:Q", title="%", axis=alt.Axis(**theme.TITLE_ABOVE))
    interval = base.mark_rule(color="var(--band-edge)").encode(y=low, y2="high:Q")
    return [interval, *by_counting(rows, *signs)]


WAREHOUSES = "point.warehouses"
MOST, LEAST_FAILING = "most_warehouses", "least_failing_warehouses"
_WHOLE = people.Scale(1.0, "", "")
"""Of numbers of warehouses."""
QUANTITIES = (
    ("point.efficiency", "limit.efficiency", "efficiency", "%"),
    ("point.new_order_response", "limit.new_order_response", "New-Order response time", "s"),
)
"""Metric, the rule's limit for it, its title and its unit."""


def warehouse_figures(book: Book, row: BenchmarkRow) -> list[Figure]:
    """One per quantity; empty for a benchmark without a search over warehouses."""
    points = points_of(book.lookup, row, WAREHOUSES)
    return [
        figure
        for quantity in QUANTITIES
        if any(quantity[0] in point for many in points.values() for point in many)
        for figure in book.figures(_warehouses, row, points, quantity)
    ]


def _warehouses(
    book: Book, row: BenchmarkRow, points: dict[str, list[Point]], quantity: tuple[str, str, str, str]
) -> Figure:
    metric, limit, title, unit = quantity
    over = _Over(WAREHOUSES, "warehouses", "active warehouses", "active warehouses", _WHOLE, (MOST, LEAST_FAILING))
    scale = _scale_of(unit, points, [metric])
    up = (scale, False)
    return book.figure(
        f"{row.benchmark}: {title} over warehouses",
        f"{scale.unit}, {'higher' if unit == '%' else 'lower'} is better",
        "Each sign is one level of a search, with wait times. The limit lies between the dashed lines: the most "
        "confirmed warehouses, and the fewest from which on no level passed (medians over replicates). The horizontal "
        "line is the limit of the rule. Both axes start at zero.",
        _panels(book, row, points, over, capitalised(title), {metric: (title, "")}, {limit: "limit"}, up),
        key=_passed_key(points),
        table=_most_warehouses(book, row) if metric == QUANTITIES[0][0] else None,
    )


_TOLD: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (MOST, "Maximum", {"hint": "Median over replicates."}),
    (LEAST_FAILING, "Fewest failed warehouses", {}),
    ("tpmc", "tpmC", {"hint": "Median at the level found."}),
    ("efficiency_of_12_86", "Efficiency, %", {"hint": "Of 12.86 tpmC per warehouse."}),
    ("new_order.response_p90", "New-Order p90, s", {}),
)


def _most_warehouses(book: Book, row: BenchmarkRow) -> Table | None:
    """The level found for each configuration with its interval, and what was measured at that level."""
    found = book.lookup.statistics_of(row.benchmark, MOST)
    if not found:
        return None
    columns = (
        Column("Configuration"),
        *(Column(title, numeric=True, **more) for _, title, more in _TOLD),
        Column(
            "Interval of the median",
            numeric=True,
            hint="Interval of the highest number of warehouses, over replicates.",
        ),
        Column("Coverage", numeric=True),
    )
    body = tuple(
        Row(
            (
                Cell(one.configuration, tone="name"),
                *(Cell(_median(book, row, metric, one.configuration)) for metric, _, _ in _TOLD),
                *interval_cells(one, _WHOLE),
            )
        )
        for one in found
    )
    return Table(f"{row.benchmark}: maximum number of warehouses", columns, body, compact=True)


def _median(book: Book, row: BenchmarkRow, metric: str, configuration: str) -> str:
    found = book.lookup.of_configuration(row.benchmark, metric, configuration)
    if not found:
        return people.MISSING
    return people.quantity(found[0].compared, "")
