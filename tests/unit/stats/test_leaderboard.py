"""Leaderboards: the fit against a full least squares, the range against SciPy, and what shifting leaves alone."""

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from nephoscope.stats.leaderboard import Leaderboard, pair, possible_best, possible_ranks, ties
from nephoscope.stats.studentized_range import critical_range


def values(seed: int, k: int = 5, blocks: int = 6, holes: float = 0.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    found = generator.normal(0, 0.02, (k, blocks)) + generator.normal(0, 0.1, blocks) + np.linspace(0, 0.2, k)[:, None]
    found[generator.random(found.shape) < holes] = np.nan
    return np.asarray(found)


@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_the_fit_is_that_of_a_design_matrix_with_holes(holes: float) -> None:
    logs = values(3, holes=holes)
    fit = Leaderboard.of(logs, blocked=True).fit
    rows, columns = np.nonzero(~np.isnan(logs))
    design = np.zeros((rows.size, 5 + 6))
    design[np.arange(rows.size), rows] = 1
    design[np.arange(rows.size), 5 + columns] = 1
    solution = np.linalg.lstsq(design, logs[rows, columns], rcond=None)[0]
    assert fit.means - fit.means[0] == pytest.approx(solution[:5] - solution[0])
    assert float(fit.squares.sum()) == pytest.approx(((logs[rows, columns] - design @ solution) ** 2).sum())
    assert float(fit.freedom.sum()) == pytest.approx(rows.size - np.linalg.matrix_rank(design))


def test_two_in_blocks_are_the_paired_t_test() -> None:
    logs = values(4, k=2)
    found = pair(Leaderboard.of(logs, blocked=True), 0, 1)
    assert found is not None
    assert found.p_value == pytest.approx(stats.ttest_rel(logs[0], logs[1]).pvalue)


@pytest.mark.parametrize(("groups", "freedom"), [(2, 5), (3, 10), (10, 45), (20, 95)])
def test_the_range_is_that_of_scipy(groups: int, freedom: int) -> None:
    expected = stats.studentized_range.ppf(0.95, groups, freedom)
    assert float(critical_range(groups, freedom, 0.05)) == pytest.approx(expected, rel=0.005)


def test_a_constant_of_each_configuration_moves_its_mean_only() -> None:
    logs = values(5)
    board = Leaderboard.of(logs, blocked=True)
    shifted = board.shifted(np.array([0.0, 0.0, 0.0, 0.0, -1.0]))
    assert shifted.errors == pytest.approx(board.errors)
    assert list(possible_best(board, 0.05)) == [4]
    assert 4 not in possible_best(shifted, 0.05)
    first, last = possible_ranks(shifted, 0.05)
    assert (first[4], last[4]) == (5, 5)
    assert not ties(board, 0.05, 0.01).any()
