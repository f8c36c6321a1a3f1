"""The questions of a leaderboard without any model of the values: exact rank sums, corrected by Holm.

For metrics in steps, where most configurations have no spread. With many configurations it decides little; it is right
whatever the values look like.
"""

from collections.abc import Sequence

import numpy as np

from nephoscope.stats.decide import holm
from nephoscope.stats.rank_sum import rank_sum_p_value
from nephoscope.stats.samples import Floats, Indices, Mask


def surely_above(samples: Sequence[Floats], alpha: float) -> Mask:
    """Which configuration is above which.

    Args:
        samples: the values of each configuration, higher is better; those with fewer than two take part in no claim.
        alpha: chance of even one false claim.

    Returns:
        Shape (k, k), booleans: the row's configuration is surely above the column's.

    Source: Mann & Whitney (1947), exact with ties; Holm (1979).
    """
    above = np.zeros((len(samples), len(samples)), dtype=bool)
    pairs = [
        (i, j)
        for i in range(len(samples))
        for j in range(i + 1, len(samples))
        if samples[i].size > 1 and samples[j].size > 1
    ]
    adjusted = holm([rank_sum_p_value(samples[i], samples[j]) for i, j in pairs])
    for (i, j), p_value in zip(pairs, adjusted, strict=True):
        if p_value < alpha:
            first = _mean_rank_is_higher(samples[i], samples[j])
            above[(i, j) if first else (j, i)] = True
    return above


def possible_best_by_ranks(samples: Sequence[Floats], alpha: float) -> Indices:
    """Indices of the configurations that no other is surely above."""
    return np.flatnonzero(~surely_above(samples, alpha).any(axis=0))


def _mean_rank_is_higher(left: Floats, right: Floats) -> bool:
    return float(np.sign(np.subtract.outer(left, right)).sum()) > 0
