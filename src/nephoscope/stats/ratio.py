"""By what factor two samples differ: the Hodges-Lehmann estimate on logarithms, with its exact interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.rank_sum import EXACT_PAIRS, cumulative_u, rank_sum_p_value
from nephoscope.stats.samples import Floats, LogSample, middle


@dataclass(frozen=True)
class RatioInterval:
    """An interval of a ratio, with its exact coverage."""

    low: float
    high: float
    coverage: float


@dataclass(frozen=True)
class RatioEstimate:
    """`left` as a multiple of `right`; no unit."""

    ratio: float
    interval: RatioInterval | None
    """None: with this few values no interval reaches the requested confidence (95 % needs 4 against 4)."""
    p_value: float
    """Two-sided, exact, before any correction for many comparisons."""


def compare(
    left: Sequence[float] | Floats | LogSample,
    right: Sequence[float] | Floats | LogSample,
    confidence: float = CONFIDENCE,
) -> RatioEstimate:
    """The ratio left / right of two independent samples, without assuming a distribution.

    The ratio is the median of all m n pairwise ratios (Hodges-Lehmann on logarithms). The interval inverts the exact
    Mann-Whitney test: its ends are two of those pairwise ratios. It assumes that the two differ only by a factor; with
    very unequal spreads its coverage is approximate. With ties its coverage is at least the stated one.

    Args:
        left: shape (m,), m >= 1, above 0; prepared as a `LogSample` if it is compared with many.
        right: shape (n,), n >= 1, above 0, in the same unit.
        confidence: minimum coverage of the interval, in (0, 1).

    Raises:
        ValueError: an empty sample, NaN or infinity, or a value that is zero or negative: such a metric is not
            compared by ratio, and no number is invented for it.

    Source: Hodges & Lehmann (1963); Lehmann, Nonparametrics (2006), section 2.5; Hollander et al. (2014), section 4.3.
    """
    (found,) = compare_with_each(LogSample.of(left), [LogSample.of(right)], confidence)
    return found


def compare_with_each(
    left: LogSample, rights: Sequence[LogSample], confidence: float = CONFIDENCE
) -> list[RatioEstimate]:
    """`compare` of one sample with each of several, in their order: those of one size are taken together."""
    found: dict[int, RatioEstimate] = {}
    by_size: dict[int, list[int]] = {}
    for place, right in enumerate(rights):
        by_size.setdefault(right.logs.size, []).append(place)
    for places in by_size.values():
        logs = np.stack([rights[place].logs for place in places])
        differences = np.sort((left.logs[None, :, None] - logs[:, None, :]).reshape(len(places), -1), axis=1)
        lost, not_won = (differences < 0).sum(axis=1).tolist(), (differences <= 0).sum(axis=1).tolist()
        for row, place in enumerate(places):
            won = None if lost[row] != not_won[row] else differences.shape[1] - lost[row]
            found[place] = _estimate(left, rights[place], differences[row], won, confidence)
    return [found[place] for place in range(len(rights))]


def _estimate(x: LogSample, y: LogSample, logs: Floats, won: int | None, confidence: float) -> RatioEstimate:
    """From the differences of the logarithms, smallest first; `won` of them are above 0, None: some are 0."""
    m, n = x.logs.size, y.logs.size
    rank = interval_rank(m, n, confidence)
    interval = None
    if rank:
        interval = RatioInterval(
            low=math.exp(logs[rank - 1]),
            high=math.exp(logs[logs.size - rank]),
            coverage=1 - 2 * cumulative_u(rank - 1, m, n),
        )
    return RatioEstimate(ratio=math.exp(middle(logs)), interval=interval, p_value=_p_value(x, y, won))


def _p_value(x: LogSample, y: LogSample, won: int | None) -> float:
    """As `rank_sum_p_value`, by counting where no two values are equal: then the distribution is known beforehand."""
    m, n = x.logs.size, y.logs.size
    if won is None or not (x.distinct and y.distinct) or m * n > EXACT_PAIRS:
        return rank_sum_p_value(x.values, y.values)
    lower, upper = cumulative_u(won, m, n), cumulative_u(m * n - won, m, n)
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
