"""A strip: what others measured as a tick for each, a row for each provider, and this study's machines above."""

from collections.abc import Sequence

import altair as alt

from nephoscope.report.figures.machine_charts import AXIS_HEIGHT
from nephoscope.report.figures.spec import Rows, Spec, data, finished, rows_axis, tip

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
    return finished(alt.layer(*layers), ROW_HEIGHT * (len(providers) + 1) + AXIS_HEIGHT, types=types, machines=machines)
