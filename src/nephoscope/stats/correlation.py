"""Do two measurements put the same things in the same order? Spearman's rank correlation with its interval."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

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
        rho = math.copysign(1.0, rho)
    return _interval(rho, _centre(rho, x.size), x.size, confidence)


def rank_correlation_within(
    left: Sequence[float], right: Sequence[float], strata: Sequence[Hashable], confidence: float = CONFIDENCE
) -> RankCorrelation | None:
    """The rho that pairs of one stratum have in common: what is left of it where strata differ in both values.

    Args:
        left: shape (n,).
        right: shape (n,), the partner of each.
        strata: shape (n,); those with fewer than six pairs, or with one distinct value on a side, are left out.
        confidence: of the interval, which is approximate.

    Returns:
        None if no stratum is left; `n` counts the pairs of those that are.

    Source: Hedges & Olkin, Statistical Methods for Meta-Analysis (1985), chapter 11: the mean on Fisher's scale, each
        stratum weighted by its size less three.
    """
    places = {one: [place for place, each in enumerate(strata) if each == one] for one in set(strata)}
    found = [
        each
        for of_one in places.values()
        if (each := rank_correlation([left[place] for place in of_one], [right[place] for place in of_one]))
    ]
    weight = sum(each.n - 3 for each in found)
    if not weight:
        return None
    mean = sum((each.n - 3) * math.atanh(_centre(each.rho, each.n)) for each in found) / weight
    rho = math.tanh(mean)
    return replace(_interval(rho, rho, weight + 3, confidence), n=sum(each.n for each in found))


def _centre(rho: float, n: int) -> float:
    """A perfect order has no width on Fisher's scale; use that of the least imperfect order (a swap of neighbours)."""
    least = 1 - 12 / (n * (n * n - 1))
    return max(-least, min(least, rho))


def _interval(rho: float, centre: float, n: int, confidence: float) -> RankCorrelation:
    width = normal_quantile((1 + confidence) / 2) * math.sqrt((1 + centre * centre / 2) / (n - 3))
    low, high = math.tanh(math.atanh(centre) - width), math.tanh(math.atanh(centre) + width)
    return RankCorrelation(rho, min(low, rho), max(high, rho), confidence, n)
