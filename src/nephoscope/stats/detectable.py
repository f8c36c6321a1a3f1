"""What a leaderboard can decide: before anything is measured, and at the spread that was."""

import math

from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.decide import ALPHA, POWER
from nephoscope.stats.leaderboard import MIN_VALUES
from nephoscope.stats.studentized_range import critical_range

_MAX_FREEDOM = 1e9
"""Infinitely many, for quantiles of Student's t."""


def detectable_share(
    configurations: int, replicates: int, cv: float, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The smallest difference from the best that excludes a configuration: 0.04 means a ratio of 1.04.

    Within whole blocks, with one spread for all configurations, so that it has (K - 1)(n - 1) degrees of freedom. The
    first step of the step-down test is assumed to decide; later ones need less.

    Args:
        configurations: K, at least 2.
        replicates: n of each configuration, one in each block.
        cv: standard deviation of single values / mean, within blocks.
        alpha: error rate of the question.
        power: chance of excluding it.

    Returns:
        None if there are too few replicates for any claim.
    """
    if replicates < MIN_VALUES:
        return None
    freedom = (configurations - 1) * (replicates - 1)
    return math.expm1(errors_to_exclude(configurations, freedom, alpha, power) * cv * math.sqrt(2 / replicates))


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
