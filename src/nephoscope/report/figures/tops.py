"""The best machines of a metric: overall, and of each cloud; and the best one of each cloud alone."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from nephoscope.analysis.lookup import Lookup, best_first
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.records import Metric
from nephoscope.model.rows import ConfigurationRow, Statistic
from nephoscope.model.words import counted, provider_name
from nephoscope.report.figures import groups, row_charts, theme
from nephoscope.report.figures.groups import Groups
from nephoscope.report.figures.results import Results
from nephoscope.report.figures.row_charts import PLOT_HEIGHT
from nephoscope.report.figures.spec import Rows, Spec, coloured, data, finished, shaped, tip, upwards
from nephoscope.report.parts import Book, Figure, KeyEntry, line_key
from nephoscope.report.tables.rows import data_of_figure
from nephoscope.report.wording import direction_text, statistic_row, unit_text


def tops(book: Book, results: Results, *, per_cpu: bool = False) -> Figure | None:
    """The best ones overall and of each cloud, of small and of large machines; None without two clouds or sizes.

    Per CPU, and where a metric does not grow with the machine, small and large machines compete with each other. None
    per CPU where all machines have one size, because the order is that of the plain values.
    """
    if per_cpu and not groups.sizes(book.lookup):
        return None
    metric = results.metric
    best = _best_first(results, per_cpu=per_cpu)
    by_size = metric.per_cpu and not per_cpu
    panels = groups.only(_groups(book, best, by_size=by_size), [one.configuration for one in best], least=2)
    if len(panels) < 2:
        return None
    shown = groups.ranked(panels)
    cut = any(len(names) > len(shown[title]) for title, names in panels.items())
    title = metric_title(metric, per_cpu=per_cpu)
    each = "Each trial's value was divided by its CPUs first. " if per_cpu else ""
    return _bars(
        book,
        f"{results.about}: {title}, " + ("the best" if cut else "ranked"),
        f"{each}All panels have the same axis, which starts at zero."
        + (f" Overall the best {groups.MAX_OVERALL}, of each cloud at most {groups.MAX_OF_CLOUD}." if cut else ""),
        metric,
        best,
        shown,
        per_cpu=per_cpu,
    )


def best_of_clouds(book: Book, results: Results, *, per_cpu: bool = False) -> Figure | None:
    """One bar for each cloud: its best configuration; None if fewer than two clouds were measured."""
    metric = results.metric
    best = _best_first(results, per_cpu=per_cpu)
    by_cloud = groups.only(groups.clouds(book.lookup), [one.configuration for one in best])
    if len(by_cloud) < 2:
        return None
    firsts = {names[0] for names in by_cloud.values()}
    return _bars(
        book,
        f"{results.about}: {metric_title(metric, per_cpu=per_cpu)}, the best of each cloud",
        "The configuration of each cloud with the best level. Bars start at zero. The comparisons say whether one is "
        "certainly better than another.",
        metric,
        [one for one in best if one.configuration in firsts],
        {"": [one.configuration for one in best if one.configuration in firsts]},
        per_cpu=per_cpu,
    )


def _best_first(results: Results, *, per_cpu: bool) -> list[Statistic]:
    """Equal levels by name."""
    named = sorted(results.view(per_cpu=per_cpu), key=lambda one: one.configuration)
    return best_first(named, results.metric)


def _groups(book: Book, best: Sequence[Statistic], *, by_size: bool) -> Groups:
    everyone = {groups.OVERALL: [one.configuration for one in best]}
    if not by_size:
        return everyone | groups.everywhere(book.lookup)
    overall = {f"{groups.OVERALL}, {size}": names for size, names in groups.sizes(book.lookup).items()} or everyone
    return overall | groups.clouds_and_sizes(book.lookup)


def _bars(
    book: Book,
    title: str,
    caption: str,
    metric: Metric,
    best: Sequence[Statistic],
    panels: Groups,
    *,
    per_cpu: bool,
) -> Figure:
    names = {name for many in panels.values() for name in many}
    shown = {one.configuration: one for one in best if one.configuration in names}
    scale = people.scale_for(metric.unit, [one.compared.value for one in shown.values()])
    most = max(scale.value(one.compared.high) for one in shown.values())
    axis = f"{unit_text(scale, per_cpu=per_cpu)}, {direction_text(metric.direction)}"
    drawn = []
    for panel, members in panels.items():
        rows = [
            {
                **statistic_row(shown[name], scale),
                "number": scale.number(shown[name].compared) + _cloud(book, name, panel),
            }
            for name in members
        ]
        spoken = "; ".join(f"{name} {scale.text(shown[name].compared)}" for name in members[:6])
        spec = row_charts.bars(members, rows, axis, coloured(book.lookup.configurations), most=most)
        drawn.append((panel, f"Bars, best first{f', {panel}' if panel else ''}: {spoken}", spec))
    return book.figure(
        title,
        axis,
        caption,
        drawn,
        key=line_key(list(shown.values())),
        table=data_of_figure(book, list(shown.values()), title),
    )


def _cloud(book: Book, name: str, panel: str) -> str:
    """The cloud behind the value, where the panel does not name it."""
    cloud = None if panel else groups.cloud_of(book.lookup, name)
    return f"  {cloud}" if cloud else ""


_SIZE_SIGNS = tuple(zip(theme.PERCENTILE_COLOURS[::2], ("circle", "square", "triangle-up"), strict=True))
_SIZE_GLYPHS = ("●", "■", "▲")


def small_and_large(book: Book, results: Results) -> Figure | None:
    """The smallest and the largest machine of each family, per CPU; None when no family has two sizes."""
    metric = results.metric
    by_family: dict[str, list[Statistic]] = {}
    for one in results.per_cpu:
        known = book.lookup.described.get(one.configuration)
        family = _family(known) if known else None
        if family and _size(book.lookup, one):
            by_family.setdefault(family, []).append(one)
    several = {name: many for name, many in by_family.items() if len({_size(book.lookup, one) for one in many}) > 1}
    if not several:
        return None
    scale = people.scale_for(metric.unit, [one.compared.value for many in several.values() for one in many])
    rows, shown = [], []
    for family, many in several.items():
        of = {one.configuration: _size(book.lookup, one) for one in many}
        ends = {min(of.values()): "smallest", max(of.values()): "largest"}
        for one in many:
            size = ends.get(of[one.configuration], "between")
            rows.append({**statistic_row(one, scale), "family": family, "size": size})
            shown.append(one)
    names = ("smallest", "largest", "between")
    signs = dict(zip(names, _SIZE_SIGNS, strict=True))
    title = metric_title(metric, per_cpu=True)
    axis = f"{unit_text(scale, per_cpu=True)}, {direction_text(metric.direction)}"
    return book.figure(
        f"{results.about}: {title}, small and large machines",
        axis,
        "Performance of one CPU on the smallest and on the largest machine of a family. Machines without a family name "
        "are grouped by CPU model. The axis starts at zero.",
        [
            (
                "",
                f"{title} of the smallest and the largest machine of {', '.join(several)}",
                row_charts.sizes(list(several), rows, axis, signs),
            )
        ],
        key=[
            KeyEntry(_SIZE_GLYPHS[i], _SIZE_SIGNS[i][0], name)
            for i, name in enumerate(names)
            if any(one["size"] == name for one in rows)
        ],
        table=data_of_figure(book, shown, f"{results.about}: {title}"),
    )


def _family(known: ConfigurationRow) -> str | None:
    """The family; machines without one (local and emulated machines) are grouped by CPU model."""
    return f"{provider_name(known.provider)} {known.family}" if known.family else known.cpu_model


def _size(lookup: Lookup, one: Statistic) -> int:
    """CPUs of one machine, not of a database cluster; imports give only the CPUs of a trial."""
    return lookup.cpus.get(one.configuration) or one.cpus or 0


MIN_REPLICATES = 3
"""With fewer, a coefficient of variation means next to nothing."""


def consistency(book: Book, results: Results) -> Figure | None:
    """A sign for each configuration: memory per vCPU, and the spread of its replicates; None for one size of memory."""
    known, metric = book.lookup.described, results.metric
    found = [
        one
        for one in results.plain
        if one.cv_percent is not None
        and one.n >= MIN_REPLICATES
        and one.configuration in known
        and known[one.configuration].memory_gib_per_vcpu is not None
    ]
    rows = [_memory_point(book, one) for one in found]
    if len({round(point["memory"], 1) for point in rows}) < 2:
        return None
    title = metric_title(metric)
    return book.figure(
        f"{results.about}: spread of {title} and memory per vCPU",
        "coefficient of variation in %, lower is more repeatable",
        "Each sign is one configuration: the standard deviation of its valid replicates as a percentage of their mean. "
        "The vertical axis starts at zero. The answers state, with an interval, whether the two are related.",
        [("", f"{title}: spread of {counted(len(rows), 'configuration')} over memory per vCPU",
          _memory_chart(rows, book.lookup.configurations))],
        key=book.configuration_key({one.configuration for one in found}),
        table=data_of_figure(book, found, f"{results.about}: {title}"),
    )  # fmt: skip


def _memory_point(book: Book, one: Statistic) -> dict[str, Any]:
    memory = book.lookup.described[one.configuration].memory_gib_per_vcpu or 0.0
    return {
        "configuration": one.configuration,
        "memory": memory,
        "cv": one.cv_percent,
        "memory_text": f"{memory:.2g} GiB per vCPU",
        "cv_text": people.percent(one.cv_percent),
        "n": one.n,
    }


def _memory_chart(rows: Rows, palette: Sequence[str]) -> Spec:
    ends = [row["memory"] for row in rows]
    marks = [mark for mark in (0.5, 1, 2, 4, 8, 16, 32) if min(ends) * 0.7 <= mark <= max(ends) * 1.4]
    x = alt.X(
        "memory:Q",
        title="GiB of memory per vCPU, logarithmic axis",
        scale=alt.Scale(type="log", domain=[min(ends) * 0.8, max(ends) * 1.25], nice=False),
        axis=alt.Axis(values=marks, format="~g", grid=True),
    )
    base = alt.Chart(data("rows")).encode(
        x=x,
        y=upwards("cv", "coefficient of variation, %", alt.Scale(zero=True, nice=True)),
        color=coloured(palette),
        shape=shaped(palette),
        tooltip=tip("configuration", "memory_text", "cv_text", "n"),
    )
    return finished([base.mark_point(filled=True, size=60, opacity=0.6)], PLOT_HEIGHT + 60, rows=rows)
