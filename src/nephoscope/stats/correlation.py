"""Do two measurements put the same things in the same order? Spearman's rank correlation with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nephoscope.stats.distributions import normal_quantile
from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.rank_sum import doubled_midranks
from nephoscope.stats.samples import Floats, sample

MIN_N = 6
"""Below this number the interval of nearly any correlation contains both signs."""


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho, from -1 to 1."""

    rho: float
    low: float
    high: float
    confidence: float
    """Of the interval from `low` to `high`."""
    n: int


def rank_correlation(
    left: Sequence[float] | Floats, right: Sequence[float] | Floats, confidence: float = CONFIDENCE
) -> RankCorrelation | None:
    """Spearman's rho of paired values, with the interval of Bonett and Wright on Fisher's scale.

    Args:
        left: shape (n,).
        right: shape (n,), the partner of each.
        confidence: of the interval, which is approximate.

    Returns:
        None below six pairs (there may be none), or if one side has only one distinct value: nothing can be decided.

    Raises:
        ValueError: the lengths differ, NaN or infinity.

    Source: Bonett & Wright, Sample size requirements for Pearson, Kendall and Spearman correlations (2000).
    """
    x, y = sample(left, minimum=0), sample(right, minimum=0)
    if x.size != y.size:
        raise ValueError(f"{x.size} values have {y.size} partners")
    if x.size < MIN_N or x.min() == x.max() or y.min() == y.max():
        return None
    rho = float(np.corrcoef(doubled_midranks(x)[0], doubled_midranks(y)[0])[0, 1])
    if abs(rho) > 1 - 1e-12:
        return _perfect(math.copysign(1.0, rho), x.size, confidence)
    return _interval(rho, rho, x.size, confidence)


def _perfect(rho: float, n: int, confidence: float) -> RankCorrelation:
    """A perfect order has no width on Fisher's scale; use that of the least imperfect order (a swap of neighbours)."""
    return _interval(rho, math.copysign(1 - 12 / (n * (n * n - 1)), rho), n, confidence)


def _interval(rho: float, centre: float, n: int, confidence: float) -> RankCorrelation:
    width = normal_quantile((1 + confidence) / 2) * math.sqrt((1 + centre * centre / 2) / (n - 3))
    low, high = math.tanh(math.atanh(centre) - width), math.tanh(math.atanh(centre) + width)
    return RankCorrelation(rho, min(low, rho), max(high, rho), confidence, n)
