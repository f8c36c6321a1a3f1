"""Questions that are tested again and again while a study grows: which are answered, which never will be.

The error rate of a question holds over all looks: `levels` gives each look its level, and what was excluded once stays
excluded. Every look before the last has the same small level, and the last one has what is left: nearly the whole error
rate, so that a study with looks decides at its end what one without looks would have decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.leaderboard import Contrast, Leaderboard, contrast, possible_best, ties
from nephoscope.stats.moderation import MIN_POOLED
from nephoscope.stats.samples import Floats, Indices
from nephoscope.stats.studentized_range import critical_range

FIRST_LOOK = 3
"""Blocks before the first look: two values of each configuration say little of its spread."""
MIN_CHANCE = 0.1
"""A question closes if the blocks that are left would decide more of it with a smaller chance."""
_TIE_BELOW = 0.25
"""A tie stays open while the blocks left would more likely than not tell its members apart."""

REFERENCE_EVERY = 9
"""One in so many configurations stays measured while a best-of question is open, to tell how values spread: those that
are dropped after three blocks say little of it, and without references fewer sets end as they would in full."""

MAX_MORE = 2
"""A set ends with at most so many more than it would if the spread were as narrow as a study in full may find it."""
_LEAST_SPREAD = 3.0
"""Standard errors by which a study in full may find a narrower spread than the one that was measured."""

State = Literal["open", "decided", "tie", "out of reach", "undecided"]
"""Open; answered; all that are left differ by less than the margin; the blocks left would hardly change the answer; the
blocks have ended."""


@dataclass(frozen=True)
class Stage:
    """When a look is taken, and at which level."""

    block: int
    last: int
    level: float
    last_level: float
    """Of the last look."""
    margin: float
    """Equivalence margin: a share, above 0."""


@dataclass(frozen=True)
class BestFinding:
    """What a look says about the best of a leaderboard."""

    state: State
    kept: Indices
    """Those that may be the best, in order."""
    chance: float
    """That the blocks left exclude another; 0 if there are none."""


@dataclass(frozen=True)
class ContrastFinding:
    """What a look says about a contrast."""

    state: State
    found: Contrast | None
    """None: there are too few values, or values in steps."""
    chance: float
    """That the blocks left decide it."""


def references(count: int) -> Indices:
    """Which of so many configurations, in the order of their names, a best-of question keeps measured for the spread.

    They do not depend on values, so that what they say of the spread is not selected.
    """
    return np.arange(REFERENCE_EVERY - 1, count, REFERENCE_EVERY)


def look_for_best(board: Leaderboard, kept: Indices, stage: Stage) -> BestFinding:
    """Tests once more who may be the best.

    Args:
        board: all values so far. Configurations that are measured no more have holes in the last blocks.
        kept: those that no earlier look excluded.
        stage: of the study.
    """
    board, before = board.as_if_complete, kept
    kept = possible_best(board, stage.level, kept) if stage.level > 0 else kept
    ended = stage.block >= stage.last
    if ended and stage.level > 0:
        kept = _not_many_more(board, before, kept, stage.level)
    if kept.size < 2:
        return BestFinding("decided", kept, 0.0)
    if ended:
        return BestFinding("undecided", kept, 0.0)
    chance = chance_to_exclude(board, kept, stage)
    if chance < MIN_CHANCE:
        tied = _all_tied(board, kept, stage)
        return BestFinding("tie" if tied else "out of reach", kept, chance)
    if chance < _TIE_BELOW and _all_tied(board, kept, stage):
        return BestFinding("tie", kept, chance)
    return BestFinding("open", kept, chance)


def _not_many_more(board: Leaderboard, before: Indices, kept: Indices, level: float) -> Indices:
    """`kept` without those by which it exceeds the set of the narrowest spread by more than `MAX_MORE`.

    Where several configurations are about as far behind as chance would put equal ones, all of them are kept or none:
    each one that is excluded makes the range for the others smaller. Which of the two it is depends on the last
    percents of the spread, and a study that dropped configurations does not know them.

    Args:
        board: the values of the last look.
        before: those that it tests.
        kept: those that it keeps.
        level: of the look.
    """
    if board.discrete or kept.size <= MAX_MORE:
        return kept
    narrow = possible_best(board, level, before, spread_share=_least_share(board))
    others = np.setdiff1d(kept, narrow)
    if others.size <= MAX_MORE:
        return kept
    behind = np.nanmax(board.distances[np.ix_(narrow, others)], axis=0)
    return np.sort(np.concatenate([narrow, others[np.argsort(behind, kind="stable")[:MAX_MORE]]]))


def _least_share(board: Leaderboard) -> float:
    """The narrowest spread that a study in full may find, as a share of the one that was measured.

    The residuals of a study in full are those of this one and others that were not measured, so the logarithm of its
    pooled spread differs from that of this one by a variance of (1 / v - 1 / w) / 2, with the v degrees of freedom of
    this one and the w of a study in full. Nothing is missing, or not known: 1.
    """
    freedom = board.fit.freedom[board.fit.freedom > 0]
    if freedom.size < MIN_POOLED:
        return 1.0
    missing = 1 / freedom.sum() - 1 / (freedom.size * freedom.max())
    return float(np.exp(-_LEAST_SPREAD * np.sqrt(max(missing, 0.0) / 2)))


def _all_tied(board: Leaderboard, kept: Indices, stage: Stage) -> bool:
    return stage.level > 0 and bool(ties(board, stage.level, stage.margin, kept).sum() == kept.size * (kept.size - 1))


def chance_to_exclude(board: Leaderboard, kept: Indices, stage: Stage) -> float:
    """The chance that the last look excludes at least one more configuration, if all are measured to the end.

    For each configuration it is the predictive probability, given its present gap to the leader and the spread, that
    the last gap exceeds the range of equal ones; the chances are combined as if they were independent. The degrees of
    freedom grow with the blocks. It is 1 where it cannot be known: a configuration has too few values yet, or the
    values come in steps.

    Source: predictive power as in Jennison & Turnbull (2000), section 10.3.
    """
    if board.discrete or not board.decidable[kept].all():
        return 1.0
    leader = kept[np.argmax(board.fit.means[kept])]
    others = kept[kept != leader]
    if stage.last_level <= 0 or others.size == 0:
        return 0.0
    gaps, errors = board.gaps[leader, others], board.errors[leader, others]
    freedom = board.freedom[leader, others] * stage.last / stage.block
    needed = critical_range(kept.size, freedom, stage.last_level) / np.sqrt(2)
    return float(1 - np.prod(1 - _chance(gaps / errors, needed, stage)))


def look_at_contrast(board: Leaderboard, pairs: list[tuple[int, int]], stage: Stage) -> ContrastFinding:
    """Tests once more whether what tells the firsts of pairs from the seconds makes a difference."""
    ended = stage.block >= stage.last
    found = None if board.discrete else contrast(board, pairs)
    if found is None or stage.level <= 0:
        return ContrastFinding("undecided" if ended else "open", found, 0.0 if ended else 1.0)
    if found.p_value < stage.level:
        return ContrastFinding("decided", found, 0.0)
    low, high = found.interval(1 - stage.level)
    tied = max(-low, high) <= np.log1p(stage.margin)
    if ended:
        return ContrastFinding("tie" if tied else "undecided", found, 0.0)
    needed = -special.stdtrit(found.freedom, stage.last_level / 2)
    chance = float(_chance(abs(found.estimate) / found.error, needed, stage)) if found.error > 0 else 0.0
    if chance < MIN_CHANCE or (tied and chance < _TIE_BELOW):
        return ContrastFinding("tie" if tied else "out of reach", found, chance)
    return ContrastFinding("open", found, chance)


def _chance(distances: Floats | float, needed: Floats | float, stage: Stage) -> Floats:
    """That a gap, in standard errors of now, is at the end wider than `needed` standard errors of then.

    With a share t of all blocks done, the last gap is normal around the present one, with (1 - t) of its variance,
    and its standard error is the present one times the root of t.
    """
    done = stage.block / stage.last
    return np.asarray(special.ndtr((distances - needed * np.sqrt(done)) / np.sqrt(1 - done)))


EARLY_LEVEL = 0.001
"""Level of each look before the last."""
_STEP = 0.02
_GRID = np.arange(-8.0, 8.0 + _STEP / 2, _STEP)
_HALVINGS = 60


def levels(earlier: Sequence[tuple[int, float]], block: int, last: int, alpha: float) -> tuple[float, float]:
    """The levels of a look and of the last look.

    They follow from the levels that were really used, so a study that is given more blocks than it had at its first
    look spends what is left, and no more.

    Args:
        earlier: block and two-sided level of each look so far, in order.
        block: after which the look is taken; later than all earlier ones.
        last: the last block of the study.
        alpha: error rate over all looks, in (0, 1).

    Returns:
        Two-sided levels, 0 if nothing is left to spend. They are equal if `block` is the last.

    Raises:
        ValueError: the blocks are not in order.

    Source: Haybittle (1971) and Peto et al. (1976), with the level of the last look from the joint distribution of all
    looks; Jennison & Turnbull, Group Sequential Methods (2000), sections 2.6 and 19.2.
    """
    blocks = [*(at for at, _ in earlier), block]
    if any(later <= before for before, later in pairwise(blocks)) or block > last:
        raise ValueError(f"looks must be in the order of their blocks, up to block {last}: {blocks}")
    early = min(EARLY_LEVEL, alpha / 10)
    ahead = [*earlier, *((at, early) for at in range(block, last))]
    at_the_end = _last_level(tuple(ahead), last, alpha)
    return (at_the_end if block == last else min(early, at_the_end)), at_the_end


@lru_cache(maxsize=256)
def _last_level(before: tuple[tuple[int, float], ...], last: int, alpha: float) -> float:
    """What the last look may spend: the statistic is Brownian motion that has not crossed a bound before."""
    density: Floats | None = None
    time, spent = 0.0, 0.0
    for block, level in before:
        density = _moved(density, block / last - time)
        time = block / last
        bound = -float(special.ndtri(level / 2)) * np.sqrt(time) if level > 0 else np.inf
        spent += _outside(density, bound)
        density = np.asarray(np.where(np.abs(_GRID) <= bound, density, 0.0))
    if spent >= alpha or time >= 1:
        return 0.0
    density = _moved(density, 1 - time)
    low, high = 0.0, 8.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _outside(density, middle) > alpha - spent else (low, middle)
    return 2 * float(special.ndtr(-high))


def _moved(density: Floats | None, passed: float) -> Floats:
    """The density after some more time; it starts at 0."""
    spread = np.sqrt(passed)
    if density is None:
        return np.asarray(_normal(_GRID / spread) / spread)
    return np.asarray(_normal((_GRID[:, None] - _GRID[None, :]) / spread) / spread @ density * _STEP)


def _normal(z: Floats) -> Floats:
    return np.asarray(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))


def _outside(density: Floats, bound: float) -> float:
    """Probability beyond a bound, on both sides."""
    if not np.isfinite(bound):
        return 0.0
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * _STEP)])
    return 2 * float(below[-1] - np.interp(bound, _GRID, below))
