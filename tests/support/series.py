"""Simulated series of rates: steady ones with dependent noise and outliers, and ones whose level changes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nephoscope.stats.change_points import plateaus

Floats = NDArray[np.float64]

KINDS = ("fall", "last tenth", "dip", "rise")
_SETTLE = 50
_ORACLE_STEADY = 1000


@dataclass(frozen=True)
class Noise:
    """AR(1) around 1000: coefficient of variation, and how much a value depends on the one before."""

    length: int
    dependence: float
    spread: float

    def draw(self, chance: np.random.Generator) -> Floats:
        shocks = chance.normal(0, 1, self.length + _SETTLE)
        values = np.zeros(shocks.size)
        for at in range(1, shocks.size):
            values[at] = self.dependence * values[at - 1] + shocks[at]
        return np.asarray(1000 * (1 + self.spread * values[_SETTLE:] * np.sqrt(1 - self.dependence**2)))


def with_outliers(values: Floats, chance: np.random.Generator) -> Floats:
    """One to three single values at a fraction or a multiple."""
    found = values.copy()
    count = int(chance.integers(1, 4))
    found[chance.choice(values.size, count, replace=False)] *= chance.choice([0.1, 0.5, 2.0, 5.0], count)
    return found


def stepped(values: Floats, kind: str, size: float, chance: np.random.Generator) -> tuple[Floats, list[int]]:
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


def oracle_hits(noise: Noise, repeats: int, seed: int, *, size: float = 0.10) -> int:
    """How many of the same changes the best possible detector finds: the limit of what these series hold.

    It knows dependence and spread of the noise and the two shapes that may come (one change anywhere, or a dip of a
    tenth), holds each shape at each place against the series (generalised least squares), and its threshold lets 5 % of
    steady series through.
    """
    shapes, places = _shapes(noise.length)
    flat = _new(np.ones(noise.length), noise)
    flat /= np.linalg.norm(flat)
    known = np.array([_new(shape, noise) for shape in shapes])
    known -= np.outer(known @ flat, flat)
    known /= np.linalg.norm(known, axis=1)[:, None]
    chance = np.random.default_rng(seed + 1)
    steady = [float(np.max(np.abs(known @ _new(noise.draw(chance), noise)))) for _ in range(_ORACLE_STEADY)]
    threshold = float(np.quantile(steady, 0.95))
    chance, found = np.random.default_rng(seed), 0
    for repeat in range(repeats):
        values, at = stepped(noise.draw(chance), KINDS[repeat % len(KINDS)], size, chance)
        match = np.abs(known @ _new(values, noise))
        said = places[int(np.argmax(match))]
        near = all(min(abs(one - two) for two in said) <= 0.02 * noise.length for one in at)
        found += bool(np.max(match) > threshold) and near
    return found


def _shapes(length: int) -> tuple[list[Floats], list[list[int]]]:
    """Unit steps and dips, and where they change."""
    tenth = -(-length // 10)
    places = [[at] for at in range(tenth, length - tenth + 1)]
    places += [[at, at + tenth] for at in range(tenth, length - 2 * tenth)]
    at = np.arange(length)
    return [((at >= one[0]) & (at < (one[1] if len(one) > 1 else length))).astype(np.float64) for one in places], places


def _new(values: Floats, noise: Noise) -> Floats:
    """What is new in each value: independent, and of equal spread."""
    first = values[:1] * np.sqrt(1 - noise.dependence**2)
    return np.concatenate([first, values[1:] - noise.dependence * values[:-1]])


def _list(values: Floats) -> Sequence[float]:
    return [float(value) for value in values]
