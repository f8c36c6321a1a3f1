"""By what factor values changed between two studies, over one configuration or over several.

Trials of one block ran at about the same time, so what disturbed one of them may have disturbed all: a block, not a
trial, is what varies on its own. With one configuration this is Welch's test on logarithms.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nephoscope.stats.blocked import compare_in_blocks
from nephoscope.stats.distributions import student_t_quantile
from nephoscope.stats.limits import NO_SPREAD, factor
from nephoscope.stats.median import median_interval
from nephoscope.stats.ratio import RatioInterval, reaching
from nephoscope.stats.samples import Floats, positive_sample

MIN_VALUES = 2
"""A configuration with fewer values takes part in no claim."""

Method = Literal["values", "rank sums", "none"]


@dataclass(frozen=True)
class Measured:
    """Values of one configuration in one study."""

    values: Sequence[float]
    """Above 0."""
    blocks: Sequence[int] = ()
    """The block of each value; empty: each value is of its own."""


@dataclass(frozen=True)
class Change:
    """`after` as a multiple of `before`; no unit."""

    ratio: float
    interval: RatioInterval | None
    """None: with this few values no interval reaches the requested confidence."""
    method: Method
    levels: tuple[float, float] | None
    """Before and after, whose quotient is the ratio; None: several configurations have none in common."""


@dataclass(frozen=True)
class _Mean:
    """The mean over configurations of their means of logarithms."""

    mean: float
    variance: float
    freedom: float


def change(pairs: Sequence[tuple[Measured, Measured]], confidence: float) -> Change:
    """The geometric mean over configurations of after / before, with its interval.

    The interval is Welch's, from two variances that are robust against anything that the trials of a block share. Where
    half of the configurations or more have no spread, values come in steps: then it is an exact rank sum within each
    configuration.

    Args:
        pairs: (before, after) of each configuration, with at least one value each.
        confidence: coverage of the interval, in (0, 1).

    Raises:
        ValueError: no pair, an empty sample, or a value that is not a finite number above 0.

    Source: Welch (1947); for the variance, Liang & Zeger (1986) with the correction of clusters / (clusters - 1).
    """
    if not pairs:
        raise ValueError("a change needs at least one configuration")
    before, after = ([np.log(positive_sample(pair[side].values)) for pair in pairs] for side in (0, 1))
    several = all(one.size >= MIN_VALUES for one in (*before, *after))
    flat = sum(float(np.square(one - one.mean()).sum()) <= NO_SPREAD for one in (*before, *after))
    if several and flat >= len(pairs):
        return _in_steps(pairs, confidence)
    old, new = (_mean([pair[side] for pair in pairs], logs) for side, logs in ((0, before), (1, after)))
    estimate, variance = new.mean - old.mean, old.variance + new.variance
    levels = (math.exp(old.mean), math.exp(new.mean)) if len(pairs) == 1 else None
    if not several or not math.isfinite(variance) or variance <= 0:
        return Change(factor(estimate), None, "none", levels)
    freedom = variance**2 / (old.variance**2 / old.freedom + new.variance**2 / new.freedom)
    half = student_t_quantile((1 + confidence) / 2, freedom) * math.sqrt(variance)
    ends = RatioInterval(factor(estimate - half), factor(estimate + half), confidence)
    return Change(factor(estimate), ends, "values", levels)


def _in_steps(pairs: Sequence[tuple[Measured, Measured]], confidence: float) -> Change:
    """By exact rank sums. The ratio of one configuration is that of its medians, and the interval contains it."""
    exact = compare_in_blocks([(new.values, old.values) for old, new in pairs], confidence)
    if len(pairs) > 1:
        return Change(exact.ratio, exact.interval, "rank sums", None)
    before, after = (median_interval(side.values).median for side in pairs[0])
    ratio = after / before
    return Change(ratio, reaching(ratio, exact.interval), "rank sums", (before, after))


def _mean(many: Sequence[Measured], logs: Sequence[Floats]) -> _Mean:
    """The variance adds what each block moved the mean by; without blocks, what each configuration did."""
    count = len(many)
    mean = float(np.mean([one.mean() for one in logs]))
    if any(len(one.blocks) != len(one.values) for one in many):
        parts = np.array([one.var(ddof=1) / one.size if one.size > 1 else np.nan for one in logs]) / count**2
        variance = float(parts.sum())
        below = float((parts**2 / np.array([max(one.size - 1, 1) for one in logs])).sum())
        return _Mean(mean, variance, variance**2 / below if below > 0 else 1.0)
    moved: dict[int, float] = defaultdict(float)
    for one, values in zip(many, logs, strict=True):
        for block, residual in zip(one.blocks, values - values.mean(), strict=True):
            moved[block] += float(residual) / (count * values.size)
    clusters = len(moved)
    if clusters < MIN_VALUES:
        return _Mean(mean, math.nan, 1.0)
    variance = clusters / (clusters - 1) * sum(value**2 for value in moved.values())
    return _Mean(mean, variance, clusters - 1)
