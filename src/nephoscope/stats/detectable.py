"""What a leaderboard can decide at the spread that was measured; `detectable_table` says it of a plan."""

import math

from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.decide import ALPHA, POWER
from nephoscope.stats.studentized_range import critical_range

_MAX_FREEDOM = 1e9
"""Infinitely many, for quantiles of Student's t."""


def errors_to_exclude(configurations: int, freedom: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """How many standard errors of a gap a configuration must be behind the best to be excluded with this power.

    Args:
        configurations: those that compete, at least 2.
        freedom: degrees of freedom of the standard error.
        alpha: error rate of the question.
        power: chance of excluding it.

    Returns:
        Infinite if there are too few degrees of freedom for any claim.
    """
    needed = float(critical_range(configurations, freedom, alpha)) / math.sqrt(2)
    return needed + float(special.stdtrit(min(freedom, _MAX_FREEDOM), power))
