"""By what factor two groups differ when their members are matched in blocks: an exact stratified rank sum test.

A block contains what may be compared: types of one cloud and one size, or the small and the large type of one family.
Only values of the same block meet. With one value on each side of every block this is the sign test and the interval
of a median of ratios; with a single block it is the Mann-Whitney test. Between them it uses every value once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nephoscope.stats.distributions import normal_cdf
from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.rank_sum import EXACT_PAIRS, doubled_midranks, null_distribution
from nephoscope.stats.ratio import RatioInterval
from nephoscope.stats.samples import Floats, positive_sample

Block = tuple[Sequence[float] | Floats, Sequence[float] | Floats]
"""Values of the left and of the right group, in one unit."""


@dataclass(frozen=True)
class BlockedEstimate:
    """The left group as a multiple of the right one, within blocks; no unit."""

    ratio: float
    interval: RatioInterval | None
    """None: with this few values no interval reaches the requested confidence (95 % needs six pairs)."""
    p_value: float
    """Two-sided, exact given the ties, before any correction for many comparisons."""
    smallest_p_value: float
    """The smallest p-value possible with blocks of these sizes."""
    blocks: int
    n_left: int
    n_right: int


def compare_in_blocks(blocks: Sequence[Block], confidence: float = CONFIDENCE) -> BlockedEstimate:
    """The ratio left / right over all blocks, without assuming a distribution.

    The ratio is the median of all ratios of a left to a right value of one block. The test counts, over all blocks,
    the pairs whose left value is larger, and compares the count with all ways to relabel the values within blocks. The
    interval inverts it: its ends are two of those ratios. It assumes that groups differ by one factor in all blocks.

    Args:
        blocks: each with at least one value above 0 on either side.
        confidence: minimum coverage of the interval, in (0, 1).

    Raises:
        ValueError: no block, an empty side, or a value that is not a finite number above 0.

    Source: van Elteren (1960), with equal weights; Lehmann, Nonparametrics (2006), sections 3.3 and 3.5.
    """
    sides = [(positive_sample(left), positive_sample(right)) for left, right in blocks]
    if not sides:
        raise ValueError("no block to compare in")
    logs = np.sort(np.concatenate([np.subtract.outer(np.log(x), np.log(y)).ravel() for x, y in sides]))
    sizes = [(x.size, y.size) for x, y in sides]
    null = _null_of_counts(sizes)
    rank = _interval_rank(null, logs.size, confidence)
    interval = None
    if rank:
        coverage = 1 - 2 * float(null[:rank].sum())
        interval = RatioInterval(math.exp(logs[rank - 1]), math.exp(logs[logs.size - rank]), coverage)
    return BlockedEstimate(
        ratio=math.exp(np.median(logs)),
        interval=interval,
        p_value=_p_value(sides),
        smallest_p_value=min(1.0, 2 / math.prod(math.comb(m + n, m) for m, n in sizes)),
        blocks=len(sides),
        n_left=sum(m for m, _ in sizes),
        n_right=sum(n for _, n in sizes),
    )


def _exact(sizes: Sequence[tuple[int, int]]) -> bool:
    return sum(m * n for m, n in sizes) <= EXACT_PAIRS


def _null_of_counts(sizes: Sequence[tuple[int, int]]) -> Floats:
    """P(the number of pairs won by the left is c), c = 0, 1, ..., if labels mean nothing; no ties."""
    if not _exact(sizes):
        most = sum(m * n for m, n in sizes)
        deviation = math.sqrt(sum(m * n * (m + n + 1) for m, n in sizes) / 12)
        ends = np.array([normal_cdf((c + 0.5 - most / 2) / deviation) for c in range(most + 1)])
        return np.diff(ends, prepend=0.0)
    total: Floats = np.ones(1)
    for m, n in sizes:
        of_sums = null_distribution(tuple(range(1, m + n + 1)), m)
        total = np.convolve(total, of_sums[m * (m + 1) // 2 :])
    return total


def _interval_rank(null: Floats, pairs: int, confidence: float) -> int:
    """The largest k with 2 P(count <= k - 1) <= 1 - confidence; 0 if there is none."""
    tails = 2 * np.cumsum(null)[: (pairs + 1) // 2]
    return int(np.searchsorted(tails, 1 - confidence, side="right"))


def _p_value(sides: Sequence[tuple[Floats, Floats]]) -> float:
    """Twice the smaller tail of the sum of midranks, over all relabellings within blocks, at most 1."""
    sizes = [(x.size, y.size) for x, y in sides]
    if not _exact(sizes):
        null = _null_of_counts(sizes)
        won = sum(float(np.sign(np.subtract.outer(x, y)).sum() + x.size * y.size) / 2 for x, y in sides)
        return float(min(1.0, 2 * min(null[: math.floor(won) + 1].sum(), null[math.ceil(won) :].sum())))
    total, observed = np.ones(1), 0
    for x, y in sides:
        doubled, _ = doubled_midranks(np.concatenate([x, y]))
        total = np.convolve(total, null_distribution(tuple(int(s) for s in np.sort(doubled)), x.size))
        observed += int(doubled[: x.size].sum())
    return float(min(1.0, 2 * min(total[: observed + 1].sum(), total[observed:].sum())))
