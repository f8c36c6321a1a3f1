"""The spread of each configuration, with strength borrowed from the others as far as they agree.

Six replicates say little about the spread of one configuration. If all spread alike, one pooled variance has many
degrees of freedom; if not, pooling understates the noisy ones and calls their luck a difference. How much to borrow
follows from the data: from how much more the variances differ than equal ones would.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.samples import Floats

CAUTION = 0.95
"""Confidence that variances differ at most as much as is assumed: their agreement is not overstated. With 0.9, one
configuration of a hundred that spreads three times as much as the others excluded a best one in 6 % of studies."""
MIN_POOLED = 3
"""With fewer configurations nothing says whether spreads agree: two share one variance within blocks, else none."""
_MAX_PRIOR = 1e6
_MAX_STEPS = 50
_PRECISION = 1e-10


@dataclass(frozen=True)
class Spreads:
    """Variances of a single value, by configuration, and what they are worth."""

    variances: Floats
    """Shape (K,): NaN if nothing is known of a configuration's spread."""
    freedom: Floats
    """Shape (K,): degrees of freedom of each variance, those that were borrowed included."""
    borrowed: float
    """Degrees of freedom that each configuration borrows: 0 if spreads disagree, infinite if they look equal."""
    total: float
    """Degrees of freedom of all residuals together: no variance is worth more."""


def moderated(squares: Floats, freedom: Floats, *, paired: bool) -> Spreads:
    """Variances shrunk towards their common value, and none below their median.

    The floor keeps a configuration whose few values happen to be close together from looking precise. It can only make
    an answer more careful.

    Args:
        squares: shape (K,), sums of squared residuals.
        freedom: shape (K,), degrees of freedom in them.
        paired: two configurations within blocks: their residuals mirror each other, so they have one variance.

    Source: Smyth, Linear models and empirical Bayes methods (2004), section 6; the variance of the log variances is
    replaced by its upper confidence limit.
    """
    total = float(freedom.sum())
    known = (freedom > 0.3) & (squares > 0)
    if total <= 0:
        return Spreads(np.full(squares.shape, np.nan), np.zeros(squares.shape), 0.0, 0.0)
    pooled = float(squares.sum() / total)
    if paired or pooled == 0:
        return Spreads(np.full(squares.shape, pooled), np.full(squares.shape, total), np.inf, total)
    raw = np.divide(squares, freedom, out=np.full(squares.shape, np.nan), where=freedom > 0.3)
    if known.sum() < MIN_POOLED:
        return Spreads(np.where(freedom > 0.3, raw, np.nan), np.where(freedom > 0.3, freedom, 0.0), 0.0, total)
    half = freedom[known] / 2
    logs = np.log(raw[known])
    borrowed = _borrowed(logs, half)
    if np.isinf(borrowed):
        return Spreads(np.full(squares.shape, pooled), np.full(squares.shape, total), borrowed, total)
    common = float(np.mean(logs - special.digamma(half) + np.log(half)))
    prior = np.exp(common + special.digamma(borrowed / 2) - np.log(borrowed / 2)) if borrowed > 0 else pooled
    shrunk = (borrowed * prior + squares) / np.maximum(borrowed + freedom, 1e-12)
    floor = float(np.median(raw[known] * freedom[known] / special.chdtri(freedom[known], 0.5)))
    worth = np.minimum(borrowed + freedom, total)
    return Spreads(np.maximum(shrunk, floor), worth, borrowed, total)


def _borrowed(logs: Floats, half: Floats) -> float:
    """Degrees of freedom of the common variance, from the scatter of the log variances."""
    centred = logs - special.digamma(half) + np.log(half)
    scatter = float(centred.var(ddof=1))
    others = logs.size - 1
    careful = scatter * others / float(special.chdtri(others, CAUTION))
    excess = careful - float(special.polygamma(1, half).mean())
    if excess <= 0:
        return np.inf
    return min(2 * _inverse_trigamma(excess), _MAX_PRIOR)


def _inverse_trigamma(value: float) -> float:
    """The argument at which the trigamma function has this value, by Newton's steps on its reciprocal.

    Source: Smyth (2004), appendix: the reciprocal is convex and nearly linear, so a few steps from below suffice.
    """
    found = 0.5 + 1 / value
    for _ in range(_MAX_STEPS):
        trigamma = float(special.polygamma(1, found))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, found))
        found += step
        if -step < _PRECISION * found:
            break
    return found
