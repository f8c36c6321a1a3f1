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
_PARTS = 32
"""Into so many equally probable parts the distribution of values that were not measured is split."""
_SAME_FREEDOM = 1e-6
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

    Each configuration counts with what its variance is worth: one that was dropped after three blocks says less of what
    is common than one with ten. With equal degrees of freedom all count alike.

    Source: Smyth, Linear models and empirical Bayes methods (2004), section 6; the variance of the log variances is
    replaced by its upper confidence limit, and means are weighted by the inverse of their variances.
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
    noise = np.asarray(special.polygamma(1, half))
    centred = np.log(raw[known]) - special.digamma(half) + np.log(half)
    borrowed = _borrowed(centred, noise)
    if np.isinf(borrowed):
        return Spreads(np.full(squares.shape, pooled), np.full(squares.shape, total), borrowed, total)
    weights = noise.min() / noise
    common = float((weights * centred).sum() / weights.sum())
    floor = _weighted_median(raw[known] * freedom[known] / special.chdtri(freedom[known], 0.5), weights)
    return _shrunk(squares, freedom, borrowed, common, floor)


def completed(squares: Floats, freedom: Floats, *, paired: bool) -> Spreads:
    """As `moderated`, but configurations count as if all had as many values as the one with most.

    A study that drops configurations knows little of how much their variances differ, and `moderated` then borrows less
    than it would from the study in full: its sets are larger at the end. Here the values that were not measured spread
    as the pooled variance says, and each configuration counts as one with all values.

    Args:
        squares: shape (K,), as in `moderated`.
        freedom: shape (K,), as in `moderated`. With equal degrees of freedom the two functions agree.
        paired: as in `moderated`.

    Source: mean imputation over the distribution of the missing squares; docs/concepts/statistics.md compares the sets
    of simulated studies with those of studies in full.
    """
    known = (freedom > 0.3) & (squares > 0)
    if paired or known.sum() < MIN_POOLED or np.ptp(freedom[known]) < _SAME_FREEDOM:
        return moderated(squares, freedom, paired=paired)
    total, full = float(freedom.sum()), float(freedom[known].max())
    pooled = float(squares.sum() / total)
    missing = full - freedom[known]
    variances = (squares[known][:, None] + pooled * _quantiles(missing)) / full
    centred = np.log(variances) - special.digamma(full / 2) + np.log(full / 2)
    common = float(centred.mean())
    scatter = float(((centred - common) ** 2).mean() * known.sum() / (known.sum() - 1))
    others = float(known.sum()) - 1
    excess = scatter * others / float(special.chdtri(others, CAUTION)) - float(special.polygamma(1, full / 2))
    if excess <= 0:
        return Spreads(np.full(squares.shape, pooled), np.full(squares.shape, total), np.inf, total)
    borrowed = min(2 * _inverse_trigamma(excess), _MAX_PRIOR)
    floor = float(np.median(variances)) * full / float(special.chdtri(full, 0.5))
    return _shrunk(squares, freedom, borrowed, common, floor)


def _quantiles(missing: Floats) -> Floats:
    """Shape (K, `_PARTS`): equally probable values of chi-square with these degrees of freedom; 0 for none."""
    several, place = np.unique(np.round(missing, 9), return_inverse=True)
    chances = (np.arange(_PARTS)[::-1] + 0.5) / _PARTS
    some = several > _SAME_FREEDOM
    found = np.zeros((several.size, _PARTS))
    found[some] = special.chdtri(several[some][:, None], chances)
    return np.asarray(found[place])


def _shrunk(squares: Floats, freedom: Floats, borrowed: float, common: float, floor: float) -> Spreads:
    """Variances that borrow from the common one, whose logarithm is given, and none below the floor."""
    total = float(freedom.sum())
    prior = float(squares.sum() / total)
    if borrowed > 0:
        prior = np.exp(common + special.digamma(borrowed / 2) - np.log(borrowed / 2))
    shrunk = (borrowed * prior + squares) / np.maximum(borrowed + freedom, 1e-12)
    return Spreads(np.maximum(shrunk, floor), np.minimum(borrowed + freedom, total), borrowed, total)


def _borrowed(logs: Floats, noise: Floats) -> float:
    """Degrees of freedom of the common variance, from the scatter of the log variances.

    Args:
        logs: shape (K,), log variances, each centred on the logarithm of the true variance.
        noise: shape (K,), their sampling variances.

    Source: weights that are best where the true variances hardly differ; degrees of freedom of a sum of weighted
    squares as in Satterthwaite (1946).
    """
    parts = noise.min() / noise
    weights = parts**2
    total = weights.sum()
    centre = float((weights * logs).sum() / total)
    scatter = float((weights * (logs - centre) ** 2).sum() / (total - weights @ weights / total))
    others = float(parts.sum() ** 2 / (parts**2).sum()) - 1
    careful = scatter * others / float(special.chdtri(others, CAUTION))
    left = weights * (1 - weights / total)
    left /= left.max()
    excess = careful - float((left * noise).sum() / left.sum())
    if excess <= 0:
        return np.inf
    return min(2 * _inverse_trigamma(excess), _MAX_PRIOR)


def _weighted_median(values: Floats, weights: Floats) -> float:
    """Where half of the weight lies below, interpolated between values: the usual median if all weights are equal."""
    order = np.argsort(values)
    ordered = values[order]
    behind = np.cumsum(weights[order]) - weights[order] / 2 - weights.sum() / 2
    above = int(np.searchsorted(behind, 0))
    if behind[above] == 0:
        return float(ordered[above])
    low, high = -behind[above - 1], behind[above]
    return float((high * ordered[above - 1] + low * ordered[above]) / (low + high))


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
