"""What the dips of a series of rates cost its mean, however short the series is; and when nothing was completed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median, median_high

from nephoscope.stats.limits import MAD_TO_SIGMA

_DIP = 0.5
"""Of the usual value: less is a dip, which noise of a tenth makes in no year of seconds."""
_SIGMAS = 5
"""Of noise: so far below the usual value lies one step in three million by chance."""
_LOWEST_DIP = 0.05
"""Of the usual value: where noise reaches lower, steps are too short to tell a dip."""


@dataclass(frozen=True)
class Dip:
    """Consecutive values below half of the usual one. All lengths are in steps of the series."""

    start: int
    length: int
    lost: float
    """How long nothing at all would have cost as much."""
    zeros: int
    """The longest run of values of 0."""


@dataclass(frozen=True)
class Dips:
    """What a series lost."""

    cost: float
    """The share of the mean that the values below half of the usual one lack."""
    each: tuple[Dip, ...]


@dataclass(frozen=True)
class Steps:
    """Counts, taken together."""

    factor: int
    """How many steps make one."""
    values: list[float]
    low: float
    """Of the usual value: less is a dip."""


def finest_steps(counts: Sequence[float], factors: Sequence[int], least: float) -> Steps | None:
    """The counts in the shortest steps in which a dip is no noise; a last step that is not whole is left out.

    Args:
        counts: in equal steps of time.
        factors: how many steps to take together, from the least to the most; of the most, any spread is good enough.
        least: counts in a mean step in which anything was counted; None is returned where there are never so many.
    """
    for factor in factors:
        values = [float(sum(counts[at : at + factor])) for at in range(0, len(counts) - factor + 1, factor)]
        working = [value for value in values if value > 0]
        if working and sum(working) >= least * len(working):
            usual = median(working)
            spread = MAD_TO_SIGMA * median(abs(value - usual) for value in working)
            low = min(_DIP, 1 - _SIGMAS * spread / usual)
            if factor == factors[-1] or low >= _LOWEST_DIP:
                return Steps(factor, values, _DIP if factor == factors[-1] else low)
    return None


def dips(values: Sequence[float], low: float = _DIP) -> Dips | None:
    """The dips of a series at equal steps of time; None: nothing was ever completed.

    Args:
        values: not negative.
        low: of the usual value; less is a dip.
    """
    working = [value for value in values if value > 0]
    if not working:
        return None
    usual = median_high(working)
    each: list[Dip] = []
    at = 0
    for is_low, run in groupby((value / usual for value in values), key=lambda share: share < low):
        shares = list(run)
        if is_low:
            each.append(Dip(at, len(shares), len(shares) - sum(shares), _zeros(shares)))
        at += len(shares)
    return Dips(sum(dip.lost for dip in each) / len(values), tuple(each))


def _zeros(shares: Sequence[float]) -> int:
    return max(len(list(run)) if is_zero else 0 for is_zero, run in groupby(shares, key=lambda share: share == 0))
