"""The simulations of the documentation: what they must show, and that they are those of the code."""

import math

import numpy as np
import pytest

from nephoscope.analysis.units import MIN_MACHINES
from nephoscope.stats.decide import relation
from nephoscope.stats.rank_sum import cumulative_u
from nephoscope.stats.ratio import interval_rank
from tests.docs.placements import MACHINE_SPREADS, PLACEMENTS, called_different
from tests.docs.simulations import DIFFERENCES, MARGIN, PAIR_SIZES, PAIRS, SIZES, SPREAD, coverage_of, decided_of
from tests.support.ratios import compare
from tests.unit.stats.test_median import DISTRIBUTIONS


@pytest.mark.parametrize("n", SIZES)
def test_coverage_is_never_below_nominal(n: int) -> None:
    assert min(coverage_of(name, n) for name in DISTRIBUTIONS) >= 0.95 - 0.015


@pytest.mark.parametrize("n", PAIR_SIZES)
def test_equal_ones_are_called_different_in_at_most_5_percent_and_power_rises(n: int) -> None:
    found = [decided_of(n, difference) for difference in DIFFERENCES]
    exact = 2 * cumulative_u(interval_rank(n, n) - 1, n, n)
    assert exact <= 0.05
    assert found[0] <= exact + 3 * math.sqrt(exact / PAIRS), "the share itself is exact; the simulation has an error"
    assert found == sorted(found)
    assert found[-1] > 0.99


def test_equal_types_are_called_different_too_often_only_where_trials_share_few_machines() -> None:
    for placement in PLACEMENTS:
        rates = [called_different(placement, spread) for spread in MACHINE_SPREADS]
        speaks_for_types = placement.medians or placement.trials_each == 1
        assert max(rates) <= 0.05 if speaks_for_types else rates[2] > rates[1] > 0.1, placement.words
        counts = placement.machines < MIN_MACHINES
        assert (called_different(placement, 0.01, difference=0.1) == 0) == (placement.medians and counts)


def test_they_decide_as_the_code_does() -> None:
    generator = np.random.default_rng([6, 11])
    left, right = generator.normal(np.log1p(0.03), SPREAD, (PAIRS, 6, 1)), generator.normal(0, SPREAD, (PAIRS, 1, 6))
    called, some = 0, 1000
    for x, y in zip(left[:some, :, 0], right[:some, 0, :], strict=True):
        estimate = compare(np.exp(x), np.exp(y))
        called += relation(estimate.interval, estimate.p_value, equivalence_margin=MARGIN) in {"above", "below"}
    assert called / some == pytest.approx(decided_of(6, 0.03), abs=0.05)
