"""The best machines of a metric: overall, and of each cloud; and the best one of each cloud alone."""

from collections.abc import Sequence

from nephoscope.analysis.lookup import best_first
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.records import Metric
from nephoscope.model.rows import Statistic
from nephoscope.report.figures import groups, row_charts
from nephoscope.report.figures.groups import Groups
from nephoscope.report.figures.results import Results
from nephoscope.report.figures.spec import coloured
from nephoscope.report.parts import Book, Figure, line_key
from nephoscope.report.tables.statistics import figure_table
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
        table=figure_table(book, f"{title}, {unit_text(scale, per_cpu=per_cpu)}", list(shown.values()), scale),
        columns=min(2, len(drawn)),
    )


def _cloud(book: Book, name: str, panel: str) -> str:
    """The cloud behind the value, where the panel does not name it."""
    cloud = None if panel else groups.cloud_of(book.lookup, name)
    return f"  {cloud}" if cloud else ""
