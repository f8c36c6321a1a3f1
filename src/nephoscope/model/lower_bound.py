"""A value that its tool could not tell: a histogram ends somewhere, and what is longer is in its last bucket."""

import math
from typing import Literal

from nephoscope.model.frozen import Frozen

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
