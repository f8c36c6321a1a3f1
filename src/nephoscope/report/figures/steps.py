"""Many machines over several loads of one workload, each line with its name: threads, clients, warehouses of TPC-C."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, Statistic
from nephoscope.model.words import counted, provider_name
from nephoscope.report.figures import groups, row_charts, theme
from nephoscope.report.figures.groups import Groups
from nephoscope.report.figures.results import LEAST_STEPS, Curve, Steps
from nephoscope.report.figures.row_charts import PLOT_HEIGHT, Sign
from nephoscope.report.figures.spec import Rows, Spec, by_colour, by_shape, data, finished, tip, upwards
from nephoscope.report.parts import Book, Figure, Table
from nephoscope.report.tables.rows import data_of_figure
from nephoscope.report.wording import direction_text, interval_row, unit_text

_NAME: dict[str, Any] = {"fontSize": 11.5, "align": "left", "baseline": "middle", "dx": 8, "limit": 190}
_NAME_HEIGHT = 14
"""Pixels from one name to the next."""
MAX_LINES = 12
"""Of a panel: so many names have room beside the ends of their lines."""
_HEADROOM = 1.08
_TOLD = ("configuration", "at", "level_text", "interval_text")
_ROOM = ("\N{NO-BREAK SPACE}", "\N{NO-BREAK SPACE}" * 2, "\N{NO-BREAK SPACE}" * 3)
"""Values of the horizontal axis behind the last one, where the names stand."""


def in_panels(title: str, names: Sequence[str]) -> dict[str, Sequence[str]]:
    """The lines of one group in as many panels as their names need: 'AWS', 'AWS (continued)'."""
    chunks = [names[start : start + MAX_LINES] for start in range(0, len(names), MAX_LINES)]
    titles = [title, *(f"{title} (continued, {place})".lstrip() for place in range(2, len(chunks) + 1))]
    return dict(zip(titles, chunks, strict=True))


def lines(rows: Rows, names: Sequence[str], at: Sequence[float], most: float, x: str, y: str) -> Spec:
    """A line for each series, with its name behind its last point, its sign and the interval of each point.

    Args:
        rows: `series`, `at`, `level`, `low`, `high`; `configuration`, `level_text`, `interval_text` for the tooltip.
        names: of the series, at most `MAX_LINES`.
        at: values of the horizontal axis that were measured, in order.
        most: the upper end of the vertical axis, the same in all panels.
        x: title of the horizontal axis.
        y: title of the vertical axis.
    """
    across, up = _axes(at, most, x, y, room=_ROOM)
    colours = [theme.colour(place % theme.MAX_COLOURS, theme.MAX_COLOURS) for place in range(len(names))]
    signs = [theme.sign(place + place // theme.MAX_COLOURS)[0] for place in range(len(names))]
    colour, shape = by_colour("series", names, colours), by_shape("series", names, signs)
    base = alt.Chart(data("rows")).encode(x=across, y=up, color=colour, tooltip=tip(*_TOLD))
    layers = [
        base.mark_line(strokeWidth=1.4, opacity=0.8),
        base.mark_rule(strokeWidth=4, opacity=0.3).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=34, opacity=1).encode(shape=shape),
        alt.Chart(data("names")).mark_text(**_NAME).encode(x=across, y=alt.Y("place:Q"), text="series:N", color=colour),
    ]
    return finished(layers, PLOT_HEIGHT, rows=rows, names=_ends(names, rows, at[-1], most))


def _ends(names: Sequence[str], rows: Rows, last: float, most: float) -> list[dict[str, Any]]:
    """Where each name stands: at the height of its line's end, or as far from it as its neighbours need."""
    ends = {row["series"]: float(row["level"]) for row in sorted(rows, key=lambda row: row["at"])}
    step = _NAME_HEIGHT * most * _HEADROOM / PLOT_HEIGHT
    order = sorted((name for name in names if name in ends), key=lambda name: ends[name])
    places, lowest = [], step / 2
    for name in order:
        places.append(max(lowest, ends[name]))
        lowest = places[-1] + step
    highest = most * _HEADROOM
    for at_place in reversed(range(len(places))):  # what was pushed beyond the upper end comes back below it
        places[at_place] = min(places[at_place], highest)
        highest = places[at_place] - step
    return [{"series": name, "at": last, "place": place} for name, place in zip(order, places, strict=True)]


def told_apart(rows: Rows, series: Mapping[str, Sign], at: Sequence[float], most: float, x: str, y: str) -> Spec:
    """A line for each series by colour and sign, with a legend: for a few series that belong together."""
    across, up = _axes(at, most, x, y)
    legend: Any = alt.Legend(title=None, orient="bottom", columns=1, labelLimit=420, symbolOpacity=1)
    names, drawn = list(series), list(series.values())
    base = alt.Chart(data("rows")).encode(
        x=across,
        color=alt.Color("series:N", legend=legend, scale=alt.Scale(domain=names, range=[one.colour for one in drawn])),
        tooltip=tip(*_TOLD),
    )
    shape = alt.Shape("series:N", legend=legend, scale=alt.Scale(domain=names, range=[one.shape for one in drawn]))
    layers = [
        base.mark_line(strokeWidth=1.8).encode(y=up),
        base.mark_rule(strokeWidth=4, opacity=0.35).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=46, opacity=1).encode(y=up, shape=shape),
    ]
    return finished(layers, PLOT_HEIGHT + 24 * len(names), rows=rows)


def _axes(at: Sequence[float], most: float, x: str, y: str, room: Sequence[str] = ()) -> tuple[alt.X, alt.Y]:
    """The measured values across, and up from zero to the upper end that all panels share."""
    axis = alt.Axis(grid=False, labelAngle=0, values=list(at))
    across = alt.X("at:O", title=x, scale=alt.Scale(domain=[*at, *room]), axis=axis)
    scale = alt.Scale(domain=[0, most * _HEADROOM or 1], nice=True)
    return across, upwards("level", y, scale)


ALL_ROWS = 10
"""Rows of a panel, best first."""
MAX_FAMILIES = 6
"""Panels of machines that differ in memory, those with most sizes of it first."""
Found = Mapping[str, Sequence[tuple[float, Statistic]]]
"""Configuration -> its statistic at each load."""


@dataclass(frozen=True)
class Loads:
    """What each configuration reaches at each load."""

    about: str
    """'fio: read IOPS over threads'."""
    axis: str
    metric: Metric
    at: Sequence[float]
    found: Found
    per_cpu: bool = False

    def of(self, names: Sequence[str]) -> "Loads":
        """Only these configurations, in this order."""
        return replace(self, found={name: self.found[name] for name in names})

    @property
    def scale(self) -> people.Scale:
        """Of all levels."""
        levels = [one.compared.value for many in self.found.values() for _, one in many]
        return people.scale_for(self.metric.unit, levels)

    @property
    def unit(self) -> str:
        """In words."""
        return unit_text(self.scale, per_cpu=self.per_cpu)

    @property
    def most(self) -> float:
        """The upper end of all intervals, on the scale."""
        return max(self.scale.value(one.compared.high) for many in self.found.values() for _, one in many)

    @property
    def best_first(self) -> list[str]:
        """By the highest rate at any load; by the lowest latency at the highest load."""
        if self.metric.direction is Direction.HIGHER:
            return sorted(self.found, key=lambda name: (-max(one.compared.value for _, one in self.found[name]), name))
        last = {name: many[-1] for name, many in self.found.items()}
        return sorted(last, key=lambda name: (-last[name][0], last[name][1].compared.value, name))

    def rows(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Chart data of these configurations, each under its label."""
        scale = self.scale
        return [
            {**interval_row(one, scale), "series": label, "configuration": name, "at": at}
            for name, label in labels.items()
            for at, one in self.found[name]
        ]

    def table(self, book: Book) -> Table | None:
        """Every statistic, the best configurations first."""
        return data_of_figure(book, [one for name in self.best_first for _, one in self.found[name]], self.about)

    def figure(self, book: Book, end: str, caption: str, drawn: Sequence[tuple[str, str, Spec]], **more: Any) -> Figure:
        """A figure with these panels, which share their axis, and the table; `end` ends its title."""
        better = f"{self.unit}, {direction_text(self.metric.direction)}"
        return book.figure(self.about + end, better, caption, drawn, **{"table": self.table(book), **more})

    def lines(self, panels: Groups) -> list[tuple[str, str, Spec]]:
        """A line for each configuration with its name, in as many panels as their names need."""
        parts = [part for title, names in panels.items() for part in in_panels(title, names).items()]
        drawn = []
        for title, names in parts:
            spoken = f"{title or 'All'}: {self.about}, best {names[0]}, {counted(len(names), 'line')}."
            rows = self.rows({name: name for name in names})
            drawn.append((title, spoken, lines(rows, names, self.at, self.most, self.axis, self.unit)))
        return drawn


def curves_by_cloud(book: Book, row: BenchmarkRow, curve: Curve) -> Figure | None:
    """All machines of each cloud, each line with its name; None without data."""
    loads = _of_curve(book, row, curve)
    if not loads.found:
        return None
    panels = groups.only(groups.everywhere(book.lookup) or {"": list(loads.found)}, loads.best_first)
    return loads.figure(
        book,
        " by cloud" if len(panels) > 1 else "",
        f"Levels over replicates with their intervals. First in each panel: {_chosen(loads)}. All panels have the same "
        "axis, which starts at zero.",
        loads.lines(panels),
    )


def best_curves(book: Book, row: BenchmarkRow, curve: Curve) -> Figure | None:
    """The best machine of each cloud; None without two clouds."""
    every = _of_curve(book, row, curve)
    by_cloud = groups.only(groups.clouds(book.lookup), every.best_first)
    if len(by_cloud) < 2:
        return None
    labels = {names[0]: f"{cloud}: {names[0]}" for cloud, names in by_cloud.items()}
    loads = every.of(list(labels))
    series = row_charts.kinds(list(labels.values()))
    spec = told_apart(loads.rows(labels), series, every.at, loads.most, loads.axis, loads.unit)
    return loads.figure(
        book,
        ", the best of each cloud",
        f"Of each cloud, {_chosen(loads)}. Medians over replicates with their intervals. The axis starts at zero.",
        [("", f"{loads.about} of {', '.join(labels.values())}", spec)],
    )


def _of_curve(book: Book, row: BenchmarkRow, curve: Curve) -> Loads:
    found: dict[str, list[tuple[float, Statistic]]] = {}
    for at, metric in curve.metrics:
        for one in book.lookup.statistics_of(row.benchmark, metric.name):
            found.setdefault(one.configuration, []).append((at, one))
    counts = sorted({at for many in found.values() for at, _ in many})
    about = f"{row.benchmark}: {curve.title} over {curve.counted}"
    return Loads(about, curve.counted, curve.metrics[0][1], counts, found)


def _chosen(loads: Loads) -> str:
    if loads.metric.direction is Direction.HIGHER:
        return f"that with the highest level at any number of {loads.axis}"
    return f"that with the lowest level at the most {loads.axis}"


def over_warehouses(book: Book, steps: Steps) -> Figure | None:
    """Lines over the number of warehouses, each with its name, by cloud and size; None without a line."""
    loads = _of_steps(book.lookup, steps)
    if not loads.found:
        return None
    panels = groups.clouds_and_sizes(book.lookup) or {"": book.lookup.configurations}
    return loads.figure(
        book,
        "",
        "Levels over replicates with their intervals, the best machines in the first panel of a group. A line ends "
        "where no trial is valid. All panels have the same axis, which starts at zero.",
        loads.lines(groups.only(panels, loads.best_first)),
    )


def best_over_warehouses(
    book: Book, steps: Steps, most: int = ALL_ROWS, called: Mapping[str, str] | None = None
) -> Figure | None:
    """Each of the best machines in a row, with a sign for each number of warehouses: how steady it stays.

    None for the steps of a search: with wait times the rate follows the number of warehouses.

    Args:
        book: of the page.
        steps: the series.
        most: rows of a panel.
        called: configuration -> its name on the main page, which has the panels of all clouds alone.
    """
    loads = _of_steps(book.lookup, steps)
    if not loads.found or not steps.per_cpu:
        return None
    overall = groups.sizes(book.lookup) or {"": list(loads.found)}
    wide = {f"Overall, {title}" if title else "Overall": names for title, names in overall.items()}
    panels = groups.only(wide if called else wide | groups.clouds_and_sizes(book.lookup), loads.best_first)
    labels = called or {name: name for name in loads.found}
    shown = {title: names[:most] for title, names in panels.items()}
    several = loads.of(list(dict.fromkeys(name for names in shown.values() for name in names)))
    series = row_charts.levels([people.integer(at) for at in loads.at])
    scale = loads.scale
    ends = [scale.value(end) for many in several.found.values() for _, one in many for end in one.compared[1:3]]
    drawn = []
    for title, names in shown.items():
        rows = [
            {**row, "row": labels[row["configuration"]], "series": people.integer(row["at"]), "text": row["level_text"]}
            for row in loads.rows({name: name for name in names})
        ]
        shown_as = [labels[name] for name in names]
        spec = row_charts.signs(shown_as, rows, (0.0, max(ends) * 1.05), loads.unit, series)
        drawn.append((title, f"{title}: {', '.join(shown_as[:6])}, a sign for each number of {steps.axis}", spec))
    return replace(loads, about=f"{steps.uses}: the best {most}, with increasing {steps.axis}").figure(
        book,
        "",
        "Signs: levels at each number of warehouses; bars: their intervals. Signs that lie close together mean that "
        "the machine stays steady as the workload becomes heavier. Sorted by the best level. All panels have the same "
        "axis, which starts at zero.",
        drawn,
        key=[sign.entry(f"{name} {steps.axis}") for name, sign in series.items()],
        table=several.table(book),
    )


def over_memory(book: Book, steps: Steps) -> Figure | None:
    """Lines over warehouses of machines that differ in memory alone; None if there are no two of them, or for a search.

    Equal in provider, CPU model, vCPUs and storage: n2-highcpu, n2-standard and n2-highmem.
    """
    every = _of_steps(book.lookup, steps)
    families = _memory_families(book.lookup, list(every.found))
    if not families or not steps.per_cpu:
        return None
    loads = every.of([name for names in families.values() for name in names])
    drawn = []
    for title, names in families.items():
        labels = {name: f"{book.lookup.described[name].memory_gib_per_vcpu:.2g} GiB per vCPU: {name}" for name in names}
        series = row_charts.levels(list(labels.values()))
        spec = told_apart(loads.rows(labels), series, loads.at, loads.most, loads.axis, loads.unit)
        drawn.append((title, f"{title}: {'; '.join(labels.values())}, over {steps.axis}.", spec))
    return replace(loads, about=f"{steps.uses}: memory per vCPU over {steps.axis}").figure(
        book,
        "",
        "Machines with the same CPU model, vCPUs and storage, which differ in memory. Darker lines have more of it. "
        "Medians with their intervals; all panels have the same axis, which starts at zero.",
        drawn,
        table=loads.table(book),
    )


def _of_steps(lookup: Lookup, steps: Steps) -> Loads:
    every = steps.statistics(lookup, per_cpu=steps.per_cpu)
    found = {name: many for name, many in every.items() if len(many) >= LEAST_STEPS}
    about = f"{steps.uses}: {metric_title(steps.metric, per_cpu=steps.per_cpu)} over {steps.axis}"
    return Loads(about, steps.axis, steps.metric, [at for at, _ in steps.rows], found, steps.per_cpu)


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
