"""Curves over threads of many machines: a panel for each cloud, and the best machine of each cloud in one panel."""

from collections.abc import Sequence
from typing import Any

from nephoscope.model import numbers as people
from nephoscope.model.records import Direction
from nephoscope.model.rows import BenchmarkRow, Statistic
from nephoscope.model.words import counted
from nephoscope.report.figures import groups, line_charts, row_charts
from nephoscope.report.figures.counted_metrics import Curve
from nephoscope.report.parts import Book, Figure, Table
from nephoscope.report.tables.statistics import table_over
from nephoscope.report.wording import direction_text, interval_row, unit_text

Found = dict[str, list[tuple[int, Statistic]]]
"""Configuration -> its statistic at each number of threads."""


def curves_by_cloud(book: Book, row: BenchmarkRow, curve: Curve) -> Figure | None:
    """All machines of each cloud, each line with its name; None without data."""
    found = _found(book, row, curve)
    if not found:
        return None
    scale = _scale(curve, found)
    panels = groups.only(groups.everywhere(book.lookup) or {"": list(found)}, _best_first(found, curve))
    most = max(scale.value(one.compared.high) for many in found.values() for _, one in many)
    drawn = []
    parts = [part for title, names in panels.items() for part in line_charts.in_panels(title, names).items()]
    for title, names in parts:
        rows = [_point(name, at, one, scale) for name in names for at, one in found[name]]
        spec = line_charts.lines(rows, names, _counts(found), most, curve.counted, unit_text(scale))
        drawn.append((title, f"{title}: {_what(curve)}, best {names[0]}, {counted(len(names), 'line')}", spec))
    return book.figure(
        f"{row.benchmark}: {_what(curve)}" + (" by cloud" if len(panels) > 1 else ""),
        f"{unit_text(scale)}, {direction_text(curve.metrics[0][1].direction)}",
        f"Levels over replicates with their intervals. First in each panel: {_chosen(curve)}. All panels have the same "
        "axis, which starts at zero.",
        drawn,
        table=_table(book, row, curve, found, scale),
        columns=min(2, len(drawn)),
    )


def best_curves(book: Book, row: BenchmarkRow, curve: Curve) -> Figure | None:
    """The best machine of each cloud; None without two clouds."""
    found = _found(book, row, curve)
    by_cloud = groups.only(groups.clouds(book.lookup), _best_first(found, curve))
    if len(by_cloud) < 2:
        return None
    scale = _scale(curve, found)
    labels = {names[0]: f"{cloud}: {names[0]}" for cloud, names in by_cloud.items()}
    rows = [{**_point(name, at, one, scale), "series": labels[name]} for name in labels for at, one in found[name]]
    most = max(row["high"] for row in rows)
    series = row_charts.kinds(list(labels.values()))
    spec = line_charts.told_apart(rows, series, _counts(found), most, curve.counted, unit_text(scale))
    return book.figure(
        f"{row.benchmark}: {_what(curve)}, the best of each cloud",
        f"{unit_text(scale)}, {direction_text(curve.metrics[0][1].direction)}",
        f"Of each cloud, {_chosen(curve)}. Medians over replicates with their intervals. The axis starts at zero.",
        [("", f"{_what(curve)} of {', '.join(labels.values())}", spec)],
        table=_table(book, row, curve, {name: found[name] for name in labels}, scale),
    )


def _table(book: Book, row: BenchmarkRow, curve: Curve, found: Found, scale: people.Scale) -> Table:
    rows = [(at, one) for name in _best_first(found, curve) for at, one in found[name]]
    return table_over(book, f"{row.benchmark}: {_what(curve)}, {unit_text(scale)}", curve.counted, rows, scale)


def _found(book: Book, row: BenchmarkRow, curve: Curve) -> Found:
    found: Found = {}
    for at, metric in curve.metrics:
        for one in book.lookup.statistics_of(row.benchmark, metric.name):
            found.setdefault(one.configuration, []).append((at, one))
    return found


def _best_first(found: Found, curve: Curve) -> list[str]:
    """By the highest rate at any number of threads; by the lowest latency with the most threads."""
    if curve.metrics[0][1].direction is Direction.HIGHER:
        return sorted(found, key=lambda name: (-max(one.compared.value for _, one in found[name]), name))
    return sorted(found, key=lambda name: (-found[name][-1][0], found[name][-1][1].compared.value, name))


def _chosen(curve: Curve) -> str:
    if curve.metrics[0][1].direction is Direction.HIGHER:
        return f"that with the highest level at any number of {curve.counted}"
    return f"that with the lowest level at the most {curve.counted}"


def _what(curve: Curve) -> str:
    return f"{curve.title} over {curve.counted}"


def _counts(found: Found) -> Sequence[int]:
    return sorted({at for many in found.values() for at, _ in many})


def _scale(curve: Curve, found: Found) -> people.Scale:
    metric = curve.metrics[0][1]
    return people.scale_for(metric.unit, [one.compared.value for many in found.values() for _, one in many])


def _point(name: str, at: int, one: Statistic, scale: people.Scale) -> dict[str, Any]:
    return {
        "series": name,
        "configuration": name,
        "at": at,
        **interval_row(one, scale),
    }
