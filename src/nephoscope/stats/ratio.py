"""By what factor two samples differ: the Hodges-Lehmann estimate on logarithms, with its exact interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.rank_sum import EXACT_PAIRS, cumulative_u, rank_sum_p_value
from nephoscope.stats.samples import Floats, positive_sample


@dataclass(frozen=True)
class RatioInterval:
    """An interval of a ratio, with its exact coverage."""

    low: float
    high: float
    coverage: float


@dataclass(frozen=True)
class RatioEstimate:
    """How many times `left` is `right`; no unit."""

    ratio: float
    interval: RatioInterval | None
    """None: with so few values no interval reaches the confidence asked for (95 % needs 4 against 4)."""
    p_value: float
    """Two-sided, exact, before any correction for many comparisons."""


def compare(
    left: Sequence[float] | Floats, right: Sequence[float] | Floats, confidence: float = CONFIDENCE
) -> RatioEstimate:
    """The ratio left / right of two independent samples, without assuming a distribution.

    The ratio is the median of all m n pairwise ratios (Hodges-Lehmann on logarithms). The interval inverts the exact
    Mann-Whitney test: its ends are two of those pairwise ratios. It assumes that the two differ by a factor alone; with
    very unequal spreads its coverage is approximate. With ties it covers at least what it says.

    Args:
        left: shape (m,), m >= 1, above 0.
        right: shape (n,), n >= 1, above 0, in the same unit.
        confidence: least coverage of the interval, in (0, 1).

    Raises:
        ValueError: an empty sample, NaN or infinity, or a value that is zero or negative: such a metric is not
            compared by ratio, and no number is invented for it.

    Source: Hodges & Lehmann (1963); Lehmann, Nonparametrics (2006), section 2.5; Hollander et al. (2014), section 4.3.
    """
    x, y = np.sort(positive_sample(left)), np.sort(positive_sample(right))
    differences = np.subtract.outer(np.log(x), np.log(y))
    logs = np.sort(differences, axis=None)
    rank = interval_rank(x.size, y.size, confidence)
    interval = None
    if rank:
        interval = RatioInterval(
            low=math.exp(logs[rank - 1]),
            high=math.exp(logs[logs.size - rank]),
            coverage=1 - 2 * cumulative_u(rank - 1, x.size, y.size),
        )
    middle = logs.size // 2
    centre = logs[middle] if logs.size % 2 else (logs[middle - 1] + logs[middle]) / 2
    return RatioEstimate(ratio=math.exp(centre), interval=interval, p_value=_p_value(x, y, differences))


def _p_value(x: Floats, y: Floats, differences: Floats) -> float:
    """As `rank_sum_p_value`, by counting where no two values are equal: then the distribution is known beforehand."""
    distinct = bool((x[1:] > x[:-1]).all() and (y[1:] > y[:-1]).all() and not np.isin(x, y).any())
    if not distinct or x.size * y.size > EXACT_PAIRS:
        return rank_sum_p_value(x, y)
    won = int(np.count_nonzero(differences > 0))
    lower, upper = cumulative_u(won, x.size, y.size), cumulative_u(x.size * y.size - won, x.size, y.size)
    return min(1.0, 2 * min(lower, upper))


@lru_cache(maxsize=1024)
def interval_rank(m: int, n: int, confidence: float = CONFIDENCE) -> int:
    """The largest k for which [k-th smallest, k-th largest] of the m n pairwise ratios covers; 0 when none does.

    Its coverage is 1 - 2 P(U <= k - 1).
    """
    alpha = 1 - confidence
    low, high = 0, (m * n + 1) // 2
    while low < high:
        middle = (low + high + 1) // 2
        if 2 * cumulative_u(middle - 1, m, n) <= alpha:
            low = middle
        else:
            high = middle - 1
    return low
