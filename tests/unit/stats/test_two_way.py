"""Least squares of configurations within blocks, against NumPy's on a matrix of ones and zeros."""

import numpy as np
import pytest

from nephoscope.stats.samples import Floats
from nephoscope.stats.two_way import two_way_fit


def values(k: int, b: int, share_of_holes: float, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    logs = generator.standard_normal((k, b)) + np.arange(k)[:, None] + 3 * generator.standard_normal(b)
    holes = generator.random((k, b)) < share_of_holes
    holes[:, 0] = False
    logs[holes] = np.nan
    return logs


def design(logs: Floats) -> tuple[Floats, Floats]:
    """A column per configuration and one per block, a row per value; and the values."""
    rows, columns = np.nonzero(~np.isnan(logs))
    matrix = np.hstack([np.eye(logs.shape[0])[rows], np.eye(logs.shape[1])[columns]])
    return matrix, logs[rows, columns]


@pytest.mark.parametrize(("k", "b", "holes"), [(2, 6, 0.0), (3, 2, 0.0), (7, 5, 0.3), (4, 12, 0.4), (30, 6, 0.2)])
def test_agrees_with_least_squares(k: int, b: int, holes: float) -> None:
    logs = values(k, b, holes, seed=k)
    fit = two_way_fit(logs, blocked=True)
    matrix, known = design(logs)
    solution = np.linalg.lstsq(matrix, known, rcond=None)[0]
    hat = matrix @ np.linalg.pinv(matrix)
    present = ~np.isnan(logs)
    rows = np.nonzero(present)[0]
    assert fit.blocked
    assert fit.means - fit.means[0] == pytest.approx(solution[:k] - solution[0])
    assert fit.means == pytest.approx(solution[:k] + solution[k:].mean()), "a mean is that of all blocks"
    assert fit.residuals[present] == pytest.approx(known - matrix @ solution)
    assert np.isnan(fit.residuals[~present]).all()
    assert fit.freedom == pytest.approx(np.bincount(rows, 1 - np.diag(hat), minlength=k))
    assert fit.freedom.sum() == pytest.approx(known.size - np.linalg.matrix_rank(matrix))
    assert fit.squares == pytest.approx(np.bincount(rows, (known - matrix @ solution) ** 2, minlength=k))
    assert fit.counts.tolist() == present.sum(axis=1).tolist()
    weights = np.random.default_rng(1).standard_normal(k)
    weights -= weights.mean()
    whole = np.concatenate([weights, np.zeros(b)])
    assert weights @ fit.unscaled @ weights == pytest.approx(whole @ np.linalg.pinv(matrix.T @ matrix) @ whole)


def test_without_blocks_it_is_means_and_deviations() -> None:
    logs = values(5, 6, 0.3, seed=2)
    fit = two_way_fit(logs, blocked=False)
    counts = (~np.isnan(logs)).sum(axis=1)
    assert not fit.blocked
    assert fit.means == pytest.approx(np.nanmean(logs, axis=1))
    assert np.diag(fit.unscaled) == pytest.approx(1 / counts)
    assert fit.squares == pytest.approx(np.nanvar(logs, axis=1) * counts)
    assert fit.freedom == pytest.approx(counts - 1)


def test_what_a_block_adds_to_all_values_changes_no_residual_and_no_difference() -> None:
    logs = values(6, 5, 0.2, seed=3)
    before, after = two_way_fit(logs, blocked=True), two_way_fit(logs + np.array([5.0, -3, 0, 1, 9]), blocked=True)
    assert np.diff(after.means) == pytest.approx(np.diff(before.means))
    assert after.squares == pytest.approx(before.squares)


def test_blocks_that_do_not_connect_the_configurations_are_ignored() -> None:
    logs = np.full((4, 4), np.nan)
    logs[:2, :2] = [[1.0, 2.0], [2.0, 4.0]]
    logs[2:, 2:] = [[5.0, 6.0], [6.0, 9.0]]
    fit = two_way_fit(logs, blocked=True)
    assert not fit.blocked
    assert fit.means == pytest.approx([1.5, 3, 5.5, 7.5])
    logs[1, 2] = 4.0
    assert two_way_fit(logs, blocked=True).blocked, "one value in a block of the others connects them"


def test_configurations_and_blocks_without_a_value_change_nothing() -> None:
    logs = values(4, 5, 0.2, seed=4)
    wider = np.full((6, 7), np.nan)
    wider[np.ix_([0, 2, 3, 5], [0, 1, 3, 4, 6])] = logs
    small, large = two_way_fit(logs, blocked=True), two_way_fit(wider, blocked=True)
    assert large.means[[0, 2, 3, 5]] == pytest.approx(small.means)
    assert np.isnan(large.means[[1, 4]]).all()
    assert large.freedom[[1, 4]].tolist() == [0, 0]
    assert large.freedom.sum() == pytest.approx(small.freedom.sum())
    assert large.counts.tolist() == [*small.counts[:1], 0, *small.counts[1:3], 0, *small.counts[3:]]


def test_one_configuration_and_one_value_each_have_no_freedom() -> None:
    assert two_way_fit(np.array([[1.0, 2.0, 4.0]]), blocked=True).freedom == pytest.approx([0.0])
    assert two_way_fit(np.array([[1.0, 2.0, 4.0]]), blocked=False).freedom == pytest.approx([2.0])
    single = two_way_fit(np.array([[1.0], [3.0], [7.0]]), blocked=True)
    assert single.freedom == pytest.approx([0, 0, 0])
    assert np.diff(single.means) == pytest.approx([2, 4])


@pytest.mark.parametrize("wrong", [np.zeros(3), np.array([[1.0, np.inf]])])
def test_refuses_infinite_values_and_other_shapes(wrong: Floats) -> None:
    with pytest.raises(ValueError, match="one row per configuration"):
        two_way_fit(wrong, blocked=True)
