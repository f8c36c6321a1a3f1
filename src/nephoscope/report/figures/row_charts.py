"""Charts with a row for each machine: bars, and signs for several values of one machine. Panels share their axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from nephoscope.report.figures import theme
from nephoscope.report.figures.spec import (
    Rows,
    Spec,
    by_colour,
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
from nephoscope.report.parts import KeyEntry

BAR_ROOM = 1.25
"""Space behind the longest bar for its value."""
FEW_TICKS = 4
"""Steps of an axis in a narrow chart."""
_FILLED, _HOLLOW = 66, 58


@dataclass(frozen=True)
class Sign:
    """How one of several values in a row is drawn, and its line in the key."""

    colour: str
    shape: str
    glyph: str
    filled: bool = True

    def entry(self, text: str) -> KeyEntry:
        """For the key of a figure."""
        return KeyEntry(self.glyph, self.colour, text)


def kinds(names: Sequence[str]) -> dict[str, Sign]:
    """Signs of values without an order, in ink: colour means configurations and clouds."""
    hollow = ("○", "□", "△", "◇", "▽")
    return {
        name: Sign("var(--ink)", *theme.sign(place))
        if place % 2 == 0
        else Sign("var(--muted)", theme.sign(place)[0], hollow[place % len(hollow)], filled=False)
        for place, name in enumerate(names)
    }


def levels(names: Sequence[str]) -> dict[str, Sign]:
    """Signs of values with an order, from light to dark, as of percentiles."""
    colours = theme.PERCENTILE_COLOURS
    step = max(1, (len(colours) - 1) // max(1, len(names) - 1))
    return {
        name: Sign(colours[min(place * step, len(colours) - 1)], *theme.sign(place)) for place, name in enumerate(names)
    }


def bars(
    names: Sequence[str],
    rows: Rows,
    axis: str,
    colour: alt.Color,
    *,
    most: float | None = None,
    height: int | None = None,
) -> Spec:
    """A bar from zero for each configuration with the interval of its level and its value.

    Args:
        names: of configurations, in row order.
        rows: `configuration`, `level`, `low`, `high`, `line`, `number`, and texts for the tooltip.
        axis: its title.
        colour: what colour means on the page.
        most: the largest end of an interval in any panel, so that all panels have one axis; None: of these rows.
        height: in pixels; None: `ROW` for each configuration.
    """
    end = max((max(row["high"], row["level"]) for row in rows), default=1.0) if most is None else most
    scale = alt.Scale(domain=[0, end * BAR_ROOM or 1], nice=False, zero=True)
    told = tip("configuration", "level_text", "interval_text", "coverage_text", "n")
    base = alt.Chart(data("rows")).encode(y=rows_axis(names), tooltip=told)
    x = alt.X("level:Q", title=axis, scale=scale, axis=alt.Axis(tickCount=FEW_TICKS))
    layers = [
        base.mark_bar(opacity=0.85).encode(x=x, color=colour),
        *by_coverage(rows, base.encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")), **theme.WHISKER),
        base.mark_text(**theme.NUMBER).encode(x=alt.X("high:Q"), text=alt.Text("number:N")),
    ]
    return finished(layers, height or ROW * max(1, len(names)) + AXIS_HEIGHT, rows=rows)


def signs(names: Sequence[str], rows: Rows, domain: tuple[float, float], axis: str, series: Mapping[str, Sign]) -> Spec:
    """A row for each machine and a sign for each of its values, with a bar from low to high.

    Args:
        names: of the rows, in order.
        rows: `row`, `series`, `level`, `low`, `high`, and `text`, `interval_text` and `configuration` for the tooltip.
        domain: of the axis, the same in all panels; linear.
        axis: its title.
        series: those that are drawn, with their signs.
    """
    shown = {name: sign for name, sign in series.items() if any(row["series"] == name for row in rows)}
    x = alt.X("low:Q", title=axis, scale=alt.Scale(domain=list(domain), nice=True))
    drawn = list(shown.values())
    shape = by_shape("series", list(shown), [one.shape for one in drawn])
    base = alt.Chart(data("rows")).encode(
        y=rows_axis(names, "row", grid=True),
        color=by_colour("series", list(shown), [one.colour for one in drawn]),
        tooltip=tip("configuration", "series", "text", "interval_text"),
    )
    points = base.encode(x=alt.X("level:Q", title=axis), shape=shape)
    hollow = [name for name, sign in shown.items() if not sign.filled]
    layers: list[alt.Chart] = [base.mark_rule(strokeWidth=4, opacity=0.35).encode(x=x, x2=alt.X2("high:Q"))]
    full: dict[str, Any] = {"filled": True, "size": _FILLED, "opacity": 0.95}
    if len(hollow) < len(shown):
        layers.append(points.mark_point(**full).transform_filter(_among(hollow, wanted=False)))
    if hollow:
        empty = points.mark_point(filled=False, size=_HOLLOW, strokeWidth=1.8)
        layers.append(empty.transform_filter(_among(hollow, wanted=True)))
    return finished(layers, ROW * max(1, len(names)) + AXIS_HEIGHT, rows=rows)


def _among(names: Sequence[str], *, wanted: bool) -> Any:
    found = alt.FieldOneOfPredicate(field="series", oneOf=list(names))
    return found if wanted else {"not": found}


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
    return finished(layers, PLOT_HEIGHT, bins=bins, floor=floor)


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
    return finished(layers, ROW * max(1, len(configurations)) + AXIS_HEIGHT, rows=rows)


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
    return finished(layers, PLOT_HEIGHT, rows=rows)


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
    return finished(layers, 32 * max(1, len(names)) + AXIS_HEIGHT, rows=rows)


ROW_HEIGHT = 38
OWN = "this study"
"""The row of the study's machines."""
FEW = 3
"""Machines that get a line through all rows."""


def strip(providers: Sequence[str], types: Rows, machines: Rows, axis: str) -> Spec:
    """Ticks from zero on one axis.

    Args:
        providers: names of the rows below the study's own.
        types: `row`, `value`, and `name` and `text` for the tooltip.
        machines: the same of this study; `row` is `OWN`.
        axis: its title.
    """
    most = max(one["value"] for one in (*types, *machines))
    x = alt.X("value:Q", title=axis, scale=alt.Scale(domain=[0, most], nice=True))
    y = rows_axis((OWN, *providers), "row")
    told = tip("name", "text")
    layers = [
        alt.Chart(data("types"))
        .mark_tick(color="var(--c1)", opacity=0.3, thickness=1.5, size=20)
        .encode(x=x, y=y, tooltip=told),
        alt.Chart(data("machines"))
        .mark_point(shape="triangle-down", filled=True, size=90, color="var(--ink)", opacity=1)
        .encode(x=alt.X("value:Q"), y=alt.Y("row:N"), tooltip=told),
    ]
    if len(machines) <= FEW:
        layers.append(
            alt.Chart(data("machines")).mark_rule(color="var(--ink)", strokeDash=[3, 3]).encode(x=alt.X("value:Q"))
        )
    return finished(layers, ROW_HEIGHT * (len(providers) + 1) + AXIS_HEIGHT, types=types, machines=machines)
