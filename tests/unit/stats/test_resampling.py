"""BCa bootstrap of means of ratios of medians, and replicates for a precision."""

import numpy as np
import pytest

from nephoscope.stats.bootstrap import mean_ratio, mean_ratio_interval
from nephoscope.stats.precision import replicates_for_precision


def test_covers_the_ratio_and_depends_on_the_seed_alone() -> None:
    generator = np.random.default_rng(1)
    left, right = generator.normal(200, 4, 15), generator.normal(100, 2, 12)
    found = mean_ratio_interval([(left, right)], seed=4)
    assert found is not None
    assert found.low < 2 < found.high
    assert mean_ratio_interval([(left[::-1], right)], seed=4) == found


def test_bootstrap_coverage_is_near_nominal() -> None:
    generator = np.random.default_rng(2)
    hits = 0
    for repeat in range(100):
        pairs = [(generator.lognormal(0, 0.05, 15), generator.lognormal(0, 0.05, 15)) for _ in range(1 + repeat % 2)]
        found = mean_ratio_interval(pairs, seed=repeat)
        assert found is not None
        hits += found.low <= 1 <= found.high
    assert hits / 100 >= 0.90


def test_below_six_there_is_none_and_constants_have_no_width() -> None:
    assert mean_ratio_interval([([1.0] * 5, [1.0] * 9)], seed=1) is None
    found = mean_ratio_interval([([3.0] * 6, [2.0] * 6)], seed=1)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((1.5, 1.5))
    degenerate = mean_ratio_interval([([3.0] * 6, [2.0, 2.0, 2.0, 2.0, 2.0, 4.0])], seed=1)
    assert degenerate is not None
    assert degenerate.low <= 1.5 <= degenerate.high


def test_refuses_too_few_resamples_and_values_without_a_ratio() -> None:
    with pytest.raises(ValueError, match="resamples"):
        mean_ratio_interval([([1.0] * 6, [1.0] * 6)], seed=1, resamples=100)
    with pytest.raises(ValueError, match="above 0"):
        mean_ratio_interval([([0.0] * 6, [1.0] * 6)], seed=1)
    with pytest.raises(ValueError, match="needs at least one pair"):
        mean_ratio([])


def test_the_mean_of_ratios_is_geometric_and_narrower_than_each_alone() -> None:
    generator = np.random.default_rng(6)
    pairs = [(200 * generator.lognormal(0, 0.05, 9), 100 * generator.lognormal(0, 0.05, 9)) for _ in range(16)]
    alone, together = mean_ratio_interval(pairs[:1], seed=1), mean_ratio_interval(pairs, seed=1)
    assert alone is not None
    assert together is not None
    assert together.low < 2 < together.high
    assert together.high - together.low < (alone.high - alone.low) / 2
    assert mean_ratio([([4.0], [1.0]), ([1.0], [1.0])]) == pytest.approx(2)
    assert mean_ratio_interval([*pairs, ([1.0] * 5, [1.0] * 6)], seed=1) is None


def test_noisier_machines_need_more_replicates() -> None:
    generator = np.random.default_rng(3)
    calm, wild = 100 + generator.normal(0, 0.5, 80), 100 + generator.normal(0, 2, 80)
    few, many = replicates_for_precision(calm, 0.01, seed=1), replicates_for_precision(wild, 0.01, seed=1)
    assert few is not None
    assert many is not None
    assert 6 <= few < many
    assert replicates_for_precision(wild, 0.001, seed=1) is None
    assert replicates_for_precision([1.0] * 5, 0.01, seed=1) is None
    assert replicates_for_precision([1.0] * 9, 0.01, seed=1) == 6
    with pytest.raises(ValueError, match="precision"):
        replicates_for_precision(calm, 0.0, seed=1)
