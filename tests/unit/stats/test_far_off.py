"""Values that are set aside: found where they are, not found by chance, and of no consequence for all others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.stats.leaderboard import Leaderboard, possible_best
from nephoscope.stats.samples import Floats
from nephoscope.stats.two_way import two_way_fit
from nephoscope.stats.unlike import ONE_IN, without_far_off


def draws(k: int, n: int, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    return 0.01 * generator.standard_normal((k, n)) + 0.03 * generator.standard_normal(n)


@pytest.mark.parametrize("k", [2, 3, 20])
@pytest.mark.parametrize("n", [6, 10])
def test_one_value_a_third_too_low_is_set_aside_and_only_that_one(k: int, n: int) -> None:
    found = 0
    for seed in range(40):
        logs = draws(k, n, seed)
        logs[1, 2] -= 0.36
        _, out = without_far_off(logs, blocked=True)
        found += np.argwhere(out).tolist() == [[1, 2]]
    assert found >= 38


def test_the_fit_is_that_of_the_values_that_are_left() -> None:
    logs = draws(4, 8, 1)
    logs[0, 3] += 0.4
    fit, out = without_far_off(logs, blocked=True)
    logs[0, 3] = np.nan
    rest = two_way_fit(logs, blocked=True)
    assert out.sum() == 1
    assert np.array_equal(fit.means, rest.means)
    assert np.array_equal(fit.freedom, rest.freedom)


@given(
    st.integers(1, 5),
    st.integers(1, 13),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.2]),
    st.booleans(),
    st.floats(0.01, 100),
)
def test_few_are_set_aside_the_same_in_any_order_and_unit(
    k: int, n: int, seed: int, holes: float, blocked: bool, factor: float
) -> None:
    generator = np.random.default_rng(seed)
    logs = generator.standard_t(1, (k, n))
    logs[generator.random((k, n)) < holes] = np.nan
    _, out = without_far_off(logs, blocked=blocked)
    assert (out.sum(axis=1) <= (~np.isnan(logs)).sum(axis=1) // ONE_IN).all()
    assert not out[np.isnan(logs)].any()
    rows, columns = generator.permutation(k), generator.permutation(n)
    _, again = without_far_off(factor * logs[np.ix_(rows, columns)] + 3, blocked=blocked)
    assert np.array_equal(again, out[np.ix_(rows, columns)])


@pytest.mark.parametrize("row", [[5.0] * 5 + [9.0], [5.0] * 6, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
def test_steps_and_even_values_have_nothing_far_off(row: list[float]) -> None:
    assert not without_far_off(np.array([row, [1.0, 2, 1, 2, 1, 2]]), blocked=False)[1].any()


@pytest.mark.parametrize("n", [6, 8, 10])
def test_one_outlier_does_not_close_a_question(n: int) -> None:
    found = 0
    for seed in range(50):
        logs = draws(2, n, seed) + np.array([[0.05], [0.0]])
        logs[seed % 2, seed % n] += np.log(0.7)
        found += possible_best(Leaderboard.of(logs, blocked=True), 0.05).tolist() == [0]
    assert found >= 48
