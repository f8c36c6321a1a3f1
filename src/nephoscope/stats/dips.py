"""What the dips of a series of rates cost its mean, however short the series is; and when nothing was completed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median_high

_DIP = 0.5
"""Of the usual value: less is a dip, which noise of a tenth makes in no year of seconds."""


@dataclass(frozen=True)
class Standstill:
    """Consecutive values of 0, from the index `start` on."""

    start: int
    length: int


@dataclass(frozen=True)
class Dips:
    """What a series lost."""

    cost: float
    """The share of the mean that the values below half of the usual one lack."""
    standstills: tuple[Standstill, ...]


def dips(values: Sequence[float]) -> Dips | None:
    """The dips of a series at equal steps of time; None: nothing was ever completed.

    Args:
        values: not negative.
    """
    working = [value for value in values if value > 0]
    if not working:
        return None
    usual = median_high(working)
    lost = sum(usual - value for value in values if value < _DIP * usual)
    standstills: list[Standstill] = []
    at = 0
    for empty, run in groupby(values, key=lambda value: value == 0):
        length = len(list(run))
        if empty:
            standstills.append(Standstill(at, length))
        at += length
    return Dips(lost / (usual * len(values)), tuple(standstills))
