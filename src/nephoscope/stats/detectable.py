"""What a planned leaderboard can decide, before anything is measured."""

import math

from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.decide import ALPHA, POWER
from nephoscope.stats.studentized_range import critical_range


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
        None if one replicate gives no spread.
    """
    if replicates < 2:
        return None
    freedom = (configurations - 1) * (replicates - 1)
    quantiles = float(critical_range(configurations, freedom, alpha)) / math.sqrt(2)
    quantiles += float(special.stdtrit(freedom, power))
    return math.expm1(quantiles * cv * math.sqrt(2 / replicates))
