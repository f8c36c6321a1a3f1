"""A value that its tool could not tell: a histogram ends somewhere, and what is longer is in its last bucket."""

from typing import Literal

from nephoscope.model.frozen import Frozen

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

    def __str__(self) -> str:
        return f"{self.sign} {self.above:g}"


Bounded = float | LowerBound
"""A value, or what it is above."""
