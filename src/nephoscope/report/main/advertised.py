"""Figures of what was paid for: measured rates against those that providers advertise, and a volume's over time."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from nephoscope.analysis.lookup import grouped, unique
from nephoscope.analysis.promised import PromisedRow
from nephoscope.insights.advertised import Delivery, deliveries
from nephoscope.insights.names import provider_of
from nephoscope.model import numbers as people
from nephoscope.model.rows import BenchmarkRow, MeasurementRow
from nephoscope.model.subjects import Subject
from nephoscope.report.figures import theme
from nephoscope.report.figures.spec import Rows, Spec, data, finished, rows_axis, tip, upwards
from nephoscope.report.main import charts
from nephoscope.report.main.palette import Palette
from nephoscope.report.parts import Book, Cell, Column, Figure, KeyEntry, Table, filled, level_cell


def measured_of_advertised(book: Book, rows: Sequence[BenchmarkRow], palette: Palette) -> Figure | None:
    """A row for each rate that is sold, a sign for each machine; None where nothing is known of what was sold."""
    found = {row.benchmark: (row, many) for row in rows if (many := deliveries(book.lookup, row))}
    if not found:
        return None
    row = next(iter(found.values()))[0]
    many = [one for other, each in found.values() if other.uses == row.uses for one in each]
    called = {one.configuration: palette.called[one.configuration] for one in many}
    signs = [
        {
            "label": _label(book, one),
            "configuration": called[one.configuration],
            "shade": palette.of[one.configuration],
            "sold": one.advertised.value,
            "share": 100 * one.share.value,
            "low": 100 * one.share.low,
            "high": 100 * one.share.high,
            "level_text": people.quantity(one.statistic.compared.value, one.metric.unit),
            "share_text": people.percent(100 * one.share.value),
            "n": str(one.statistic.n),
        }
        for one in many
    ]
    places = unique(one.distance for one in many)
    drawn = []
    for place in places:
        here = [sign for sign, one in zip(signs, many, strict=True) if one.distance == place]
        title = place if len(places) > 1 else ""
        labels = list(dict.fromkeys(str(sign["label"]) for sign in sorted(here, key=_by_provider)))
        spoken = "; ".join(f"{sign['configuration']} {sign['level_text']}, {sign['share_text']}" for sign in here[:6])
        what = " ".join(filter(None, ("Measured, of what is advertised", title)))
        drawn.append((title.capitalize(), f"{what}: {spoken}", _chart(labels, here, palette)))
    return book.figure(
        "Measured, of what is advertised",
        f"{_measured(row, many[0])}, percent of the advertised rate",
        "A sign is a configuration with its interval; the line is what is advertised, or was provisioned.",
        drawn,
        key=palette.key([one.configuration for one in many]),
        table=_table(book, many, called),
        columns=len(drawn),
    )


def _measured(row: BenchmarkRow, one: Delivery) -> str:
    """'multi-stream'; of volumes with the job: 'fio: random reads of 4 KiB, queue depth 32, I/O rate'."""
    return f"{row.uses}: {one.job}" if row.subject is Subject.STORAGE else row.uses


def _by_provider(sign: dict[str, Any]) -> tuple[str, float]:
    return str(sign["shade"]), float(sign["sold"])


def _label(book: Book, one: Delivery) -> str:
    """'AWS: up to 10 Gbit/s', 'gp3: 8,000 IO/s'."""
    whose = one.item if one.metric.unit == "IO/s" else provider_of(book.lookup, one.configuration)
    kind = "" if one.advertised.kind == "provisioned" else f"{one.advertised.kind} "
    scale = people.scale_for(one.metric.unit, [one.advertised.value])
    return f"{whose}: {kind}{people.limit(scale.value(one.advertised.value))} {scale.unit}"


def _chart(labels: Sequence[str], signs: Rows, palette: Palette) -> Spec:
    most = max(100.0, *(float(sign["high"]) for sign in signs))
    x = alt.X("share:Q", title="% of what is advertised", scale=alt.Scale(domain=[0, most], nice=True))
    base = alt.Chart(data("rows")).encode(
        y=rows_axis(labels, "label", size=charts.LABEL_SIZE),
        color=palette.encoding,
        tooltip=tip("configuration", "label", "level_text", "share_text", "n"),
    )
    layers = [
        alt.Chart(data("sold")).mark_rule(**theme.REFERENCE).encode(x=alt.X("share:Q")),
        base.mark_rule(strokeWidth=2, opacity=0.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")),
        base.mark_point(filled=True, size=50, opacity=0.8).encode(x=x),
    ]
    return finished(layers, charts.height(len(labels)), rows=signs, sold=[{"share": 100}])


def _table(book: Book, many: Sequence[Delivery], called: dict[str, str]) -> Table:
    def measured(one: Delivery) -> Cell:
        about = f"{one.statistic.benchmark} on {one.configuration}"
        return level_cell(book, one.statistic, people.scale_for(one.metric.unit, [one.statistic.compared.value]), about)

    return filled(
        "Measured and advertised",
        sorted(many, key=lambda one: one.share.value),
        (Column("Configuration"), lambda one: Cell(called[one.configuration], tone="name")),
        (
            Column("Advertised"),
            lambda one: _label(book, one) + ("" if one.distance == "within a zone" else f", {one.distance}"),
        ),
        (Column("Measured", numeric=True), measured),
        (Column("Share", numeric=True), lambda one: people.percent(100 * one.share.value)),
        (
            Column(
                "Throttled",
                hint="Trials whose rate fell for good, of those of which every second is known.",
                is_aside=True,
            ),
            lambda one: f"{len(one.falls)} of {one.watched}" if one.watched else people.MISSING,
        ),
    )


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
        table=_watched(worst, palette),
    )


def _panel(book: Book, row: PromisedRow, palette: Palette) -> tuple[str, str, Spec]:
    series = book.lookup.series[row.benchmark, row.metric]
    seconds = sorted((one for one in series if one.trial == row.trial), key=lambda one: one.at_s or 0.0)
    called = palette.called[row.configuration]
    least = people.percent(100 * row.share_at_least)
    return f"{called}: {row.metric.removesuffix('.iops')}", f"{called}, {least} of the time", _over_time(row, seconds)


def _over_time(row: PromisedRow, seconds: Sequence[MeasurementRow]) -> Spec:
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


def _watched(rows: Sequence[PromisedRow], palette: Palette) -> Table:
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
