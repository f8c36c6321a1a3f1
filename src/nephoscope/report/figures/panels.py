"""Charts in grids of panels with one common axis: latency by operation, values second by second."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from nephoscope.report.figures.spec import (
    Rows,
    Spec,
    by_colour,
    by_coverage,
    by_shape,
    data,
    finished,
    rows_axis,
    tip,
    upwards,
)
from nephoscope.report.figures.theme import PERCENTILE_COLOURS

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
    return finished(alt.layer(*layers), row_height * max(1, len(configurations)) + 46, rows=rows)


def series(valid: Rows, excluded: Rows, domain: tuple[float, float], colour: str, axis: str) -> Spec:
    """A faint line per trial; dashed for excluded trials."""
    solid: dict[str, Any] = {"strokeWidth": 1.2, "opacity": 0.5, "color": colour}
    layers = [
        *([_lines("valid", domain, axis).mark_line(**solid)] if valid else []),
        *([_lines("excluded", domain, axis).mark_line(**EXCLUDED_LINE)] if excluded else []),
    ]
    return finished(alt.layer(*layers), 210, valid=valid, excluded=excluded)


def _lines(rows: str, domain: tuple[float, float], axis: str) -> alt.Chart:
    return alt.Chart(data(rows)).encode(
        x=alt.X("s:Q", title="seconds since the start of the trial", axis=alt.Axis(grid=False)),
        y=upwards("v", axis, alt.Scale(domain=list(domain), nice=True)),
        detail="trial:N",
        tooltip=tip("trial", "s:Q", "v:Q"),
    )
