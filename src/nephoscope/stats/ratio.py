"""By what factor two samples differ: the Hodges-Lehmann estimate on logarithms, with its exact interval."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.rank_sum import EXACT_PAIRS, cumulative_u, rank_sum_p_value
from nephoscope.stats.samples import LogSample

AT_ONCE = 65_536
"""Differences that are worked on together: as many as fit a processor's cache."""
FEW_LEVELS = 16
"""Differences are taken of distinct values if that makes at least this many times fewer of them."""


@dataclass(frozen=True)
class RatioInterval:
    """An interval of a ratio, with its exact coverage."""

    low: float
    high: float
    coverage: float


def reaching(ratio: float, interval: RatioInterval | None) -> RatioInterval | None:
    """The interval, or one that is so much wider that it contains the ratio.

    The interval of rank sums is about the median of all ratios. The ratio of the medians lies in it for ten values or
    fewer on each side, and beyond that in all but very skewed samples.
    """
    if interval is None:
        return None
    return RatioInterval(min(interval.low, ratio), max(interval.high, ratio), interval.coverage)


@dataclass(frozen=True)
class RatioEstimate:
    """`left` as a multiple of `right`; no unit."""

    ratio: float
    interval: RatioInterval | None
    """None: with this few values no interval reaches the requested confidence (95 % needs 4 against 4)."""
    p_value: float
    """Two-sided, exact, before any correction for many comparisons."""


def compare_with_each(
    left: LogSample, rights: Sequence[LogSample], confidence: float = CONFIDENCE
) -> list[RatioEstimate]:
    """The ratio left / right of independent samples, without assuming a distribution: one with each of several.

    The ratio is the median of all m n pairwise ratios (Hodges-Lehmann on logarithms). The interval inverts the exact
    Mann-Whitney test: its ends are two of those pairwise ratios. It assumes that the two differ only by a factor; with
    very unequal spreads its coverage is approximate. With ties its coverage is at least the stated one.

    Args:
        left: shape (m,), m >= 1, above 0.
        rights: shape (n,) each, n >= 1, above 0, in the same unit; those of one size are taken together.
        confidence: minimum coverage of the interval, in (0, 1).

    Returns:
        In the order of `rights`.

    Source: Hodges & Lehmann (1963); Lehmann, Nonparametrics (2006), section 2.5; Hollander et al. (2014), section 4.3.
    """
    found: dict[int, RatioEstimate] = {}
    by_size: dict[int, list[int]] = {}
    for place, right in enumerate(rights):
        if left.levels.size * right.levels.size * FEW_LEVELS <= left.logs.size * right.logs.size:
            found[place] = _by_levels(left, right, confidence)
        else:
            by_size.setdefault(right.logs.size, []).append(place)
    for size, places in by_size.items():
        at_once = max(1, AT_ONCE // (left.logs.size * size))
        for begin in range(0, len(places), at_once):
            batch = places[begin : begin + at_once]
            found |= zip(batch, _estimates(left, [rights[place] for place in batch], confidence), strict=True)
    return [found[place] for place in range(len(rights))]


def _estimates(x: LogSample, others: Sequence[LogSample], confidence: float) -> Iterator[RatioEstimate]:
    """Of one sample with others of one size. Only the order statistics in use are put in their place: not a sort."""
    places = _places(x, others[0], confidence)
    logs = np.stack([y.logs for y in others])
    differences = (x.logs[None, :, None] - logs[:, None, :]).reshape(len(others), -1)
    differences.partition(sorted(set(places)), axis=1)
    for y, chosen in zip(others, differences[:, places].tolist(), strict=True):
        yield _estimate(x, y, chosen, confidence)


def _by_levels(x: LogSample, y: LogSample, confidence: float) -> RatioEstimate:
    """From the differences of distinct values, each as often as it occurs."""
    differences = (x.levels[:, None] - y.levels).ravel()
    order = np.argsort(differences)
    last = np.cumsum((x.times[:, None] * y.times).ravel()[order])
    chosen = differences[order][np.searchsorted(last, _places(x, y, confidence), "right")]
    return _estimate(x, y, chosen.tolist(), confidence)


def _places(x: LogSample, y: LogSample, confidence: float) -> list[int]:
    """Of the order statistics in use among all differences: the interval's ends, and the middle one or two."""
    size, rank = x.logs.size * y.logs.size, interval_rank(x.logs.size, y.logs.size, confidence)
    return [max(0, rank - 1), size - max(1, rank), (size - 1) // 2, size // 2]


def _estimate(x: LogSample, y: LogSample, chosen: Sequence[float], confidence: float) -> RatioEstimate:
    """From the order statistics at `_places`."""
    m, n = x.logs.size, y.logs.size
    low, high, *middles = chosen
    rank, interval = interval_rank(m, n, confidence), None
    if rank:
        interval = RatioInterval(math.exp(low), math.exp(high), coverage=1 - 2 * cumulative_u(rank - 1, m, n))
    return RatioEstimate(math.exp(sum(middles) / 2), interval, p_value=_p_value(x, y))


def _won(x: LogSample, y: LogSample) -> int | None:
    """Pairs in which `x` is larger; None: in some pair neither is."""
    smaller, not_larger = (int(np.searchsorted(y.logs, x.logs, side).sum()) for side in ("left", "right"))
    return smaller if smaller == not_larger else None


def _p_value(x: LogSample, y: LogSample) -> float:
    """As `rank_sum_p_value`, by counting where no two values are equal: then the distribution is known beforehand."""
    m, n = x.logs.size, y.logs.size
    known = x.distinct and y.distinct and m * n <= EXACT_PAIRS
    won = _won(x, y) if known else None
    if won is None:
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
