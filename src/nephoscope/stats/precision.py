"""How many replicates a required precision takes, estimated from existing replicates."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.median import CONFIDENCE, least_n, median_rank
from nephoscope.stats.samples import Floats, sample

MOST_TRIED = 500
"""Numbers of replicates that are tried at most: of more values every second number, or third, as each takes longer."""


def replicates_for_precision(
    values: Sequence[float] | Floats, shares: Sequence[float], *, confidence: float = CONFIDENCE
) -> dict[float, int | None]:
    """For each share, the smallest n whose expected median interval lies within +- that share of the whole median.

    The expectation is over all subsets of n of the values; CONFIRM estimates it from 200 random ones. Every larger n
    that can be tried must hold as well.

    Args:
        values: shape (N,), of a pilot or of stored history, in any unit.
        shares: above 0: 0.01 for 1 %.
        confidence: of the intervals.

    Returns:
        None for a share if even all N values are not enough, or N is below the least n of an interval.

    Raises:
        ValueError: no values, NaN or infinity, or a share that is not above 0.

    Source: Maricq et al., Taming Performance Variability, OSDI '18, section 5 (CONFIRM).
    """
    if any(share <= 0 for share in shares):
        raise ValueError(f"a precision must be above 0, not {min(shares)}")
    array = np.sort(sample(values))
    median = float(np.median(array))
    enough: dict[float, int | None] = dict.fromkeys(shares)
    open_shares = set(shares)
    for n, low, high in _expected_intervals(array, confidence):
        for share in sorted(open_shares):
            if low < median - share * abs(median) or high > median + share * abs(median):
                open_shares.discard(share)
            else:
                enough[share] = n
        if not open_shares:
            break
    return enough


def _expected_intervals(array: Floats, confidence: float) -> Iterator[tuple[int, float, float]]:
    """Replicates and the expected ends of the intervals of that many, the most replicates first."""
    log_factorials = special.gammaln(np.arange(1.0, array.size + 2))
    for n in range(array.size, least_n(confidence) - 1, -math.ceil(array.size / MOST_TRIED)):
        rank = median_rank(n, confidence)
        yield (
            n,
            expected_order_statistic(array, n, rank, log_factorials),
            expected_order_statistic(array, n, n + 1 - rank, log_factorials),
        )


def expected_order_statistic(array: Floats, n: int, rank: int, log_factorials: Floats) -> float:
    """The mean of the `rank`-th smallest of n values over all subsets of n.

    The j-th smallest of N values has rank r in C(j - 1, r - 1) C(N - j, n - r) of the C(N, n) subsets.

    Args:
        array: shape (N,), smallest first, in any unit.
        n: 1 to N.
        rank: 1 to n.
        log_factorials: shape (at least N,), of 0, 1, 2, ...

    Source: David & Nagaraja, Order Statistics, 3rd ed., section 3.7.
    """
    below = np.arange(rank - 1, array.size - (n - rank))
    above = array.size - 1 - below
    logs = (
        *(log_factorials[below], -log_factorials[below - (rank - 1)]),
        *(log_factorials[above], -log_factorials[above - (n - rank)]),
    )
    weights = special.softmax(np.sum(logs, axis=0))
    return float(weights @ array[below])
