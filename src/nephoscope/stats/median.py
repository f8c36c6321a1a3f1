"""The median and its distribution-free interval: two order statistics with an exact, printed coverage."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from nephoscope.stats.distributions import fair_coin_cdf
from nephoscope.stats.samples import Floats, middle, smallest_first

CONFIDENCE = 0.95
"""The coverage required of every interval in nephoscope."""


@dataclass(frozen=True)
class MedianInterval:
    """A median with its interval, in the unit of the values."""

    median: float
    low: float
    high: float
    coverage: float
    """Exact P(low <= true median <= high) for any continuous distribution; at least this for a discrete one."""
    rank: int
    """`low` is the rank-th smallest value and `high` the rank-th largest, counted from 1."""
    more_needed: int
    """How many more values the interval needs to reach the requested confidence."""


@lru_cache(maxsize=4096)
def median_coverage(n: int, rank: int) -> float:
    """Coverage of [rank-th smallest, rank-th largest] of n values for the median: 1 - 2 P(Binomial(n, 1/2) < rank).

    Source: David & Nagaraja, Order Statistics, 3rd ed., section 7.1.

    Raises:
        ValueError: the ranks cross (2 rank > n + 1) or rank < 1.
    """
    if rank < 1 or 2 * rank > n + 1:
        raise ValueError(f"rank {rank} gives no interval of {n} values")
    return max(0.0, 1 - 2 * fair_coin_cdf(rank - 1, n))


@lru_cache(maxsize=64)
def least_n(confidence: float = CONFIDENCE) -> int:
    """The smallest number of values whose range covers the median with this confidence: 6 for 95 %, 8 for 99 %.

    Raises:
        ValueError: confidence outside (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence must be between 0 and 1, not {confidence}")
    n = 1
    while median_coverage(n, 1) < confidence:
        n += 1
    return n


@lru_cache(maxsize=4096)
def median_rank(n: int, confidence: float = CONFIDENCE) -> int:
    """The largest symmetric rank whose coverage is at least `confidence`; 1 (the whole range) if there is none."""
    low, high = 1, (n + 1) // 2
    while low < high:
        middle = (low + high + 1) // 2
        if median_coverage(n, middle) >= confidence:
            low = middle
        else:
            high = middle - 1
    return low


def median_interval(values: Sequence[float] | Floats, confidence: float = CONFIDENCE) -> MedianInterval:
    """The median and its narrowest symmetric order-statistic interval of coverage >= `confidence`.

    Too few values give the whole range with its actual coverage: 87.5 % for 4, 93.75 % for 5. The ranks are
    chosen by n alone, before the values are seen, so the coverage is exact.

    Args:
        values: shape (n,), n >= 1, any unit; the order does not matter.
        confidence: requested coverage, in (0, 1).

    Raises:
        ValueError: no values, NaN or infinity, or a confidence outside (0, 1).

    Source: Le Boudec, Performance Evaluation of Computer and Communication Systems, theorem 2.1 and appendix A.
    """
    ordered = smallest_first(values)
    n = len(ordered)
    needed = least_n(confidence)
    rank = median_rank(n, confidence)
    return MedianInterval(
        median=middle(ordered),
        low=ordered[rank - 1],
        high=ordered[n - rank],
        coverage=median_coverage(n, rank),
        rank=rank,
        more_needed=max(0, needed - n),
    )


def margin_of_error(interval: MedianInterval) -> float | None:
    """Half the interval over the size of the median, as a share; None if the median is 0."""
    if interval.median == 0:
        return None
    return (interval.high / 2 - interval.low / 2) / abs(interval.median)
