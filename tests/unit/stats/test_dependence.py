"""Dependence: found in the residuals of many configurations, not in drift, and worth what it is worth."""

import numpy as np
import pytest

from nephoscope.stats.leaderboard import Leaderboard, possible_best
from nephoscope.stats.samples import Floats

CORRELATION = 0.5


def dependent(generator: np.random.Generator, k: int, n: int) -> Floats:
    values = generator.standard_normal((k, n))
    for place in range(1, n):
        values[:, place] = CORRELATION * values[:, place - 1] + np.sqrt(1 - CORRELATION**2) * values[:, place]
    return values


def test_variances_of_means_are_as_much_larger_as_those_of_an_autoregression() -> None:
    generator = np.random.default_rng(1)
    k, n = 400, 10
    values = dependent(generator, k, n)
    excess = Leaderboard.of(values, blocked=True).excess
    assert excess == pytest.approx(values.mean(axis=1).var() / (values.var(axis=1, ddof=1).mean() / n), rel=0.25)


@pytest.mark.parametrize("drift", ["steps", "trend", "none"])
def test_drift_that_blocks_remove_is_no_dependence(drift: str) -> None:
    generator = np.random.default_rng(2)
    shared = {"steps": 9.0 * (np.arange(8) > 3), "trend": np.arange(8.0), "none": np.zeros(8)}[drift]
    found = [Leaderboard.of(generator.standard_normal((6, 8)) + shared, blocked=True).excess > 1 for _ in range(300)]
    assert np.mean(found) < 0.05 + 0.03


def test_it_is_not_judged_where_little_is_known() -> None:
    walk = np.cumsum(np.ones((2, 10)) * [[1.0], [-1.0]], axis=1)
    assert Leaderboard.of(walk + 0.01 * np.random.default_rng(1).standard_normal((2, 10)), blocked=True).excess == 1
    many = dependent(np.random.default_rng(1), 30, 8)
    assert Leaderboard.of(many, blocked=True).excess > 1
    assert Leaderboard.of(many, blocked=False).excess == 1, "without blocks no order is known"
    assert Leaderboard.of(many[:, :3], blocked=True).excess == 1


def test_equal_ones_that_depend_are_rarely_told_apart() -> None:
    generator = np.random.default_rng(3)
    boards = [Leaderboard.of(dependent(generator, 20, 10), blocked=True) for _ in range(150)]
    assert np.mean([possible_best(board, 0.05).size < 20 for board in boards]) < 0.1
