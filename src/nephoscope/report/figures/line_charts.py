"""Lines over a quantity, each with its name."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from nephoscope.report.figures import theme
from nephoscope.report.figures.row_charts import PLOT_HEIGHT, Sign
from nephoscope.report.figures.spec import Rows, Spec, by_colour, by_shape, data, finished, tip, upwards

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
