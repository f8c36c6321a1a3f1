"""Numbers for people: the only place where SI values become ms, GiB/s and percent; no stored value changes."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from nephoscope.model.lower_bound import LowerBound
from nephoscope.model.units import GIB, KIB, MIB, SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from nephoscope.model.words import counted

MISSING = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"
TIB = 1024 * GIB
BYTES = frozenset({"B", "byte", "bytes"})
SECONDS = frozenset({"s", "second", "seconds"})
BIT_RATES = frozenset({"bit/s", "bits/s", "bits_per_s"})
SHARES = frozenset({"share", "fraction"})
TIME_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
BYTE_STEPS = ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "B"))
BIT_STEPS = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
HERTZ_STEPS = ((1e9, "GHz"), (1e6, "MHz"), (1.0, "Hz"))
STEPS = ((SECONDS, TIME_STEPS), (BYTES, BYTE_STEPS), (BIT_RATES, BIT_STEPS), (frozenset({"Hz"}), HERTZ_STEPS))
MAX_DECIMALS = 6
MAX_DIGITS = 6
FEW_DIGITS = 4
"""Significant digits on the main page; the page of evidence shows more."""


@dataclass(frozen=True)
class Scale:
    """How to write the values of one metric: divided by `divisor`, with `decimals`, in `unit`."""

    divisor: float
    unit: str
    decimals: int

    def value(self, value: float) -> float:
        """In the scale's unit, unrounded; for chart axes."""
        return value / self.divisor

    def number(self, value: float | None) -> str:
        """Without the unit, for columns that have it in their heading."""
        return MISSING if value is None else grouped(value / self.divisor, self.decimals)

    def text(self, value: float | None) -> str:
        """With the unit: '12,345/s', '1.2 ms'."""
        if value is None:
            return MISSING
        number = self.number(value)
        return f"{number}{self.unit[1:]}" if self.unit.startswith("1/") else f"{number} {self.unit}".rstrip()


def grouped(value: float, decimals: int) -> str:
    """12,345.6 with thousands separators, a real minus sign and no negative zero."""
    text = f"{value:,.{decimals}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", "\N{MINUS SIGN}")


def significant(value: float, digits: int) -> str:
    """So many significant digits, more only before the point, and never an exponent: 0.04879, 9.500, 12,860."""
    size = abs(float(f"{value:.{digits - 1}e}"))
    return grouped(value, max(0, digits - 1 - math.floor(math.log10(size))) if size else 0)


def text_of_bound(bound: LowerBound, scale: Scale) -> str:
    """'> 103', without the unit; rounded down, because a bound that is rounded up may be none."""
    step = 10.0**-scale.decimals
    return f"{bound.sign} {grouped(math.floor(bound.written / scale.divisor / step + 1e-9) * step, scale.decimals)}"


def scale_for(
    unit: str,
    values: Iterable[float],
    half_widths: Iterable[float] = (),
    *,
    metric: str = "",
    digits: int = MAX_DIGITS,
) -> Scale:
    """One scale for all values of a metric; the narrowest interval decides how many digits are meaningful.

    The largest value has at most `digits` significant digits, unless it has more before the decimal point.
    """
    known = [abs(value) for value in values]
    largest = max(known, default=0.0)
    divisor, label = _divisor(unit, metric, largest)
    widths = [width / divisor for width in half_widths if width > 0]
    smallest = min((value / divisor for value in known if value > 0), default=0.0)
    resolution = min(widths, default=0.0)
    return Scale(divisor, label, _decimals(largest / divisor, smallest, resolution, digits))


def own_scale(unit: str, value: float, half_width: float = 0.0, *, digits: int = MAX_DIGITS) -> Scale:
    """For one value beside others of other sizes: 40 µs, where the scale of an axis up to 20 s has no digit for it."""
    return scale_for(unit, [value], [half_width], digits=digits)


def _divisor(unit: str, metric: str, largest: float) -> tuple[float, str]:
    for units, steps in STEPS:
        if unit in units:
            return _step(steps, largest)
    bare = unit.removesuffix("/s").removesuffix("_per_s")
    if bare in BYTES and bare != unit:
        divisor, label = _step(BYTE_STEPS, largest)
        return divisor, f"{label}/s"
    if unit in SHARES or (unit in {"1", ""} and "share" in metric):
        return 0.01, "%"
    return 1.0, "" if unit == "1" else unit


def _step(steps: tuple[tuple[float, str], ...], largest: float) -> tuple[float, str]:
    for divisor, label in steps:
        if largest >= divisor:
            return divisor, label
    return next(step for step in steps if step[0] == 1) if largest == 0 else steps[-1]


def _decimals(largest: float, smallest: float, resolution: float, digits: int) -> int:
    """Two digits of the interval's half-width; without an interval, three significant digits of the smallest value."""
    finest = resolution / 10 if resolution > 0 else smallest / 100
    wanted = -math.floor(math.log10(finest)) if finest > 0 else 0
    before_point = math.floor(math.log10(largest)) + 1 if largest >= 1 else 1
    if 0 < largest < 1 and digits < MAX_DIGITS:
        before_point = math.floor(math.log10(largest)) + 1  # zeros behind the point are not significant
    room = digits - before_point
    return max(0, min(wanted, room, MAX_DECIMALS))


def percent(value: float | None) -> str:
    """Two significant digits: 0.34 %, 1.2 %, 12 %, 120 %. The value is already a percentage."""
    if value is None:
        return MISSING
    size = abs(value)
    if 0 < size < 0.01:
        return "<0.01 %"
    return f"{grouped(value, _percent_decimals(size))} %"


def _percent_decimals(size: float) -> int:
    return 0 if size >= 9.95 or size == 0 else 1 if size >= 0.995 else 2


def counting(good: int, of: int) -> str:
    """'3 of 4 trials valid', '1 of 1 trial valid'."""
    return f"{good:,} of {counted(of, 'trial')} valid"


def coverage(value: float | None) -> str:
    """Exact coverage of an interval, 0..1, truncated rather than rounded, so that 94.99 never reads as 95."""
    return MISSING if value is None else f"{math.floor(value * 1000 + 1e-9) / 10:.1f} %"


def share(value: float | None) -> str:
    """A share of 1 as a percentage."""
    return MISSING if value is None else percent(100 * value)


def ratio(value: float | None) -> str:
    """Three significant digits and a times sign: 1.93×, 0.512×; finer near one, where ties are decided."""
    if value is None:
        return MISSING
    if value <= 0:
        return f"{value:g}{TIMES}"
    return f"{grouped(value, _ratio_decimals(value))}{TIMES}"


def _ratio_decimals(value: float) -> int:
    decimals = 3 if 0.8 <= value < 1.25 else 2 - math.floor(math.log10(value))
    return max(0, min(decimals, MAX_DECIMALS))


def ratios(value: float, low: float, high: float) -> tuple[str, str, str]:
    """A ratio and both ends of its interval with equal decimals: '1.30', '1.23', '1.37'."""
    return alike(value, low, high, _ratio_decimals(value), unlike=1.0)


def ratio_interval(value: float, low: float, high: float) -> str:
    """Both ends of the interval of a ratio, as '1.23' and '1.37×'; an end that is not 1 does not read as 1."""
    _, least, most = ratios(value, low, high)
    return f"{least} \N{EN DASH} {most}{TIMES}"


def percentages(value: float, low: float, high: float) -> tuple[str, str, str]:
    """A percentage and both ends of its interval with equal decimals, without the sign: '1.7', '0.9', '2.4'."""
    return alike(value, low, high, _percent_decimals(abs(value)), unlike=0.0)


def alike(value: float, low: float, high: float, decimals: int, *, unlike: float) -> tuple[str, str, str]:
    """A value and the ends of its interval with these decimals, or as many as it takes that both ends differ.

    An end that is not `unlike`, where nothing differs, does not look like it either.
    """

    def looks_right(places: int) -> bool:
        ends = [(end, grouped(end, places)) for end in (low, high)]
        if low != high and ends[0][1] == ends[1][1]:
            return False
        return all(end == unlike or text != grouped(unlike, places) for end, text in ends)

    places = next((places for places in range(decimals, MAX_DECIMALS) if looks_right(places)), MAX_DECIMALS)
    return grouped(value, places), grouped(low, places), grouped(high, places)


def probability(value: float | None) -> str:
    """A p-value; tiny ones as an upper bound."""
    if value is None:
        return MISSING
    return "<0.0001" if value < 0.0001 else f"{value:.4f}" if value < 0.1 else f"{value:.2f}"


def byte_size(value: float | None) -> str:
    """7.7 GiB."""
    if value is None:
        return MISSING
    divisor, label = _step(BYTE_STEPS, value)
    scaled = value / divisor
    return f"{grouped(scaled, 0 if divisor == 1 or scaled == int(scaled) else 1)} {label}"


def integer(value: float | None) -> str:
    """12,345."""
    return MISSING if value is None else grouped(value, 0)


def duration(seconds: float | None) -> str:
    """12.3 s, 1 min 11 s, 2 h 5 min, 52 h 10 min (2.2 days)."""
    if seconds is None:
        return MISSING
    if seconds < SECONDS_PER_MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < SECONDS_PER_HOUR:
        return f"{whole // SECONDS_PER_MINUTE} min {whole % SECONDS_PER_MINUTE} s"
    minutes = round(seconds / SECONDS_PER_MINUTE)
    text = f"{minutes // 60:,} h {minutes % 60} min"
    return f"{text} ({seconds / SECONDS_PER_DAY:,.1f} days)" if seconds >= 2 * SECONDS_PER_DAY else text


def moment(unix_ms: int | None) -> str:
    """2026-06-09 10:13 UTC."""
    if unix_ms is None:
        return MISSING
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def dollars(value: float | None) -> str:
    """$1,234.50."""
    return MISSING if value is None else f"${value:,.2f}"


def rounded(value: float) -> str:
    """Whole dollars from 100 up, cents from one, below as `money`: $1,388, $54.19, $7.36, $0.04879."""
    return f"${value:,.{0 if value >= 99.995 else 2}f}" if value >= 1 else money(value)


def money(value: float) -> str:
    """Cents from ten dollars up, four significant digits below, no exponent: $0.04879, $5.384, $1,234.50."""
    if value == 0:
        return "$0"
    decimals = max(2, 3 - math.floor(math.log10(abs(float(f"{value:.3e}")))))
    return f"${value:,.{decimals}f}"
