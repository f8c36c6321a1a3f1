"""Rank correlation: SciPy's value, an interval that covers, and silence where nothing can be said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from nephoscope.stats.correlation import rank_correlation, rank_correlation_within


def test_rho_is_scipys_also_with_ties() -> None:
    generator = np.random.default_rng(1)
    x, y = generator.integers(0, 9, (2, 30)).astype(float)
    found = rank_correlation(x, y)
    assert found is not None
    assert found.rho == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.low < found.rho < found.high


def test_too_few_or_constant_values_say_nothing() -> None:
    assert rank_correlation([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]) is None
    assert rank_correlation([1] * 8, range(8)) is None
    assert rank_correlation([], []) is None
    with pytest.raises(ValueError, match="partners"):
        rank_correlation([1, 2], [1])


@given(st.integers(6, 400))
def test_a_perfect_order_has_an_interval_with_a_width(n: int) -> None:
    found, down = (rank_correlation(range(n), [sign * x for x in range(n)]) for sign in (2, -1))
    more = rank_correlation(range(n + 1), range(n + 1))
    assert found is not None
    assert down is not None
    assert more is not None
    assert (found.rho, found.high, down.rho, down.low) == (1, 1, -1, -1)
    assert 0.3 < found.low < more.low < 1
    assert down.high == pytest.approx(-found.low)


@pytest.mark.parametrize("true", [0.0, 0.6])
def test_the_interval_covers_nearly_what_it_says(true: float) -> None:
    generator = np.random.default_rng(2)
    of_ranks = 6 / np.pi * np.arcsin(true / 2)
    inside = 0
    for _ in range(1000):
        pairs = generator.multivariate_normal([0, 0], [[1, true], [true, 1]], 20)
        found = rank_correlation(pairs[:, 0], pairs[:, 1])
        assert found is not None
        inside += found.low <= of_ranks <= found.high
    assert inside / 1000 >= 0.93


def test_what_strata_differ_in_is_no_correlation_within_them() -> None:
    generator = np.random.default_rng(3)
    strata = [place % 4 for place in range(80)]
    x, y = (generator.normal(0, 1, 80) + 100 * np.array(strata) for _ in range(2))
    overall, within = rank_correlation(x, y), rank_correlation_within(x, y, strata)
    assert overall is not None
    assert within is not None
    assert overall.rho > 0.9
    assert within.low < 0 < within.high
    assert within.n == 80


def test_strata_that_agree_say_it_together_and_small_ones_are_left_out() -> None:
    order = [1.0, 2, 3, 5, 4, 6, 8, 7]
    alone = rank_correlation(order, range(8))
    both = rank_correlation_within(
        [*order, *order, 1.0, 2], [*range(8), *range(8), 2.0, 1], [8] * 8 + [16] * 8 + [1] * 2
    )
    assert alone is not None
    assert both is not None
    assert both.rho == pytest.approx(alone.rho)
    assert both.n == 16
    assert alone.low < both.low < both.rho
    assert rank_correlation_within(order, order, range(8)) is None
    perfect = rank_correlation_within(order * 2, order * 2, [1] * 8 + [2] * 8)
    assert perfect is not None
    assert 0.8 < perfect.low < perfect.rho < 1
