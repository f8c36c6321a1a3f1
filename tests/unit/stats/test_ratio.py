"""Rank sums and ratios: SciPy's answers, hand-countable cases, symmetry, and simulated levels and power."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from nephoscope.stats.rank_sum import cumulative_u, least_n_each, rank_sum_p_value, smallest_p_value
from nephoscope.stats.ratio import compare_with_each, interval_rank
from nephoscope.stats.samples import LogSample
from tests.support.ratios import compare

POSITIVE = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=12)
TIED = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=6)


def test_the_smallest_p_of_six_against_six_is_two_of_924() -> None:
    assert smallest_p_value(6, 6) == 2 / 924
    assert rank_sum_p_value([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]) == pytest.approx(2 / 924, rel=1e-12)
    assert math.floor(0.05 / smallest_p_value(6, 6)) == 23


def test_four_against_four_is_the_least_at_five_percent() -> None:
    assert least_n_each(0.05) == 4
    assert least_n_each(0.05 / 24) == 7
    with pytest.raises(ValueError, match="alpha"):
        least_n_each(0)


@given(POSITIVE, POSITIVE)
def test_without_ties_agrees_with_scipy(left: list[float], right: list[float]) -> None:
    if len({*left, *right}) < len(left) + len(right):
        return
    expected = scipy_stats.mannwhitneyu(left, right, method="exact").pvalue
    assert rank_sum_p_value(left, right) == pytest.approx(float(expected), rel=1e-9)


@given(TIED, TIED)
def test_with_ties_agrees_with_counting_every_permutation(left: list[float], right: list[float]) -> None:
    ranks = scipy_stats.rankdata([*left, *right])
    observed = ranks[: len(left)].sum()
    sums = np.array([ranks[list(chosen)].sum() for chosen in itertools.combinations(range(ranks.size), len(left))])
    expected = min(1.0, 2 * min((sums <= observed + 1e-9).mean(), (sums >= observed - 1e-9).mean()))
    assert rank_sum_p_value(left, right) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("tied", [False, True])
def test_beyond_the_exact_sizes_agrees_with_scipys_normal_approximation(tied: bool) -> None:
    generator = np.random.default_rng(7)
    left, right = generator.normal(0, 1, 70), generator.normal(0.4, 1, 60)
    if tied:
        left, right = left.round(1), right.round(1)
    expected = scipy_stats.mannwhitneyu(left, right, method="asymptotic", use_continuity=True).pvalue
    assert rank_sum_p_value(left, right) == pytest.approx(float(expected), rel=1e-6)


def test_the_exact_distribution_meets_the_normal_one_where_they_change_over() -> None:
    exact = cumulative_u(1000, 50, 50)
    normal = float(scipy_stats.norm.cdf((1000.5 - 1250) / math.sqrt(2500 * 101 / 12)))
    assert exact == pytest.approx(normal, abs=1e-3)
    assert cumulative_u(1018, 51, 50) == pytest.approx(
        float(scipy_stats.norm.cdf((1018.5 - 1275) / math.sqrt(2550 * 102 / 12)))
    )
    assert cumulative_u(-1, 6, 6) == 0


def test_interval_ranks_of_the_tables() -> None:
    # Critical values of the two-sided Mann-Whitney U test at 5 % are one less: 5, 23 and 0.
    assert interval_rank(6, 6) == 6
    assert interval_rank(10, 10) == 24
    assert interval_rank(4, 4) == 1
    assert interval_rank(3, 3) == 0


def test_a_clean_doubling() -> None:
    right = [100.0, 101, 102, 103, 104, 105]
    found = compare([2 * value for value in right], right)
    assert found.ratio == pytest.approx(2, rel=1e-12)
    assert found.interval is not None
    assert found.interval.coverage == pytest.approx(1 - 2 * 19 / 924)
    assert found.interval.low < 2 < found.interval.high
    assert found.p_value == pytest.approx(2 / 924)


def test_too_few_for_an_interval() -> None:
    found = compare([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert found.interval is None
    assert found.p_value == pytest.approx(0.1)


def test_equal_constants_and_different_constants() -> None:
    same = compare([3.0] * 6, [3.0] * 6)
    assert (same.ratio, same.p_value) == (1.0, 1.0)
    assert same.interval is not None
    assert (same.interval.low, same.interval.high) == (1.0, 1.0)
    other = compare([3.3] * 6, [3.0] * 6)
    assert other.p_value == pytest.approx(2 / 924)


@pytest.mark.parametrize(("left", "right"), [([0.0, 1.0], [1.0]), ([1.0], [-1.0, 2.0])])
def test_refuses_values_that_have_no_logarithm(left: list[float], right: list[float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        compare(left, right)


@given(POSITIVE, POSITIVE)
def test_swapping_inverts_the_ratio(left: list[float], right: list[float]) -> None:
    one, other = compare(left, right), compare(right, left)
    assert one.ratio == pytest.approx(1 / other.ratio, rel=1e-9)
    assert one.p_value == pytest.approx(other.p_value, rel=1e-12)
    if one.interval is not None and other.interval is not None:
        assert one.interval.low == pytest.approx(1 / other.interval.high, rel=1e-9)
        assert one.interval.low <= one.ratio * (1 + 1e-12)


@given(POSITIVE, POSITIVE, st.integers(-10, 10), st.randoms())
def test_neither_the_unit_nor_the_order_matters(
    left: list[float], right: list[float], exponent: int, chance: object
) -> None:
    shuffled = sorted(left, key=lambda _: chance.random())  # type: ignore[attr-defined]
    assert compare(shuffled, right) == compare(left, right)
    scaled = compare([v * 2.0**exponent for v in left], [v * 2.0**exponent for v in right])
    assert scaled.ratio == pytest.approx(compare(left, right).ratio, rel=1e-9)


def test_the_interval_excludes_one_exactly_when_the_test_rejects() -> None:
    generator = np.random.default_rng(3)
    for _ in range(300):
        found = compare(generator.lognormal(0, 0.02, 6), generator.lognormal(0.02, 0.02, 7))
        assert found.interval is not None
        excludes = found.interval.low > 1 or found.interval.high < 1
        assert excludes == (found.p_value <= 0.05)


@pytest.mark.parametrize("distinct", [1, 2, 7, 400])
def test_order_statistics_are_those_of_all_sorted_differences(distinct: int) -> None:
    """Equal values, many samples at once and very few values are worked out in other ways."""
    generator = np.random.default_rng(distinct)
    drawn = [1 + generator.integers(0, distinct, n) / 97 for n in (90, 90, 120, 1, 5, 4)]
    left, *rights = map(LogSample.of, drawn)
    for right, found in zip(rights, compare_with_each(left, rights), strict=True):
        differences = np.sort((left.logs[:, None] - right.logs).ravel())
        rank = interval_rank(left.logs.size, right.logs.size)
        assert found.ratio == math.exp(float(np.median(differences)))
        assert (found.interval is None) == (rank == 0)
        if found.interval is not None:
            ends = float(differences[rank - 1]), float(differences[-rank])
            assert (found.interval.low, found.interval.high) == (math.exp(ends[0]), math.exp(ends[1]))
        assert found.p_value == rank_sum_p_value(left.values, right.values)


def simulated(n: int, shift: float, *, heavy: bool, repeats: int = 4000) -> tuple[float, float]:
    """Share of intervals that cover the true ratio, and that exclude 1."""
    generator = np.random.default_rng([n, int(1000 * shift), int(heavy)])
    shape = (2, repeats, n)
    noise = 0.01 * (generator.standard_t(2, shape) if heavy else generator.normal(0, 1, shape))
    left, right = noise[0] + shift, noise[1]
    differences = np.sort((left[:, :, None] - right[:, None, :]).reshape(repeats, -1), axis=1)
    rank = interval_rank(n, n)
    low, high = differences[:, rank - 1], differences[:, -rank]
    return float(((low <= shift) & (shift <= high)).mean()), float(((low > 0) | (high < 0)).mean())


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("n", [6, 9, 20])
def test_simulated_intervals_of_ratios_cover_and_an_a_a_pair_is_rarely_different(n: int, heavy: bool) -> None:
    covered, claimed = simulated(n, 0.0, heavy=heavy)
    assert covered >= 0.95 - 0.015
    assert claimed <= 0.05 + 0.005  # exact level is below 0.05; the rest is the simulation's own noise
    covered, _ = simulated(n, 0.015, heavy=heavy)
    assert covered >= 0.95 - 0.015


def test_power_grows_with_difference_and_with_replicates() -> None:
    by_shift = [simulated(6, shift, heavy=False, repeats=2000)[1] for shift in (0.0, 0.01, 0.02, 0.03)]
    assert by_shift == sorted(by_shift)
    assert by_shift[-1] > 0.95
    assert simulated(20, 0.01, heavy=False, repeats=2000)[1] > simulated(6, 0.01, heavy=False, repeats=2000)[1] + 0.3
