"""Histograms of the seconds of a throughput with their standard deviation, and the table of such spreads."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt

from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow, MeasurementRow, WithinRow
from nephoscope.model.words import counted
from nephoscope.report.figures import theme
from nephoscope.report.figures.machine_charts import PLOT_HEIGHT, shares
from nephoscope.report.figures.spec import Rows, Spec, finished
from nephoscope.report.parts import Book, Cell, Column, Figure, Row, Table

MAX_PANELS = 6
"""Configurations that get their own chart, best mean first."""
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
        one.configuration: _bins([row for row in series if row.configuration == one.configuration], low, width, scale)
        for one in best[:MAX_PANELS]
    }
    most = max(one["share"] for bins in binned.values() for one in bins)
    domain = (scale.value(low), scale.value(low + BINS * width))
    drawn = []
    for one in best[:MAX_PANELS]:
        name = one.configuration
        colour = theme.colour(book.lookup.configurations.index(name), len(book.lookup.configurations))
        title = titled(one, scale)
        spec = _chart(binned[name], domain, most, colour, scale.unit)
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
    rows = within(book, row, metric)
    if not rows:
        return None
    scale = people.scale_for(metric.unit, [one.mean for one in rows])
    columns = (
        Column("Configuration"),
        Column("Mean", numeric=True),
        Column("Standard deviation", numeric=True, hint="Of all values together, not of the means of trials."),
        Column("Minimum", numeric=True),
        Column("Maximum", numeric=True),
        Column("Values", numeric=True),
        Column("Trials", numeric=True),
    )
    body = tuple(
        Row(
            (
                Cell(one.configuration, tone="name"),
                *(Cell(scale.number(value)) for value in (one.mean, one.deviation, one.minimum, one.maximum)),
                Cell(people.integer(one.values)),
                Cell(people.integer(one.trials)),
            )
        )
        for one in rows
    )
    return Table(f"{row.benchmark}: {metric_title(metric)} within trials, {scale.unit}", columns, body, compact=True)


def titled(row: WithinRow, scale: people.Scale) -> str:
    """Of a panel: the configuration with the standard deviation of what the panel shows, where there is one."""
    if row.deviation is None:
        return row.configuration
    return f"{row.configuration}: standard deviation {scale.text(row.deviation)}"


def _bins(rows: Sequence[MeasurementRow], low: float, width: float, scale: people.Scale) -> list[dict[str, Any]]:
    counts = Counter(min(BINS - 1, math.floor((row.value - low) / width)) for row in rows)
    found: list[dict[str, Any]] = []
    for place, count in sorted(counts.items()):
        start, end = (scale.value(low + edge * width) for edge in (place, place + 1))
        text = f"{people.significant(start, 4)} to {people.significant(end, 4)} {scale.unit}"
        found.append({"low": start, "high": end, "share": count / len(rows), "count": count, "range_text": text})
    return found


def _chart(bins: Rows, domain: tuple[float, float], most: float, colour: str, unit: str) -> Spec:
    x = alt.X("low:Q", title=unit, scale=alt.Scale(domain=list(domain), zero=False, nice=True))
    return finished(alt.layer(shares(x, most, "seconds", colour)), PLOT_HEIGHT, bins=bins)
