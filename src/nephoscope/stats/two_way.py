"""Least squares for configurations within blocks: what a drifting machine adds to all values of a block goes away.

The model is value = configuration + block + noise, on logarithms. Blocks may have holes: a trial that does not count,
or a configuration that is no longer measured. Without blocks the model is value = configuration + noise.
"""

from dataclasses import dataclass

import numpy as np

from nephoscope.stats.samples import Floats, Indices


@dataclass(frozen=True)
class TwoWayFit:
    """Configurations are rows 0 to K - 1, blocks are columns 0 to B - 1."""

    means: Floats
    """Shape (K,): the mean of each configuration, had it been measured in every block. NaN without a value."""
    unscaled: Floats
    """Shape (K, K): the variance of `weights @ means` is `weights @ unscaled @ weights` times the variance of a value,
    for weights that add up to 0."""
    each: Floats
    """Shape (K,): the variance of each mean as a multiple of that of a value, with blocks as they were: no samples."""
    squares: Floats
    """Shape (K,): the sum of the squared residuals of each configuration."""
    freedom: Floats
    """Shape (K,): the degrees of freedom in it. They add up to those of the residuals."""
    residuals: Floats
    """Shape (K, B), NaN where there is no value."""
    counts: Floats
    """Shape (K,): the number of values of each configuration."""
    blocked: bool
    """False if blocks were ignored: asked for, or because no chain of blocks connects all configurations."""


def two_way_fit(logs: Floats, *, blocked: bool) -> TwoWayFit:
    """Fits configurations and blocks.

    Args:
        logs: shape (K, B), NaN where there is no value; K >= 1.
        blocked: whether columns are blocks. If not, or if they do not connect the configurations, the fit has no
            block effects.

    Raises:
        ValueError: not two dimensions, or infinite values.
    """
    if logs.ndim != 2 or np.isinf(logs).any():
        raise ValueError("values must be finite, one row per configuration and one column per block")
    present = ~np.isnan(logs)
    measured, used = present.any(axis=1), present.any(axis=0)
    inside = present[np.ix_(measured, used)].astype(np.float64)
    values = np.nan_to_num(logs[np.ix_(measured, used)])
    with_blocks = blocked and inside.size > 0 and _connected(inside)
    means, unscaled, each, residuals, leverage = (_within_blocks if with_blocks else _plain)(values, inside)
    k, b = logs.shape
    places = np.flatnonzero(measured)
    full_residuals = np.full((k, b), np.nan)
    full_residuals[np.ix_(measured, used)] = np.where(inside > 0, residuals, np.nan)
    return TwoWayFit(
        means=_spread(means, places, (k,), np.nan),
        unscaled=_spread(unscaled, places, (k, k), np.nan),
        each=_spread(each, places, (k,), np.nan),
        squares=_spread((residuals**2 * inside).sum(axis=1), places, (k,), 0.0),
        freedom=_spread(((1 - leverage) * inside).sum(axis=1), places, (k,), 0.0),
        residuals=full_residuals,
        counts=present.sum(axis=1).astype(np.float64),
        blocked=with_blocks,
    )


def _spread(values: Floats, places: Indices, shape: tuple[int, ...], empty: float) -> Floats:
    """The values of the configurations that were measured at their places among all."""
    full = np.full(shape, empty)
    full[np.ix_(*[places] * len(shape))] = values
    return full


def _plain(values: Floats, inside: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    counts = inside.sum(axis=1)
    means = (values * inside).sum(axis=1) / counts
    residuals = (values - means[:, None]) * inside
    return means, np.diag(1 / counts), 1 / counts, residuals, inside / counts[:, None]


def _within_blocks(values: Floats, inside: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Solves the normal equations after eliminating the configurations, which are many where blocks are few.

    The matrix that is left is a Laplacian of the blocks, of rank B - 1, and so is its inverse of block effects that add
    up to 0. The variances of the means follow from it; centred, they are the pseudo-inverse of the configurations'
    Laplacian.
    """
    of_rows, of_blocks = inside.sum(axis=1), inside.sum(axis=0)
    shared = inside / of_rows[:, None]
    constant = np.full((of_blocks.size, of_blocks.size), 1 / of_blocks.size)
    inverse = np.linalg.inv(np.diag(of_blocks) - inside.T @ shared + constant) - constant
    row_means = (values * inside).sum(axis=1) / of_rows
    blocks = inverse @ ((values - row_means[:, None]) * inside).sum(axis=0)
    means = row_means - shared @ blocks
    residuals = (values - means[:, None] - blocks) * inside
    crossed = shared @ inverse
    own = (crossed * shared).sum(axis=1)
    leverage = (1 / of_rows[:, None] + np.diag(inverse) - 2 * crossed + own[:, None]) * inside
    unscaled = _centred(np.diag(1 / of_rows) + crossed @ shared.T)
    return means, unscaled, 1 / of_rows + own, residuals, leverage


def _centred(matrix: Floats) -> Floats:
    """A symmetric matrix whose rows and columns add up to 0, with the same values for weights that do so too."""
    rows = matrix.mean(axis=0)
    return np.asarray(matrix - rows[:, None] - rows[None, :] + rows.mean())


def _connected(inside: Floats) -> bool:
    """True if every configuration can be reached from the first over shared blocks."""
    reached = np.zeros(inside.shape[0], dtype=bool)
    reached[0] = True
    while True:
        wider = (inside @ (inside.T @ reached)) > 0
        if (wider == reached).all():
            return bool(reached.all())
        reached = wider
