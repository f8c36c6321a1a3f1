"""Did the execution order of trials influence their values? And what replicates say that depend on the one before."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np

from nephoscope.stats.decide import ALPHA
from nephoscope.stats.moderation import Spreads
from nephoscope.stats.samples import Floats, Indices, sample
from nephoscope.stats.two_way import TwoWayFit

PERMUTATIONS = 4999
MAX_NUMBERS = 4_000_000
"""Limit of permutations x values: beyond it there are fewer permutations, so that a long study fits into memory."""
MIN_BLOCKS = 4
"""Fewer blocks have too few orders."""
ORDERS = 999
"""So many other orders of the blocks are drawn where there are more than `_ALL_ORDERS` blocks."""
_ALL_ORDERS = 6


@dataclass(frozen=True)
class OrderEffect:
    """A statistic of the order, and the share of permutations that give one at least as large."""

    statistic: float
    p_value: float


def standardised(values: Sequence[float] | Floats) -> Floats | None:
    """(x - mean) / standard deviation, shape (n,); None below three values or if all are equal."""
    array = sample(values, minimum=0)
    if array.size < 3 or array.min() == array.max():
        return None
    return np.asarray((array - array.mean()) / array.std(ddof=1), dtype=np.float64)


def group_effect(values: Floats, groups: Sequence[int], cells: Sequence[int], *, seed: int) -> OrderEffect | None:
    """Kruskal-Wallis over groups (blocks, positions in block), judged by permuting values within their cells.

    A cell is one configuration x benchmark, whose values were standardised together; their sum is 0 by construction, so
    chi-square would find effects too often. Permuting inside cells gives the exact null distribution, up to the number
    of permutations.

    Args:
        values: shape (n,), standardised within cells.
        groups: shape (n,).
        cells: shape (n,).
        seed: of the permutations.

    Returns:
        None if there are fewer than two groups.
    """
    if len(set(groups)) < 2:
        return None
    array, labels = _grouped(values, groups)
    ranks = _midranks(array)
    observed = float(_kruskal_h(ranks[np.newaxis, :], labels)[0])
    others = _kruskal_h(_permutations(ranks, np.asarray(cells), seed), labels)
    return OrderEffect(observed, _share_as_large(observed, others))


def serial_effect(residuals: Floats) -> OrderEffect | None:
    """Lag-1 autocorrelation of all rows together, judged by other orders of the same columns.

    Rows may depend on each other in any way, as the residuals of one fit do: a column moves as a whole. Only a positive
    correlation counts, as only that makes means look better known than they are.

    Args:
        residuals: shape (K, B), in units that make rows comparable, in the order of time; NaN where there is none.

    Returns:
        None if there are fewer than `MIN_BLOCKS` columns, or no residuals.
    """
    filled = np.nan_to_num(residuals)
    products = filled.T @ filled
    if residuals.shape[1] < MIN_BLOCKS or not (total := float(np.trace(products))):
        return None
    orders = _orders(residuals.shape[1])
    sums = products[orders[:, :-1], orders[:, 1:]].sum(axis=1)
    return OrderEffect(float(sums[0]) / total, float(np.mean(sums >= sums[0] - 1e-9 * abs(sums[0]))))


@lru_cache(maxsize=64)
def _orders(columns: int) -> Indices:
    """Shape (orders, columns): the one of time first, and others: all of them where they are few."""
    if columns <= _ALL_ORDERS:
        return np.array([*permutations(range(columns))], dtype=np.intp)
    generator = np.random.default_rng(columns)
    drawn = [generator.permutation(columns) for _ in range(ORDERS)]
    return np.array([np.arange(columns), *drawn], dtype=np.intp)


def _share_as_large(observed: float, others: Floats) -> float:
    """The share of the permutations, the observed order among them, that give as much; rounding counts as equal."""
    as_large = int(np.sum(others >= observed - 1e-9 * max(1.0, abs(observed))))
    return (1 + as_large) / (1 + others.size)


def _permutations(values: Floats, cells: np.ndarray[tuple[int], np.dtype[np.int64]], seed: int) -> Floats:
    """Shape (permutations, n): the values permuted within their cells."""
    generator = np.random.default_rng(seed)
    rows = np.tile(values, (max(99, min(PERMUTATIONS, MAX_NUMBERS // values.size)), 1))
    for cell in np.unique(cells):
        inside = np.flatnonzero(cells == cell)
        rows[:, inside] = generator.permuted(rows[:, inside], axis=1)
    return rows


def _midranks(values: Floats) -> Floats:
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(sizes) - (sizes - 1) / 2)[group], dtype=np.float64)


def _kruskal_h(ranks: Floats, labels: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """H of every row of ranks, shape (rows, n); variance of the midranks in place of a correction for ties.

    Rows are permutations of each other, so that one variance serves them all.
    """
    n = ranks.shape[1]
    sizes = np.bincount(labels)
    starts = np.cumsum(sizes) - sizes
    means = np.add.reduceat(ranks[:, np.argsort(labels, kind="stable")], starts, axis=1) / sizes
    between = (sizes * (means - (n + 1) / 2) ** 2).sum(axis=1)
    return np.asarray(between / ranks[0].var(ddof=1), dtype=np.float64)


def _grouped(
    values: Sequence[float] | Floats, groups: Sequence[int]
) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    array = sample(values)
    if len(groups) != array.size:
        raise ValueError(f"{array.size} values but {len(groups)} groups")
    _, labels = np.unique(np.asarray(groups), return_inverse=True)
    return array, labels.astype(np.int64)


MIN_FREEDOM = 20
"""With fewer degrees of freedom the residuals of a fit say too little of dependence."""
_MOST = 0.9


def excess_of(fit: TwoWayFit, spreads: Spreads) -> float:
    """What variances of means are, as a multiple of those that independent replicates with these residuals would have.

    Judged by the lag-1 autocorrelation of the residuals in the order of the blocks, over all configurations, against
    that of other orders of the same blocks: exact, whatever the residuals look like. 1 if it is not significant at 5 %.

    Args:
        fit: within blocks, which are columns in the order of time.
        spreads: of its configurations.

    Source: the correlation is that of an autoregression whose residuals from a mean would have the same expected
    lag-1 autocorrelation; Bayley & Hammersley, The effective number of independent observations (1946).
    """
    known = spreads.variances > 0
    if not fit.blocked or fit.freedom[known].sum() < MIN_FREEDOM:
        return 1.0
    effect = serial_effect(fit.residuals[known] / np.sqrt(spreads.variances[known])[:, None])
    if effect is None or effect.p_value > ALPHA:
        return 1.0
    return float(np.interp(effect.statistic, *_autoregressions(fit.residuals.shape[1])))


@lru_cache(maxsize=64)
def _autoregressions(blocks: int) -> tuple[Floats, Floats]:
    """For correlations from 0 up: the expected lag-1 autocorrelation of residuals from a mean, and the excess."""
    places = np.arange(blocks)
    centre = np.eye(blocks) - 1 / blocks
    expected, excess = [], []
    for correlation in np.linspace(0, _MOST, 91):
        covariance = correlation ** np.abs(np.subtract.outer(places, places))
        inside = centre @ covariance @ centre
        expected.append(np.trace(inside, offset=1) / np.trace(inside))
        excess.append(covariance.mean() * blocks * (blocks - 1) / np.trace(inside))
    return np.array(expected), np.array(excess)
