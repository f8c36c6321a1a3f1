"""What the dips of a series of rates cost its mean, however short the series is; and when nothing was completed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median_high

_DIP = 0.5
"""Of the usual value: less is a dip, which noise of a tenth makes in no year of seconds."""


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


def dips(values: Sequence[float]) -> Dips | None:
    """The dips of a series at equal steps of time; None: nothing was ever completed.

    Args:
        values: not negative.
    """
    working = [value for value in values if value > 0]
    if not working:
        return None
    usual = median_high(working)
    each: list[Dip] = []
    at = 0
    for is_low, run in groupby((value / usual for value in values), key=lambda share: share < _DIP):
        shares = list(run)
        if is_low:
            each.append(Dip(at, len(shares), len(shares) - sum(shares), _zeros(shares)))
        at += len(shares)
    return Dips(sum(dip.lost for dip in each) / len(values), tuple(each))


def _zeros(shares: Sequence[float]) -> int:
    return max(len(list(run)) if is_zero else 0 for is_zero, run in groupby(shares, key=lambda share: share == 0))
