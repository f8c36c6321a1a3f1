"""Numbers as people read them."""

import math
from collections.abc import Mapping

from nephoscope.model.units import GIB, KIB, MIB


def significant(value: float, digits: int) -> str:
    """That many significant digits, with thousands separators and no exponent; all integer digits are kept."""
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    return f"{value:,.{max(0, digits - 1 - magnitude)}f}"


def quantity(value: float, unit: str) -> str:
    """Four significant digits in a readable unit: seconds as ms, bytes as MiB, shares as %; other units unchanged."""
    steps, suffix = _STEPS.get(unit, ()), ""
    bare = unit.removesuffix("/s")
    if bare != unit and bare in _BYTES:
        steps, suffix = _BYTE_STEPS, "/s"
    for divisor, label in steps:
        if abs(value) >= divisor or (divisor, label) == steps[-1]:
            return f"{significant(value / divisor, 4)} {label}{suffix}"
    number = significant(value, 4)
    return f"{number}{unit[1:]}" if unit.startswith("1") else f"{number} {unit}"


_BYTES = ("B", "byte", "bytes")
_BYTE_STEPS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "B"))
_SECOND_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_STEPS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "s": _SECOND_STEPS,
    "share": ((0.01, "%"),),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")),
    **dict.fromkeys(_BYTES, _BYTE_STEPS),
}
