"""The figure of delivered against promised: the rate of a volume over the time that it was watched."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from nephoscope.analysis.lookup import grouped
from nephoscope.analysis.promised import PromisedRow
from nephoscope.model import numbers as people
from nephoscope.model.rows import BenchmarkRow, MeasurementRow
from nephoscope.report.figures import theme
from nephoscope.report.figures.spec import Rows, Spec, data, finished, tip, upwards
from nephoscope.report.main import charts
from nephoscope.report.main.palette import Palette
from nephoscope.report.parts import Book, Cell, Column, Figure, KeyEntry, Table, filled

MAX_PANELS = 4
POINTS = 400
"""Of a line: more have no pixel of their own."""


def delivered_over_time(book: Book, rows: Sequence[BenchmarkRow], palette: Palette) -> Figure | None:
    """A panel for each job and configuration that was watched, of the trial that lacked most; None without any."""
    names = {row.benchmark for row in rows}
    every = [row for row in book.lookup[PromisedRow] if row.benchmark in names]
    groups = grouped(every, lambda row: (row.benchmark, row.metric, row.configuration))
    worst = [max(many, key=lambda row: row.lacking_share) for many in groups.values()]
    worst = sorted(worst, key=lambda row: -row.lacking_share)
    if not worst:
        return None
    drawn = [_panel(book, row, palette) for row in worst[:MAX_PANELS]]
    more = f"The {MAX_PANELS} of {len(worst)} that lacked most. " if len(worst) > MAX_PANELS else ""
    return book.figure(
        "Delivered, against what was promised",
        "I/Os per second over time, higher is better",
        f"{more}The line is the mean of each moment, the band reaches down to its slowest second; grey: shortfalls.",
        drawn,
        key=(KeyEntry("┄", "var(--muted)", "promised"),),
        table=_table(worst, palette),
    )


def _panel(book: Book, row: PromisedRow, palette: Palette) -> tuple[str, str, Spec]:
    series = book.lookup.series[row.benchmark, row.metric]
    seconds = sorted((one for one in series if one.trial == row.trial), key=lambda one: one.at_s or 0.0)
    called = palette.called[row.configuration]
    least = people.percent(100 * row.share_at_least)
    return f"{called}: {row.metric.removesuffix('.iops')}", f"{called}, {least} of the time", _chart(row, seconds)


def _chart(row: PromisedRow, seconds: Sequence[MeasurementRow]) -> Spec:
    width = -(-len(seconds) // POINTS)
    points: list[dict[str, Any]] = []
    for start in range(0, len(seconds), width):
        many = seconds[start : start + width]
        mean, low = sum(one.value for one in many) / len(many), min(one.value for one in many)
        points.append(
            {"s": many[0].at_s, "mean": round(mean, 1), "low": low, "mean_text": people.quantity(mean, "IO/s"),
             "time_text": people.duration(many[0].at_s)}
        )  # fmt: skip
    spans: Rows = [{"s": one.begin_s, "end": one.end_s} for one in row.shortfalls]
    scale = alt.Scale(domain=[0, max(row.promised_iops, *(point["mean"] for point in points))], nice=True)
    base = alt.Chart(data("rows")).encode(
        x=alt.X("s:Q", title="seconds since the start of the job", axis=alt.Axis(grid=False)),
        tooltip=tip("time_text", "mean_text"),
    )
    layers = [
        alt.Chart(data("spans")).mark_rect(color="var(--band)", opacity=0.5).encode(x=alt.X("s:Q"), x2=alt.X2("end:Q")),
        base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", scale=scale), y2=alt.Y2("mean:Q")),
        base.mark_line(strokeWidth=1.4).encode(y=upwards("mean", "IO/s", scale)),
        alt.Chart(data("promise")).mark_rule(**theme.REFERENCE).encode(y=alt.Y("promised:Q", scale=scale)),
    ]
    promise = [{"promised": row.promised_iops}]
    return finished(layers, charts.LINES_HEIGHT, rows=points, spans=spans, promise=promise)


def _table(rows: Sequence[PromisedRow], palette: Palette) -> Table:
    return filled(
        "Delivered and promised",
        rows,
        (Column("Configuration"), lambda row: Cell(palette.called[row.configuration], tone="name")),
        (Column("Job"), lambda row: row.metric.removesuffix(".iops")),
        (Column("Promised", numeric=True), lambda row: people.quantity(row.promised_iops, "IO/s")),
        (Column("Time at 90 %", numeric=True), lambda row: people.share(row.share_at_least)),
        (Column("Shortfalls", numeric=True), lambda row: str(len(row.shortfalls))),
        (Column("Longest", numeric=True), lambda row: people.duration(row.longest_s)),
        (Column("Throttled after", numeric=True), lambda row: people.duration(row.throttled_after_s)),
        (Column("Lacking", numeric=True), lambda row: people.share(row.lacking_share)),
        (Column("Lacking, $ a month", numeric=True), lambda row: people.money(row.lacking_usd)),
    )
