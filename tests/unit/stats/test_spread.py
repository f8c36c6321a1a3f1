"""CV, range, MAD and flags."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from nephoscope.stats.spread import modified_z_scores, outliers, spread

POSITIVE = st.lists(st.floats(1e-6, 1e9), min_size=2, max_size=40)


@given(POSITIVE)
def test_agrees_with_scipy(values: list[float]) -> None:
    found = spread(values)
    assert found.mad == pytest.approx(float(scipy_stats.median_abs_deviation(values)), rel=1e-12, abs=1e-300)
    assert found.cv == pytest.approx(float(scipy_stats.variation(values, ddof=1)), rel=1e-9, abs=1e-9)
    assert found.relative_range == (max(values) - min(values)) / float(np.median(values))


def test_constant_values_have_no_spread_and_no_outlier() -> None:
    found = spread([0.1] * 7)
    assert (found.cv, found.relative_range, found.mad) == (0.0, 0.0, 0.0)
    assert outliers([0.1] * 7) == []


def test_one_value_has_no_cv() -> None:
    assert spread([3.0]).cv is None
    assert outliers([3.0]) == []


def test_zero_median_and_zero_mean_have_no_shares() -> None:
    found = spread([-1.0, 0.0, 1.0])
    assert found.cv is None
    assert found.relative_range is None


def test_modified_z_score_by_hand() -> None:
    # median 11, absolute deviations 2 1 0 1 19, MAD 1
    assert modified_z_scores([9, 10, 11, 12, 30])[4] == pytest.approx(0.6745 * 19)
    assert outliers([9, 10, 11, 8, 10, 30]) == [5]


@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=5))
def test_of_fewer_than_six_values_none_is_an_outlier(values: list[float]) -> None:
    assert outliers(values) == []


def test_a_mad_of_zero_falls_back_to_the_mean_deviation() -> None:
    assert outliers([5.0] * 11 + [6.0]) == [11]
    assert outliers([5.0, 5.0, 5.0, 6.0, 4.0, 5.0]) == []


@given(POSITIVE, st.integers(-10, 10))
def test_flags_do_not_depend_on_the_unit(values: list[float], exponent: int) -> None:
    assert outliers(values) == outliers([value * 2.0**exponent for value in values])
