"""Numbers as files and tools give them: damage where they cannot be, and bounds where a tool could not tell."""

import math
import sys
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo

from nephoscope.model.frozen import Frozen, conflict
from nephoscope.model.units import LEAST_VALUE, MOST_VALUE

_END_OF_2999_UNIX_MS = 32_503_679_999_999
MOST_S = 1e11
"""Three thousand years, so that a moment and a duration are a moment of the calendar, too."""

UnixMs = Annotated[int, Field(ge=0, le=_END_OF_2999_UNIX_MS)]
Seconds = Annotated[float, Field(ge=-MOST_S, le=MOST_S)]
"""Negative: of a clock that is behind."""


def may_be(value: float, unit: str) -> bool:
    """Whether a metric of this unit can have the value: neither times, bytes nor rates are below 0."""
    never_negative = unit in {"s", "B"} or unit.endswith("/s")
    return value == 0 or (LEAST_VALUE <= abs(value) <= MOST_VALUE and not (value < 0 and never_negative))


def _possible(value: float, info: ValidationInfo) -> float:
    metric, unit = info.data.get("metric", "a metric"), str(info.data.get("unit", ""))
    if not may_be(value, unit):
        raise conflict(f"{metric} cannot be {value!r} {unit}".rstrip())
    return value


_ANY = sys.float_info.max
MeasuredValue = Annotated[float, Field(ge=-_ANY, le=_ANY), AfterValidator(_possible)]
"""Of a model whose `metric` and `unit` come before it. It takes any number, so that a message can name all three."""


_EXACT = 1e-9
"""What a division leaves of a whole number."""
Bound = Literal["lower"]
"""What a stored number may be instead of a value."""


class LowerBound(Frozen):
    """More than `above`; how much more, nobody knows. It is no number, so that none can be computed from it."""

    above: float
    or_equal: bool = False
    """It may be `above` itself: of a median of which only other values are not known."""

    @property
    def sign(self) -> str:
        """'>' or '≥'."""
        return "≥" if self.or_equal else ">"

    @property
    def written(self) -> float:
        """Three significant digits, rounded down: a bound that is rounded up may be none."""
        step = 10.0 ** (math.floor(math.log10(self.above)) - 2) if self.above > 0 else 1.0
        return float(f"{math.floor(self.above / step + _EXACT) * step:.3g}")

    def __str__(self) -> str:
        return f"{self.sign} {self.written:g}"


Bounded = float | LowerBound
"""A value, or what it is above."""
