"""Critical values of the studentised range: SciPy's, t's and the normal distribution's."""

import numpy as np
import pytest
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from nephoscope.stats.studentized_range import MAX_GROUPS, critical_range


@pytest.mark.parametrize(
    ("groups", "freedom", "alpha"),
    [
        *[(3, 1.0, 0.05), (5, 20.0, 0.05), (12, 3.0, 0.05), (20, 95.0, 0.01), (100, 495.0, 0.05), (100, 7.5, 0.05)],
        *[(2001, 4000.0, 0.05), (5000, 10.0, 0.01), (5000, 10_000.0, 0.05), (20_000, 100.0, 0.05)],
        *[(100, 1.0, 0.001), (2000, 1.5, 0.001), (5000, 10.0, 0.001), (20, 1000.0, 0.001)],
    ],
)
def test_agrees_with_scipy(groups: int, freedom: float, alpha: float) -> None:
    exact = scipy_stats.studentized_range.ppf(1 - alpha, groups, freedom)
    assert float(critical_range(groups, freedom, alpha)) == pytest.approx(exact, rel=0.005)


def test_of_two_means_it_is_students_t(subtests: pytest.Subtests) -> None:
    for freedom in [1.0, 1.1, 2.7, 5.0, 9.0, 33.0, 250.0, 5000.0]:
        for alpha in [0.01, 0.05, 0.2]:
            with subtests.test(freedom=freedom, alpha=alpha):
                exact = np.sqrt(2) * scipy_stats.t.ppf(1 - alpha / 2, freedom)
                assert float(critical_range(2, freedom, alpha)) == pytest.approx(exact, rel=0.005)


def test_the_spread_is_known_at_infinite_freedom() -> None:
    exact = np.sqrt(2) * scipy_stats.norm.ppf(0.975)
    assert float(critical_range(2, np.inf, 0.05)) == pytest.approx(exact, rel=1e-4)


def test_grows_with_groups_and_falls_with_freedom_and_alpha() -> None:
    by_groups = [float(critical_range(groups, 10.0, 0.05)) for groups in (*range(2, 150), 2000, 2001, 5000, MAX_GROUPS)]
    assert by_groups == sorted(by_groups)
    by_freedom = critical_range(20, np.geomspace(1, 1e5, 60), 0.05)
    assert (np.diff(by_freedom) <= 0).all()
    assert critical_range(20, 10.0, 0.01) > critical_range(20, 10.0, 0.05)


def test_keeps_the_shape_and_is_infinite_below_one_degree_of_freedom() -> None:
    found = critical_range(7, np.array([[0.5, 1.0], [0.0, np.inf]]), 0.05)
    assert np.isinf(found).tolist() == [[True, False], [True, False]]


@pytest.mark.parametrize("groups", [1, MAX_GROUPS + 1])
def test_refuses_a_number_of_means_beyond_the_grid(groups: int) -> None:
    with pytest.raises(ValueError, match="2 to 100000 means"):
        critical_range(groups, 10.0, 0.05)
