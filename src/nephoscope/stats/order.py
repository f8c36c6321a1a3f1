"""Did the execution order of trials influence their values?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nephoscope.stats.samples import Floats, sample

PERMUTATIONS = 4999
MAX_NUMBERS = 4_000_000
"""Limit of permutations x values: beyond it there are fewer permutations, so that a long study fits into memory."""


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


def serial_effect(values: Floats, cells: Sequence[int], *, seed: int) -> OrderEffect | None:
    """Lag-1 autocorrelation of replicates within their cells, judged by permuting values within cells.

    Large values in either direction matter, measured from the mean under permutation (which is below 0).

    Args:
        values: shape (n,), standardised within cells, in the order in which they were measured.
        cells: shape (n,).
        seed: of the permutations.

    Returns:
        The pooled autocorrelation, in [-1, 1]; None if no cell has three values.
    """
    labels = np.asarray(cells)
    indices = [np.flatnonzero(labels == cell) for cell in np.unique(labels)]
    if not indices or max(i.size for i in indices) < 3:
        return None

    def autocorrelation(rows: Floats) -> Floats:
        products = sum(np.sum(rows[:, i[:-1]] * rows[:, i[1:]], axis=1) for i in indices)
        return np.asarray(products / np.sum(rows**2, axis=1))

    observed = float(autocorrelation(values[np.newaxis, :])[0])
    others = autocorrelation(_permutations(values, labels, seed))
    expected = float(np.mean(others))
    return OrderEffect(observed, _share_as_large(abs(observed - expected), np.abs(others - expected)))


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
