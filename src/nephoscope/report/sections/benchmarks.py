"""The section of one benchmark: replicates, values per CPU, latency by operation, values by second, all metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nephoscope.analysis.lookup import Lookup, headlines
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.records import OUTAGE_LASTED, Direction, Metric
from nephoscope.model.rows import BenchmarkRow, Comparison, MeasurementRow, TrialRow
from nephoscope.model.words import counted
from nephoscope.report.figures import charts, theme
from nephoscope.report.figures.growth import growth_figures
from nephoscope.report.figures.latency import latency_figures
from nephoscope.report.figures.network import has_ranges
from nephoscope.report.figures.results import courses
from nephoscope.report.figures.searches import curve_figures, is_of_curve, pass_figures, points_of, warehouse_figures
from nephoscope.report.figures.spec import axis_note
from nephoscope.report.main import ratios
from nephoscope.report.parts import (
    Book,
    Cell,
    Column,
    Figure,
    KeyEntry,
    Table,
    filled,
    section_anchor,
    state_badge,
    trial_cell,
    validity_key,
)
from nephoscope.report.sections.tables import headline_comparisons, of_benchmark
from nephoscope.report.tables.rows import data_of_figure
from nephoscope.report.wording import (
    axis_title,
    direction_text,
    interval_text,
    statistic_row,
    tie_text,
    title_with_unit,
    unit_text,
)

ROUND_TRIPS = "round_trips_per_transaction"
MAX_VALUE_ROWS = 300
"""With more, the table below a figure of replicates shows levels, and the table below a figure of execution order is
left out; measurements.csv has every value."""
MAX_SERIES_POINTS = 12_000
"""Per figure; with more, only every k-th second is drawn, and the caption says so."""

STATISTIC_KEY = (KeyEntry("┃", "var(--ink)", "level"), KeyEntry("▬", "var(--band-edge)", "its interval"))


@dataclass(frozen=True)
class BenchmarkSection:
    """What the template prints of a benchmark."""

    anchor: str
    name: str
    title: str
    facts: str
    notes: list[str]
    headline: list[list[Figure]]
    latency: list[Figure]
    series: list[Figure]
    tables: list[Table]
    nothing: str


def benchmark_section(book: Book, row: BenchmarkRow) -> BenchmarkSection:
    """Everything shown of one benchmark."""
    trials = book.lookup.trials_of(row.benchmark)
    count = sum(trial.counts for trial in trials)
    version = f"{row.uses}, version {row.version}" if row.uses != row.benchmark else f"version {row.version}"
    headline = [
        *(book.figures(_headline, row, metric) for metric in headlines(row)),
        book.figures(growth_figures, row),
        *_curves(book, row),
        book.figures(warehouse_figures, row),
        book.figures(pass_figures, row),
    ]
    facts = [version, f"{count:,} of {counted(len(trials), 'trial')} valid", round_trips(book, row)]
    return BenchmarkSection(
        anchor=section_anchor(row.benchmark),
        name=row.benchmark,
        title=row.title,
        facts=" · ".join(fact for fact in facts if fact),
        notes=list(map(str, row.notes)),
        headline=[figures for figures in headline if figures],
        latency=book.figures(latency_figures, row),
        series=[
            figure
            for metric in row.metrics
            if not has_ranges(book.lookup, row, metric) and not is_of_curve(metric)
            for figure in book.figures(_series, row, metric)
        ],
        tables=of_benchmark(book, row),
        nothing="" if count else _nothing(book, row),
    )


def _curves(book: Book, row: BenchmarkRow) -> list[list[Figure]]:
    """By what stands side by side: all of them if one configuration was searched, else each alone."""
    figures = book.figures(curve_figures, row)
    return [figures] if figures and len(points_of(book.lookup, row)) == 1 else [[figure] for figure in figures]


def _nothing(book: Book, row: BenchmarkRow) -> str:
    states = {trial.state for trial in book.lookup.trials_of(row.benchmark)}
    what = "It was not run" if states <= {"not run", "planned"} else "None of its trials is valid"
    return f"{what}; for the reasons, see “Excluded trials”."


def round_trips(book: Book, row: BenchmarkRow) -> str:
    """'8.39 round trips per transaction': New-Orders of two studies are comparable only if it is the same."""
    medians = sorted(statistic.compared.value for statistic in book.lookup.statistics_of(row.benchmark, ROUND_TRIPS))
    texts = list(dict.fromkeys(people.grouped(median, 2) for median in (medians[:1] + medians[-1:])))
    return f"{' to '.join(texts)} round trips per transaction" if texts else ""


def point_rows(lookup: Lookup, rows: list[MeasurementRow], scale: people.Scale) -> list[dict[str, Any]]:
    """Values of whole trials as chart data, with tooltip texts."""
    found = []
    for row in rows:
        trial = lookup.trials.get(row.trial)
        found.append(
            {
                "configuration": row.configuration,
                "value": scale.value(row.value),
                "text": scale.text(row.value),
                "trial": row.trial,
                "block": row.block,
                "position": row.position,
                "counts": row.valid,
                "counts_text": "yes" if row.valid else "no",
                "why": "; ".join(map(str, trial.reasons)) if trial and not row.valid else people.MISSING,
            }
        )
    return found


def _headline(book: Book, row: BenchmarkRow, metric: Metric) -> list[Figure]:
    points = book.lookup.values.get((row.benchmark, metric.name), [])
    if not points:
        return []
    draws_values = book.draws_values
    figures = book.figures(_replicates, row, metric, points) if draws_values else book.figures(_levels, row, metric)
    if book.lookup.statistics_of(row.benchmark, metric.name, per_cpu=True):
        figures += book.figures(_levels, row, metric, per_cpu=True)
    return figures


def _replicates(book: Book, row: BenchmarkRow, metric: Metric, values: list[MeasurementRow]) -> Figure:
    lookup = book.lookup
    scale = lookup.scale(row.benchmark, metric)
    names = lookup.ranked(row.benchmark, metric)
    points = point_rows(lookup, values, scale)
    statistics = lookup.statistics_of(row.benchmark, metric.name)
    present = {point["configuration"] for point in points}
    missing = [{"configuration": name, "note": "no value"} for name in names if name not in present]
    data = [statistic_row(statistic, scale) for statistic in statistics]
    spec = charts.replicates(names, points, data, missing, axis_title(metric, scale), book.lookup.configurations)
    drawn = [p["value"] for p in points] + [s[end] for s in data for end in ("low", "high")]
    caption = f"{row.benchmark}: {title_with_unit(metric, scale)}"
    return book.figure(
        f"{metric_title(metric)}, every replicate",
        f"{unit_text(scale)}, {direction_text(metric.direction)}",
        f"Each sign is one trial; blocks run from top to bottom. {axis_note(drawn)}",
        [("", _spoken(row, metric, statistics, scale), spec)],
        key=(
            *(STATISTIC_KEY if statistics else ()),
            *validity_key(point["counts"] for point in points),
        ),
        table=values_table(book, caption, values, scale)
        if len(values) <= MAX_VALUE_ROWS
        else data_of_figure(book, statistics, caption),
    )


def _spoken(row: BenchmarkRow, metric: Metric, statistics: list[Any], scale: people.Scale) -> str:
    levels = "; ".join(
        f"{s.configuration} {scale.text(s.compared)}, interval {interval_text(s.compared, scale)}"
        for s in statistics[:6]
    )
    more = f"; and {counted(len(statistics) - 6, 'more configuration')}" if len(statistics) > 6 else ""
    return f"Dot plot of {metric_title(metric)} in {row.benchmark}, {direction_text(metric.direction)}. Levels: " + (
        levels + more or "none, because no trial is valid"
    )


def _levels(book: Book, row: BenchmarkRow, metric: Metric, *, per_cpu: bool = False) -> Figure:
    """Levels, intervals and extremes: per CPU, and for all values when there are too many trials to draw."""
    scale = book.lookup.scale(row.benchmark, metric, per_cpu=per_cpu)
    statistics = book.lookup.statistics_of(row.benchmark, metric.name, per_cpu=per_cpu)
    data: list[dict[str, Any]] = [statistic_row(statistic, scale) for statistic in statistics]
    drawn = [s[end] for s in data for end in ("minimum", "maximum", "low", "high")]
    title = metric_title(metric, per_cpu=per_cpu)
    each = "Each trial's value was divided by the CPUs of the trial first. " if per_cpu else ""
    names = book.lookup.ranked(row.benchmark, metric)
    return book.figure(
        title,
        f"{unit_text(scale, per_cpu=per_cpu)}, {direction_text(metric.direction)}",
        f"{each}{axis_note(drawn)}",
        [
            (
                "",
                _spoken(row, metric, statistics, scale),
                charts.levels(names, data, axis_title(metric, scale, per_cpu=per_cpu)),
            )
        ],
        key=(
            *STATISTIC_KEY,
            KeyEntry("─", "var(--muted)", "minimum to maximum"),
        ),
        table=data_of_figure(book, statistics, f"{row.benchmark}: {title}") if book.draws_values else None,
    )


def values_table(book: Book, caption: str, values: list[MeasurementRow], scale: people.Scale) -> Table:
    """The data of a chart of replicates: one row per trial, in plan order."""
    trials = book.lookup.trials
    return filled(
        caption,
        sorted(values, key=lambda value: value.position),
        (Column("Trial"), lambda value: trial_cell(value.trial, book)),
        (Column("Configuration"), lambda value: value.configuration),
        (Column("Block", numeric=True), lambda value: str(value.block)),
        (Column("Position", numeric=True), lambda value: str(value.position)),
        (Column("Value", numeric=True), lambda value: scale.number(value.value)),
        (
            Column("State"),
            lambda value: Cell(badges=(state_badge(trials[value.trial]),) if value.trial in trials else ()),
        ),
    )


def _series(book: Book, row: BenchmarkRow, metric: Metric) -> Figure | None:
    """None when no trial is long enough for a time axis."""
    lookup = book.lookup
    drawable = courses(lookup.series.get((row.benchmark, metric.name), []))
    values = [value for many in drawable.values() for value in many]
    if not values:
        return None
    scale = people.scale_for(metric.unit, [value.value for value in values])
    every = -(-len(values) // MAX_SERIES_POINTS)
    names = [name for name in lookup.configurations if any(value.configuration == name for value in values)]
    domain = (min(0.0, *(scale.value(v.value) for v in values)), max(scale.value(v.value) for v in values))
    drawn, faults = [], _fault_times(lookup, row)
    for name in names:
        mine = [value for value in values if value.configuration == name]
        colour = theme.colour(lookup.configurations.index(name), len(lookup.configurations))
        alt = f"Lines of {metric_title(metric)} by second for {name}, one per trial."
        valid, excluded = (_series_points(mine, scale, every, counts=counts) for counts in (True, False))
        shaded = [one for one in faults if one["configuration"] == name]
        drawn.append((name, alt, charts.series(valid, excluded, domain, colour, unit_text(scale), shaded)))
    thinned = f" Only one second in {every} is drawn." if every > 1 else ""
    better = direction_text(metric.direction)
    return book.figure(
        f"{metric_title(metric)}, second by second",
        f"{unit_text(scale)}, {better}",
        "One line per trial. All panels have the same vertical axis, which starts at zero. "
        f"Seconds within a trial are not replicates.{thinned}{_SHADED if faults else ''}",
        drawn,
        key=[
            *([KeyEntry("─", "var(--ink)", "valid trial")] if any(value.valid for value in values) else []),
            *([KeyEntry("┄", "var(--muted)", "excluded trial")] if not all(value.valid for value in values) else []),
        ],
        table=_series_table(
            book, f"{row.benchmark}: {metric_title(metric)} by second, {unit_text(scale)}", values, scale, every
        ),
        columns=min(3, len(names)),
    )


_SHADED = " Shaded: from just before a fault until it was undone."


def _fault_times(lookup: Lookup, row: BenchmarkRow) -> list[dict[str, Any]]:
    """When each fault began and was undone; none: the benchmark inflicts none."""
    return [
        {"configuration": one.configuration, "trial": one.trial, "s": one.at_s, "end": one.at_s + one.value}
        for one in lookup.series.get((row.benchmark, OUTAGE_LASTED), [])
        if one.at_s is not None
    ]


def _series_points(
    rows: list[MeasurementRow], scale: people.Scale, every: int, *, counts: bool
) -> list[dict[str, Any]]:
    by_time = sorted((row for row in rows if row.valid is counts), key=lambda row: (row.position, row.at_s or 0.0))
    return [
        {"s": float(f"{row.at_s:.6g}"), "v": float(f"{scale.value(row.value):.5g}"), "trial": row.trial}
        for index, row in enumerate(by_time)
        if row.at_s is not None and index % every == 0
    ]


def _series_table(book: Book, caption: str, values: list[MeasurementRow], scale: people.Scale, every: int) -> Table:
    by_trial: dict[str, list[MeasurementRow]] = {}
    for value in sorted(values, key=lambda value: (value.position, value.at_s or 0.0)):
        by_trial.setdefault(value.trial, []).append(value)
    return filled(
        caption,
        by_trial.values(),
        (Column("Trial"), lambda rows: trial_cell(rows[0].trial, book)),
        (Column("Configuration"), lambda rows: rows[0].configuration),
        (Column("Block", numeric=True), lambda rows: str(rows[0].block)),
        (
            Column("Values, by second"),
            lambda rows: Cell("  ".join(scale.number(value.value) for value in rows[::every]), tone="values"),
        ),
    )


def order_figures(book: Book) -> list[Figure]:
    """Per headline metric: the replicates by position in the plan; no figures when there are too many to draw."""
    figures: list[Figure] = []
    if not book.draws_values:
        return figures
    for row in book.lookup.study.benchmarks:
        for metric in headlines(row):
            values = book.lookup.values.get((row.benchmark, metric.name), [])
            if values:
                figures += book.figures(_order, row, metric, values)
    return figures


def _order(book: Book, row: BenchmarkRow, metric: Metric, values: list[MeasurementRow]) -> Figure:
    scale = book.lookup.scale(row.benchmark, metric)
    points = point_rows(book.lookup, values, scale)
    starts: dict[int, int] = {}
    for trial in book.lookup[TrialRow]:
        starts[trial.block] = min(trial.position, starts.get(trial.block, trial.position))
    many = len(starts) > 12
    blocks = [
        {"start": start - 0.5, "label": str(block) if many else f"block {block}"}
        for block, start in sorted(starts.items())
    ]
    up = metric.direction is Direction.HIGHER
    axis = f"{unit_text(scale)} · {'higher is better ↑' if up else 'lower is better ↓'}"
    spoken = f"{metric_title(metric)} in {row.benchmark} by position in the plan, one sign per trial."
    return book.figure(
        f"{row.benchmark}: {metric_title(metric)} in order of execution",
        f"{unit_text(scale)}, {direction_text(metric.direction)}",
        f"Dashed lines mark the start of a block. {axis_note([point['value'] for point in points])}",
        [("", spoken, charts.order(book.lookup.configurations, points, blocks, axis))],
        key=(
            *book.configuration_key({point["configuration"] for point in points}),
            *validity_key(point["counts"] for point in points if not point["counts"]),
        ),
        table=values_table(
            book, f"{row.benchmark}: {metric_title(metric)} by position, {unit_text(scale)}", values, scale
        )
        if len(points) <= MAX_VALUE_ROWS
        else None,
    )


MAX_CHART_ROWS = 24


def compared_headlines(book: Book) -> list[Figure]:
    """None where there are too many ratios to draw."""
    first = headline_comparisons(book)
    return book.figures(_figure, first) if 0 < len(first) <= MAX_CHART_ROWS else []


def _figure(book: Book, rows: Sequence[Comparison]) -> Figure:
    titles = book.lookup.metrics
    pairs = {(row.left, row.right) for row in rows}
    data = []
    for row in rows:
        per_cpu, pair = row.per_cpu, (row.left, row.right)
        arrow = "↑" if row.direction is Direction.HIGHER else "↓"
        alone = sum((row.benchmark, per_cpu, pair) == (r.benchmark, r.per_cpu, (r.left, r.right)) for r in rows) == 1
        label = row.benchmark if alone else f"{row.benchmark} · {metric_title(titles[row.benchmark, row.metric])}"
        label += (" per CPU " if per_cpu else " ") + arrow
        label += f" · {row.left} ÷ {row.right}" if len(pairs) > 1 else ""
        data.append(ratios.row_of(label, row, pair))
    left, right = next(iter(pairs)) if len(pairs) == 1 else ("left", "right")
    margin = book.lookup.study.equivalence_margin_percent
    return book.figure(
        f"{left} compared with {right}: headline metrics",
        f"ratio {left} ÷ {right}; ↑ higher is better, ↓ lower is better",
        f"Points: the ratio; bars: its interval. The band around 1 is the equivalence margin of {margin:g} %, "
        f"{tie_text(margin)}: an interval that lies inside it is a tie. The axis is logarithmic.",
        [ratios.panel("", data, margin / 100, "ratio, left ÷ right (log axis)")],
        key=ratios.key(rows),
    )
