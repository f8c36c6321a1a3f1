"""TPC-C over its numbers of warehouses: one workload that becomes heavier, on many machines."""

from collections.abc import Sequence
from typing import Any

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.records import Direction
from nephoscope.model.rows import BenchmarkRow, Statistic
from nephoscope.model.words import counted, provider_name
from nephoscope.report.figures import groups, line_charts, row_charts
from nephoscope.report.figures.groups import Groups
from nephoscope.report.figures.results import LEAST_STEPS, Curve, Steps
from nephoscope.report.parts import Book, Figure, Table
from nephoscope.report.tables.statistics import table_over
from nephoscope.report.wording import direction_text, interval_row, unit_text

ALL_ROWS = 10
"""Rows of a panel, best first."""
MAX_FAMILIES = 6
"""Panels of machines that differ in memory, those with most sizes of it first."""


Found = dict[str, list[tuple[float, Statistic]]]
"""Configuration -> its statistic at each number of warehouses."""


def over_warehouses(book: Book, steps: Steps) -> Figure | None:
    """Lines over the number of warehouses, each with its name, by cloud and size; None without a line."""
    found = _found(book.lookup, steps)
    if not found:
        return None
    scale = _scale(steps, [one for many in found.values() for _, one in many])
    panels = groups.only(_groups(book.lookup), _best_first(found))
    most = max(scale.value(one.compared.high) for many in found.values() for _, one in many)
    unit = unit_text(scale, per_cpu=steps.per_cpu)
    drawn = []
    parts = [part for title, names in panels.items() for part in line_charts.in_panels(title, names).items()]
    for title, names in parts:
        rows = [
            {**_point(one, scale), "series": name, "configuration": name, "at": at}
            for name in names
            for at, one in found[name]
        ]
        spoken = f"{title or 'All'}: {unit} over {steps.axis}, best {names[0]}, {counted(len(names), 'line')}."
        at = [at for at, _ in steps.rows]
        drawn.append((title, spoken, line_charts.lines(rows, names, at, most, steps.axis, unit)))
    return book.figure(
        f"{steps.uses}: {metric_title(steps.metric, per_cpu=steps.per_cpu)} over {steps.axis}",
        f"{unit}, {direction_text(steps.metric.direction)}",
        "Levels over replicates with their intervals, the best machines in the first panel of a group. A line ends "
        "where no trial is valid. All panels have the same axis, which starts at zero.",
        drawn,
        table=_table(book, steps, found, scale),
        columns=min(2, len(drawn)),
    )


def best_over_warehouses(book: Book, steps: Steps, most: int = ALL_ROWS) -> Figure | None:
    """Each of the best machines in a row, with a sign for each number of warehouses: how steady it stays.

    None for the steps of a search: with wait times the rate follows the number of warehouses.
    """
    found = _found(book.lookup, steps)
    if not found or not steps.per_cpu:
        return None
    scale = _scale(steps, [one for many in found.values() for _, one in many])
    overall = groups.sizes(book.lookup) or {"": list(found)}
    wide = {f"Overall, {title}" if title else "Overall": names for title, names in overall.items()}
    panels = groups.only(wide | groups.clouds_and_sizes(book.lookup), _best_first(found))
    series = row_charts.levels([people.integer(at) for at, _ in steps.rows])
    shown = {title: names[:most] for title, names in panels.items()}
    values = {name: [(at, one) for at, one in found[name]] for names in shown.values() for name in names}
    ends = [scale.value(end) for many in values.values() for _, one in many for end in one.compared[1:3]]
    unit = unit_text(scale, per_cpu=steps.per_cpu)
    drawn = []
    for title, names in shown.items():
        rows = [
            {**_point(one, scale), "row": name, "configuration": name, "series": people.integer(at)}
            for name in names
            for at, one in values[name]
        ]
        spec = row_charts.signs(names, rows, (0.0, max(ends) * 1.05), unit, series)
        drawn.append((title, f"{title}: {', '.join(names[:6])}, a sign for each number of {steps.axis}", spec))
    return book.figure(
        f"{steps.uses}: the best {most}, with increasing {steps.axis}",
        f"{unit}, {direction_text(steps.metric.direction)}",
        "Signs: levels at each number of warehouses; bars: their intervals. Signs that lie close together mean that "
        "the machine stays steady as the workload becomes heavier. Sorted by the best level. All panels have the same "
        "axis, which starts at zero.",
        drawn,
        key=[sign.entry(f"{name} {steps.axis}") for name, sign in series.items()],
        table=_table(book, steps, {name: found[name] for name in values}, scale),
        columns=min(2, len(drawn)),
    )


def over_memory(book: Book, steps: Steps) -> Figure | None:
    """Lines over warehouses of machines that differ in memory alone; None if there are no two of them, or for a search.

    Equal in provider, CPU model, vCPUs and storage: n2-highcpu, n2-standard and n2-highmem.
    """
    found = _found(book.lookup, steps)
    families = _memory_families(book.lookup, list(found))
    if not families or not steps.per_cpu:
        return None
    scale = _scale(steps, [one for names in families.values() for name in names for _, one in found[name]])
    most = max(
        scale.value(one.compared.high) for names in families.values() for name in names for _, one in found[name]
    )
    unit = unit_text(scale, per_cpu=steps.per_cpu)
    drawn = []
    for title, names in families.items():
        labels = {name: f"{book.lookup.described[name].memory_gib_per_vcpu:.2g} GiB per vCPU: {name}" for name in names}
        series = row_charts.levels(list(labels.values()))
        rows = [
            {**_point(one, scale), "series": labels[name], "at": at, "row": people.integer(at), "configuration": name}
            for name in names
            for at, one in found[name]
        ]
        spec = line_charts.told_apart(rows, series, [at for at, _ in steps.rows], most, steps.axis, unit)
        drawn.append((title, f"{title}: {'; '.join(labels.values())}, over {steps.axis}.", spec))
    return book.figure(
        f"{steps.uses}: memory per vCPU over {steps.axis}",
        f"{unit}, {direction_text(steps.metric.direction)}",
        "Machines with the same CPU model, vCPUs and storage, which differ in memory. Darker lines have more of it. "
        "Medians with their intervals; all panels have the same axis, which starts at zero.",
        drawn,
        table=_table(book, steps, {name: found[name] for names in families.values() for name in names}, scale),
        columns=min(2, len(drawn)),
    )


def _memory_families(lookup: Lookup, names: Sequence[str]) -> Groups:
    found: dict[str, dict[float, str]] = {}
    for name in names:
        row = lookup.described.get(name)
        if row is None or row.vcpus is None or row.memory_gib_per_vcpu is None or row.cpu_model is None:
            continue
        cloud = groups.cloud_of(lookup, name) or provider_name(row.provider)
        title = ", ".join(
            filter(None, (cloud, row.cpu_design or row.cpu_model, counted(row.vcpus, "vCPU"), row.storage))
        )
        found.setdefault(title, {}).setdefault(round(row.memory_gib_per_vcpu, 1), name)
    several = sorted((title for title, by in found.items() if len(by) > 1), key=lambda title: -len(found[title]))
    return {title: [found[title][size] for size in sorted(found[title])] for title in several[:MAX_FAMILIES]}


def _found(lookup: Lookup, steps: Steps) -> Found:
    every = steps.statistics(lookup, per_cpu=steps.per_cpu)
    return {name: many for name, many in every.items() if len(many) >= LEAST_STEPS}


def _groups(lookup: Lookup) -> Groups:
    return groups.clouds_and_sizes(lookup) or {"": lookup.configurations}


def _best_first(found: Found) -> list[str]:
    return sorted(found, key=lambda name: (-max(one.compared.value for _, one in found[name]), name))


def _scale(steps: Steps, many: Sequence[Statistic]) -> people.Scale:
    return people.scale_for(steps.metric.unit, [one.compared.value for one in many])


def _point(one: Statistic, scale: people.Scale) -> dict[str, Any]:
    return {**interval_row(one, scale), "text": scale.text(one.compared)}


def _table(book: Book, steps: Steps, found: Found, scale: people.Scale) -> Table:
    rows = [(at, one) for name in _best_first(found) for at, one in found[name]]
    title = f"{steps.uses}: {metric_title(steps.metric, per_cpu=steps.per_cpu)} over {steps.axis}"
    return table_over(book, f"{title}, {unit_text(scale, per_cpu=steps.per_cpu)}", steps.axis, rows, scale)


Counted = dict[str, list[tuple[int, Statistic]]]
"""Configuration -> its statistic at each number of threads."""


def curves_by_cloud(book: Book, row: BenchmarkRow, curve: Curve) -> Figure | None:
    """All machines of each cloud, each line with its name; None without data."""
    found = _of_curve(book, row, curve)
    if not found:
        return None
    scale = _curve_scale(curve, found)
    panels = groups.only(groups.everywhere(book.lookup) or {"": list(found)}, _curve_best_first(found, curve))
    most = max(scale.value(one.compared.high) for many in found.values() for _, one in many)
    drawn = []
    parts = [part for title, names in panels.items() for part in line_charts.in_panels(title, names).items()]
    for title, names in parts:
        rows = [_curve_point(name, at, one, scale) for name in names for at, one in found[name]]
        spec = line_charts.lines(rows, names, _counts(found), most, curve.counted, unit_text(scale))
        drawn.append((title, f"{title}: {_what(curve)}, best {names[0]}, {counted(len(names), 'line')}", spec))
    return book.figure(
        f"{row.benchmark}: {_what(curve)}" + (" by cloud" if len(panels) > 1 else ""),
        f"{unit_text(scale)}, {direction_text(curve.metrics[0][1].direction)}",
        f"Levels over replicates with their intervals. First in each panel: {_chosen(curve)}. All panels have the same "
        "axis, which starts at zero.",
        drawn,
        table=_curve_table(book, row, curve, found, scale),
        columns=min(2, len(drawn)),
    )


def best_curves(book: Book, row: BenchmarkRow, curve: Curve) -> Figure | None:
    """The best machine of each cloud; None without two clouds."""
    found = _of_curve(book, row, curve)
    by_cloud = groups.only(groups.clouds(book.lookup), _curve_best_first(found, curve))
    if len(by_cloud) < 2:
        return None
    scale = _curve_scale(curve, found)
    labels = {names[0]: f"{cloud}: {names[0]}" for cloud, names in by_cloud.items()}
    rows = [
        {**_curve_point(name, at, one, scale), "series": labels[name]} for name in labels for at, one in found[name]
    ]
    most = max(row["high"] for row in rows)
    series = row_charts.kinds(list(labels.values()))
    spec = line_charts.told_apart(rows, series, _counts(found), most, curve.counted, unit_text(scale))
    return book.figure(
        f"{row.benchmark}: {_what(curve)}, the best of each cloud",
        f"{unit_text(scale)}, {direction_text(curve.metrics[0][1].direction)}",
        f"Of each cloud, {_chosen(curve)}. Medians over replicates with their intervals. The axis starts at zero.",
        [("", f"{_what(curve)} of {', '.join(labels.values())}", spec)],
        table=_curve_table(book, row, curve, {name: found[name] for name in labels}, scale),
    )


def _curve_table(book: Book, row: BenchmarkRow, curve: Curve, found: Counted, scale: people.Scale) -> Table:
    rows = [(at, one) for name in _curve_best_first(found, curve) for at, one in found[name]]
    return table_over(book, f"{row.benchmark}: {_what(curve)}, {unit_text(scale)}", curve.counted, rows, scale)


def _of_curve(book: Book, row: BenchmarkRow, curve: Curve) -> Counted:
    found: Counted = {}
    for at, metric in curve.metrics:
        for one in book.lookup.statistics_of(row.benchmark, metric.name):
            found.setdefault(one.configuration, []).append((at, one))
    return found


def _curve_best_first(found: Counted, curve: Curve) -> list[str]:
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


def _counts(found: Counted) -> Sequence[int]:
    return sorted({at for many in found.values() for at, _ in many})


def _curve_scale(curve: Curve, found: Counted) -> people.Scale:
    metric = curve.metrics[0][1]
    return people.scale_for(metric.unit, [one.compared.value for many in found.values() for _, one in many])


def _curve_point(name: str, at: int, one: Statistic, scale: people.Scale) -> dict[str, Any]:
    return {
        "series": name,
        "configuration": name,
        "at": at,
        **interval_row(one, scale),
    }
