"""Simulated studies that stop by themselves, against studies of the same values with every block measured in full."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from nephoscope.stats.leaderboard import Leaderboard, possible_best
from nephoscope.stats.samples import Floats, Indices
from nephoscope.stats.sequential import FIRST_LOOK, Stage, State, levels, look_for_best, references

ALPHA, MARGIN = 0.05, 0.015
SPEEDS = (
    0.109,     0.11,     0.11,     0.11,     0.142,     0.199,     0.254,     0.272,     0.306,     0.313,
    0.313,     0.314,     0.314,     0.314,     0.314,     0.327,     0.343,     0.343,     0.344,     0.344,
    0.345,     0.345,     0.345,     0.346,     0.347,     0.349,     0.359,     0.36,     0.36,     0.365,
    0.384,     0.445,     0.463,     0.5,     0.5,     0.5,     0.501,     0.502,     0.502,     0.511,     1.0,
)  # fmt: skip
"""Quantiles, evenly spaced, of how fast a vCPU of 82 machine types of three clouds is at integer divisions, with the
fastest as 1: of the values that docs/studies/three-clouds-cpu.md reads (Spare Cores, CC BY-SA 4.0)."""
SIZES = (8, 16, 32)
Shape = Literal["three clouds", "ten within 3 %", "five best", "all equal"]
Spreads = Literal["alike", "from 1 to 3", "one of the best has 3 times", "each of the best has twice"]
BEST = 5
"""Equal ones ahead of all others, where the shape says so."""


@dataclass(frozen=True)
class Ended:
    """One leaderboard at the end of one study."""

    same: bool
    """The same set as that of the study in full."""
    slightly_larger: bool
    """The same, or at most two more."""
    much_larger: bool
    """More than two that the study in full excludes."""
    lost: bool
    """The true best, or one that equals it, is excluded."""
    lost_in_full: bool
    """The same of the study in full."""
    state: State


@dataclass(frozen=True)
class Drawn:
    """Values of one study: shape (configurations, blocks), on logarithms; and who competes in each leaderboard."""

    truth: Floats
    logs: Floats
    boards: tuple[Indices, ...]


def drawn(
    generator: np.random.Generator, shape: Shape, *, count: int, blocks: int, cv: float, spreads: Spreads = "alike"
) -> Drawn:
    """Clouds and sizes are drawn with equal chances; blocks drift by 3 %."""
    if shape == "all equal":
        truth, sizes, clouds = np.zeros(count), np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    else:
        places = np.linspace(0, 1, len(SPEEDS))
        sizes, clouds = generator.choice(SIZES, count), generator.integers(0, 3, count)
        truth = np.log(np.interp(generator.uniform(size=count), places, SPEEDS) * sizes)
    if shape == "ten within 3 %":
        first = np.argsort(-truth)[:10]
        truth[first] = truth[first[0]] - np.concatenate([[0.0], generator.uniform(0, 0.03, first.size - 1)])
    if shape == "five best":
        truth[np.argsort(-truth)[:BEST]] = truth.max()
    noise = cv * generator.standard_normal((count, blocks))
    logs = truth[:, None] + _spread(spreads, truth)[:, None] * noise + 0.03 * generator.standard_normal(blocks)
    groups = [np.arange(count), *(np.flatnonzero(kind == one) for kind in (clouds, sizes) for one in np.unique(kind))]
    several = {tuple(group.tolist()): group for group in groups if group.size > 1}
    return Drawn(truth, logs, tuple(several.values()))


def _spread(spreads: Spreads, truth: Floats) -> Floats:
    """Of the values of each configuration, as a multiple."""
    scale, first = np.ones(truth.size), np.argsort(-truth)
    if spreads == "from 1 to 3":
        scale = np.linspace(1, 3, truth.size)  # sizes and clouds are drawn, so places say nothing about speeds
    elif spreads == "one of the best has 3 times":
        scale[first[0]] = 3
    elif spreads == "each of the best has twice":
        scale[first[:BEST]] = 2
    return scale


def grown(study: Drawn) -> tuple[float, list[Ended]]:
    """The share of all trials that it measured, and how each leaderboard ended."""
    count, blocks = study.logs.shape
    full = Leaderboard.of(study.logs, blocked=True)
    seen = np.full_like(study.logs, np.nan)
    kept = [*study.boards]
    states: list[State] = ["open"] * len(study.boards)
    needed: Indices = np.arange(count)
    taken: list[tuple[int, float]] = []
    for block in range(1, blocks + 1):
        seen[needed, block - 1] = study.logs[needed, block - 1]
        if block < FIRST_LOOK:
            continue
        level, last_level = levels(taken, block, blocks, ALPHA)
        taken.append((block, level))
        board = Leaderboard.of(seen[:, :block], blocked=True)
        stage = Stage(block=block, last=blocks, level=level, last_level=last_level, margin=MARGIN)
        for place, state in enumerate(states):
            if state == "open":
                found = look_for_best(board, kept[place], stage)
                kept[place], states[place] = found.kept, found.state
        still = [names for names, state in zip(kept, states, strict=True) if state == "open"]
        if not still:
            break
        needed = np.unique(np.concatenate([*still, references(count)]))
    ends = [
        _ended(study, members, names, possible_best(full, ALPHA, members), state)
        for members, names, state in zip(study.boards, kept, states, strict=True)
    ]
    return float(np.isfinite(seen).mean()), ends


def _ended(study: Drawn, members: Indices, kept: Indices, in_full: Indices, state: State) -> Ended:
    best = members[study.truth[members] == study.truth[members].max()]
    superset = np.isin(in_full, kept).all()
    return Ended(
        same=bool(superset and kept.size == in_full.size),
        slightly_larger=bool(superset and kept.size <= in_full.size + 2),
        much_larger=bool(np.setdiff1d(kept, in_full).size > 2),
        lost=not np.isin(best, kept).all(),
        lost_in_full=not np.isin(best, in_full).all(),
        state=state,
    )
