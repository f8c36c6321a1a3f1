"""Charts of machine performance: a histogram, ranges, curves over threads, jobs, sizes of one family."""

from collections.abc import Mapping, Sequence

import altair as alt

from nephoscope.report.figures import theme
from nephoscope.report.figures.spec import (
    Rows,
    Spec,
    by_colour,
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

ROW = 26
AXIS_HEIGHT = 46
PLOT_HEIGHT = 210
_AREA = alt.SizeValue(58)
_AREAS = (130, 44)
"""Size of the smallest machine's sign and of the others, so that both stay visible when values are equal."""
_TOLD = ("configuration", "level_text", "interval_text", "n")


def histogram(bins: Rows, floor: Rows, domain: tuple[float, float], most: float, colour: str, axis: str) -> Spec:
    """A histogram of latencies on a logarithmic axis, with a line at the physical minimum.

    Args:
        bins: `low`, `high` and `share` of all replies.
        floor: the physical minimum, or None.
        domain: range of the axis, the same in all panels.
        most: the largest share in any panel.
        colour: of the bars.
        axis: its title.
    """
    scale = alt.Scale(type="log", domain=list(domain), nice=False)
    layers = [shares(alt.X("low:Q", title=axis, scale=scale, axis=alt.Axis(format=",~f")), most, "replies", colour)]
    if floor:
        line = alt.Chart(data("floor")).encode(x=alt.X("floor:Q", scale=scale))
        words = line.mark_text(**{**theme.NOTE, "align": "right"}, dx=-5, baseline="top")
        layers += [line.mark_rule(**theme.REFERENCE), words.encode(y=alt.value(2), text=alt.Text("label:N"))]
    return finished(alt.layer(*layers), PLOT_HEIGHT, bins=bins, floor=floor)


def shares(x: alt.X, most: float, of: str, colour: str) -> alt.Chart:
    """The bars of a histogram: `low`, `high`, `share` and texts of each bin, up to the largest share in any panel."""
    y = upwards("share", f"share of all {of}", alt.Scale(domain=[0, most], nice=True), format="~p")
    bars: alt.Chart = alt.Chart(data("bins")).mark_rect(color=colour, opacity=0.85)
    return bars.encode(x=x, x2=alt.X2("high:Q"), y=y, y2=alt.Y2Datum(0), tooltip=tip("range_text", "count"))


def ranges(
    configurations: Sequence[str], rows: Rows, axis: str, palette: Sequence[str], values: Sequence[float]
) -> Spec:
    """Slowest to fastest second of a trial, with the median second as a tick: medians over replicates.

    `values` are those of all panels, so that these share their axis.
    """
    base = alt.Chart(data("rows")).encode(
        y=rows_axis(configurations),
        tooltip=tip("configuration", "low_text", "middle_text", "high_text"),
    )
    layers = [
        base.mark_rule(strokeWidth=9, opacity=0.4).encode(
            x=alt.X("low:Q", title=axis, scale=linear(values)), x2=alt.X2("high:Q"), color=coloured(palette)
        ),
        base.mark_tick(**theme.MEDIAN, size=18).encode(x=alt.X("middle:Q")),
    ]
    return finished(alt.layer(*layers), ROW * max(1, len(configurations)) + AXIS_HEIGHT, rows=rows)


def curves(rows: Rows, counts: Sequence[int], counted: str, axis: str, palette: Sequence[str]) -> Spec:
    """One line per configuration over the number of threads or streams, with an interval at each point."""
    x = alt.X("at:O", title=counted, scale=alt.Scale(domain=list(counts)), axis=alt.Axis(grid=False, labelAngle=0))
    y = upwards("level", axis, alt.Scale(domain=[0, max((row["high"] for row in rows), default=1.0)], nice=True))
    base = alt.Chart(data("rows")).encode(x=x, color=coloured(palette))
    layers = [
        base.mark_line(strokeWidth=1.8, opacity=0.85).encode(y=y),
        base.mark_rule(strokeWidth=4, opacity=0.35).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=46, opacity=1).encode(
            y=alt.Y("level:Q"), shape=shaped(palette), tooltip=tip("at", *_TOLD)
        ),
    ]
    return finished(alt.layer(*layers), PLOT_HEIGHT, rows=rows)


def jobs(names: Sequence[str], rows: Rows, domain: tuple[float, float], axis: str, palette: Sequence[str]) -> Spec:
    """A row per job and a sign per configuration, on a logarithmic axis shared by all panels."""
    return _rows_of_signs(names, rows, "job", domain, axis, coloured(palette), shaped(palette))


def sizes(families: Sequence[str], rows: Rows, axis: str, signs: Mapping[str, tuple[str, str]]) -> Spec:
    """A row per family and a sign per size: the performance of a CPU on small and large machines.

    Args:
        families: in row order.
        rows: `family`, `size` and a statistic.
        axis: its title.
        signs: size -> colour and shape.
    """
    values = [row[end] for row in rows for end in ("low", "high")]
    colours, shapes = zip(*signs.values(), strict=True)
    colour, shape = by_colour("size", list(signs), colours), by_shape("size", list(signs), shapes)
    first = next(iter(signs))
    rows = [{**row, "area": _AREAS[row["size"] != first]} for row in rows]
    area = alt.Size("area:Q", legend=None, scale=None)
    return _rows_of_signs(families, rows, "family", (0.0, max(values, default=1.0) * 1.05), axis, colour, shape, area)


def _rows_of_signs(
    names: Sequence[str],
    rows: Rows,
    key: str,
    domain: tuple[float, float],
    axis: str,
    colour: alt.Color,
    shape: alt.Shape,
    area: alt.Size | alt.SizeValue = _AREA,
) -> Spec:
    scale = alt.Scale(type="log" if domain[0] > 0 else "linear", domain=list(domain), nice=False)
    ticks = alt.Axis(format="~s", tickCount=5) if domain[0] > 0 else alt.Axis()
    base = alt.Chart(data("rows")).encode(y=rows_axis(names, key, grid=True), color=colour, tooltip=tip(key, *_TOLD))
    layers = [
        base.mark_rule(strokeWidth=4, opacity=0.35).encode(
            x=alt.X("low:Q", title=axis, scale=scale, axis=ticks), x2=alt.X2("high:Q")
        ),
        base.mark_point(filled=True, opacity=0.95).encode(x=alt.X("level:Q"), shape=shape, size=area),
    ]
    return finished(alt.layer(*layers), 32 * max(1, len(names)) + AXIS_HEIGHT, rows=rows)
