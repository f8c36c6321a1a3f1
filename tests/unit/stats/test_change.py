"""By what factor values changed: by hand against Welch, blocks that disturb all at once, steps, and error rates."""

import math

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from nephoscope.stats.change import Measured, change

OLD = [100.0, 101.0, 103.0, 99.0, 102.0, 100.5]
NEW = [110.0, 112.0, 108.0, 111.0, 109.5, 113.0]


@pytest.mark.parametrize("blocks", [(), (1, 2, 3, 4, 5, 6)])
def test_one_configuration_is_welchs_test_on_logarithms(blocks: tuple[int, ...]) -> None:
    found = change([(Measured(OLD, blocks), Measured(NEW, blocks))], 0.95)
    welch = stats.ttest_ind(np.log(NEW), np.log(OLD), equal_var=False).confidence_interval(0.95)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((math.exp(welch.low), math.exp(welch.high)))
    assert found.ratio == pytest.approx(math.exp(np.log(NEW).mean() - np.log(OLD).mean()))
    assert found.method == "values"


def test_what_a_block_shares_counts_once() -> None:
    """Ten configurations that move together tell as much about the change as one does."""
    blocks = range(1, 7)
    one = change([(Measured(OLD, blocks), Measured(NEW, blocks))], 0.95)
    ten = change([(Measured(OLD, blocks), Measured(NEW, blocks))] * 10, 0.95)
    apart = change([(Measured(OLD), Measured(NEW))] * 10, 0.95)
    assert one.interval is not None
    assert ten.interval is not None
    assert apart.interval is not None
    assert (ten.interval.low, ten.interval.high) == pytest.approx((one.interval.low, one.interval.high))
    assert apart.interval.high - apart.interval.low < 0.4 * (one.interval.high - one.interval.low)


def test_steps_are_compared_by_ranks_and_few_values_claim_nothing() -> None:
    steps = change([(Measured([8.0] * 6), Measured([9.0] * 6))], 0.95)
    assert steps.method == "rank sums"
    assert steps.ratio == pytest.approx(9 / 8)
    assert steps.interval is not None
    assert steps.interval.low == pytest.approx(9 / 8)
    assert change([(Measured([8.0] * 3), Measured([9.0] * 3))], 0.95).interval is None
    assert change([(Measured([8.0]), Measured([9.0, 9.1]))], 0.95).interval is None
    assert change([(Measured([8.0, 8.1], [1, 1]), Measured([9.0, 9.1], [1, 1]))], 0.95).interval is None


def test_a_change_needs_positive_values_of_something() -> None:
    with pytest.raises(ValueError, match="at least one configuration"):
        change([], 0.95)
    with pytest.raises(ValueError, match="above 0"):
        change([(Measured([0.0, 1.0]), Measured([1.0, 1.0]))], 0.95)


def test_intervals_cover_the_change_under_noise_that_blocks_share() -> None:
    generator = np.random.default_rng(18)
    studies, count, blocks = 400, 4, 6
    covered = 0
    for _ in range(studies):
        sides = []
        for shift in (0.0, 0.05):
            shared = 0.03 * generator.standard_normal(blocks)
            own = 0.01 * generator.standard_normal((count, blocks))
            sides.append([Measured(np.exp(shift + shared + row).tolist(), range(blocks)) for row in own])
        interval = change(list(zip(*sides, strict=True)), 0.95).interval
        covered += interval is not None and interval.low <= math.exp(0.05) <= interval.high
    assert 0.92 < covered / studies < 0.98


def test_of_many_metrics_at_a_limit_one_is_called_beyond_it_in_few_studies() -> None:
    """Twelve metrics, each exactly 3 % lower, with intervals that hold together 95 times in 100."""
    generator = np.random.default_rng(11)
    studies, metrics, values, limit = 300, 12, 5, 0.97
    wrong = 0
    for _ in range(studies):
        old, new = (np.exp(0.02 * generator.standard_normal((2, metrics, values))) * [[[1.0]], [[limit]]]).tolist()
        found = [change([(Measured(a), Measured(b))], 1 - 0.05 / metrics) for a, b in zip(old, new, strict=True)]
        wrong += any(one.interval is not None and one.interval.high < limit for one in found)
    assert wrong / studies < 0.05
