"""The Mann-Whitney rank sum test: exact, with ties, for the sample sizes that benchmarking has."""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from nephoscope.stats.distributions import normal_cdf
from nephoscope.stats.samples import Floats, sample

EXACT_PAIRS = 2500
"""Up to this many pairs (50 against 50) the null distribution is enumerated; beyond it the normal distribution is used.
"""


@lru_cache(maxsize=512)
def null_distribution(scores: tuple[int, ...], chosen: int) -> Floats:
    """P(the sum of `chosen` of the integer scores, drawn without replacement, is s), for s = 0, 1, ...

    The shift algorithm: scores are added one after the other, and counts[j, s] says in how many ways j of them sum up
    to s. Source: Streitberg & Roehmel, Exact distributions for permutation and rank tests (1986).
    """
    largest_sum = sum(sorted(scores)[-chosen:])
    counts = np.zeros((chosen + 1, largest_sum + 1))
    counts[0, 0] = 1
    for score in scores:
        counts[1:, score:] += counts[:-1, : largest_sum + 1 - score].copy()
    distribution: Floats = counts[chosen] / math.comb(len(scores), chosen)
    distribution.setflags(write=False)
    return distribution


@lru_cache(maxsize=1024)
def smallest_p_value(m: int, n: int) -> float:
    """The smallest two-sided exact p-value that m against n values can give: 2 / C(m + n, m); 2/924 for 6 against 6."""
    return min(1.0, 2 / math.comb(m + n, m))


@lru_cache(maxsize=1024)
def least_n_each(alpha: float) -> int:
    """The smallest n for which n against n values can give a two-sided p-value of `alpha` or less: 4 for 0.05.

    Raises:
        ValueError: alpha is not above 0.
    """
    if alpha <= 0:
        raise ValueError(f"alpha must be above 0, not {alpha}")
    n = 1
    while smallest_p_value(n, n) > alpha:
        n += 1
    return n


@lru_cache(maxsize=65_536)
def cumulative_u(u: int, m: int, n: int) -> float:
    """P(U <= u) of the Mann-Whitney U of m against n values without ties, if both come from one distribution."""
    if u < 0:
        return 0.0
    if m * n <= EXACT_PAIRS:
        offset = m * (m + 1) // 2
        distribution = null_distribution(tuple(range(1, m + n + 1)), m)
        return float(min(1.0, distribution[: offset + u + 1].sum()))
    deviation = math.sqrt(m * n * (m + n + 1) / 12)
    return normal_cdf((u + 0.5 - m * n / 2) / deviation)


def rank_sum_p_value(left: Sequence[float] | Floats, right: Sequence[float] | Floats) -> float:
    """Two-sided p-value of "both samples come from one distribution": twice the smaller tail, at most 1.

    Exact given the ties that occurred (permutation distribution of the midranks) up to 2500 pairs; beyond, the normal
    approximation with corrections for ties and continuity.

    Args:
        left: shape (m,), m >= 1.
        right: shape (n,), n >= 1, in the same unit.

    Raises:
        ValueError: an empty sample, NaN or infinity.

    Source: Lehmann, Nonparametrics (2006), sections 1.2 to 1.4; Hollander, Wolfe & Chicken (2014), section 4.1.
    """
    x, y = sample(left), sample(right)
    doubled, tie_sizes = doubled_midranks(np.concatenate([x, y]))
    if len(tie_sizes) == 1:
        return 1.0
    m, n = x.size, y.size
    observed = int(doubled[:m].sum())
    if m * n > EXACT_PAIRS:
        return _approximate_p_value(observed / 2, m, n, tie_sizes)
    scores, total = np.sort(doubled), observed
    if (scores % 2 == 0).all():
        scores, total = scores // 2, observed // 2
    distribution = null_distribution(tuple(int(s) for s in scores), m)
    lower, upper = distribution[: total + 1].sum(), distribution[total:].sum()
    return float(min(1.0, 2 * min(lower, upper)))


def doubled_midranks(values: Floats) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[int]]:
    """Twice the midrank of every value, an integer even with ties; and the sizes of the groups of equal values."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    doubled = (2 * last - sizes + 1)[group]
    return doubled.astype(np.int64), [int(s) for s in sizes]


def _approximate_p_value(rank_sum: float, m: int, n: int, tie_sizes: Sequence[int]) -> float:
    both = m + n
    ties = sum(t**3 - t for t in tie_sizes) / (both * (both - 1))
    deviation = math.sqrt(m * n / 12 * (both + 1 - ties))
    distance = max(0.0, abs(rank_sum - m * (both + 1) / 2) - 0.5)
    return min(1.0, 2 * normal_cdf(-distance / deviation))
