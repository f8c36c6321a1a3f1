"""Questions that are tested again and again while a study grows: which are answered, which never will be.

The error rate of a question holds over all looks, because each look tests at the level that `spending` gives it, and
what was excluded once stays excluded.
"""

from dataclasses import dataclass
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
