"""Charts with a row for each machine: bars, and signs for several values of one machine. Panels share their axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from nephoscope.report.figures import theme
from nephoscope.report.figures.machine_charts import AXIS_HEIGHT, ROW
from nephoscope.report.figures.spec import Rows, Spec, by_colour, by_coverage, by_shape, data, finished, rows_axis, tip
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
    return finished(alt.layer(*layers), height or ROW * max(1, len(names)) + AXIS_HEIGHT, rows=rows)


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
    return finished(alt.layer(*layers), ROW * max(1, len(names)) + AXIS_HEIGHT, rows=rows)


def _among(names: Sequence[str], *, wanted: bool) -> Any:
    found = alt.FieldOneOfPredicate(field="series", oneOf=list(names))
    return found if wanted else {"not": found}
