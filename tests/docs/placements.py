"""False verdicts about equal types of machines, by placement, as docs/concepts/statistics.md prints them."""

from dataclasses import dataclass

import numpy as np

from nephoscope.stats.ratio import interval_rank

STUDIES = 20_000
TRIAL_SPREAD = 0.01
MACHINE_SPREADS = (0.0, 0.01, 0.02)
MARGIN = 0.015


@dataclass(frozen=True)
class Placement:
    """How the trials of a configuration are spread over machines, and what counts as a value."""

    words: str
    machines: int
    trials_each: int
    medians: bool = False
    """The values are the machines' medians."""


PLACEMENTS = (
    Placement("`per-configuration`: 6 trials on 1 machine", 1, 6),
    Placement("3 machines, 2 trials on each, n = 6 trials", 3, 2),
    Placement("3 machines, 2 trials on each, n = 3 machines", 3, 2, medians=True),
    Placement("4 machines, 2 trials on each, n = 4 machines", 4, 2, medians=True),
    Placement("6 machines, 2 trials on each, n = 6 machines", 6, 2, medians=True),
    Placement("`fresh`, `per-replicate`: 6 machines, 1 trial on each", 6, 1),
)


def called_different(placement: Placement, machine_spread: float, difference: float = 0.0) -> float:
    """Share of studies in which two types, one faster by `difference`, are called better or worse.

    Values are log-normal. Machines of a type differ by `machine_spread`, trials on one machine by `TRIAL_SPREAD`.
    """
    generator = np.random.default_rng([placement.machines, placement.trials_each, round(1000 * machine_spread)])

    def drawn(level: float) -> np.ndarray:
        machines = generator.normal(level, machine_spread, (STUDIES, placement.machines, 1))
        trials = machines + generator.normal(0, TRIAL_SPREAD, (STUDIES, placement.machines, placement.trials_each))
        return np.median(trials, axis=2) if placement.medians else trials.reshape(STUDIES, -1)

    left, right = drawn(np.log1p(difference)), drawn(0.0)
    n = left.shape[1]
    rank = interval_rank(n, n)
    if rank == 0:
        return 0.0
    logs = np.sort((left[:, :, None] - right[:, None, :]).reshape(STUDIES, -1), axis=1)
    low, high = logs[:, rank - 1], logs[:, n * n - rank]
    tie = (low >= -np.log1p(MARGIN)) & (high <= np.log1p(MARGIN))
    return float((((low > 0) | (high < 0)) & ~tie).mean())


def placements() -> str:
    """The table."""
    head = " | ".join(f"machines vary by {spread:.0%}" for spread in MACHINE_SPREADS)
    lines = [
        f"Two equal types, {STUDIES:,} studies each; trials on one machine vary by {TRIAL_SPREAD:.0%}, the equivalence",
        f"margin is ±{MARGIN:.1%}. How often one type is called better or worse, which is always false:",
        "",
        f"| trials and values of each type | {head} |",
        "|---|" + "---|" * len(MACHINE_SPREADS),
    ]
    lines += [
        f"| {one.words} | " + " | ".join(f"{called_different(one, spread):.1%}" for spread in MACHINE_SPREADS) + " |"
        for one in PLACEMENTS
    ]
    return "\n".join(lines).replace("%", " %") + "\n"
