"""Lines over a quantity: all of them faint, and the best one with its name."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from nephoscope.report.figures import theme
from nephoscope.report.figures.machine_charts import PLOT_HEIGHT
from nephoscope.report.figures.row_charts import Sign
from nephoscope.report.figures.spec import Rows, Spec, data, finished

_FAINT: dict[str, Any] = {"strokeWidth": 1.1, "opacity": 0.55, "color": "var(--muted)"}
_NAME: dict[str, Any] = {"fontSize": 12, "align": "right", "baseline": "bottom", "dx": 4, "dy": -9}
_NAMED_COLOUR = "var(--ink)"


def lines(rows: Rows, named: Sequence[str], at: Sequence[float], most: float, x: str, y: str) -> Spec:
    """A line for each series; those that are named stand out, with a sign and an interval at each point.

    Args:
        rows: `series`, `at`, `level`, `low`, `high`; `configuration`, `level_text`, `interval_text` for the tooltip.
        named: series that stand out and carry their name.
        at: values of the horizontal axis that were measured, in order.
        most: the upper end of the vertical axis, the same in all panels.
        x: title of the horizontal axis.
        y: title of the vertical axis.
    """
    across, up = _axes(at, most, x, y)
    base = alt.Chart(data("rows")).encode(x=across, y=up, detail="series:N", tooltip=_tip(x))
    others = {row["series"] for row in rows} - set(named)
    chosen = alt.FieldOneOfPredicate(field="series", oneOf=list(named))
    best = base.transform_filter(chosen)
    layers: list[alt.Chart] = []
    if others:
        faint: Any = {"not": chosen}
        layers.append(base.transform_filter(faint).mark_line(**_FAINT))
    layers += [
        best.mark_line(strokeWidth=2.2, color=_NAMED_COLOUR),
        best.mark_rule(strokeWidth=5, opacity=0.3, color=_NAMED_COLOUR).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        best.mark_point(filled=True, size=42, opacity=1, color=_NAMED_COLOUR),
        *_names(across, up),
    ]
    return finished(alt.layer(*layers), PLOT_HEIGHT, rows=rows, names=_ends(named, rows))


def _names(across: alt.X, up: alt.Y) -> list[alt.Chart]:
    """Names at the last point, on a halo, because lines lie behind them."""
    base = alt.Chart(data("names")).encode(x=across, y=up, text="series:N")
    return [
        base.mark_text(**_NAME, stroke="var(--paper)", strokeWidth=4, fill="var(--paper)"),
        base.mark_text(**_NAME, fill=_NAMED_COLOUR),
    ]


def _ends(named: Sequence[str], rows: Rows) -> list[dict[str, Any]]:
    found = []
    for name in named:
        mine = [row for row in rows if row["series"] == name]
        if mine:
            found.append(dict(max(mine, key=lambda row: row["at"])))
    return found


def told_apart(rows: Rows, series: Mapping[str, Sign], at: Sequence[float], most: float, x: str, y: str) -> Spec:
    """A line for each series by colour and sign, with a legend: for a few series that belong together."""
    across, up = _axes(at, most, x, y)
    legend: Any = alt.Legend(title=None, orient="bottom", columns=1, labelLimit=420, symbolOpacity=1)
    names, drawn = list(series), list(series.values())
    base = alt.Chart(data("rows")).encode(
        x=across,
        color=alt.Color("series:N", legend=legend, scale=alt.Scale(domain=names, range=[one.colour for one in drawn])),
        tooltip=_tip(x),
    )
    shape = alt.Shape("series:N", legend=legend, scale=alt.Scale(domain=names, range=[one.shape for one in drawn]))
    layers = [
        base.mark_line(strokeWidth=1.8).encode(y=up),
        base.mark_rule(strokeWidth=4, opacity=0.35).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=46, opacity=1).encode(y=up, shape=shape),
    ]
    return finished(alt.layer(*layers), PLOT_HEIGHT + 24 * len(names), rows=rows)


def _axes(at: Sequence[float], most: float, x: str, y: str) -> tuple[alt.X, alt.Y]:
    """The measured values across, and up from zero to the upper end that all panels share."""
    across = alt.X("at:O", title=x, scale=alt.Scale(domain=list(at)), axis=alt.Axis(grid=False, labelAngle=0))
    scale = alt.Scale(domain=[0, most * 1.08 or 1], nice=True)
    return across, alt.Y("level:Q", title=y, scale=scale, axis=alt.Axis(**theme.TITLE_ABOVE))


def _tip(x: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("configuration:N"),
        alt.Tooltip("at:N", title=x),
        alt.Tooltip("level_text:N", title="level"),
        alt.Tooltip("interval_text:N", title="interval"),
    ]
