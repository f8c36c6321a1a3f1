"""How many replicates a required precision takes, estimated from existing replicates."""

from collections.abc import Sequence

import numpy as np

from nephoscope.stats.median import CONFIDENCE, least_n, median_rank
from nephoscope.stats.samples import Floats, sample

SUBSETS = 200
"""Random subsets per number of replicates, as in CONFIRM."""


def replicates_for_precision(
    values: Sequence[float] | Floats, share: float, *, seed: int, confidence: float = CONFIDENCE
) -> int | None:
    """The smallest n whose expected median interval lies within +- `share` of the median of all values.

    For every n, 200 subsets are drawn without replacement, and the mean of their lower and of their upper ends is
    compared with the margin. Every larger n that can be tried must hold as well, so that luck at one n does not decide.

    Args:
        values: shape (N,), of a pilot or of stored history, in any unit.
        share: above 0: 0.01 for 1 %.
        seed: of the subsets.
        confidence: of the intervals.

    Returns:
        None if even all N values are not enough, or N is below the least n of an interval.

    Raises:
        ValueError: no values, NaN or infinity, or a share that is not above 0.

    Source: Maricq et al., Taming Performance Variability, OSDI '18, section 5 (CONFIRM).
    """
    if share <= 0:
        raise ValueError(f"a precision must be above 0, not {share}")
    array = np.sort(sample(values))
    median = float(np.median(array))
    generator = np.random.default_rng(seed)
    enough: int | None = None
    for n in range(array.size, least_n(confidence) - 1, -1):
        order = np.argsort(generator.random((SUBSETS, array.size)), axis=1)[:, :n]
        subsets = np.sort(array[order], axis=1)
        rank = median_rank(n, confidence)
        low, high = float(subsets[:, rank - 1].mean()), float(subsets[:, n - rank].mean())
        if low < median - share * abs(median) or high > median + share * abs(median):
            break
        enough = n
    return enough
