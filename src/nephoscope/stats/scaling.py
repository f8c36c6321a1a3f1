"""How a quantity grows with the number of machines: the exponent of a power law, with its exact interval.

value = c * machines ** exponent. Exponent 1 is linear growth, 0 is none: twice the machines give 2 ** exponent times
the value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Literal

import numpy as np

from nephoscope.stats.distributions import normal_cdf
from nephoscope.stats.limits import factor
from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.rank_sum import EXACT_PAIRS
from nephoscope.stats.samples import Floats, middle, positive_sample

LINEAR = 0.9
"""From this exponent on, growth is called linear: twice the machines give at least 1.87 times the value."""
FLAT = 0.1
"""Up to this exponent there is practically no growth: twice the machines give at most 1.07 times the value."""

Growth = Literal["linear", "sub-linear", "none", "not decided"]


@dataclass(frozen=True)
class PowerLaw:
    """A fit."""

    exponent: float
    """The median of the slopes between any two values of different numbers of machines, on logarithms."""
    at_one: float
    """Value of one machine according to the fit; in the unit of the values."""
    low: float | None
    """End of the exponent's interval. None: too few values for one."""
    high: float | None
    coverage: float | None
    """Exact coverage of [low, high]."""

    @property
    def growth(self) -> Growth:
        """What the interval decides; without one, nothing is decided."""
        if self.low is None or self.high is None:
            return "not decided"
        if self.low >= LINEAR:
            return "linear"
        if self.high <= FLAT:
            return "none"
        return "sub-linear" if self.high < LINEAR else "not decided"

    def at(self, machines: float) -> float:
        """The value according to the fit."""
        return float(self.at_one * machines**self.exponent)


def power_law(machines: Sequence[int], values: Sequence[float] | Floats, confidence: float = CONFIDENCE) -> PowerLaw:
    """Fits values to numbers of machines, without assuming a distribution.

    Theil's slope as Sen extended it to equal abscissae; with two numbers of machines it is the Hodges-Lehmann ratio of
    `compare`. Its interval inverts the exact Jonckheere-Terpstra test, so its ends are two of the slopes. It assumes
    that replicates of all numbers of machines spread by the same factor.

    Args:
        machines: shape (n,), each at least 1, of two or more different numbers.
        values: shape (n,), above 0.
        confidence: minimum coverage of the interval, in (0, 1).

    Raises:
        ValueError: lengths differ, all numbers of machines are equal, or a value is not a finite number above 0.

    Source: Sen, Estimates of the regression coefficient based on Kendall's tau (1968); Jonckheere, A distribution-free
    k-sample test against ordered alternatives (1954).
    """
    logs = np.log(positive_sample(values))
    if len(machines) != logs.size or min(machines) < 1:
        raise ValueError(f"{len(machines)} numbers of machines, each at least 1, needed for {logs.size} values")
    counts = sorted(machines.count(number) for number in set(machines))
    if len(counts) < 2:
        raise ValueError("growth needs two or more different numbers of machines")
    sizes = np.log(np.asarray(machines, dtype=np.float64))
    left, right = np.nonzero(sizes[:, None] < sizes[None, :])
    slopes = np.sort((logs[right] - logs[left]) / (sizes[right] - sizes[left]))
    exponent = middle(slopes)
    at_one = factor(middle(np.sort(logs - exponent * sizes)))
    rank, coverage = _interval_rank(tuple(counts), confidence)
    if not rank:
        return PowerLaw(exponent, at_one, None, None, None)
    return PowerLaw(exponent, at_one, float(slopes[rank - 1]), float(slopes[slopes.size - rank]), coverage)


@lru_cache(maxsize=256)
def _interval_rank(groups: tuple[int, ...], confidence: float) -> tuple[int, float]:
    """The largest k for which [k-th smallest, k-th largest] of the slopes covers, and how often; 0: none does."""
    below = list(accumulate(_in_order_chances(groups)))
    rank = 0
    while 1 - 2 * below[rank] >= confidence:
        rank += 1
    return rank, 1 - 2 * below[rank - 1] if rank else 0.0


def _in_order_chances(groups: Sequence[int]) -> list[float]:
    """P(so many pairs between groups are in order), from 0 on, when all values come from one distribution.

    Its generating function is a Gaussian multinomial coefficient: the Mann-Whitney distributions of each group against
    all groups before it, multiplied. Beyond `EXACT_PAIRS` the normal distribution of the same mean and variance.
    """
    total = sum(groups)
    pairs = (total**2 - sum(size**2 for size in groups)) // 2
    if pairs > EXACT_PAIRS:
        variance = (total**2 * (2 * total + 3) - sum(size**2 * (2 * size + 3) for size in groups)) / 72
        ends = [normal_cdf((count + 0.5 - pairs / 2) / math.sqrt(variance)) for count in range(-1, pairs + 1)]
        return [high - low for low, high in pairwise(ends)]
    ways, before = [1], 0
    for size in groups:
        for step in range(1, size + 1):
            ways = _divided(_times(ways, before + step), step)
        before += size
    return [count / sum(ways) for count in ways]


def _times(ways: list[int], degree: int) -> list[int]:
    """A polynomial times (1 - q ** degree)."""
    padded = [*ways, *[0] * degree]
    return [here - (ways[power - degree] if power >= degree else 0) for power, here in enumerate(padded)]


def _divided(ways: list[int], degree: int) -> list[int]:
    """A polynomial over (1 - q ** degree), which divides it."""
    found = list(ways)
    for power in range(degree, len(found)):
        found[power] += found[power - degree]
    return found[: len(found) - degree]
