"""Limits and factors that several modules share or others print, without the libraries that compute."""

import math

from nephoscope.model.units import MOST_RATIO

MIN_CHANGE = 0.05
"""Of the higher level: less is no throttling. Half of the steps of 10 % that must be found."""

MIN_SUSTAINED_VALUES = 12
"""A rate that fell for fewer values at the end of a series may be a checkpoint or a garbage collection."""

MIN_SUSTAINED_SHARE = 0.1
"""Of the series; the same."""

NO_SPREAD = 1e-18
"""Squares of logarithms below this are rounding errors."""

MAD_TO_SIGMA = 1.4826
"""Standard deviation / MAD of a normal distribution."""

MOST_LOG = math.log(MOST_RATIO)
"""An interval of few values can reach further than any two values can differ: there it ends."""


def factor(log: float) -> float:
    """What a difference of logarithms is as a ratio, as far as two values can differ."""
    return math.exp(min(max(log, -MOST_LOG), MOST_LOG))


def growth(log: float) -> float:
    """`factor` - 1, without rounding where it is small."""
    return math.expm1(min(max(log, -MOST_LOG), MOST_LOG))
