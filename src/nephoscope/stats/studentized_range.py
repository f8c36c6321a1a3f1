"""How far apart the largest and the smallest of several equal means may lie by chance: Tukey's studentised range.

SciPy has this distribution, but takes 10 ms for a probability and 100 ms for a quantile. A step-down test of a hundred
configurations needs thousands of quantiles, so they are computed once on a grid, for each level, and interpolated.
"""

from functools import lru_cache

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.samples import Floats

MIN_DEGREES_OF_FREEDOM = 1 - 1e-9
"""With fewer no difference is certain: the critical value is infinite."""
MAX_GROUPS = 100_000
"""The largest number of means that the grid covers; a leaderboard of as many would need arrays of 80 GB."""

_GROUPS = np.array(
    [
        *(2, 3, 4, 5, 6, 8, 10, 13, 17, 23, 30, 40, 55, 75, 100, 140, 200, 300, 500, 1000),
        *(2000, 5000, 10_000, 20_000, 50_000, MAX_GROUPS),
    ]
)
_FREEDOM = np.array([1, 1.25, 1.6, 2, 2.5, 3, 3.5, 4, 5, 6, 8, 10, 14, 20, 30, 45, 70, 120, 300, 1000, np.inf])
_RANGES = np.concatenate([np.linspace(0, 12, 481), np.linspace(12.05, 40, 560)])
_HIGHEST = 1e6
"""Above every critical value of the grid at 0.1 % and more."""
_HALVINGS = 50


def critical_range(groups: int, degrees_of_freedom: Floats | float, alpha: float) -> Floats:
    """The value that the studentised range of equal means exceeds with probability `alpha`.

    Args:
        groups: the number of means, 2 to `MAX_GROUPS`.
        degrees_of_freedom: of the standard deviation; any shape, infinity included. Below 1 the result is infinite.
        alpha: in [0.001, 1).

    Returns:
        The same shape, within 0.5 % of the exact quantile; exact for two means, so that a leaderboard of two agrees
        with the comparison of a pair.

    Raises:
        ValueError: a number of means that the grid does not cover.

    Source: Copenhaver & Holland, Computation of the distribution of the maximum studentized range statistic (1988).
    """
    if not 2 <= groups <= MAX_GROUPS:
        raise ValueError(f"a range has 2 to {MAX_GROUPS} means, not {groups}")
    freedom = np.asarray(degrees_of_freedom, dtype=np.float64)
    if groups == 2:
        known = np.clip(freedom, MIN_DEGREES_OF_FREEDOM, 1e9)
        exact = np.sqrt(2) * special.stdtrit(known, 1 - alpha / 2)
        return np.where(freedom < MIN_DEGREES_OF_FREEDOM, np.inf, exact)
    with np.errstate(divide="ignore"):
        inverse, known = 1 / freedom, 1 / _FREEDOM
    above = np.searchsorted(-known, -np.clip(inverse, 0, 1), side="left")
    needed = sorted({*np.unique(above).tolist(), *np.unique(np.maximum(above - 1, 0)).tolist()}, reverse=True)
    logs = np.interp(inverse, known[needed], [_of_groups(groups, place, alpha) for place in needed])
    return np.where(freedom < MIN_DEGREES_OF_FREEDOM, np.inf, np.exp(logs))


@lru_cache(maxsize=65536)
def _of_groups(groups: int, place: int, alpha: float) -> float:
    """Logarithm of the critical value of a number of means, at a place of the grid's degrees of freedom."""
    return float(np.interp(np.log(groups), np.log(_GROUPS), _row(place, alpha)))


@lru_cache(maxsize=1024)
def _row(place: int, alpha: float) -> Floats:
    """Logarithms of critical values for each number of means, by halving."""
    nodes, weights = np.polynomial.legendre.leggauss(160)
    roots = (nodes + 1) / 2
    chances = roots**3  # most of them small: few degrees of freedom give a huge range by a tiny standard deviation
    freedom = float(_FREEDOM[place])
    scale = np.sqrt(2 * special.gammaincinv(freedom / 2, chances) / freedom) if np.isfinite(freedom) else np.ones(1)
    weight = 1.5 * roots**2 * weights if np.isfinite(freedom) else np.ones(1)
    low, high = np.zeros(_GROUPS.size), np.full(_GROUPS.size, _HIGHEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        ranges = zip(middle, _normal_range(), strict=True)
        reached = np.array([weight @ np.interp(value * scale, _RANGES, row) for value, row in ranges])
        low, high = np.where(reached < 1 - alpha, middle, low), np.where(reached < 1 - alpha, high, middle)
    return np.asarray(np.log(high))


@lru_cache(maxsize=1)
def _normal_range() -> Floats:
    """P(range of standard normals <= x), shape (groups, ranges): the known standard deviation's case."""
    nodes, weights = np.polynomial.legendre.leggauss(96)
    z, weight = 8 * nodes, 8 * weights * np.exp(-32 * nodes**2) / np.sqrt(2 * np.pi)
    inside = special.ndtr(z) - special.ndtr(z - _RANGES[:, None])
    return np.asarray(np.clip([groups * (inside ** (groups - 1)) @ weight for groups in _GROUPS], 0, 1))
