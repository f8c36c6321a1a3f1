"""What all charts of the report have in common, applied to finished specifications, so that no chart can forget it.

A figure hands its panels to `settled`, which makes sure that

- panels whose axes have the same title can be compared: they share the range of the axis;
- an axis has a tick at or beyond its last value;
- the names of rows take the same width in all panels, so that equal values have equal lengths;
- the names of rows are whole: long ones take several lines, and no two look the same;
- a chart with many rows becomes several panels, each of which fits on a screen together with its axis.
"""

import copy
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nephoscope.report.figures.spec import Spec
from nephoscope.report.figures.theme import LINE_HEIGHT

MAX_ROWS = 24
"""Of one panel; a row is at most 32 pixels high, so that such a panel fits on a screen."""
LONG_NUMBER = 1e5
CHARACTER_WIDTH = 6.9
"""Of the name of a row, in pixels; a generous mean."""
FRAME_HEIGHT = 46
"""Of an axis with its title."""
Channel = dict[str, Any]


@dataclass(frozen=True)
class Drawing:
    """One chart of a figure, before it gets its place on the page."""

    title: str
    alt: str
    spec: Spec


def settled(panels: Iterable[tuple[str, str, Spec]], *, apart: bool = False) -> list[Drawing]:
    """The panels of one figure with common axes, whole labels, and no chart that is taller than a screen.

    With `apart`, panels show different quantities, which share an axis only with parts of themselves.
    """
    parts = [_in_parts(Drawing(title, alt, _copied(spec))) for title, alt, spec in panels]
    most = max(map(len, parts), default=0)
    # The first part of every panel comes before the second of any: panels stand side by side.
    drawings = [part[place] for place in range(most) for part in parts if place < len(part)]
    together = parts if apart else [drawings]
    for group in together:
        for name in ("x", "y"):
            for alike in _by_title([drawing.spec for drawing in group], name).values():
                _share(alike, name)
    for drawing in drawings:
        _name_rows(drawing.spec)
    _align_rows([drawing.spec for drawing in drawings])
    return drawings


def _copied(spec: Spec) -> Spec:
    """A specification to change; its rows, which stay as they are, are not copied."""
    rest = {name: value for name, value in spec.items() if name != "datasets"}
    return {**copy.deepcopy(rest), "datasets": dict(spec["datasets"])}


def _in_parts(drawing: Drawing) -> list[Drawing]:
    """Several panels of equal length instead of one with too many rows."""
    rows = next(_channels(drawing.spec, "y"), {})
    names = rows.get("scale", {}).get("domain", [])
    if not _has_rows(rows) or len(names) <= MAX_ROWS:
        return [drawing]
    count = -(-len(names) // MAX_ROWS)
    ends = [round(place * len(names) / count) for place in range(count + 1)]
    found = []
    for first, last in pairwise(ends):
        words = f"{first + 1} to {last} of {len(names)}"
        spec = _only(drawing.spec, rows["field"], names[first:last], (last - first) / len(names))
        title = f"{drawing.title}, {words}" if drawing.title else words
        found.append(Drawing(title, f"{drawing.alt} Rows {words}.", spec))
    return found


def _has_rows(channel: Mapping[str, Any]) -> bool:
    return channel.get("type") in {"nominal", "ordinal"} and bool(channel.get("scale", {}).get("domain"))


def _only(whole: Spec, field: str, names: Sequence[str], share: float) -> Spec:
    """The specification with only these rows."""
    spec, kept = _copied(whole), set(names)
    for channel in _channels(spec, "y"):
        if _has_rows(channel):
            channel["scale"]["domain"] = list(names)
    spec["datasets"] = {
        name: [row for row in rows if row.get(field) is None or row[field] in kept]
        for name, rows in spec["datasets"].items()
    }
    spec["height"] = round((spec["height"] - FRAME_HEIGHT) * share) + FRAME_HEIGHT
    return spec


def _channels(spec: Spec, name: str) -> Iterator[Channel]:
    """The channel of every layer that has it."""
    layers = spec.get("layer", [spec])
    for layer in layers:
        if "layer" in layer:
            yield from _channels(layer, name)
        elif name in layer.get("encoding", {}):
            yield layer["encoding"][name]


def _by_title(specs: Iterable[Spec], name: str) -> dict[tuple[str, bool], list[Spec]]:
    """Specifications whose quantitative axis has a title, by this title and whether it is logarithmic."""
    found: dict[tuple[str, bool], list[Spec]] = {}
    for spec in specs:
        title = next((one["title"] for one in _measured(spec, name) if one.get("title")), None)
        if title is not None:
            found.setdefault((title, _is_log(spec, name)), []).append(spec)
    return found


def _measured(spec: Spec, name: str) -> list[Channel]:
    return [one for one in _channels(spec, name) if one.get("type") == "quantitative" and one.get("scale", 1)]


def _is_log(spec: Spec, name: str) -> bool:
    return any(one.get("scale", {}).get("type") == "log" for one in _measured(spec, name))


def _share(specs: Sequence[Spec], name: str) -> None:
    """One range with the same ticks for an axis of all these specifications."""
    channels = [channel for spec in specs for channel in _measured(spec, name)]
    if any(axis.get("values") for axis in _axes(channels)):
        return  # its chart says where the ticks stand: numbers of machines
    log = _is_log(specs[0], name)
    drawn = [value for spec in specs for value in _drawn(spec, name) if value > 0 or not log]
    asked = [end for channel in channels for end in channel.get("scale", {}).get("domain", [])]
    from_zero = any(channel.get("scale", {}).get("zero") for channel in channels)
    if not drawn and not asked:
        return
    low = min([*drawn, *asked, *([0.0] if from_zero else [])])
    # An end beyond the values is room for words, which needs no tick.
    most = min((axis["tickCount"] for axis in _axes(channels) if "tickCount" in axis), default=MOST_STEPS)
    ticks = (log_ticks if log else linear_ticks)(low, max(drawn, default=max(asked, default=1.0)), most)
    domain = [ticks[0], max([ticks[-1], *asked])]
    written = _written(channels) or _format(ticks, short=name == "x", log=log)
    for channel in channels:
        channel["scale"] = {**channel.get("scale", {}), "domain": domain, "nice": False}
        if not log:
            channel["scale"]["zero"] = False
        if channel.get("axis", {}) is not None:
            # Without the count, Vega draws every second value where the page's configuration asks for fewer.
            channel["axis"] = {**channel.get("axis", {}), "values": ticks, "tickCount": len(ticks), **written}


def _format(ticks: Sequence[float], *, short: bool, log: bool) -> dict[str, Any]:
    """Numbers side by side must be short: 1.5M rather than 1,500,000; but 0, which Vega would write as 0M."""
    if short and max(map(abs, ticks)) >= LONG_NUMBER:
        return {"format": "~s", "labelExpr": "datum.value ? datum.label : '0'"}
    return {"format": ",~f" if log else f",.{decimals(ticks)}f"}


def _written(channels: Iterable[Channel]) -> dict[str, Any]:
    """How the chart itself wants the numbers of an axis written; empty if it does not say."""
    names = ("format", "labelExpr")
    return next(({name: axis[name]} for axis in _axes(channels) for name in names if name in axis), {})


def _axes(channels: Iterable[Channel]) -> list[dict[str, Any]]:
    return [channel.get("axis") or {} for channel in channels]


def _drawn(spec: Spec, name: str) -> Iterator[float]:
    """Every value that a layer draws on this axis."""
    for layer in _layers(spec):
        source: dict[str, Any] = layer.get("data") or spec.get("data") or {}
        rows = spec["datasets"].get(source.get("name"), [])
        for channel in (name, f"{name}2"):
            encoded: Channel = layer.get("encoding", {}).get(channel) or {}
            if encoded.get("scale", 1) is not None and "field" in encoded:
                values = (row.get(encoded["field"]) for row in rows)
                yield from (float(value) for value in values if isinstance(value, int | float))


def _layers(spec: Spec) -> Iterator[Spec]:
    for layer in spec.get("layer", [spec]):
        if "layer" in layer:
            yield from _layers(layer)
        else:
            yield layer


def _name_rows(spec: Spec) -> None:
    """Whole names beside the rows, in lines."""
    channels = [channel for channel in _channels(spec, "y") if _has_rows(channel)]
    if not channels:
        return
    names = [str(name) for name in channels[0]["scale"]["domain"]]
    lines = wrapped(names)
    most = max(map(len, lines.values()), default=1)
    spec["height"] = max(spec["height"], len(names) * (most * LINE_HEIGHT + (8 if most > 1 else 3)) + FRAME_HEIGHT)
    if most > 1:
        expression = f"{json.dumps(lines)}[datum.value]"
        for channel in channels:
            axis = channel.get("axis", {})
            if axis is not None:
                channel["axis"] = {**axis, "labelExpr": expression, "labelOffset": _centred(lines)}


def _centred(lines: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """How far each name moves, as Vega puts the first of its lines where the middle of all should be."""
    counts = sorted({len(many) for many in lines.values()} - {1})
    tests = {
        count: f"indexof({json.dumps([name for name, many in lines.items() if len(many) == count])}, datum.value) >= 0"
        for count in counts
    }
    moves = [{"test": test, "value": -(count - 1) * LINE_HEIGHT / 2} for count, test in tests.items()]
    return {"condition": moves, "value": 0}


def _align_rows(specs: Sequence[Spec]) -> None:
    """One width for the names of rows in several panels: a longer name would shrink its panel's bars."""
    channels = [channel for spec in specs for channel in _channels(spec, "y") if _has_rows(channel)]
    if len(specs) < 2 or not channels:
        return
    names = {str(name) for channel in channels for name in channel["scale"]["domain"]}
    longest = max(len(line.rstrip()) for lines in wrapped(names).values() for line in lines)
    width = round(longest * CHARACTER_WIDTH)
    for channel in channels:
        if channel.get("axis", {}) is not None:
            channel["axis"] = {**channel.get("axis", {}), "minExtent": width, "maxExtent": width}


MOST_STEPS = 6
"""Between the first tick and the last, where the values leave a choice: more would not fit on a telephone."""
_STEPS = (1, 2, 5, 10, 20)
_DENSITIES = ((1, 2, 5), (1, 3), (1,))
_NARROW = 4.0
"""A logarithmic axis over less than this factor gets evenly spaced ticks: it has too few powers of ten."""


def linear_ticks(low: float, high: float, most: int = MOST_STEPS) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, from the last one below `low` to the first one above `high`."""
    if high <= low:
        high = low + (abs(low) or 1.0)
    exponent = math.floor(math.log10((high - low) / most))
    step = next(
        size
        for factor in _STEPS
        for size in [_rounded(factor, exponent)]
        if _index_above(high, size) - _index_below(low, size) <= most or factor == _STEPS[-1]
    )
    first, last = _index_below(low, step), _index_above(high, step)
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int = MOST_STEPS) -> list[float]:
    """Round numbers for a logarithmic axis, of which the first and the last enclose all values.

    Both ends must be above zero.
    """
    if high < _NARROW * low:
        even = linear_ticks(low, high, most)
        if even[0] > 0:
            return even
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    for factors in _DENSITIES:
        every = [_rounded(factor, decade) for decade in decades for factor in factors]
        below = max(tick for tick in every if tick <= low * (1 + 1e-9))
        above = min(tick for tick in every if tick >= high * (1 - 1e-9))
        found = [tick for tick in every if below <= tick <= above]
        if len(found) <= most + 1:
            break
    return found if len(found) <= 2 * MOST_STEPS else _thinned(found)


def _thinned(ticks: Sequence[float]) -> list[float]:
    """Every n-th tick, counted from the last, which stays."""
    every = -(-len(ticks) // MOST_STEPS)
    return list(ticks[::-1][::every][::-1])


def decimals(ticks: Sequence[float]) -> int:
    """How many digits after the point tell these ticks apart."""
    texts = [f"{tick:.12f}".rstrip("0").partition(".")[2] for tick in ticks]
    return max(map(len, texts), default=0)


def _rounded(factor: float, exponent: int) -> float:
    return float(f"{factor}e{exponent}")


def _index_below(value: float, step: float) -> int:
    return math.floor(value / step + 1e-9)


def _index_above(value: float, step: float) -> int:
    return math.ceil(value / step - 1e-9)


MAX_CHARACTERS = 26
"""Of one line: about 165 pixels."""
_PARTS = re.compile(r"[^\s_./:·-]*[\s_./:·-]*")


def wrapped(names: Iterable[str]) -> dict[str, list[str]]:
    """Name -> its lines, broken after a separator where there is one; joined, the lines are the name."""
    return {name: _lines(name) for name in names}


def _lines(name: str) -> list[str]:
    """As few lines as there can be, and these of nearly equal length."""
    parts = [piece for part in _PARTS.findall(name) for piece in _pieces(part)]
    fewest = len(_filled(parts, MAX_CHARACTERS))
    # A space at the end of a full line is not counted, so the mean of the lines may be one character too long.
    widths = range(min(-(-len(name) // fewest), MAX_CHARACTERS), MAX_CHARACTERS + 1)
    return next(lines for width in widths if len(lines := _filled(parts, width)) == fewest)


def _pieces(part: str) -> list[str]:
    return [part[start : start + MAX_CHARACTERS] for start in range(0, len(part), MAX_CHARACTERS)]


def _filled(parts: Sequence[str], most: int) -> list[str]:
    lines = [""]
    for part in parts:
        if lines[-1] and len((lines[-1] + part).rstrip()) > most:
            lines.append("")
        lines[-1] += part
    return lines
