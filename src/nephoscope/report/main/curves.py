"""What happens with more load, threads or warehouses, and how long operations take: a small figure for each."""

from collections.abc import Mapping, Sequence
from typing import Any

from nephoscope.analysis.lookup import Lookup, headlines
from nephoscope.insights.names import setups
from nephoscope.model import numbers as people
from nephoscope.model.records import Direction
from nephoscope.model.rows import BenchmarkRow, Statistic
from nephoscope.model.words import capitalised, counted
from nephoscope.report.figures import searches
from nephoscope.report.figures.latency import Group, Times, groups_of
from nephoscope.report.figures.results import BYTES, Curve, curves_of
from nephoscope.report.figures.row_charts import FEW_TICKS
from nephoscope.report.figures.spec import Rows
from nephoscope.report.main import charts
from nephoscope.report.main.palette import Palette
from nephoscope.report.parts import Book, Figure, KeyEntry, validity_key
from nephoscope.report.wording import direction_text, lines_text, unit_text

CACHE = "cache.level_"
"""How metrics begin that are sizes of caches."""
MAX_LINES = 5
MAX_PANELS = 2
MAX_ROWS = 12
"""Configurations in a figure of response times."""


def chosen(lookup: Lookup, row: BenchmarkRow, palette: Palette) -> list[str]:
    """Configurations that get a line: the best of each provider where colour tells providers apart, else the best."""
    ranked = [name for metric in headlines(row)[:1] for name in lookup.ranked(row.benchmark, metric)]
    ranked = _alike(lookup, ranked)[1]
    if palette.by == "provider":
        best: dict[str, str] = {}
        for name in ranked:
            best.setdefault(palette.of[name], name)
        ranked = list(best.values())
    return ranked[:MAX_LINES]


def _alike(lookup: Lookup, names: Sequence[str]) -> tuple[str, list[str]]:
    """Those that are mounted like the first of them, and how that is; '' where all are mounted alike."""
    return next((setup, many) for setup, many in setups(lookup, names).items() if set(names[:1]) <= {*many})


def curve(book: Book, row: BenchmarkRow, palette: Palette) -> Figure | None:
    """The first that was measured of: response times over load, over warehouses; rates over sizes, over threads."""
    names = chosen(book.lookup, row, palette)
    found = _over_load(book, row, palette, names) or _over_warehouses(book, row, palette, names)
    return found or _over_sizes(book, row, palette, names) or _over_count(book, row, palette, names)


def _key(names: Sequence[str], palette: Palette) -> list[KeyEntry]:
    signs = zip(names, palette.signs(names), strict=True)
    return [KeyEntry(glyph, palette.colour(name), palette.called[name]) for name, (_, glyph) in signs]


def _over_load(book: Book, row: BenchmarkRow, palette: Palette, names: Sequence[str]) -> Figure | None:
    every = searches.points_of(book.lookup, row)
    points = {name: every[name] for name in names if name in every}
    operation = next(iter(searches.limited(row)), None)
    if not points or operation is None:
        return None
    which = searches.statistics_shown(row, operation, points)
    limited = [one for one in which if _limit(book, row, operation, one)]
    shown = next(iter(limited or which[::-1]), None)
    if shown is None:
        return None
    metric = f"point.{operation}.response_{shown}"
    rates = people.scale_for("1/s", [float(one[searches.OFFERED]) for many in points.values() for one in many])
    times = people.scale_for("s", [float(one[metric]) for many in points.values() for one in many if metric in one])
    rows = [
        _row(palette, name, rates.value(float(one[searches.OFFERED])), times.value(float(one[metric])))
        | {
            "at_text": rates.text(float(one[searches.OFFERED])),
            "text": people.quantity(float(one[metric]), "s"),
            **_passed(bool(one[searches.PASSED])),
        }
        for name, many in points.items()
        for one in many
        if metric in one
    ]
    limits = _limit(book, row, operation, shown)
    lines = [{"limit": times.value(limits[0].compared.value), "label": f"limit of {shown}"}] if limits else []
    said = "all operations" if operation == "all" else operation.replace("_", " ")
    return _figure(
        book,
        row,
        f"Response time over load: {said}, {shown}",
        f"{times.unit}, lower is better; logarithmic axis",
        [("", f"{shown} of {said} over load.", (rows, lines, (f"offered, {rates.unit}", times.unit), True))],
        palette,
        list(points),
    )


def _limit(book: Book, row: BenchmarkRow, operation: str, which: str) -> list[Statistic]:
    return book.lookup.statistics_of(row.benchmark, f"{searches.LIMIT}{operation}.{which}")


def _row(palette: Palette, name: str, at: float, value: float) -> dict[str, Any]:
    return {"configuration": palette.called[name], "shade": palette.of[name], "at": at, "value": value}


def _passed(passed: bool) -> dict[str, Any]:
    return {"counts": passed, "passed_text": "held" if passed else "did not hold"}


def _over_warehouses(book: Book, row: BenchmarkRow, palette: Palette, names: Sequence[str]) -> Figure | None:
    every = searches.points_of(book.lookup, row, searches.WAREHOUSES)
    points = {name: every[name] for name in names if name in every}
    if not points:
        return None
    drawn = []
    for metric, limit, title, unit in searches.QUANTITIES:
        values = [float(one[metric]) for many in points.values() for one in many if metric in one]
        if not values:
            continue
        scale = people.scale_for(unit, values)
        rows = [
            _row(palette, name, float(one[searches.WAREHOUSES]), scale.value(float(one[metric])))
            | {
                "at_text": counted(round(float(one[searches.WAREHOUSES])), "warehouse"),
                "text": people.quantity(float(one[metric]), unit),
                **_passed(bool(one[searches.PASSED])),
            }
            for name, many in points.items()
            for one in many
            if metric in one
        ]
        limits = book.lookup.statistics_of(row.benchmark, limit)
        lines = [{"limit": scale.value(limits[0].compared.value), "label": "limit"}] if limits else []
        drawn.append(
            (
                title[:1].upper() + title[1:],
                f"{title} over warehouses.",
                (rows, lines, ("active warehouses", scale.unit), False),
            )
        )
    return _figure(
        book,
        row,
        f"{row.benchmark} with more warehouses",
        "The rule limits both: a level passes above the limit of efficiency and below that of response time.",
        drawn,
        palette,
        list(points),
    )


def _over_sizes(book: Book, row: BenchmarkRow, palette: Palette, names: Sequence[str]) -> Figure | None:
    """Each quantity's first curve over working sets, which is that of one thread, with the sizes of the caches."""
    first: dict[str, Curve] = {}
    for curve in curves_of(row.metrics):
        if curve.counted == BYTES:
            first.setdefault(curve.quantity, curve)
    curves = list(first.values())
    drawn = [one for one in (_counted(book, row, palette, names, curve) for curve in curves[:MAX_PANELS]) if one]
    if not drawn:
        return None
    sizes = sorted({row["at"] for _, _, (rows, *_) in drawn for row in rows})
    caches = {
        (one.compared.value, f"L{metric.name.removeprefix(CACHE)[0]}")
        for metric in row.metrics
        if metric.name.startswith(CACHE)
        for one in book.lookup.statistics_of(row.benchmark, metric.name)
        if one.configuration in names
    }
    return _figure(
        book,
        row,
        f"{row.benchmark} over working sets",
        "Dashed lines: the sizes of caches that the kernel states, of one cache each.",
        drawn,
        palette,
        names,
        {size: people.byte_size(size) for size in sizes[:: max(1, len(sizes) // (FEW_TICKS - 1))]},
        [{"bytes": size, "cache": name} for size, name in sorted(caches)],
    )


def _over_count(book: Book, row: BenchmarkRow, palette: Palette, names: Sequence[str]) -> Figure | None:
    curves = curves_of(row.metrics)[:MAX_PANELS]
    drawn = [one for one in (_counted(book, row, palette, names, curve) for curve in curves) if one]
    if not drawn:
        return None
    with_values = {one["configuration"] for _, _, (rows, *_) in drawn for one in rows}
    counts = {float(count) for curve in curves for count, _ in curve.metrics}
    return _figure(
        book,
        row,
        f"{row.benchmark} with more {curves[0].counted}",
        "Medians over replicates; vertical axes start at zero.",
        drawn,
        palette,
        [name for name in names if palette.called[name] in with_values],
        {count: f"{count:.0f}" for count in sorted(counts)} if max(counts) >= DOUBLED_FROM * min(counts) else None,
    )


DOUBLED_FROM = 8
"""Counts are drawn as if each were twice the one before if the last is this many times the first."""
Lines = tuple[list[dict[str, Any]], list[dict[str, Any]], tuple[str, str], bool]
"""Rows, limits, titles of both axes, and whether the vertical one is logarithmic."""


def _counted(
    book: Book, row: BenchmarkRow, palette: Palette, names: Sequence[str], curve: Curve
) -> tuple[str, str, Lines] | None:
    found = [
        (count, one)
        for count, metric in curve.metrics
        for one in book.lookup.statistics_of(row.benchmark, metric.name)
        if one.configuration in names
    ]
    if not found:
        return None
    metric = curve.metrics[0][1]
    scale = people.scale_for(metric.unit, [one.compared.value for _, one in found])
    rows = [
        _row(palette, one.configuration, float(count), scale.value(one.compared.value))
        | {
            "at_text": people.quantity(count, "B") if curve.counted == BYTES else f"{count} {curve.counted}",
            "text": f"{scale.text(one.compared)} ({scale.ends(one.compared)})",
            "counts": True,
            "passed_text": "",
        }
        for count, one in found
    ]
    title = f"{curve.title[:1].upper()}{curve.title[1:]}, {direction_text(metric.direction)}"
    if curve.counted == BYTES:
        log, title = metric.direction is Direction.LOWER, _of_all_sizes(row, curve)
        return title, f"{title} over working sets.", (rows, [], ("working set of a thread", unit_text(scale)), log)
    return title, f"{title} over the number of {curve.counted}.", (rows, [], (curve.counted, unit_text(scale)), False)


def _of_all_sizes(row: BenchmarkRow, curve: Curve) -> str:
    """The title of the metric that is in memory, as it is the same quantity."""
    whole = next(metric for metric in row.metrics if metric.name == f"{curve.what}.{curve.quantity}")
    return f"{whole.title[:1].upper()}{whole.title[1:]}, {direction_text(whole.direction)}"


def _figure(
    book: Book,
    row: BenchmarkRow,
    title: str,
    subtitle: str,
    drawn: Sequence[tuple[str, str, Lines]],
    palette: Palette,
    names: Sequence[str],
    doubled: Mapping[float, str] | None = None,
    caches: Rows = (),
) -> Figure:
    counts = [one["counts"] for _, _, (rows, *_) in drawn for one in rows]
    hollow = validity_key(counts, "the rule held", "it did not") if not all(counts) else []
    best = "best of each provider" if palette.by == "provider" else f"best {len(names)}"
    signs = {palette.called[name]: shape for name, (shape, _) in zip(names, palette.signs(names), strict=True)}
    measured = [one.configuration for one in book.lookup.statistics_of(row.benchmark, headlines(row)[0].name)]
    setup, alike = _alike(book.lookup, list(dict.fromkeys([*names[:1], *measured])))
    return book.figure(
        title,
        subtitle,
        f"The {best} of {len(alike)} configurations{setup and f' {setup}'}." if len(measured) > len(names) else "",
        [
            (
                name,
                spoken,
                charts.lines(signs, rows, titles, palette, limits, log=log, doubled=doubled, caches=caches),
            )
            for name, spoken, (rows, limits, titles, log) in drawn
        ],
        key=[*_key(names, palette), *hollow],
        columns=len(drawn),
    )


def _others(count: int) -> str:
    return f"The evidence page has {count:,} more like it." if count else ""


def response_times(book: Book, row: BenchmarkRow, palette: Palette) -> Figure | None:
    """Percentiles of the first operation whose times were measured, of the best configurations.

    Where the benchmark is about such a time, of the second operation, too: reads beside writes.
    """
    groups = groups_of(book, row)
    operation = next(iter(groups), None)
    if operation is None:
        return None
    alike = [one for one in groups if groups[one][0][1].clock == groups[operation][0][1].clock]
    asked = headlines(row)[:1]
    names = [name for one in asked for name in book.lookup.ranked(row.benchmark, one)][:MAX_ROWS]
    operations = alike[: MAX_PANELS if any(one.unit in people.SECONDS for one in asked) else 1]
    of_each = {one: _of_configurations(groups[one], names) for one in operations}
    times = Times(
        {one: group for one, group in of_each.items() if group}, {name: palette.called[name] for name in names}
    )
    if not times.statistics:
        return None
    log = ", logarithmic axis" if times.log == "logarithmic" else ""
    drawn = [(capitalised(title), spoken, spec) for title, spoken, spec in times.panels(f"{times.scale.unit}{log}")]
    lines = lines_text(times.statistics)
    is_alone = len(drawn) == 1
    return book.figure(
        f"{drawn[0][0] if is_alone else 'Times of operations'} in {row.benchmark}",
        f"{times.scale.unit}, lower is better{log}",
        " ".join(filter(None, (f"{lines.capitalize()}.", _others(len(alike) - len(drawn))))),
        [("" if is_alone else title, spoken, spec) for title, spoken, spec in drawn],
        key=times.key,
        columns=1,
    )


def _of_configurations(group: Group, names: Sequence[str]) -> Group:
    kept = (
        (percentile, metric, [one for one in found if one.configuration in names])
        for percentile, metric, found in group
    )
    return [one for one in kept if one[2]]
