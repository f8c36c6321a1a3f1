"""Intervals of the median: the formula book's numbers, SciPy, properties, and coverage by simulation."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from nephoscope.stats.median import (
    least_n,
    margin_of_error,
    median_coverage,
    median_interval,
    median_rank,
)

VALUES = st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("n", "rank", "coverage"),
    [(1, 1, 0.0), (2, 1, 0.5), (4, 1, 0.875), (5, 1, 0.9375), (6, 1, 0.96875), (8, 1, 0.9921875), (9, 2, 0.9609375)],
)
def test_ranks_and_coverages_of_the_formula_book(n: int, rank: int, coverage: float) -> None:
    assert median_rank(n) == rank
    assert median_coverage(n, rank) == pytest.approx(coverage, abs=1e-12)


def test_six_is_the_least_n_with_95_percent_and_nine_the_first_that_may_drop_its_extremes() -> None:
    assert least_n() == 6
    assert least_n(0.99) == 8
    assert next(n for n in range(1, 12) if median_rank(n) > 1) == 9


def test_coverage_is_the_binomial_of_scipy_and_the_rank_is_the_narrowest() -> None:
    for n in range(1, 200):
        rank = median_rank(n)
        exact = max(0, 1 - 2 * scipy_stats.binom.cdf(rank - 1, n, 0.5))
        assert median_coverage(n, rank) == pytest.approx(exact, abs=1e-12), n
        if n >= 6:
            assert median_coverage(n, rank) >= 0.95, n
            if 2 * (rank + 1) <= n + 1:
                assert median_coverage(n, rank + 1) < 0.95, n


@pytest.mark.parametrize("n", [7, 12, 30])
def test_agrees_with_scipys_quantile_test(n: int) -> None:
    values = np.random.default_rng(n).lognormal(size=n)
    expected = scipy_stats.quantile_test(values, p=0.5).confidence_interval(0.95)
    found = median_interval(values)
    assert (found.low, found.high) == (expected.low, expected.high)


def test_below_six_the_range_with_its_true_coverage_and_what_is_missing() -> None:
    found = median_interval([4.0, 1.0, 3.0, 2.0])
    assert (found.median, found.low, found.high) == (2.5, 1.0, 4.0)
    assert found.coverage == 0.875
    assert found.more_needed == 2


@given(VALUES, st.randoms())
def test_order_of_values_does_not_matter(values: list[float], chance: object) -> None:
    shuffled = sorted(values, key=lambda _: chance.random())  # type: ignore[attr-defined]
    assert median_interval(values) == median_interval(shuffled)


@given(VALUES)
def test_the_interval_contains_the_median(values: list[float]) -> None:
    found = median_interval(values)
    assert found.low <= found.median <= found.high


@given(VALUES, st.integers(-20, 20))
def test_scaling_the_values_scales_the_interval(values: list[float], exponent: int) -> None:
    factor = 2.0**exponent
    plain, scaled = median_interval(values), median_interval([factor * value for value in values])
    assert scaled.low == factor * plain.low
    assert scaled.high == factor * plain.high
    assert scaled.median == pytest.approx(factor * plain.median, rel=1e-12)


@given(VALUES)
def test_negation_mirrors_the_interval(values: list[float]) -> None:
    plain, mirrored = median_interval(values), median_interval([-value for value in values])
    assert (mirrored.low, mirrored.high) == (-plain.high, -plain.low)


def test_margin_of_error_is_half_the_interval_of_the_median_and_unknown_at_zero() -> None:
    assert margin_of_error(median_interval([99.0, 100, 100, 100, 100, 103])) == pytest.approx(0.02)
    assert margin_of_error(median_interval([-1.0, 0.0, 1.0])) is None
    assert margin_of_error(median_interval([-99.0, -100, -100, -100, -100, -103])) == pytest.approx(0.02)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_refuses_what_is_no_sample(values: list[float]) -> None:
    with pytest.raises(ValueError, match="sample"):
        median_interval(values)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, 2.0])
def test_refuses_impossible_confidences(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        median_interval([1.0, 2.0], confidence)


def test_refuses_ranks_that_cross() -> None:
    with pytest.raises(ValueError, match="rank"):
        median_coverage(6, 4)


def bimodal(generator: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Three quarters around 1, the rest around 3: a fast and a slow machine under one name."""
    slow = generator.random(shape) < 0.25
    return np.where(slow, generator.normal(3, 0.1, shape), generator.normal(1, 0.1, shape))


DISTRIBUTIONS: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], np.ndarray], float]] = {
    "normal": (lambda g, shape: g.normal(10, 1, shape), 10.0),
    "log-normal": (lambda g, shape: g.lognormal(0, 1, shape), 1.0),
    "bimodal": (bimodal, 1 + 0.1 * float(scipy_stats.norm.ppf(2 / 3))),
    "heavy-tailed": (lambda g, shape: g.standard_cauchy(shape), 0.0),
}


def test_simulated_coverage_is_what_is_printed(subtests: pytest.Subtests) -> None:
    for name, (draw, true_median) in DISTRIBUTIONS.items():
        for n in [6, 9, 20, 50]:
            with subtests.test(name=name, n=n):
                repeats = 20_000
                samples = np.sort(draw(np.random.default_rng([n, 2022]), (repeats, n)), axis=1)
                found = median_interval(samples[0])
                covered = (samples[:, found.rank - 1] <= true_median) & (true_median <= samples[:, n - found.rank])
                assert found.low == samples[0, found.rank - 1]
                assert covered.mean() >= 0.95 - 0.015
                assert covered.mean() == pytest.approx(found.coverage, abs=4 * math.sqrt(0.05 * 0.95 / repeats))
