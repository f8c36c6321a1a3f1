"""Charts of one metric: every replicate with the level and its interval, per CPU, and in order of execution."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from nephoscope.report.figures import theme
from nephoscope.report.figures.spec import (
    Rows,
    Spec,
    by_colour,
    by_counting,
    by_coverage,
    by_shape,
    coloured,
    data,
    finished,
    linear,
    rows_axis,
    shaped,
    tip,
    upwards,
)
from nephoscope.report.figures.theme import PERCENTILE_COLOURS

ROW_HEIGHT = 58
CROWDED_ROW_HEIGHT = 30
CROWDED = 8
AXIS_HEIGHT = 46
BAND_PART = 0.66
HEADROOM = 0.16
"""Space above the values for the names of the blocks."""


def _row_height(configurations: Sequence[str]) -> int:
    return ROW_HEIGHT if len(configurations) <= CROWDED else CROWDED_ROW_HEIGHT


def _height(configurations: Sequence[str]) -> int:
    return _row_height(configurations) * max(1, len(configurations)) + AXIS_HEIGHT


def _level_and_interval(configurations: Sequence[str], x: alt.X) -> list[alt.Chart]:
    base = alt.Chart(data("statistics")).encode(y=rows_axis(configurations))
    band = BAND_PART * _row_height(configurations)
    told = tip("configuration", "level_text", "interval_text", "coverage_text", "n")
    return [
        base.mark_rule(**theme.INTERVAL, strokeWidth=band).encode(x=x, x2=alt.X2("high:Q"), tooltip=told),
        base.mark_tick(**theme.MEDIAN, size=band).encode(x=alt.X("level:Q"), tooltip=told),
    ]


def replicates(
    configurations: Sequence[str], points: Rows, statistics: Rows, missing: Rows, axis: str, palette: Sequence[str]
) -> Spec:
    """A row per configuration: replicates as points (blocks downwards), the level a tick, its interval a band.

    `palette` holds the configurations in the order that gives each its colour.
    """
    values = [row["value"] for row in points] + [row[end] for row in statistics for end in ("low", "high")]
    scale = linear(values)
    x = alt.X("low:Q", title=axis, scale=scale)
    blocks = sorted({row["block"] for row in points})
    point = alt.Chart(data("points")).encode(
        y=rows_axis(configurations),
        yOffset=alt.YOffset("block:O", scale=alt.Scale(domain=blocks, paddingOuter=0.6)),
        x=alt.X("value:Q", title=axis, scale=scale),
        color=coloured(palette),
        tooltip=tip("configuration", "text", "block", "trial", "counts_text", "why"),
    )
    layers = [
        *(_level_and_interval(configurations, x) if statistics else []),
        *by_counting(
            points,
            point.mark_point(filled=True, size=58, opacity=0.95),
            point.mark_point(filled=False, size=58, strokeWidth=1.6),
        ),
        alt.Chart(data("missing"))
        .mark_text(**theme.NOTE)
        .encode(y=rows_axis(configurations), x=alt.value(8), text=alt.Text("note:N")),
    ]
    return finished(layers, _height(configurations), points=points, statistics=statistics, missing=missing)


def levels(configurations: Sequence[str], statistics: Rows, axis: str) -> Spec:
    """The level as a tick, its interval as a band, minimum to maximum as a line."""
    values = [row[end] for row in statistics for end in ("minimum", "maximum", "low", "high")]
    x = alt.X("low:Q", title=axis, scale=linear(values))
    extremes = (
        alt.Chart(data("statistics"))
        .mark_rule(**theme.EXTREMES)
        .encode(y=rows_axis(configurations), x=alt.X("minimum:Q"), x2=alt.X2("maximum:Q"))
    )
    interval, level = _level_and_interval(configurations, x)
    layers = [interval, extremes, level]
    return finished(layers, _height(configurations), statistics=statistics)


def order(configurations: Sequence[str], points: Rows, blocks: Rows, axis: str) -> Spec:
    """The values by position in the plan, with dashed lines at the start of each block."""
    values = [row["value"] for row in points]
    last = max((row["position"] for row in points), default=1)
    first = min((row["start"] for row in blocks), default=0.5)
    positions = alt.Scale(zero=False, nice=False, domain=[first, last + 1.5])
    x = alt.X("position:Q", title="position in the plan", axis=alt.Axis(grid=False), scale=positions)
    point = alt.Chart(data("points")).encode(
        x=x,
        y=upwards("value", axis, linear(values, HEADROOM)),
        color=coloured(configurations),
        shape=shaped(configurations),
        tooltip=tip("configuration", "text", "position", "block", "trial", "counts_text", "why"),
    )
    begin = alt.Chart(data("blocks")).encode(x=alt.X("start:Q"))
    layers = [
        begin.mark_rule(**theme.REFERENCE),
        begin.mark_text(**theme.NOTE, dx=4, baseline="top").encode(y=alt.value(0), text=alt.Text("label:N")),
        *by_counting(
            points,
            point.mark_point(filled=True, size=62, opacity=0.95),
            point.mark_point(filled=False, size=62, strokeWidth=1.6),
        ),
    ]
    return finished(layers, 240, points=points, blocks=blocks)


LOG_ROOM = 1.18
EXCLUDED_LINE: dict[str, Any] = {
    "strokeWidth": 1.2,
    "opacity": 0.8,
    "color": "var(--muted)",
    "strokeDash": [4, 3],
}


def latency(
    configurations: Sequence[str], percentiles: Sequence[str], rows: Rows, domain: tuple[float, float], axis: str
) -> Spec:
    """A row per configuration and a sign per percentile with its interval; lower is better, so left is better."""
    log = domain[0] > 0
    ends = [domain[0] / LOG_ROOM, domain[1] * LOG_ROOM] if log else list(domain)
    scale = alt.Scale(type="log" if log else "linear", domain=ends, nice=not log)
    marks = alt.Axis(format=",~f", labelOverlap=False) if log else alt.Axis()
    x = alt.X("low:Q", title=axis, scale=scale, axis=marks)
    colours = [PERCENTILE_COLOURS[min(i, len(PERCENTILE_COLOURS) - 1)] for i in range(len(percentiles))]
    base = alt.Chart(data("rows")).encode(
        y=rows_axis(configurations),
        color=by_colour("percentile", percentiles, colours),
        tooltip=tip("configuration", "percentile", "level_text", "interval_text", "coverage_text", "n"),
    )
    layers = [
        *by_coverage(rows, base.encode(x=x, x2=alt.X2("high:Q")), strokeWidth=5, opacity=0.45),
        base.mark_point(filled=True, size=58, opacity=1).encode(
            x=alt.X("level:Q"), shape=by_shape("percentile", percentiles)
        ),
    ]
    row_height = 34 if len(configurations) <= 8 else 24
    return finished(layers, row_height * max(1, len(configurations)) + 46, rows=rows)


def series(valid: Rows, excluded: Rows, domain: tuple[float, float], colour: str, axis: str, shaded: Rows = ()) -> Spec:
    """A faint line per trial; dashed for excluded trials. `shaded`: times of faults, from `s` to `end`."""
    times = alt.Chart(data("shaded")).encode(x=alt.X("s:Q"), x2=alt.X2("end:Q"), tooltip=tip("trial", "s:Q", "end:Q"))
    solid: dict[str, Any] = {"strokeWidth": 1.2, "opacity": 0.5, "color": colour}
    layers = [
        *([times.mark_rect(color="var(--band)", opacity=0.5)] if shaded else []),
        *([_lines("valid", domain, axis).mark_line(**solid)] if valid else []),
        *([_lines("excluded", domain, axis).mark_line(**EXCLUDED_LINE)] if excluded else []),
    ]
    return finished(layers, 210, valid=valid, excluded=excluded, shaded=shaded)


def _lines(rows: str, domain: tuple[float, float], axis: str) -> alt.Chart:
    return alt.Chart(data(rows)).encode(
        x=alt.X("s:Q", title="seconds since the start of the trial", axis=alt.Axis(grid=False)),
        y=upwards("v", axis, alt.Scale(domain=list(domain), nice=True)),
        detail="trial:N",
        tooltip=tip("trial", "s:Q", "v:Q"),
    )
