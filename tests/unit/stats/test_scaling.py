"""Growth with the number of machines: counted distributions, the two-sample case, coverage, and what is decided."""

import itertools
import math

import numpy as np
import pytest

from nephoscope.stats.scaling import FLAT, LINEAR, _in_order_chances, power_law
from tests.support.ratios import compare

REPLICATES = 6


def grown(exponent: float, chance: np.random.Generator, sigma: float = 0.02) -> tuple[list[int], list[float]]:
    machines = [number for number in (1, 3, 6) for _ in range(REPLICATES)]
    return machines, [1000 * number**exponent * math.exp(chance.normal(0, sigma)) for number in machines]


@pytest.mark.parametrize("groups", [(1, 1), (2, 3), (2, 2, 2), (1, 2, 3)])
def test_the_distribution_is_that_of_all_orders(groups: tuple[int, ...]) -> None:
    labels = [group for group, size in enumerate(groups) for _ in range(size)]
    orders = set(itertools.permutations(labels))
    pairs = sum(a * b for a, b in itertools.combinations(groups, 2))
    counted = [0] * (pairs + 1)
    for order in orders:
        counted[sum(a < b for a, b in itertools.combinations(order, 2))] += 1
    assert _in_order_chances(groups) == pytest.approx([count / len(orders) for count in counted])


def test_many_values_are_counted_by_a_normal_distribution() -> None:
    exact, normal = _in_order_chances((41, 60)), _in_order_chances((42, 60))
    assert (len(exact), len(normal)) == (2461, 2521)
    assert sum(normal) == pytest.approx(1, abs=1e-6)
    spread = [sum(p * (i - (len(one) - 1) / 2) ** 2 for i, p in enumerate(one)) for one in (exact, normal)]
    assert spread[1] / spread[0] == pytest.approx(42 * 103 / (41 * 102), rel=1e-3)


def test_of_two_numbers_of_machines_it_is_the_ratio() -> None:
    chance = np.random.default_rng(1)
    few, many = (list(chance.lognormal(level, 0.1, 7)) for level in (5.0, 5.6))
    fit, ratio = power_law([3] * 7 + [6] * 7, [*few, *many]), compare(many, few)
    assert ratio.interval is not None
    assert (fit.low, fit.high) != (None, None)
    assert 2**fit.exponent == pytest.approx(ratio.ratio)
    assert 2 ** (fit.low or 0) == pytest.approx(ratio.interval.low)
    assert 2 ** (fit.high or 0) == pytest.approx(ratio.interval.high)
    assert fit.coverage == pytest.approx(ratio.interval.coverage)


def test_exact_growth_is_found_exactly() -> None:
    fit = power_law([1, 2, 4, 8], [10, 20, 40, 80])
    assert (fit.exponent, fit.at_one, fit.at(3)) == pytest.approx((1, 10, 30))


@pytest.mark.parametrize(
    ("exponent", "growth"), [(1.0, "linear"), (1.1, "linear"), (0.6, "sub-linear"), (0.0, "none"), (-0.3, "none")]
)
def test_what_is_decided(exponent: float, growth: str) -> None:
    fits = [power_law(*grown(exponent, np.random.default_rng(seed))) for seed in range(100)]
    assert {fit.growth for fit in fits} == {growth}


@pytest.mark.parametrize("exponent", [LINEAR, FLAT])
def test_at_a_border_nothing_is_decided(exponent: float) -> None:
    decided = [power_law(*grown(exponent, np.random.default_rng(seed))).growth for seed in range(200)]
    assert decided.count("not decided" if exponent == LINEAR else "sub-linear") >= 0.93 * 200
    few = power_law([3, 3, 3, 6, 6, 6], [1, 2, 3, 2, 4, 6])
    assert (few.low, few.high, few.coverage, few.growth) == (None, None, None, "not decided")


def test_intervals_cover_as_they_say() -> None:
    chance, hits, runs = np.random.default_rng(5), 0, 2000
    for _ in range(runs):
        fit = power_law(*grown(0.8, chance, 0.1))
        assert fit.low is not None
        assert fit.high is not None
        assert fit.coverage is not None
        hits += fit.low <= 0.8 <= fit.high
    assert fit.coverage is not None
    assert fit.coverage - 0.015 <= hits / runs <= fit.coverage + 0.015


@pytest.mark.parametrize(
    ("machines", "values", "said"),
    [
        ([1, 1], [1.0, 2.0], "different numbers"),
        ([1, 2], [1.0], "numbers of machines"),
        ([0, 2], [1.0, 1.0], "at least 1"),
        ([1, 2], [1.0, 0.0], "above 0"),
    ],
)
def test_what_cannot_be_fitted_is_refused(machines: list[int], values: list[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        power_law(machines, values)
