"""Shortfalls of a volume that nobody slowed, and of one with known ones: `python -m bench.simulations.quiet_days`.

Days of seconds with the noise of volumes: what one second leaves to the next, long tails, and single slow seconds of a
disk that cleans up. A false shortfall is one of a quiet day; a planted one is found if both its ends are within 2 s.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nephoscope.stats.shortfalls import Shortfall, shortfalls

DAY_S = 86_400
_REMEMBERED_S = 200
"""Of a deviation nothing is left after so long."""
WITHIN_S = 2
STALLS_S = (1, 2, 5, 30)
SLOW_S, SLOW_SHARES = 3600, (0.0, 0.3, 0.6, 0.8)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """Of the rate of a volume, as a share of what was promised."""

    name: str
    level: float
    spread: float
    dependence: float
    """How much of a second's deviation the next one keeps."""
    hiccups: int = 0
    """Single seconds a day of 50 to 80 % of the rate."""
    tails: int = 0
    """Degrees of freedom of Student's t; 0: normal."""

    def day(self, seed: int) -> Floats:
        """The rate of each second."""
        chance = np.random.default_rng([seed, DAY_S])
        new = chance.standard_t(self.tails, DAY_S) if self.tails else chance.standard_normal(DAY_S)
        wander = np.convolve(new, self.dependence ** np.arange(_REMEMBERED_S))[:DAY_S]
        values = self.level + self.spread * wander / wander.std()
        slow = chance.integers(0, DAY_S, self.hiccups)
        values[slow] *= chance.uniform(0.5, 0.8, self.hiccups)
        return np.maximum(np.asarray(values, dtype=np.float64), 0.0)


NOISES = (
    Noise("held at the promise", 1.0, 0.002, 0.0),
    Noise("usual", 1.0, 0.02, 0.5),
    Noise("a little below the promise", 0.97, 0.01, 0.5),
    Noise("wanders", 1.0, 0.03, 0.9),
    Noise("long tails", 1.0, 0.02, 0.5, tails=5),
    Noise("cleans up", 1.05, 0.02, 0.5, hiccups=50),
)


def planted() -> Iterator[tuple[Shortfall, Floats]]:
    """Shortfalls that are looked for, each with what it leaves of the rate of each second of a day."""
    for place, (length_s, share) in enumerate(
        [*((length_s, 0.0) for length_s in STALLS_S), *((SLOW_S, share) for share in SLOW_SHARES)]
    ):
        start = 7_000 + 9_001 * place
        left = np.ones(DAY_S)
        left[start : start + length_s] = share
        yield Shortfall(start, start + length_s, share), left


def is_found(wanted: Shortfall, found: tuple[Shortfall, ...]) -> bool:
    """Whether one of them has both ends within `WITHIN_S`."""
    return any(abs(one.start - wanted.start) <= WITHIN_S and abs(one.end - wanted.end) <= WITHIN_S for one in found)


def false_of(noise: Noise, days: int) -> int:
    """Shortfalls in so many quiet days."""
    return sum(len(shortfalls(noise.day(seed).tolist())) for seed in range(days))


def found_of(noise: Noise, days: int) -> tuple[int, int]:
    """How many planted shortfalls were found and timed, and how many there were."""
    found = [
        is_found(wanted, shortfalls((noise.day(seed) * left).tolist()))
        for seed in range(days)
        for wanted, left in planted()
    ]
    return sum(found), len(found)


def main() -> None:
    """Prints a row for each noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=100, help="quiet days of each noise, and a tenth of it with each")
    days: int = parser.parse_args().days
    sys.stdout.write("| noise | false in so many quiet days | planted ones found within 2 s |\n|---|---|---|\n")
    for noise in NOISES:
        found, of = found_of(noise, max(1, days // 10))
        sys.stdout.write(f"| {noise.name} | {false_of(noise, days)} of {days} | {found} of {of} |\n")


if __name__ == "__main__":
    main()
