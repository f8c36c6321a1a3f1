"""Comparing in blocks: exact against every relabelling, equal to the tests it contains, and it covers what it says."""

import itertools
import math

import numpy as np
import pytest

from nephoscope.stats.blocked import Block, compare_in_blocks
from nephoscope.stats.median import median_interval
from nephoscope.stats.rank_sum import rank_sum_p_value
from tests.support.ratios import compare

BLOCKS: list[Block] = [([3.0, 5.0], [1.0, 2.0, 4.0]), ([10.0], [7.0, 12.0]), ([2.0, 2.5], [2.25])]


def counted(blocks: list[Block]) -> float:
    """Two-sided p-value by listing every way to relabel values within blocks."""
    pools = [([*left, *right], len(left)) for left, right in blocks]
    ways = [list(itertools.combinations(range(len(pool)), size)) for pool, size in pools]

    def won(chosen: tuple[tuple[int, ...], ...]) -> float:
        total = 0.0
        for (pool, _), left in zip(pools, chosen, strict=True):
            right = [index for index in range(len(pool)) if index not in left]
            total += sum((pool[a] > pool[b]) + (pool[a] == pool[b]) / 2 for a in left for b in right)
        return total

    sums = [won(chosen) for chosen in itertools.product(*ways)]
    seen = won(tuple(tuple(range(size)) for _, size in pools))
    lower, upper = (sum(s <= seen for s in sums), sum(s >= seen for s in sums))
    return min(1.0, 2 * min(lower, upper) / len(sums))


@pytest.mark.parametrize("blocks", [BLOCKS, BLOCKS[:2], [([1.0, 2.0], [2.0, 3.0]), ([2.0], [2.0, 1.0])]])
def test_the_p_value_is_that_of_all_relabellings(blocks: list[Block]) -> None:
    assert compare_in_blocks(blocks).p_value == pytest.approx(counted(blocks))


def test_one_block_is_the_mann_whitney_test() -> None:
    generator = np.random.default_rng(4)
    left, right = generator.lognormal(0.1, 0.2, 7), generator.lognormal(0, 0.2, 6)
    found, same = compare_in_blocks([(left, right)]), compare(left, right)
    assert found.p_value == pytest.approx(rank_sum_p_value(left, right))
    assert found.ratio == pytest.approx(same.ratio)
    assert found.interval is not None
    assert same.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((same.interval.low, same.interval.high))
    assert found.interval.coverage == pytest.approx(same.interval.coverage)


def test_pairs_are_the_sign_test_and_the_interval_of_a_median() -> None:
    generator = np.random.default_rng(5)
    pairs = [([float(x)], [float(y)]) for x, y in generator.lognormal(0, 0.3, (11, 2))]
    ratios = [left[0] / right[0] for left, right in pairs]
    found, median = compare_in_blocks(pairs), median_interval(ratios)
    assert found.interval is not None
    assert (found.ratio, found.interval.low, found.interval.high) == pytest.approx(
        (median.median, median.low, median.high)
    )
    assert found.interval.coverage == pytest.approx(median.coverage)
    above = sum(ratio > 1 for ratio in ratios)
    tail = sum(math.comb(11, k) for k in range(min(above, 11 - above) + 1)) / 2**11
    assert found.p_value == pytest.approx(min(1, 2 * tail))


def test_six_pairs_are_the_least_with_an_interval_and_the_smallest_p_value_is_reached() -> None:
    pair: Block = ([2.0], [1.0])
    assert compare_in_blocks([pair] * 5).interval is None
    found = compare_in_blocks([pair] * 6)
    assert found.interval is not None
    assert found.p_value == found.smallest_p_value == pytest.approx(2 / 64)
    assert (found.blocks, found.n_left, found.n_right) == (6, 6, 6)
    with pytest.raises(ValueError, match="no block"):
        compare_in_blocks([])
    with pytest.raises(ValueError, match="above 0"):
        compare_in_blocks([([0.0], [1.0])])


def test_swapping_sides_mirrors_and_scaling_a_block_changes_nothing() -> None:
    found = compare_in_blocks(BLOCKS * 2)
    mirrored = compare_in_blocks([(right, left) for left, right in BLOCKS * 2])
    scaled = compare_in_blocks([([7 * x for x in left], [7 * y for y in right]) for left, right in BLOCKS * 2])
    assert found.interval is not None
    assert mirrored.interval is not None
    assert scaled == found or scaled.ratio == pytest.approx(found.ratio)
    assert (mirrored.ratio, mirrored.p_value) == pytest.approx((1 / found.ratio, found.p_value))
    assert (mirrored.interval.low, mirrored.interval.high) == pytest.approx(
        (1 / found.interval.high, 1 / found.interval.low)
    )


def test_beyond_the_exact_range_the_normal_distribution_agrees() -> None:
    generator = np.random.default_rng(6)
    blocks: list[Block] = [(generator.lognormal(0.03, 0.2, 40), generator.lognormal(0, 0.2, 40)) for _ in range(2)]
    large = compare_in_blocks(blocks)
    parts = [compare_in_blocks([block]).p_value for block in blocks]
    assert 0 < large.p_value <= 1
    assert all(0 < p <= 1 for p in parts)
    assert large.interval is not None
    assert large.interval.low < large.ratio < large.interval.high


@pytest.mark.parametrize("sizes", [[(1, 1)] * 9, [(2, 1), (1, 2), (2, 2), (1, 1)], [(4, 2), (4, 2)]])
@pytest.mark.parametrize("repeats", [400, pytest.param(2000, marks=pytest.mark.slow)])
def test_intervals_cover_and_false_claims_are_rare(sizes: list[tuple[int, int]], repeats: int) -> None:
    """That p-values are exact is shown above; this is of intervals, too, and `make test-all` repeats it more often."""
    generator = np.random.default_rng(7)
    covered, false = 0, 0
    for _ in range(repeats):
        blocks: list[Block] = []
        for m, n in sizes:
            level = generator.lognormal(0, 1)
            blocks.append((1.3 * level * generator.lognormal(0, 0.2, m), level * generator.lognormal(0, 0.2, n)))
        found = compare_in_blocks(blocks)
        assert found.interval is not None
        covered += found.interval.low <= 1.3 <= found.interval.high
        equal = compare_in_blocks([([x / 1.3 for x in left], right) for left, right in blocks])
        false += equal.p_value <= 0.05
    assert covered / repeats >= 0.95 - 0.015
    assert false / repeats <= 0.05 + 0.01
