"""What a series of stolen CPU time says about a machine that earns CPU credits: burst, baseline, or the fall between.

Such a machine runs at full speed while it has credits. When they are spent, its hypervisor withholds CPU time at a
level that stays the same: the baseline, which it then delivers for hours. Neighbours take CPU time at a level that
changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nephoscope.stats.change_points import plateaus, throttling
from nephoscope.stats.limits import MAD_TO_SIGMA

MAX_DEVIATION = 0.05
"""Of all CPU time, second by second: a level around which the stolen time deviates more is not steady."""
MIN_SECONDS = 60
"""Values; fewer do not show whether a level is steady."""


@dataclass(frozen=True)
class CreditPhase:
    """The phase of a trial, and the shares of CPU time stolen around the moment when the credits ran out."""

    kind: Literal["burst", "ran out", "baseline", "unsteady", "too short"]
    start: int | None = None
    """Index of the first value after the credits ran out."""
    stolen_before: float | None = None
    stolen_after: float | None = None


def credit_phase(stolen: Sequence[float], limit: float) -> CreditPhase:
    """The phase that a series of stolen shares shows; pure.

    Args:
        stolen: share of CPU time withheld, one value per second, each in 0..1.
        limit: a mean share up to which nothing is limited.
    """
    if len(stolen) == 0 or float(np.mean(stolen)) <= limit:
        return CreditPhase("burst")
    if len(stolen) < MIN_SECONDS:
        return CreditPhase("too short")
    delivered = 1 - np.asarray(stolen, dtype=np.float64)
    levels = plateaus(delivered.tolist())
    fall = throttling(delivered.tolist(), levels)
    if fall is not None:
        return CreditPhase("ran out", fall.start, 1 - fall.burst_level, 1 - fall.sustained_level)
    deviation = MAD_TO_SIGMA * float(np.median(np.abs(delivered - np.median(delivered))))
    return CreditPhase("baseline" if len(levels) == 1 and deviation <= MAX_DEVIATION else "unsteady")
