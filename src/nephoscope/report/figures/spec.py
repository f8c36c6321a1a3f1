"""Turns an Altair chart into the JSON that the report contains."""

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import altair as alt
from altair.utils import schemapi

from nephoscope.model.text import line, visible
from nephoscope.report.figures import theme

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
ROOM = 1.12
"""A linear axis ends at least this far beyond its largest value."""


def unchecked() -> AbstractContextManager[None]:
    """Builds charts without validating them against the schema, which is slow; a test does that."""
    return schemapi.debug_mode(arg=False)


def finished(layers: Sequence[alt.Chart], height: int, **datasets: Rows) -> Spec:
    """A specification as wide as its container, with inline data and without a schema URL.

    Its layers are put together here: `alt.layer` copies each of them four times, which took a third of a report.
    """
    parts = [layer.to_dict(validate=False, context={"top_level": False}) for layer in layers]
    spec: Spec = {"layer": parts}
    if all(layer.data is layers[0].data for layer in layers):
        (spec["data"], *_) = [part.pop("data") for part in parts]
    spec = with_safe_titles(spec) | {"width": "container", "height": height}
    spec["datasets"] = {name: [dict(row) for row in rows] for name, rows in datasets.items()}
    for layer in spec["layer"]:
        if isinstance(told := layer.get("encoding", {}).get("tooltip"), list):
            layer["encoding"]["tooltip"] = aligned(told)
    return spec


def with_safe_titles(part: Any) -> Any:
    """A part of a specification in which every title is one line without a backslash.

    Vega-Lite puts titles into expressions, where it escapes quotes but neither backslashes nor line breaks: with them a
    unit of somebody else's ends the report, or becomes a part of the expression.
    """
    if isinstance(part, list):
        return [with_safe_titles(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    return {key: _title(inner) if key == "title" else with_safe_titles(inner) for key, inner in part.items()}


def _title(title: Any) -> Any:
    if isinstance(title, str):
        return line(title).replace("\\", "\N{REVERSE SOLIDUS OPERATOR}")
    return [_title(part) for part in title] if isinstance(title, list) else with_safe_titles(title)


def as_script(value: Any) -> str:
    """JSON that is safe inside a script element: it cannot start a tag or a comment."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def packed(spec: Spec) -> str:
    """A specification for a script element: its JSON, packed when it is long."""
    text = as_script(spec)
    return text if len(text) <= MAX_PLAIN else pack(text)


def unpacked(text: str) -> Spec:
    """The specification of `packed`."""
    found: Spec = json.loads(text if is_plain(text) else unpack(text))
    return found


def is_plain(text: str) -> bool:
    """Whether it is unpacked JSON: base64 contains no braces."""
    return text.startswith("{")


def data(name: str) -> alt.NamedData:
    """A dataset of the specification."""
    return alt.NamedData(name=name)


def tip(*fields: str) -> list[alt.Tooltip]:
    """Fields of a tooltip, texts unless they say another type; their titles and order are those of all tooltips."""
    return [alt.Tooltip(field if ":" in field else f"{field}:N") for field in fields]


def rows_axis(names: Sequence[str], field: str = "configuration", *, grid: bool = False, size: float = 12.5) -> alt.Y:
    """One row for each name in the given order, including those without a value."""
    # A domain is a tuple: Altair copies a list with every copy of a chart, which took a tenth of a large report.
    return alt.Y(
        f"{field}:N",
        scale=alt.Scale(domain=tuple(names), paddingInner=0.3, paddingOuter=0.15),
        axis=alt.Axis(title=None, grid=grid, labelColor="var(--ink)", labelFontSize=size),
    )


def upwards(field: str, title: str, scale: alt.Scale, **axis: Any) -> alt.Y:
    """A vertical axis with its title above."""
    return alt.Y(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(**theme.TITLE_ABOVE, **axis))


def by_colour(field: str, names: Sequence[str], colours: Sequence[str]) -> alt.Color:
    """A colour for each name; the figure's key says which."""
    return alt.Color(f"{field}:N", legend=None, scale=alt.Scale(domain=tuple(names), range=tuple(colours)))


def by_shape(field: str, names: Sequence[str], shapes: Sequence[str] = ()) -> alt.Shape:
    """A shape for each name, those of the theme unless others are given."""
    drawn = tuple(shapes) or tuple(theme.sign(place)[0] for place, _ in enumerate(names))
    return alt.Shape(f"{field}:N", legend=None, scale=alt.Scale(domain=tuple(names), range=drawn))


def coloured(configurations: Sequence[str]) -> alt.Color:
    """The colour of a configuration in all charts of the report; one for all if there are too many."""
    count = len(configurations)
    if count > theme.MAX_COLOURS:
        return alt.Color(value=theme.colour(0, count))
    colours = [theme.colour(place, count) for place in range(count)] or ["var(--c1)"]
    return by_colour("configuration", configurations, colours)


def shaped(configurations: Sequence[str]) -> alt.Shape:
    """The shape of a configuration in all plots that show several; one for all if there are too many."""
    count = len(configurations)
    if count > theme.MAX_COLOURS:
        return alt.Shape(value=theme.shape(0, count))
    return by_shape("configuration", configurations, [] if count else ["circle"])


def starts_at_zero(values: Sequence[float]) -> bool:
    """Whether the axis should start at zero: values differ by a third or more, or one is zero or below."""
    return not values or min(values) <= 0 or min(values) < 0.67 * max(values)


def linear(values: Sequence[float], headroom: float = 0.0) -> alt.Scale:
    """From zero, or close around the values when they are similar; the caption says which."""
    if not values or min(values) < 0:
        return alt.Scale(zero=True, nice=True)
    low, high = min(values), max(values)
    if starts_at_zero(values):
        return alt.Scale(zero=True, nice=not headroom, domain=[0, high * (1 + headroom) or 1])
    room = (high - low) * (ROOM - 1) or high * 0.02
    return alt.Scale(zero=False, nice=not headroom, domain=[low - room, high + room + headroom * (high - low)])


def tie_band(margin: float) -> dict[str, float]:
    """The band around equality in which an interval is a tie: as wide for a ratio as for its inverse."""
    return {"low": 1 / (1 + margin), "high": 1 + margin, "one": 1.0}


def axis_note(values: Sequence[float]) -> str:
    """What a reader must know about the axis."""
    return "The axis starts at zero." if starts_at_zero(values) else "The axis does not start at zero."


def limit_lines(bracket: Rows, limits: Rows) -> list[alt.Chart]:
    """Reference lines of a search: levels ('level') vertical, limits of a rule ('limit', 'label') horizontal."""
    layers = [alt.Chart(data("bracket")).mark_rule(**theme.REFERENCE).encode(x="level:Q")] if bracket else []
    if limits:
        across = alt.Chart(data("limits")).encode(y=alt.Y("limit:Q"))
        beside: dict[str, Any] = {**theme.NOTE, "dx": 4, "dy": -6}
        layers += [
            across.mark_rule(color="var(--ink)", strokeWidth=1),
            # A halo, because points may lie behind the words.
            across.mark_text(**beside, stroke="var(--paper)", strokeWidth=4).encode(x=alt.value(0), text="label:N"),
            across.mark_text(**beside).encode(x=alt.value(0), text="label:N"),
        ]
    return layers


def by_coverage(rows: Rows, drawn: alt.Chart, **mark: Any) -> list[alt.Chart]:
    """Rules: solid for intervals, dashed where a `line` is only a range; a layer without rows is left out."""
    kinds = {row.get("line", "interval") for row in rows}
    layers = [drawn.transform_filter("datum.line !== 'range'").mark_rule(**mark)] if kinds - {"range"} else []
    if "range" in kinds:
        layers.append(drawn.transform_filter("datum.line === 'range'").mark_rule(strokeDash=theme.RANGE_DASH, **mark))
    return layers


def by_counting(rows: Rows, valid: alt.Chart, hollow: alt.Chart) -> list[alt.Chart]:
    """The layer of valid trials, then that of excluded ones; a layer without rows is left out."""
    layers = ((valid, True), (hollow, False))
    return [
        layer.transform_filter("datum.counts" if counts else "!datum.counts")
        for layer, counts in layers
        if any(bool(row["counts"]) is counts for row in rows)
    ]


TITLES = {
    "configuration": "configuration",
    "provider": "provider",
    "processor": "processor",
    "machine": "machine type",
    "compared": "ratio of",
    "left": "left",
    "right": "right",
    "group": "group",
    "family": "family",
    "size": "size",
    "job": "job",
    "operation": "operation",
    "percentile": "percentile",
    "part": "part",
    "series": "shown",
    "at": "measured at",
    "at_text": "measured at",
    "machines": "machines",
    "warehouses": "active warehouses",
    "offered": "offered",
    "level": "level",
    "s": "second",
    "range_text": "range",
    "price_text": "price",
    "text": "value",
    "value": "value",
    "v": "value",
    "level_text": "level",
    "ratio_text": "ratio",
    "interval_text": "interval",
    "low_text": "slowest second",
    "middle_text": "median second",
    "high_text": "fastest second",
    "shortest_text": "shortest",
    "longest_text": "p99",
    "memory_text": "memory",
    "cv_text": "spread (CV)",
    "per_dollar_text": "costs",
    "coverage_text": "coverage",
    "n": "valid replicates",
    "count": "count",
    "verdict": "left is",
    "verdict_text": "verdict",
    "passed_text": "the rule",
    "front_text": "front",
    "position": "position",
    "block": "block",
    "trial": "trial",
    "counts_text": "valid",
    "why": "why not",
}
"""Field of the chart's data -> how a tooltip names it, in the order of a tooltip."""
NUMBER = ",.4~r"
_ORDER = list(TITLES)


def aligned(fields: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The fields of a tooltip in the order of `TITLES`; a field that is not there keeps its title and comes last."""
    found = [_told(field) for field in fields]
    return sorted(found, key=lambda field: _ORDER.index(field["field"]) if field["field"] in TITLES else len(_ORDER))


def _told(field: dict[str, Any]) -> dict[str, Any]:
    title = TITLES.get(field["field"], field.get("title", field["field"]))
    number = {"format": NUMBER} if field.get("type") == "quantitative" else {}
    return {"field": field["field"], "type": field.get("type", "nominal"), "title": title, **number}


MAX_PLAIN = 4096
"""Parts of up to this many characters are not packed."""
LEVEL = 6


def pack(text: str) -> str:
    """ASCII text without HTML special characters, of text in which all can be seen; equal texts give equal bytes."""
    return base64.b64encode(gzip.compress(visible(text).encode(), LEVEL, mtime=0)).decode()


def unpack(text: str) -> str:
    """The text that was packed."""
    return gzip.decompress(base64.b64decode(text)).decode()
