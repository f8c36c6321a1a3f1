"""A parser's value as flat rows of metric, value and unit, for people and for programs.

The names of the fields end with their unit, so the unit comes from there: 'latency_mean_s' is in seconds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nephoscope.model.frozen import Frozen
from nephoscope.model.quantities import LowerBound

_UNITS = (
    ("bits_per_s", "bit/s"),
    ("bytes_per_s", "B/s"),
    ("per_s", "1/s"),
    ("per_second", "1/s"),
    ("per_cpu_second", "1/s"),
    ("s", "s"),
    ("bytes", "B"),
    ("kib", "KiB"),
    ("mhz", "MHz"),
    ("percent", "%"),
    ("share", "share"),
)
"""Last words of a name -> unit; the first that fits holds."""


@dataclass(frozen=True)
class FlatMetric:
    """One number or text. The parts of the name are divided by dots; list items count from 0."""

    metric: str
    value: Any
    unit: str


def flat_metrics(value: object, *, max_items: int | None = None) -> list[FlatMetric]:
    """The metrics in a parser's value, in its order. What the tool did not print has no row.

    Args:
        value: what a parser returned: a frozen value, or a tuple of them.
        max_items: a longer list becomes one row that says how long it is; None: never.
    """
    return list(_rows("", value, "", max_items))


def _rows(name: str, value: Any, unit: str, max_items: int | None) -> Iterator[FlatMetric]:
    if value is None or value in ((), {}):
        return
    if isinstance(value, LowerBound):
        yield FlatMetric(name, str(value), unit)
    elif isinstance(value, Frozen):
        for field in type(value).model_fields:
            yield from _rows(_below(name, field), getattr(value, field), _unit_of(field), max_items)
    elif isinstance(value, tuple) and max_items is not None and len(value) > max_items:
        yield FlatMetric(name or "rows", f"{len(value)} items", "")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _rows(_below(name, key), item, unit, max_items)
    elif isinstance(value, tuple) and any(isinstance(item, (Frozen, Mapping)) for item in value):
        for index, item in enumerate(value):
            yield from _rows(_below(name, index), item, unit, max_items)
    else:
        yield FlatMetric(name, value, unit)


def _below(name: str, part: object) -> str:
    text = f"{part:g}" if isinstance(part, float) else str(part)
    return f"{name}.{text}" if name else text


def _unit_of(field: str) -> str:
    return next((unit for ending, unit in _UNITS if f"_{field}".endswith(f"_{ending}")), "")
