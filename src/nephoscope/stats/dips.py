"""What the dips of a series of rates cost its mean, however short the series is; and when nothing was completed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median_high

_DIP = 0.5
"""Of the usual value: less is a dip, which noise of a tenth makes in no year of seconds."""


@dataclass(frozen=True)
class Standstill:
    """Consecutive values of 0, or low ones, from the index `start` on."""

    start: int
    length: int


@dataclass(frozen=True)
class Dips:
    """What a series lost."""

    cost: float
    """The share of the mean that the values below half of the usual one lack."""
    standstills: tuple[Standstill, ...]
    low: tuple[Standstill, ...]
    """Consecutive values below half of the usual one, 0 or not."""


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
    return Dips(
        lost / (usual * len(values)),
        _runs([value == 0 for value in values]),
        _runs([value < _DIP * usual for value in values]),
    )


def _runs(flags: Sequence[bool]) -> tuple[Standstill, ...]:
    """Where flags are set, one after the other."""
    found: list[Standstill] = []
    at = 0
    for is_set, run in groupby(flags):
        length = len(list(run))
        if is_set:
            found.append(Standstill(at, length))
        at += length
    return tuple(found)
