"""Sentences whose every number comes from `Insight.numbers`, by construction.

A template names its numbers with the style they are written in: `{ratio:ratio}`. Its own text holds no digit, so a
number that is not in `numbers` cannot be printed. Names (of configurations, metrics, checks) may hold digits.
"""

import math
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from nephoscope.model.rows import Insight
from nephoscope.model.units import GIB, KIB, MIB


def count(value: float) -> str:
    """12,345."""
    return f"{value:,.0f}"


def ratio(value: float) -> str:
    """Three significant digits; three decimals near one, and as many as show on which side of one it lies."""
    if not 0.9 <= value < 1.1:
        return significant(value, 3)
    decimals = next((d for d in range(3, 9) if value == 1 or float(f"{value:.{d}f}") != 1), 9)
    return f"{value:.{decimals}f}"


def percent(value: float) -> str:
    """Two significant digits, without decimals from 9.95 on: 0.34, 1.2, 12, 120. The value is a percentage already."""
    return significant(value, 2)


def coverage(value: float) -> str:
    """A coverage in percent, cut and not rounded, so that 94.99 never reads as 95."""
    return f"{math.floor(10 * value + 1e-9) / 10:.1f}".removesuffix(".0")


def money(value: float) -> str:
    """Dollars without their sign: 1,234.50, and below one dollar four significant digits, without an exponent."""
    return f"{value:,.2f}" if value >= 1 else significant(value, 4)


def rough(value: float) -> str:
    """An estimate: two significant digits."""
    return significant(value, 2)


def signed(value: float) -> str:
    """A number around zero, as an exponent is: two decimals."""
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")


def probability(value: float) -> str:
    """A p-value, two significant digits."""
    return significant(value, 2)


def significant(value: float, digits: int) -> str:
    """So many significant digits, thousands separated, never an exponent; digits before the point are all written."""
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    return f"{value:,.{max(0, digits - 1 - magnitude)}f}"


def quantity(value: float, unit: str) -> str:
    """Four significant digits with a unit for people: seconds as ms, bytes as MiB, shares as %; others as they are."""
    steps, suffix = _STEPS.get(unit, ()), ""
    bare = unit.removesuffix("/s")
    if bare != unit and bare in _BYTES:
        steps, suffix = _BYTE_STEPS, "/s"
    for divisor, label in steps:
        if abs(value) >= divisor or (divisor, label) == steps[-1]:
            return f"{significant(value / divisor, 4)} {label}{suffix}"
    return f"{significant(value, 4)} {unit}" if unit != "1" else significant(value, 4)


_BYTES = ("B", "byte", "bytes")
_BYTE_STEPS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "B"))
_SECOND_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_STEPS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "s": _SECOND_STEPS,
    "share": ((0.01, "%"),),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")),
    **dict.fromkeys(_BYTES, _BYTE_STEPS),
}
STYLES: Mapping[str, Callable[[float], str]] = {
    "count": count,
    "ratio": ratio,
    "percent": percent,
    "coverage": coverage,
    "probability": probability,
    "money": money,
    "rough": rough,
    "signed": signed,
}
"""Name of a style in a template -> how it writes. `quantity:<unit>` is the one more."""


class _Writer(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str):
            return value
        style, _, unit = format_spec.partition(":")
        return quantity(value, unit) if style == "quantity" else STYLES[style](value)


def say(
    rule: str,
    kind: Literal["answer", "warning", "note"],
    template: str,
    *,
    numbers: Mapping[str, float],
    trials: Sequence[str],
    benchmark: str | None = None,
    **words: str,
) -> Insight:
    """An insight from a template; only the numbers that the template uses are kept.

    Args:
        rule: name of the rule.
        kind: what the report does with it.
        template: `{name:style}` for numbers, `{name}` for words; no digit of its own.
        numbers: by name, unrounded.
        trials: evidence, in any order.
        benchmark: when it is about one.
        **words: names and titles, written as they are.

    Raises:
        ValueError: the template holds a digit of its own, or a number and a word share a name.
        KeyError: the template uses a name that is not given, or an unknown style.
    """
    fields = list(string.Formatter().parse(template))
    if any(character.isdigit() for literal, *_ in fields for character in literal):
        raise ValueError(f"a number stands in the template of {rule}: {template!r}")
    if numbers.keys() & words.keys():
        raise ValueError(f"{rule} gives {sorted(numbers.keys() & words.keys())} as number and as word")
    used = {name for _, name, *_ in fields if name is not None}
    return Insight(
        rule=rule,
        kind=kind,
        text=_Writer().vformat(template, (), {**numbers, **words}),
        benchmark=benchmark,
        trials=sorted(set(trials)),
        numbers={name: float(value) for name, value in sorted(numbers.items()) if name in used},
    )


def plural(number: float, one: str, many: str = "") -> str:
    """The word that goes with a number."""
    return one if number == 1 else many or f"{one}s"


def enumeration(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def interval_of_one(n: int, style: str, *, sign: str = "") -> str:
    """A template for the interval of one configuration's median; a single run has none, and says so."""
    if n == 1:
        return "one run, so no interval"
    return f"{{coverage:coverage}} % interval {sign}{{low:{style}}} to {sign}{{high:{style}}}, n = {{n:count}}"
