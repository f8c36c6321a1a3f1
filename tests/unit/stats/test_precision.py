"""How many replicates a precision needs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.median import least_n
from nephoscope.stats.precision import MOST_TRIED, expected_order_statistic, replicates_for_precision

LOG_FACTORIALS = special.gammaln(np.arange(1.0, 1002))


def test_noisier_machines_need_more_replicates() -> None:
    generator = np.random.default_rng(3)
    calm, wild = 100 + generator.normal(0, 0.5, 80), 100 + generator.normal(0, 2, 80)
    few, many = (replicates_for_precision(values, [0.01])[0.01] for values in (calm, wild))
    assert few is not None
    assert many is not None
    assert 6 <= few < many
    assert replicates_for_precision([1.0] * 5, [0.01]) == {0.01: None}
    assert replicates_for_precision([1.0] * 9, [0.01]) == {0.01: 6}
    with pytest.raises(ValueError, match="precision"):
        replicates_for_precision(calm, [0.01, 0.0])


def test_several_precisions_are_what_each_of_them_is_alone() -> None:
    wild = 100 + np.random.default_rng(3).normal(0, 2, 80)
    shares = (0.001, 0.005, 0.01, 0.05)
    together = replicates_for_precision(wild, shares)
    assert together == {share: replicates_for_precision(wild, [share])[share] for share in shares}
    assert together[0.001] is None
    assert together[0.05] == 6


def test_of_thousands_of_values_not_every_number_of_replicates_is_tried() -> None:
    many = 100 + np.random.default_rng(3).normal(0, 2, 4 * MOST_TRIED)
    least = replicates_for_precision(many, [0.05])[0.05]
    assert least is not None
    assert least <= least_n() + 4


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9), st.data())
def test_an_expected_order_statistic_is_the_mean_over_all_subsets(values: list[float], data: st.DataObject) -> None:
    array = np.sort(np.array(values))
    n = data.draw(st.integers(1, array.size))
    rank = data.draw(st.integers(1, n))
    expected = np.mean([subset[rank - 1] for subset in combinations(array.tolist(), n)])
    assert expected_order_statistic(array, n, rank, LOG_FACTORIALS) == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_of_a_thousand_values_it_is_still_exact() -> None:
    array = np.arange(1.0, 1001)  # the mean of the rank-th of n among 1 to N is rank (N + 1) / (n + 1)
    for n, rank in ((1, 1), (10, 3), (500, 250), (999, 999), (1000, 400)):
        found = expected_order_statistic(array, n, rank, LOG_FACTORIALS)
        assert found == pytest.approx(rank * 1001 / (n + 1), rel=1e-9)
