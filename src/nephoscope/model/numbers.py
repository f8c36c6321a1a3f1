"""Numbers as people read them: one form for each, whoever prints it; no stored value changes.

A number with an interval has the digits that the interval leaves a meaning; its ends have as many decimals, so that
value and ends can be compared, and the unit stands once.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from nephoscope.model.units import GIB, KIB, MIB, SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE

MISSING = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"
DIGITS = 4
"""Significant digits of a quantity."""
MAX_DECIMALS = 9
MIN_IN_CENTS_USD = 0.095
"""Smaller amounts need more digits than whole cents."""
MIN_PERCENT, MIN_PROBABILITY = 0.01, 0.0001
"""Smaller ones are only said to be so."""
SECONDS = frozenset({"s", "second", "seconds"})
BYTES = frozenset({"B", "byte", "bytes"})
_BYTE_STEPS = ((1024 * GIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1.0, "B"))
_STEPS: Mapping[str, tuple[tuple[float, str], ...]] = {
    **dict.fromkeys(SECONDS, ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))),
    **dict.fromkeys(BYTES, _BYTE_STEPS),
    **{f"{unit}/s": tuple((size, f"{label}/s") for size, label in _BYTE_STEPS) for unit in BYTES},
    **dict.fromkeys(("bit/s", "bits/s"), ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))),
    "Hz": ((1e9, "GHz"), (1e6, "MHz"), (1.0, "Hz")),
    **dict.fromkeys(("share", "fraction"), ((0.01, "%"),)),
}
"""Unit -> what it is divided by, largest first, and what the quotient is called."""


class Interval(Protocol):
    """A value with the ends of its interval, such as an `Estimate`."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def low(self) -> float:
        """Lower end."""

    @property
    def high(self) -> float:
        """Upper end."""


class Between(NamedTuple):
    """The plainest `Interval`."""

    value: float
    low: float
    high: float


Number = float | Interval


def interval(value: float, low: float | None, high: float | None) -> Number:
    """With its ends, where they are known."""
    return value if low is None or high is None else Between(value, low, high)


@dataclass(frozen=True)
class Form:
    """How a number and the ends of its interval are written: divided, with so many decimals, between two texts."""

    decimals: int
    divisor: float = 1.0
    before: str = ""
    after: str = ""

    def bare(self, value: float) -> str:
        """Without what stands before and after it."""
        return grouped(value / self.divisor, self.decimals)

    def text(self, value: float) -> str:
        """'12.3 ms', '$0.58', '1.15×'."""
        return f"{self.before}{self.bare(value)}{self.after}"

    def ends(self, low: float, high: float, between: str = " to ") -> str:
        """'12.1 to 12.5 ms', '$0.51 to $0.62'."""
        return f"{self.before}{self.bare(low)}{between}{self.before}{self.bare(high)}{self.after}"


def grouped(value: float, decimals: int) -> str:
    """12,345.6 with thousands separators, a real minus sign and no negative zero."""
    text = f"{value:,.{decimals}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", "\N{MINUS SIGN}")


def significant(value: float, digits: int) -> str:
    """So many significant digits, more only before the point, and never an exponent: 0.04879, 9.500, 12,860."""
    return grouped(value, _significant_decimals(value, digits)) if value else "0"


def _significant_decimals(value: float, digits: int) -> int:
    size = abs(float(f"{value:.{digits - 1}e}"))
    return max(0, digits - 1 - math.floor(math.log10(size))) if size else 0


def _ends_of(number: Number) -> Between:
    return Between(number, number, number) if isinstance(number, float | int) else Between(*_parts(number))


def _parts(number: Interval) -> tuple[float, float, float]:
    return number.value, number.low, number.high


def _by_interval(number: Between, decimals: int) -> int:
    """At most these decimals, and no more than two digits of half the interval's width."""
    half = (number.high - number.low) / 2
    return decimals if half <= 0 else max(0, min(decimals, _significant_decimals(half, 2)))


def _telling(number: Between, decimals: int, *, unlike: float) -> int:
    """These decimals, or as many as it takes that both ends differ and nothing looks like `unlike` that is not."""

    def tells(places: int) -> bool:
        texts = [(value, grouped(value, places)) for value in number]
        if number.low != number.high and texts[1][1] == texts[2][1]:
            return False
        return all(value == unlike or text != grouped(unlike, places) for value, text in texts)

    return next((places for places in range(decimals, MAX_DECIMALS) if tells(places)), MAX_DECIMALS)


def quantity_form(number: Number, unit: str) -> Form:
    """Of a metric's value, in the multiple of its unit that people would choose."""
    parts = _ends_of(number)
    size = abs(parts.value) or max(abs(parts.low), abs(parts.high))
    divisor, label = step(unit, size)
    scaled = Between(*(part / divisor for part in parts))
    is_whole = parts.low == parts.high and math.isclose(scaled.value, round(scaled.value), rel_tol=1e-12)
    decimals = 0 if is_whole else _by_interval(scaled, _significant_decimals(size / divisor, DIGITS))
    return Form(decimals, divisor, after=label[1:] if label.startswith("1/") else f" {label}".rstrip())


def step(unit: str, size: float) -> tuple[float, str]:
    """What values of this size are divided by, and what their unit is called then; '' for plain numbers."""
    steps = _STEPS.get(unit)
    if steps is None:
        return 1.0, "" if unit == "1" else unit
    if size == 0:
        return next((one for one in steps if one[0] == 1), steps[-1])
    return next((one for one in steps if size >= one[0]), steps[-1])


def ratio_form(number: Number) -> Form:
    """Three significant digits, finer near one, where ties are decided; what is not one does not read as one."""
    parts = _ends_of(number)
    decimals = 3 if 0.8 <= parts.value < 1.25 else _significant_decimals(parts.value, 3)
    return Form(_telling(parts, _by_interval(parts, decimals), unlike=1.0), after=TIMES)


def percent_form(number: Number) -> Form:
    """Two significant digits, at most two decimals: 0.34 %, 1.2 %, 12 %, 120 %. The value is already a percentage."""
    parts = _ends_of(number)
    size = abs(parts.value)
    decimals = 0 if size >= 9.95 or size == 0 else 1 if size >= 0.995 else 2
    return Form(decimals if parts.low == parts.high else _telling(parts, decimals, unlike=0.0), after=" %")


def money_form(number: Number) -> Form:
    """Cents; below ten cents three significant digits, less zeros at their end: $1,234.50, $0.58, $0.0488, $0.04."""
    parts = _ends_of(number)
    decimals = 2
    if 0 < abs(parts.value) < MIN_IN_CENTS_USD:
        least = _significant_decimals(parts.value, 3)
        digits = f"{parts.value:.{least}f}".rstrip("0").partition(".")[2]
        decimals = max(decimals, len(digits))
    return Form(decimals if parts.low == parts.high else _telling(parts, decimals, unlike=0.0), before="$")


def quantity(number: Number | None, unit: str) -> str:
    """'12.3 ms', '3.41 GiB/s', '12,345/s', '23 %'."""
    return MISSING if number is None else quantity_form(number, unit).text(_ends_of(number).value)


def ratio(number: Number | None) -> str:
    """'1.93×', '0.512×', '1.005×'."""
    return MISSING if number is None else ratio_form(number).text(_ends_of(number).value)


def money(usd: Number | None) -> str:
    """'$1,234.50'."""
    return MISSING if usd is None else money_form(usd).text(_ends_of(usd).value)


def list_price(usd: float | None) -> str:
    """A rate as a price list has it, to four digits, as cents do not tell machines apart: '$0.096', '$1.50'."""
    if usd is None:
        return MISSING
    digits = significant(usd, DIGITS).partition(".")[2].rstrip("0")
    return Form(max(2, len(digits)), before="$").text(usd)


def percent(number: Number | None) -> str:
    """'1.2 %'; the value is already a percentage."""
    if number is None:
        return MISSING
    value = _ends_of(number).value
    return f"<{MIN_PERCENT} %" if 0 < abs(value) < MIN_PERCENT else percent_form(number).text(value)


def share_form(number: Number) -> Form:
    """As `percent_form`, of a share of 1."""
    return replace(percent_form(Between(*(100 * part for part in _ends_of(number)))), divisor=0.01)


def share(number: Number | None) -> str:
    """A share of 1 as a percentage."""
    return MISSING if number is None else percent(100 * _ends_of(number).value)


def dashed(number: Interval, form: Form) -> str:
    """Both ends for a cell: '12.1 – 12.5 ms'."""
    return form.ends(number.low, number.high, " \N{EN DASH} ")


def ends(number: Interval, form: Form) -> str:
    """Both ends in a sentence: '12.1 to 12.5 ms'."""
    return form.ends(number.low, number.high)


def coverage(value: float | None) -> str:
    """Exact coverage of an interval, 0..1, truncated rather than rounded, so that 94.99 never reads as 95."""
    return MISSING if value is None else f"{math.floor(value * 1000 + 1e-9) / 10:.1f}".removesuffix(".0") + " %"


def probability(value: float | None) -> str:
    """A p-value with two significant digits; tiny ones as an upper bound."""
    if value is None:
        return MISSING
    return f"<{MIN_PROBABILITY:.4f}" if value < MIN_PROBABILITY else significant(value, 2)


def signed(value: float | None) -> str:
    """A number around zero, such as an exponent: two decimals."""
    return MISSING if value is None else grouped(value, 2)


def integer(value: float | None) -> str:
    """12,345."""
    return MISSING if value is None else grouped(value, 0)


def limit(value: float) -> str:
    """A number that a person chose: 5, 1.5, 365."""
    return f"{value:,g}"


def byte_size(value: float | None) -> str:
    """7.7 GiB, of a size that somebody chose."""
    if value is None:
        return MISSING
    divisor, label = step("B", value)
    scaled = value / divisor
    return f"{grouped(scaled, 0 if divisor == 1 or scaled == int(scaled) else 1)} {label}"


def duration(seconds: float | None) -> str:
    """'8 s', '12.3 s', '2 min 05 s', '3 h 10 min', '1,234 h (51.4 days)'."""
    if seconds is None:
        return MISSING
    if round(seconds, 1) < SECONDS_PER_MINUTE:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    if whole < SECONDS_PER_HOUR:
        return f"{whole // SECONDS_PER_MINUTE} min {whole % SECONDS_PER_MINUTE:02d} s"
    if whole < SECONDS_PER_DAY:
        return f"{whole // SECONDS_PER_HOUR} h {whole % SECONDS_PER_HOUR // SECONDS_PER_MINUTE:02d} min"
    return f"{whole / SECONDS_PER_HOUR:,.0f} h ({whole / SECONDS_PER_DAY:,.1f} days)"


def moment(unix_ms: int | None) -> str:
    """2026-06-09 10:13 UTC."""
    if unix_ms is None:
        return MISSING
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


@dataclass(frozen=True)
class Scale:
    """The common multiple of a unit for an axis or a column, which has it in its title."""

    divisor: float
    unit: str
    """As the title has it; '' for plain numbers."""
    of: str
    """The metric's own unit."""

    def value(self, value: float) -> float:
        """In the scale's unit, unrounded; for chart axes."""
        return value / self.divisor

    def number(self, number: Number | None) -> str:
        """Without the unit where it is that of the column; else with its own: 40 µs where others take 20 s."""
        if number is None:
            return MISSING
        form, value = quantity_form(number, self.of), _ends_of(number).value
        return form.bare(value) if self._has(form, value) else form.text(value)

    def value_and_ends(self, number: Interval) -> list[str]:
        """The value, then both ends, each as `number` writes the value."""
        form = quantity_form(number, self.of)
        write = form.bare if self._has(form, number.value) else form.text
        return [write(part) for part in _parts(number)]

    def ends(self, number: Interval) -> str:
        """Both ends of the interval, as `number` writes its value."""
        form = quantity_form(number, self.of)
        return dashed(number, replace(form, after="") if self._has(form, number.value) else form)

    def text(self, number: Number | None) -> str:
        """With its unit."""
        return quantity(number, self.of)

    def _has(self, form: Form, value: float) -> bool:
        return form.divisor == self.divisor or value == 0


def scale_for(unit: str, values: Iterable[float]) -> Scale:
    """One scale for all values of a metric, by the largest."""
    divisor, label = step(unit, max(map(abs, values), default=0.0))
    return Scale(divisor, label, unit)
