"""Coverage, false verdicts and power by simulation with fixed seeds, as docs/concepts/statistics.md prints them."""

import numpy as np

from nephoscope.stats.median import median_coverage, median_rank
from nephoscope.stats.rank_sum import cumulative_u
from nephoscope.stats.ratio import interval_rank
from tests.unit.stats.test_median import DISTRIBUTIONS

REPEATS = 20_000
PAIRS = 20_000
MARGIN = 0.015
SIZES = (6, 9, 20, 50)
PAIR_SIZES = (6, 9, 20)
DIFFERENCES = (0.0, 0.02, 0.03, 0.05, 0.1)
SPREAD = 0.02


def coverage_of(name: str, n: int) -> float:
    """Share of samples whose interval holds the true median."""
    draw, true_median = DISTRIBUTIONS[name]
    rank = median_rank(n)
    samples = np.partition(draw(np.random.default_rng([n, 2022]), (REPEATS, n)), (rank - 1, n - rank), axis=1)
    held = (samples[:, rank - 1] <= true_median) & (true_median <= samples[:, n - rank])
    return float(held.mean())


def decided_of(n: int, difference: float) -> float:
    """Share of pairs of log-normal samples, one larger by a factor, that are called different."""
    generator = np.random.default_rng([n, 11])
    left = generator.normal(np.log1p(difference), SPREAD, (PAIRS, n, 1))
    right = generator.normal(0, SPREAD, (PAIRS, 1, n))
    rank = interval_rank(n, n)
    logs = np.partition((left - right).reshape(PAIRS, -1), (rank - 1, n * n - rank), axis=1)
    low, high = logs[:, rank - 1], logs[:, n * n - rank]
    tie = (low >= -np.log1p(MARGIN)) & (high <= np.log1p(MARGIN))
    return float((((low > 0) | (high < 0)) & ~tie).mean())


def simulations() -> str:
    """Both tables."""
    lines = [
        f"Coverage of the interval of the median, {REPEATS:,} samples each:",
        "",
        "| distribution | " + " | ".join(f"n = {n}" for n in SIZES) + " |",
        "|---|" + "---|" * len(SIZES),
        "| as printed (exact) | " + " | ".join(f"{median_coverage(n, median_rank(n)):.1%}" for n in SIZES) + " |",
    ]
    lines += [
        f"| {name} | " + " | ".join(f"{coverage_of(name, n):.1%}" for n in SIZES) + " |" for name in DISTRIBUTIONS
    ]
    head = " | ".join("equal" if d == 0 else f"{d:.0%} apart" for d in DIFFERENCES)
    lines += [
        "",
        f"One comparison of n against n values with a CV of {SPREAD:.0%}, {PAIRS:,} pairs each, with an equivalence",
        f"margin of ±{MARGIN:.1%}: how often one is called better or worse. Of equal ones (A/A) every such verdict is",
        "false.",
        "",
        f"| n | {head} |",
        "|---|" + "---|" * len(DIFFERENCES),
    ]
    lines += [f"| {n} | " + " | ".join(f"{decided_of(n, d):.1%}" for d in DIFFERENCES) + " |" for n in PAIR_SIZES]
    exact = ", ".join(f"{2 * cumulative_u(interval_rank(n, n) - 1, n, n):.2%} (n = {n})" for n in PAIR_SIZES)
    lines += [
        "",
        f"Without the margin the exact share of false verdicts is {exact};",
        "the simulation errs by 0.15 points.",
    ]
    return "\n".join(lines).replace("%", " %") + "\n"
