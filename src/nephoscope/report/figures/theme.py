"""How charts look. Colours are CSS custom properties, so that light, dark and print share one drawing."""

from typing import Any

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
LINE_HEIGHT = 14
"""Of names in several lines."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
GLYPHS = ("●", "■", "▲", "◆", "▼", "✚", "▶", "◀")
MAX_COLOURS = len(SHAPES)
"""With more configurations, colours no longer tell them apart: all get the first colour, and rows have labels."""
PERCENTILE_COLOURS = ("var(--p1)", "var(--p2)", "var(--p3)", "var(--p4)", "var(--p5)")
INTERVAL: dict[str, Any] = {"stroke": "var(--band)", "opacity": 1}
MEDIAN: dict[str, Any] = {"color": "var(--ink)", "thickness": 2.5, "opacity": 1}
EXTREMES: dict[str, Any] = {"stroke": "var(--muted)", "strokeWidth": 1.2, "opacity": 1}
WHISKER: dict[str, Any] = {"strokeWidth": 2, "color": "var(--ink)"}
"""The interval of a median, behind the end of a bar."""
RANGE_DASH = (2, 1.5)
"""Of a line that is only the range of too few values for an interval; visible in short lines, too."""
REFERENCE: dict[str, Any] = {"stroke": "var(--muted)", "strokeWidth": 1, "strokeDash": [4, 3], "opacity": 0.7}
EQUIVALENCE: dict[str, Any] = {"fill": "var(--band)", "opacity": 1}
TITLE_ABOVE: dict[str, Any] = {"titleAlign": "left", "titleX": 0, "titleY": -14}
"""Title of a vertical axis: above it, and not beside it."""
NUMBER: dict[str, Any] = {"fontSize": 12, "fill": "var(--ink)", "align": "left", "dx": 6}
"""The value behind a bar."""
APART: dict[str, Any] = {"labelOverlap": "parity", "labelSeparation": 6}
"""Of numbers along an axis: every second one is left out where they would touch."""
NOTE: dict[str, Any] = {"fill": "var(--muted)", "fontSize": 12, "align": "left"}


def colour(index: int, count: int) -> str:
    """The colour of the configuration with this index."""
    return f"var(--c{index + 1})" if count <= MAX_COLOURS else "var(--c1)"


def sign(place: int) -> tuple[str, str]:
    """Shape and glyph of the n-th value of a row; with more values than signs, they begin again."""
    return SHAPES[place % len(SHAPES)], GLYPHS[place % len(GLYPHS)]


def shape(index: int, count: int) -> str:
    """The shape of the configuration with this index, because colour must not be the only distinction."""
    return SHAPES[index] if count <= MAX_COLOURS else SHAPES[0]


def glyph(index: int, count: int) -> str:
    """The same shape as a character, for HTML keys."""
    return GLYPHS[index] if count <= MAX_COLOURS else GLYPHS[0]


def config() -> dict[str, Any]:
    """Vega-Lite configuration shared by all charts; the report contains it once."""
    text = {"labelFont": FONT, "titleFont": FONT, "labelColor": "var(--muted)", "titleColor": "var(--muted)"}
    axis = {
        **text,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelPadding": 6,
        "domain": False,
        "ticks": False,
        "gridColor": "var(--grid)",
        "gridWidth": 1,
    }
    return {
        "background": "transparent",
        "font": FONT,
        "padding": {"left": 2, "right": 14, "top": 4, "bottom": 4},
        "autosize": {"type": "fit", "contains": "padding"},
        "view": {"stroke": None},
        "axis": axis,
        "axisX": {"grid": True, "labelFlush": False, "tickCount": 5, **APART, "titleAnchor": "end"},
        "axisY": {
            "grid": True,
            "tickCount": 5,
            "labelLimit": 0,
            "labelLineHeight": LINE_HEIGHT,
            "titleAnchor": "end",
            "titleAngle": 0,
        },
    }
