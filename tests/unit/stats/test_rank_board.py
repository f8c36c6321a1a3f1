"""Questions of a leaderboard by ranks alone."""

import numpy as np
import pytest
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from nephoscope.stats.leaderboard import possible_best_by_ranks, surely_above


def test_groups_that_do_not_overlap_are_in_order() -> None:
    samples = [np.arange(6.0) + level for level in (20.0, 10.0, 0.0)]
    assert surely_above(samples, 0.05).tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    assert possible_best_by_ranks(samples, 0.05).tolist() == [0]


def test_equal_steps_decide_nothing() -> None:
    samples = [np.array([1.0, 1, 2, 1, 1, 2])] * 4
    assert not surely_above(samples, 0.05).any()
    assert possible_best_by_ranks(samples, 0.05).tolist() == [0, 1, 2, 3]


def test_of_two_it_is_the_exact_rank_sum_test() -> None:
    left, right = np.array([1.0, 4, 6, 9, 11]), np.array([2.0, 3, 0.5, 1.5, 5])
    p_value = scipy_stats.mannwhitneyu(left, right, method="exact").pvalue
    assert not surely_above([left, right], p_value - 1e-9).any()
    assert surely_above([left, right], p_value + 1e-9).tolist() == [[False, True], [False, False]]


def test_the_correction_is_for_all_pairs() -> None:
    low, high = np.arange(4.0), np.arange(4.0) + 10
    assert surely_above([low, high], 0.05).any(), "2 / 70 is enough for one pair"
    assert not surely_above([low, high, low + 0.5], 0.05).any(), "and not for three"


@pytest.mark.parametrize("few", [np.array([]), np.array([99.0])])
def test_fewer_than_two_values_make_no_claim_and_are_never_excluded(few: np.ndarray) -> None:
    samples = [np.arange(6.0), np.arange(6.0) + 10, few]
    assert not surely_above(samples, 0.05)[2].any()
    assert possible_best_by_ranks(samples, 0.05).tolist() == [1, 2]
