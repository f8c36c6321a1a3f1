"""Simulated series of rates: steady ones with dependent noise and outliers, and ones whose level changes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nephoscope.stats.change_points import plateaus

KINDS = ("fall", "last tenth", "dip", "rise")
_SETTLE = 50


@dataclass(frozen=True)
class Noise:
    """AR(1) around 1000: coefficient of variation, and how much a value depends on the one before."""

    length: int
    dependence: float
    spread: float

    def draw(self, chance: np.random.Generator) -> NDArray[np.float64]:
        shocks = chance.normal(0, 1, self.length + _SETTLE)
        values = np.zeros(shocks.size)
        for at in range(1, shocks.size):
            values[at] = self.dependence * values[at - 1] + shocks[at]
        return np.asarray(1000 * (1 + self.spread * values[_SETTLE:] * np.sqrt(1 - self.dependence**2)))


def with_outliers(values: NDArray[np.float64], chance: np.random.Generator) -> NDArray[np.float64]:
    """One to three single values at a fraction or a multiple."""
    found = values.copy()
    count = int(chance.integers(1, 4))
    found[chance.choice(values.size, count, replace=False)] *= chance.choice([0.1, 0.5, 2.0, 5.0], count)
    return found


def stepped(
    values: NDArray[np.float64], kind: str, size: float, chance: np.random.Generator
) -> tuple[NDArray[np.float64], list[int]]:
    """With a change of `size` that lasts a tenth of the series or longer; and where it changes."""
    length = values.size
    tenth = -(-length // 10)
    if kind == "last tenth":
        at = [length - tenth]
    elif kind == "dip":
        begin = int(chance.integers(tenth, length - 2 * tenth))
        at = [begin, begin + tenth]
    else:
        at = [int(chance.integers(tenth, length - tenth))]
    factor = np.ones(length)
    factor[at[0] : at[1] if len(at) > 1 else length] = 1 + size if kind == "rise" else 1 - size
    return values * factor, at


def alarms(noise: Noise, repeats: int, seed: int) -> int:
    """How many steady series, every second one with outliers, are said to change."""
    chance = np.random.default_rng(seed)
    found = 0
    for repeat in range(repeats):
        values = noise.draw(chance)
        found += len(plateaus(_list(with_outliers(values, chance) if repeat % 2 else values))) > 1
    return found


def hits(noise: Noise, repeats: int, seed: int, *, size: float = 0.10) -> int:
    """How many changes of 10 %, of all kinds in turn, are found at the right place, +-2 % of the length."""
    chance = np.random.default_rng(seed)
    found = 0
    for repeat in range(repeats):
        values, at = stepped(noise.draw(chance), KINDS[repeat % len(KINDS)], size, chance)
        said = [one.start for one in plateaus(_list(values))[1:]]
        found += bool(said) and all(min(abs(one - two) for two in said) <= 0.02 * noise.length for one in at)
    return found


def _list(values: NDArray[np.float64]) -> Sequence[float]:
    return [float(value) for value in values]
