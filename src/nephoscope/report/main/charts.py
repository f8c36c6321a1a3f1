"""Charts of the main page: low, so that several stand side by side on a screen."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from nephoscope.report.figures import theme
from nephoscope.report.figures.row_charts import FEW_TICKS
from nephoscope.report.figures.spec import (
    Rows,
    Spec,
    by_counting,
    by_coverage,
    by_shape,
    data,
    finished,
    limit_lines,
    tip,
)
from nephoscope.report.main.palette import Palette

ROW, LOW_ROW, LOW_FROM = 22, 18, 12
"""Pixels of a row, and of a row where there are many."""
AXIS_HEIGHT = 46
LABEL_SIZE = 12
LINES_HEIGHT = 150
SCATTER_HEIGHT, LOW_SCATTER_HEIGHT = 400, 260
FEW_POINTS = 4
"""A chart of so few is low."""
MANY_POINTS = 60
HALO: dict[str, Any] = {"stroke": "var(--paper)", "strokeWidth": 4}
_ABOVE: dict[str, Any] = {**theme.TITLE_ABOVE, "titleLimit": 0}
WIDE = 520
"""Pixels of a plot that is not on a telephone."""


def height(rows: int) -> int:
    """Of a chart with this many rows, with its axis."""
    return (LOW_ROW if rows >= LOW_FROM else ROW) * max(1, rows) + AXIS_HEIGHT


def lines(
    signs: Mapping[str, str],
    rows: Rows,
    titles: tuple[str, str],
    palette: Palette,
    limits: Rows,
    *,
    log: bool = False,
    doubled: Mapping[float, str] | None = None,
    caches: Rows = (),
) -> Spec:
    """A line with signs for each configuration over load, threads, warehouses or the size of a working set.

    Args:
        signs: the shape of each configuration, by its name on the page.
        rows: `at`, `value`, `counts` and texts; hollow signs did not pass.
        titles: of both axes.
        palette: what colour means.
        limits: `limit` and `label` of lines across.
        log: for times, which differ by powers of ten.
        doubled: value -> label, of an axis whose values double from point to point, as threads and bytes do; None: the
            axis is that of numbers.
        caches: `bytes` and `cache` of each, for an axis of bytes.
    """
    y_scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=True)
    x = alt.X("at:Q", title=titles[0], scale=alt.Scale(zero=True), axis=alt.Axis(grid=False, tickCount=FEW_TICKS))
    if doubled is not None:
        labels = json.dumps({f"{at:.0f}": text for at, text in doubled.items()})
        axis = alt.Axis(grid=False, labelExpr=f"{labels}[datum.value]", values=list(doubled))
        x = alt.X("at:Q", title=titles[0], scale=alt.Scale(type="log", base=2, nice=False), axis=axis)
    y = alt.Y("value:Q", title=titles[1], scale=y_scale, axis=alt.Axis(tickCount=FEW_TICKS, **_ABOVE))
    base = alt.Chart(data("rows")).encode(
        x=x, y=y, color=palette.encoding, tooltip=tip("configuration", "at_text", "text", "passed_text")
    )
    sign = base.encode(shape=by_shape("configuration", list(signs), list(signs.values())))
    layers = [base.mark_line(strokeWidth=1.6, opacity=0.7).encode(detail="configuration:N")]
    layers += by_counting(rows, *(sign.mark_point(filled=filled, size=44, opacity=1) for filled in (True, False)))
    layers += limit_lines((), limits)
    if caches:
        at = alt.Chart(data("caches")).encode(x=alt.X("bytes:Q"))
        words = at.encode(y=alt.value(0), text="cache:N")
        layers += [
            at.mark_rule(strokeDash=[3, 3], color="var(--muted)"),
            words.mark_text(**{**theme.NOTE, "dx": 3, "dy": 8}),
        ]
    return finished(layers, LINES_HEIGHT, rows=rows, limits=limits, caches=caches)


def scatter(
    rows: Rows, titles: tuple[str, str], logs: tuple[bool, bool], palette: Palette, shapes: Sequence[tuple[str, str]]
) -> Spec:
    """Price against performance, with the interval of each, the Pareto front, and the numbers of the points on it.

    Args:
        rows: `month`, `level`, `low`, `high`, `line`, `front`, `shade`, `processor`, `number` and where it stands,
            and texts.
        titles: of both axes.
        logs: whether each axis is logarithmic.
        palette: what colour means.
        shapes: processor -> its sign.
    """
    scales = [alt.Scale(type="log", nice=False) if log else alt.Scale(zero=True) for log in logs]
    x = alt.X("month:Q", title=titles[0], scale=scales[0])
    y = alt.Y("level:Q", title=titles[1], scale=scales[1], axis=alt.Axis(**_ABOVE))
    told = tip(
        "configuration",
        "provider",
        "processor",
        "machine",
        "price_text",
        "level_text",
        "interval_text",
        "coverage_text",
        "per_dollar_text",
        "front_text",
        "n",
    )
    base = alt.Chart(data("rows")).encode(x=x, color=palette.encoding, tooltip=told)
    shape = by_shape("processor", *zip(*shapes, strict=True))
    front = [row for row in rows if row["front"]]
    layers = [
        alt.Chart(data("front"))
        .mark_line(interpolate="step-after", color="var(--muted)", strokeWidth=1)
        .encode(x=x, y=y),
        *by_coverage(rows, base.encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")), strokeWidth=2, opacity=0.5),
        base.mark_point(filled=True, size=46 if len(rows) > MANY_POINTS else 80, opacity=0.9).encode(y=y, shape=shape),
        *(_numbers(x, y, drawn) for drawn in (HALO, {})),
    ]
    tall = SCATTER_HEIGHT if len(rows) > FEW_POINTS else LOW_SCATTER_HEIGHT
    return finished(layers, tall, rows=rows, front=front)


def _numbers(x: alt.X, y: alt.Y, drawn: dict[str, Any]) -> alt.Chart:
    """The number of each point on the front, beside it."""
    mark: dict[str, Any] = {"fontSize": 12, "fontWeight": "bold", "fill": "var(--ink)", "baseline": "middle"}
    aside: dict[str, Any] = {
        f"d{end}": alt.expr(f"width > {WIDE} ? datum.desk_{end} : datum.narrow_{end}") for end in ("x", "y")
    }
    placed = alt.Chart(data("front")).encode(x=x, y=y, text=alt.Text("number:N"))
    numbered: alt.Chart = placed.mark_text(**mark, **aside, **drawn)
    return numbered
