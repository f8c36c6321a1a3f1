"""The kinds of noise that studies are simulated with, on logarithms; one unit is the usual spread."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nephoscope.stats.samples import Floats

Draw = Callable[[np.random.Generator, int, int], Floats]
"""From a generator, the number of configurations K and of replicates n to noise of shape (K, n)."""

CV_OF_NORMAL = 0.1
"""Values that are normal themselves are not so on logarithms; the more they vary the less."""
WIDE = 3.0
"""The ratio of the largest to the smallest spread, and of a block's drift to the noise."""
SHARE_OF_HOLES = 0.15


@dataclass(frozen=True)
class Noise:
    """One row of the table."""

    name: str
    draw: Draw
    blocked: bool = True
    """Whether the columns count as blocks."""
    lenient: bool = False
    """Two levels and skew: 10 % instead of 6.5 % are allowed."""


def _normal(generator: np.random.Generator, k: int, n: int) -> Floats:
    values: Floats = np.maximum(1 + CV_OF_NORMAL * generator.standard_normal((k, n)), CV_OF_NORMAL)
    logs: Floats = np.log(values)
    return logs / CV_OF_NORMAL


def _log_normal(generator: np.random.Generator, k: int, n: int) -> Floats:
    return generator.standard_normal((k, n))


def _heavy_tails(generator: np.random.Generator, k: int, n: int) -> Floats:
    return np.asarray(generator.standard_t(3, (k, n)) / np.sqrt(3), dtype=np.float64)


def _two_levels(share: float) -> Draw:
    """A share of the values is ten times the inner spread below the rest."""

    def draw(generator: np.random.Generator, k: int, n: int) -> Floats:
        low = generator.random((k, n)) < share
        return np.where(low, -1.0, 0.0) + 0.1 * generator.standard_normal((k, n))

    return draw


def _spreads(of: Callable[[int], Floats]) -> Draw:
    def draw(generator: np.random.Generator, k: int, n: int) -> Floats:
        return generator.standard_normal((k, n)) * of(k)[:, None]

    return draw


def _drift(generator: np.random.Generator, k: int, n: int) -> Floats:
    return generator.standard_normal((k, n)) + WIDE * generator.standard_normal(n)


def _holes(generator: np.random.Generator, k: int, n: int) -> Floats:
    values = _drift(generator, k, n)
    return np.where(generator.random((k, n)) < SHARE_OF_HOLES, np.nan, values)


def _skewed(sign: float) -> Draw:
    """The first configuration is exponential, with the median of the others."""

    def draw(generator: np.random.Generator, k: int, n: int) -> Floats:
        values = generator.standard_normal((k, n))
        values[0] = sign * (generator.exponential(size=n) - np.log(2))
        return values

    return draw


def _outlier(generator: np.random.Generator, k: int, n: int) -> Floats:
    """One value of the study, of any configuration and block, is 30 % below its place."""
    values = generator.standard_normal((k, n))
    values[generator.integers(k), generator.integers(n)] += np.log(0.7) / CV_OF_WORLDS
    return values


def _dependent(generator: np.random.Generator, k: int, n: int) -> Floats:
    """Each value depends on the one before of its configuration: AR(1) with 0.5, of the usual spread."""
    values = generator.standard_normal((k, n))
    for place in range(1, n):
        values[:, place] = 0.5 * values[:, place - 1] + np.sqrt(1 - 0.5**2) * values[:, place]
    return values


def _two_kinds(generator: np.random.Generator, k: int, n: int) -> Floats:
    """The first configuration comes in two kinds: in a fifth of its trials it is 10 % slower."""
    values = generator.standard_normal((k, n))
    values[0] += np.where(generator.random(n) < 0.2, np.log(0.9) / CV_OF_WORLDS, 0.0)
    return values


def _machines(generator: np.random.Generator, k: int, n: int) -> Floats:
    """Each trial has a machine of its own. They differ by the usual spread, and vary by up to three times as much."""
    spreads = generator.uniform(1, WIDE, (k, n))
    return generator.standard_normal((k, n)) + spreads * generator.standard_normal((k, n))


CV_OF_WORLDS = 0.01
WORLDS: tuple[Noise, ...] = (
    Noise("as the model has it", _log_normal),
    Noise("one value 30 % too low", _outlier),
    Noise("AR(1) of 0.5 within a configuration", _dependent),
    Noise("one in two kinds, 10 % apart, 80 : 20", _two_kinds),
    Noise("machines that differ by 1 % and vary by 1 to 3 %", _machines),
)
"""Of pairs of configurations whose values vary by `CV_OF_WORLDS`: what an analysis should survive and may not."""
NOISES: tuple[Noise, ...] = (
    Noise("normal", _normal),
    Noise("log-normal", _log_normal),
    Noise("log-normal, no blocks", _log_normal, blocked=False),
    Noise("t, 3 degrees of freedom", _heavy_tails),
    Noise("two levels, 75 : 25", _two_levels(0.25), lenient=True),
    Noise("two levels, 50 : 50", _two_levels(0.5), lenient=True),
    Noise("spreads from 1 to 3", _spreads(lambda k: np.linspace(1, WIDE, k))),
    Noise("half with 3 times the spread", _spreads(lambda k: np.where(np.arange(k) % 2 == 0, WIDE, 1.0))),
    Noise("one with 3 times the spread", _spreads(lambda k: np.where(np.arange(k) == 0, WIDE, 1.0))),
    Noise("the same, no blocks", _spreads(lambda k: np.where(np.arange(k) == 0, WIDE, 1.0)), blocked=False),
    Noise("one with a third of the spread", _spreads(lambda k: np.where(np.arange(k) == 0, 1 / WIDE, 1.0))),
    Noise("drift of 3 times the noise", _drift),
    Noise("the same, 15 % missing", _holes),
    Noise("one skewed upwards", _skewed(1.0), lenient=True),
    Noise("one skewed downwards", _skewed(-1.0), lenient=True),
)
