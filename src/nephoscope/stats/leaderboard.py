"""Many configurations, one metric: who may be the best, which ranks are possible, what differs, what is a tie.

Every question has its own error rate. All of them use the same fit: configurations within blocks, on logarithms.
Questions about all configurations at once borrow spread from all of them as far as these agree; a contrast does not.
Where values come in steps, and most configurations have no spread, the fit is no model: then exact rank sums, corrected
by Holm, say who is surely better, and no pair is a tie. With many configurations they decide little; they are right
whatever the values look like.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.decide import ALPHA, POWER, holm
from nephoscope.stats.limits import NO_SPREAD
from nephoscope.stats.moderation import Spreads, completed, moderated
from nephoscope.stats.order import excess_of
from nephoscope.stats.rank_sum import rank_sum_p_value
from nephoscope.stats.samples import Floats, Indices, Mask
from nephoscope.stats.studentized_range import critical_range
from nephoscope.stats.two_way import TwoWayFit
from nephoscope.stats.unlike import Kinds, kinds_of, without_far_off


def surely_above(samples: Sequence[Floats], alpha: float) -> Mask:
    """Which configuration is above which.

    Args:
        samples: the values of each configuration, higher is better; those with fewer than two take part in no claim.
        alpha: chance of even one false claim.

    Returns:
        Shape (k, k), booleans: the row's configuration is surely above the column's.

    Source: Mann & Whitney (1947), exact with ties; Holm (1979).
    """
    above = np.zeros((len(samples), len(samples)), dtype=bool)
    pairs = [
        (i, j)
        for i in range(len(samples))
        for j in range(i + 1, len(samples))
        if samples[i].size > 1 and samples[j].size > 1
    ]
    adjusted = holm([rank_sum_p_value(samples[i], samples[j]) for i, j in pairs])
    for (i, j), p_value in zip(pairs, adjusted, strict=True):
        if p_value < alpha:
            first = _mean_rank_is_higher(samples[i], samples[j])
            above[(i, j) if first else (j, i)] = True
    return above


def possible_best_by_ranks(samples: Sequence[Floats], alpha: float) -> Indices:
    """Indices of the configurations that no other is surely above."""
    return np.flatnonzero(~surely_above(samples, alpha).any(axis=0))


def _mean_rank_is_higher(left: Floats, right: Floats) -> bool:
    return float(np.sign(np.subtract.outer(left, right)).sum()) > 0


MIN_VALUES = 3
"""A configuration with fewer values takes part in no claim. Where a metric has two narrow levels, two values often
agree by chance and seem to have no spread: with two each, up to 40 % of boards of equal configurations excluded one."""
_SQRT_2 = np.sqrt(2.0)


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of means of logarithms."""

    estimate: float
    error: float
    """Standard error."""
    freedom: float
    p_value: float
    """Two-sided, of no difference."""
    down: float
    """At most 0: by how much it is lower between the more frequent kinds of configurations that came in two."""
    up: float
    """At least 0: by how much it is higher."""

    def interval(self, confidence: float) -> tuple[float, float]:
        """Bounds that cover the true value with this confidence, on logarithms."""
        half = float(special.stdtrit(self.freedom, (1 + confidence) / 2)) * self.error
        return self.estimate - half + self.down, self.estimate + half + self.up


@dataclass(frozen=True)
class Leaderboard:
    """The fit of one metric over K configurations. Higher logarithms are better."""

    logs: Floats
    """Shape (K, B), NaN where there is no value."""
    fit: TwoWayFit
    """Without what was set aside, but `counts` are of all values; squares are what independent replicates would need
    to say as little of the means."""
    spreads: Spreads
    set_aside: Mask
    """Shape (K, B): values that are far off."""
    kinds: Kinds
    excess: float
    """By how much dependence multiplied variances; 1: no replicate was shown to depend on the one before."""

    @classmethod
    def of(cls, logs: Floats, *, blocked: bool) -> "Leaderboard":
        """Fits the values.

        Args:
            logs: shape (K, B): logarithms of the values, negated if less is better; NaN where there is no value.
            blocked: whether the columns are blocks, each measured at one time. If not, rows may be in any order.

        Raises:
            ValueError: not two dimensions, or infinite values.
        """
        fit, out = without_far_off(logs, blocked=blocked)
        spreads = moderated(fit.squares, fit.freedom, paired=_paired(fit))
        excess = excess_of(fit, spreads)
        if excess > 1:
            fit = replace(fit, squares=fit.squares * excess)
            spreads = replace(spreads, variances=spreads.variances * excess)
        kinds = kinds_of(fit.residuals)
        kinds = kinds.named(np.where(out, np.nan, logs)) if fit.blocked else kinds
        fit = replace(fit, counts=(~np.isnan(logs)).sum(axis=1).astype(np.float64))
        return cls(logs, fit, spreads, out, kinds, excess)

    def shifted(self, offsets: Floats) -> "Leaderboard":
        """The same values divided by a constant of each configuration: its CPUs, or the dollars of a month.

        Args:
            offsets: shape (K,), added to the logarithms. NaN takes a configuration out of all claims.
        """
        fit = replace(self.fit, means=self.fit.means + offsets)
        return replace(self, logs=self.logs + offsets[:, None], fit=fit)

    @cached_property
    def as_if_complete(self) -> "Leaderboard":
        """The same fit, with spreads as if no configuration had been dropped: see `moderation.completed`."""
        spreads = completed(self.fit.squares, self.fit.freedom, paired=_paired(self.fit))
        return replace(self, spreads=spreads)

    @cached_property
    def decidable(self) -> Mask:
        """Shape (K,), booleans: configurations with enough values for a claim."""
        known = np.isfinite(self.spreads.variances) & np.isfinite(self.fit.means)
        return np.asarray((self.fit.counts >= MIN_VALUES) & known)

    @cached_property
    def discrete(self) -> bool:
        """True if most configurations have no spread at all: a metric in steps, for which the fit is no model."""
        several = self.fit.counts >= MIN_VALUES
        return bool(several.any() and np.mean(self.fit.squares[several] <= NO_SPREAD) > 0.5)

    @cached_property
    def samples(self) -> tuple[Floats, ...]:
        """The logarithms of each configuration, without holes."""
        return tuple(row[~np.isnan(row)] for row in self.logs)

    @cached_property
    def gaps(self) -> Floats:
        """Shape (K, K): by how much the row's configuration is above the column's, on logarithms."""
        return np.asarray(self.fit.means[:, None] - self.fit.means[None, :])

    @cached_property
    def down(self) -> Floats:
        """Shape (K, K), at most 0: by how much a gap is smaller between the more frequent kinds of both than of means.

        It is larger by `-down.T`.
        """
        return np.asarray(self.kinds.low[:, None] - self.kinds.high[None, :])

    @cached_property
    def sure_gaps(self) -> Floats:
        """Shape (K, K): the part of each gap that there is between means and between the more frequent kinds."""
        return np.asarray(np.maximum(self.gaps + self.down, 0) + np.minimum(self.gaps - self.down.T, 0))

    @cached_property
    def errors(self) -> Floats:
        """Shape (K, K): standard errors of the gaps."""
        parts = self._parts(self.spreads.variances)
        return np.asarray(np.sqrt(np.maximum(parts + parts.T, 0)))

    def _parts(self, variances: Floats) -> Floats:
        """Shape (K, K): what the row's configuration adds to the variance of its gap to the column's."""
        return np.asarray((np.diag(self.fit.unscaled)[:, None] - self.fit.unscaled) * variances[:, None])

    @cached_property
    def freedom(self) -> Floats:
        """Shape (K, K): degrees of freedom of the errors.

        Within three or more configurations the smaller of the two: Welch's sum of both is too many for variances that
        share what they borrowed. Two configurations without blocks share nothing.
        """
        each = self.spreads.freedom
        least = np.minimum(each[:, None], each[None, :])
        if self.fit.blocked or int((self.fit.counts > 0).sum()) > 2:
            return np.asarray(least)
        parts = (np.diag(self.fit.unscaled) * self.spreads.variances)[:, None] * np.ones_like(least)
        with np.errstate(divide="ignore", invalid="ignore"):
            welch = (parts + parts.T) ** 2 / (parts**2 / each[:, None] + parts.T**2 / each[None, :])
        return np.asarray(np.where(np.isfinite(welch), welch, least))

    @cached_property
    def of_pairs(self) -> tuple[Floats, Floats]:
        """Two arrays of shape (K, K): standard error and degrees of freedom of each gap as a comparison on its own.

        As `contrast` has them, with nothing borrowed; for all pairs at once.
        """
        variances, each = _own_spreads(self, np.arange(self.logs.shape[0]))
        parts = self._parts(variances)
        squares = np.maximum(parts + parts.T, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = parts**2 / each[:, None]
            welch = np.where(squares > 0, squares**2 / (below + below.T), np.minimum(each[:, None], each[None, :]))
        return np.sqrt(squares), np.asarray(np.minimum(welch, self.spreads.total))

    @cached_property
    def distances(self) -> Floats:
        """Shape (K, K): gaps in units of the studentised range; NaN where no claim is possible, 0 on the diagonal."""
        usable = self.decidable[:, None] & self.decidable[None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = _SQRT_2 * self.sure_gaps / self.errors
        distances = np.where(np.isnan(distances), 0.0, distances)
        return np.asarray(np.where(usable, distances, np.nan))


def _paired(fit: TwoWayFit) -> bool:
    return fit.blocked and int((fit.counts > 0).sum()) == 2


def possible_best(
    board: Leaderboard, alpha: float, among: Indices | None = None, *, spread_share: float = 1.0
) -> Indices:
    """The configurations that may be the best: all others are surely worse than one of these.

    A step-down test on the studentised range: everything that lies further below another than equal configurations
    would lie apart is excluded; the rest is compared with the smaller range of fewer configurations, until nothing more
    is excluded. No configuration that is the best, or equal to the best, is excluded in at least 1 - `alpha` of
    studies; that is more than Hsu's comparison with the best promises, which keeps only one of several equal ones.

    Args:
        board: the fit.
        alpha: error rate of this question, in (0, 1).
        among: indices of the configurations it is about; all by default.
        spread_share: tests as if all spreads were this share of what was measured. Values in steps have no spread.

    Returns:
        Indices, in order. A configuration with too few values is never excluded.

    Source: step-down of Newman and Keuls, with a spread that is moderated; docs/concepts/statistics.md has the
    simulated error rates and powers.
    """
    kept = _chosen(board, among)
    if board.discrete:
        return kept[possible_best_by_ranks([board.samples[row] for row in kept], alpha)]
    while True:
        claims = kept[board.decidable[kept]]
        if claims.size < 2:
            return kept
        square = np.ix_(claims, claims)
        critical = spread_share * critical_range(claims.size, board.freedom[square], alpha)
        excluded = claims[(board.distances[square] < -critical).any(axis=1)]
        if excluded.size == 0:
            return kept
        kept = np.setdiff1d(kept, excluded)


def possible_ranks(above: Mask) -> tuple[Indices, Indices]:
    """The first and the last rank of each configuration: all at once are right in as many studies as `above` is.

    Args:
        above: shape (k, k), see `differences`.

    Returns:
        Two arrays, ranks from 1.

    Source: Mogstad, Romano, Shaikh & Wilhelm, Inference for ranks (2024), with simultaneous intervals of all
    differences from Tukey's range.
    """
    return 1 + above.sum(axis=0), above.shape[0] - above.sum(axis=1)


def _chosen(board: Leaderboard, among: Indices | None) -> Indices:
    return np.arange(board.logs.shape[0]) if among is None else np.sort(np.asarray(among))


def differences(board: Leaderboard, alpha: float, among: Indices) -> Mask:
    """Shape (k, k), booleans: the row's configuration is surely above the column's; one error rate for all pairs."""
    if board.discrete:
        return surely_above([board.samples[row] for row in among], alpha)
    with np.errstate(invalid="ignore"):
        return np.asarray(board.gaps[np.ix_(among, among)] > half_widths(board, alpha, among))


def ties(board: Leaderboard, alpha: float, margin: float, among: Indices | None = None) -> Mask:
    """Shape (k, k), booleans: pairs whose simultaneous interval lies within the equivalence margin.

    Args:
        board: the fit.
        alpha: chance of even one false tie.
        margin: share, above 0: 0.015 for a ratio of 1.015 at most.
        among: as in `possible_best`.

    Raises:
        ValueError: a margin that is not above 0.
    """
    if margin <= 0:
        raise ValueError(f"an equivalence margin must be above 0, not {margin}")
    names = _chosen(board, among)
    half = half_widths(board, alpha, names)
    with np.errstate(invalid="ignore"):
        within = np.abs(board.gaps[np.ix_(names, names)]) + half <= np.log1p(margin)
    return np.asarray(within & ~np.eye(names.size, dtype=bool))


def half_widths(board: Leaderboard, alpha: float, among: Indices) -> Floats:
    """Shape (k, k): all gaps at once lie within their estimate plus and minus this, in 1 - `alpha` of studies.

    NaN where no claim is possible: too few values, or a metric in steps.

    Args:
        board: the fit.
        alpha: error rate for all gaps together.
        among: indices, in order.
    """
    claims = int(board.decidable[among].sum())
    if claims < 2 or board.discrete:
        return np.full((among.size, among.size), np.nan)
    square = np.ix_(among, among)
    with np.errstate(invalid="ignore"):
        half = critical_range(claims, board.freedom[square], alpha) / _SQRT_2 * board.errors[square]
        half += np.maximum(-board.down, -board.down.T)[square]
    return np.asarray(np.where(np.isnan(board.distances[square]), np.nan, half))


def mean_half_widths(board: Leaderboard, confidence: float) -> Floats:
    """Shape (K,): each mean on its own lies within its estimate plus and minus this, in this share of studies.

    By the configuration's own spread within blocks, as `contrast` has it. It says how well a mean is known, not which
    of two is higher. NaN where no claim is possible.
    """
    variances, freedom = _own_spreads(board, np.arange(board.logs.shape[0]))
    if _paired(board.fit):
        freedom = np.full_like(freedom, board.spreads.total)  # what one gains in a block, the other loses: one estimate
    half = special.stdtrit(freedom, (1 + confidence) / 2) * np.sqrt(variances * board.fit.each)
    return np.asarray(np.where(board.decidable, half, np.nan))


def contrast(board: Leaderboard, pairs: list[tuple[int, int]]) -> Contrast | None:
    """The mean over pairs of (first minus second): one question about what tells the firsts from the seconds.

    Each configuration counts with its own spread, not with a borrowed one: if one of a hundred spreads three times as
    much as the others, an interval of 95 % with borrowed spreads would cover its difference from another in 75 % of
    studies.

    Args:
        board: the fit.
        pairs: indices; those with too few values on either side are left out.

    Returns:
        None if no pair is left.

    Source: Welch (1947) with Satterthwaite's degrees of freedom, on the residuals within blocks.
    """
    usable = [(a, b) for a, b in pairs if board.decidable[a] and board.decidable[b]]
    if not usable:
        return None
    weights = np.zeros(board.logs.shape[0])
    for first, second in usable:
        weights[first] += 1 / len(usable)
        weights[second] -= 1 / len(usable)
    involved = np.flatnonzero(weights)
    if involved.size == 0:
        return None
    variances, each = _own_spreads(board, involved)
    inner = board.fit.unscaled[np.ix_(involved, involved)]
    parts = weights[involved] * (inner @ weights[involved]) * variances
    variance = max(float(parts.sum()), 0.0)
    welch = variance**2 / float((parts**2 / each).sum()) if variance > 0 else float(each.min())
    estimate = float(weights[involved] @ board.fit.means[involved])
    low, high = (weights[involved, None] * np.stack([board.kinds.low, board.kinds.high], axis=1)[involved]).T
    doubt = float(np.minimum(low, high).sum()), float(np.maximum(low, high).sum())
    return _contrast(estimate, float(np.sqrt(variance)), min(welch, board.spreads.total), doubt)


def _own_spreads(board: Leaderboard, involved: Indices) -> tuple[Floats, Floats]:
    """Variances without what was borrowed, and their degrees of freedom; the borrowed ones where values are equal."""
    squares, freedom = board.fit.squares[involved], board.fit.freedom[involved]
    known = (squares > NO_SPREAD) & (freedom > 0)
    own = np.divide(squares, freedom, out=np.zeros_like(squares), where=known)
    return (
        np.where(known, own, board.spreads.variances[involved]),
        np.where(known, freedom, board.spreads.freedom[involved]),
    )


def _contrast(estimate: float, error: float, freedom: float, doubt: tuple[float, float]) -> Contrast:
    sure = max(estimate + doubt[0], 0.0) + min(estimate + doubt[1], 0.0)
    if error == 0:
        return Contrast(estimate, 0.0, freedom, 1.0 if sure == 0 else 0.0, *doubt)
    return Contrast(estimate, error, freedom, 2 * float(special.stdtr(freedom, -abs(sure) / error)), *doubt)


_MAX_FREEDOM = 1e9
"""Infinitely many, for quantiles of Student's t."""


def errors_to_exclude(configurations: int, freedom: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """How many standard errors of a gap a configuration must be behind the best to be excluded with this power.

    Args:
        configurations: those that compete, at least 2.
        freedom: degrees of freedom of the standard error.
        alpha: error rate of the question.
        power: chance of excluding it.

    Returns:
        Infinite if there are too few degrees of freedom for any claim.
    """
    needed = float(critical_range(configurations, freedom, alpha)) / math.sqrt(2)
    return needed + float(special.stdtrit(min(freedom, _MAX_FREEDOM), power))
