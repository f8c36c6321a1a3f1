"""How much of an error rate each look at a growing study may spend, so that all looks together keep it.

Every look before the last has the same small level, and the last one has what is left: nearly the whole error rate, so
that a study with looks decides at its end what one without looks would have decided.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.samples import Floats

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
