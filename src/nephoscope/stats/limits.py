"""Limits and factors that several modules share or others print, without the libraries that compute."""

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
