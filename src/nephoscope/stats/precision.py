"""How many replicates a required precision takes, estimated from existing replicates."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from nephoscope.stats.median import CONFIDENCE, least_n, median_rank
from nephoscope.stats.samples import Floats, sample

SUBSETS = 200
"""Random subsets per number of replicates, as in CONFIRM."""
MOST_TRIED = 500
"""Numbers of replicates that are tried at most: of more values every second number, or third, as each takes longer."""


def replicates_for_precision(
    values: Sequence[float] | Floats, shares: Sequence[float], *, seed: int, confidence: float = CONFIDENCE
) -> dict[float, int | None]:
    """For each share, the smallest n whose expected median interval lies within +- that share of the whole median.

    For every n, 200 subsets are drawn without replacement, and the mean of their lower and of their upper ends is
    compared with the margin. Every larger n that can be tried must hold as well, so that luck at one n does not decide.
    All shares are compared with the same subsets.

    Args:
        values: shape (N,), of a pilot or of stored history, in any unit.
        shares: above 0: 0.01 for 1 %.
        seed: of the subsets.
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
    for n, low, high in _expected_intervals(array, seed, confidence):
        for share in sorted(open_shares):
            if low < median - share * abs(median) or high > median + share * abs(median):
                open_shares.discard(share)
            else:
                enough[share] = n
        if not open_shares:
            break
    return enough


def _expected_intervals(array: Floats, seed: int, confidence: float) -> Iterator[tuple[int, float, float]]:
    """Replicates and the mean ends of the intervals of that many, the most replicates first."""
    generator = np.random.default_rng(seed)
    for n in range(array.size, least_n(confidence) - 1, -math.ceil(array.size / MOST_TRIED)):
        drawn = np.argpartition(generator.random((SUBSETS, array.size)), n - 1, axis=1)[:, :n]
        rank = median_rank(n, confidence)
        subsets = np.partition(array[drawn], sorted({rank - 1, n - rank}), axis=1)
        yield n, float(subsets[:, rank - 1].mean()), float(subsets[:, n - rank].mean())
