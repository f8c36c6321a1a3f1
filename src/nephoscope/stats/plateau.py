"""The same rate on different machine types, with almost no spread: a limit of the provider, not of the machines.

A rate that depends on hardware differs from type to type and from trial to trial by a few percent. A limit that is
enforced by counting is the same for all, to the fourth digit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev

MIN_TYPES = 3
MIN_TRIALS = 3
"""Minimum number of trials of each type."""
MAX_SPREAD = 0.005
"""Coefficient of variation within a type. In the logs of 2019 writes at a limit spread by at most 0.3 %, CPU rates of
one type by 0.1 % to 2 %."""
MAX_DISTANCE = 0.005
"""Largest difference between medians of types, as a share of the higher one."""


@dataclass(frozen=True)
class Cap:
    """Types with the same rate."""

    types: tuple[str, ...]
    level: float
    largest_spread: float


def caps(trials: Mapping[str, Sequence[float]]) -> list[Cap]:
    """Groups of machine types on one plateau, the highest first.

    Args:
        trials: machine type -> the rate of each of its trials.
    """
    tight = {
        name: values
        for name, values in trials.items()
        if len(values) >= MIN_TRIALS and fmean(values) > 0 and _spread(values) <= MAX_SPREAD
    }
    in_order = sorted(tight, key=lambda name: (-median(tight[name]), name))
    found: list[Cap] = []
    while in_order:
        highest = median(tight[in_order[0]])
        group = [name for name in in_order if median(tight[name]) >= highest * (1 - MAX_DISTANCE)]
        in_order = in_order[len(group) :]
        if len(group) >= MIN_TYPES:
            level = median([median(tight[name]) for name in group])
            spread = max(_spread(tight[name]) for name in group)
            found.append(Cap(types=tuple(sorted(group)), level=level, largest_spread=spread))
    return found


def _spread(values: Sequence[float]) -> float:
    return pstdev(values) / fmean(values)
