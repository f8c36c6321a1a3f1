"""One simulated study: what is asked of it, and which answers are wrong."""

import zlib
from collections import Counter
from dataclasses import dataclass

import numpy as np

from bench.simulations.noises import CV_OF_WORLDS, NOISES, WORLDS, Noise
from nephoscope.stats.leaderboard import Contrast, Leaderboard, contrast, differences, possible_best, ties
from nephoscope.stats.samples import Floats
from nephoscope.stats.studentized_range import critical_range

ALPHA = 0.05
CONFIGURATIONS = (2, 5, 20, 100)
REPLICATES = (4, 6, 10)
WORLD_REPLICATES = (6, 8, 10)
WORLD_CONFIGURATIONS = (2, 20)
BEHIND = (1.0, 2.0, 3.0)
"""Standard errors of a mean by which the others are behind the best ones."""
EQUAL_BEST = 5
TIE_MARGIN = 25.0
"""Standard errors of a mean: wide enough for ties to be shown where spreads are three times as large."""


@dataclass(frozen=True)
class ErrorCell:
    """Studies whose answers should not be wrong."""

    noise: Noise
    configurations: int
    replicates: int

    @property
    def key(self) -> str:
        """The name in the stored counts."""
        return f"{self.noise.name} | {self.configurations} | {self.replicates}"

    def study(self, number: int) -> Counter[str]:
        """What was wrong in the study of this number.

        The same draw is asked several times: with all configurations equal, with some behind by a few standard errors,
        and with half of them exactly one equivalence margin below the rest. A false difference is looked for among
        equal ones only: single-step intervals that move apart claim no more of them.
        """
        generator = _generator(self.key, number)
        k, n = self.configurations, self.replicates
        board = Leaderboard.of(self.noise.draw(generator, k, n), blocked=self.noise.blocked)
        wrong: Counter[str] = Counter()
        equal = np.zeros(k)
        wrong["equal: best lost"] = _best_is_lost(board, equal)
        wrong["false difference"] = int(differences(board, ALPHA, np.arange(k)).any())
        for behind in BEHIND:
            levels = -behind / np.sqrt(n) * (np.arange(k) >= min(EQUAL_BEST, (k + 1) // 2))
            wrong[f"{behind:g} behind: best lost"] = _best_is_lost(board.shifted(levels), levels)
        wrong["false tie"] = _false_tie(board, n)
        wrong["pair missed"] = _missed(contrast(board, [(0, 1)]))
        half = k // 2
        wrong["contrast missed"] = _missed(contrast(board, [(i, half + i) for i in range(half)]))
        return +wrong


@dataclass(frozen=True)
class PowerCell:
    """Studies with one best configuration, which should be found."""

    name: str
    configurations: int
    replicates: int
    cv: float
    gap: float
    """Share by which all others are behind."""
    drift: float
    """Share by which each block is above the one before."""
    bar: float | None = None
    """The share of studies that must find it."""

    @property
    def key(self) -> str:
        """The name in the stored counts."""
        return f"power | {self.name} | {self.configurations} | {self.replicates} | {self.gap:g} | {self.drift:g}"

    def study(self, number: int) -> Counter[str]:
        """Whether the best was found, and whether it was lost."""
        generator = _generator(self.key, number)
        logs = self.cv * generator.standard_normal((self.configurations, self.replicates))
        logs += np.log1p(self.drift) * np.arange(self.replicates)
        logs[1:] += np.log1p(-self.gap)
        best = possible_best(Leaderboard.of(logs, blocked=True), ALPHA)
        return +Counter({"found": int(best.tolist() == [0]), "lost": int(0 not in best)})


@dataclass(frozen=True)
class WorldCell:
    """Studies in a world that the model of the analysis does not have."""

    noise: Noise
    configurations: int
    replicates: int

    @property
    def key(self) -> str:
        """The name in the stored counts."""
        return f"world | {self.noise.name} | {self.configurations} | {self.replicates}"

    def study(self, number: int) -> Counter[str]:
        """Whether one of several equals is excluded, and whether the first, 5 % better than all others, is found."""
        k = self.configurations
        board = Leaderboard.of(
            CV_OF_WORLDS * self.noise.draw(_generator(self.key, number), k, self.replicates), blocked=True
        )
        equal = possible_best(board, ALPHA)
        apart = possible_best(board.shifted(np.where(np.arange(k) == 0, 0.0, np.log(0.95))), ALPHA)
        return +Counter(
            {
                "equal: one lost": int(equal.size < k),
                "apart: found": int(apart.tolist() == [0]),
                "apart: lost": int(0 not in apart),
            }
        )


WORLD_CELLS = tuple(WorldCell(noise, k, n) for noise in WORLDS for k in WORLD_CONFIGURATIONS for n in WORLD_REPLICATES)
ERROR_CELLS = tuple(ErrorCell(noise, k, n) for noise in NOISES for k in CONFIGURATIONS for n in REPLICATES)
POWER_CELLS = tuple(
    PowerCell("one winner", 100, 6, 0.015, gap, drift, bar)
    for gap, bar in ((0.05, 0.8), (0.1, 0.99))
    for drift in (0.0, 0.03)
) + tuple(PowerCell("a pair", 2, n, 0.01, 0.05, drift) for n in (6, 9) for drift in (0.0, 0.03))
Cell = ErrorCell | PowerCell | WorldCell
CELLS: tuple[Cell, ...] = ERROR_CELLS + POWER_CELLS + WORLD_CELLS


def simulate(cell: Cell, first: int, after_last: int) -> Counter[str]:
    """How often what happened in the studies of these numbers."""
    total: Counter[str] = Counter()
    for number in range(first, after_last):
        total.update(cell.study(number))
    return total


def fingerprint() -> list[float]:
    """Numbers that change with the procedure: counts of another procedure must not be added to."""
    generator = np.random.default_rng(7)
    logs = generator.standard_normal((12, 6)) * np.linspace(1, 3, 12)[:, None]
    logs[3, 2] = logs[5, 0] = np.nan
    logs[7, 1] -= 99
    logs[9, :2] -= 99
    numbers: list[float] = [Leaderboard.of(np.cumsum(logs[:7, ::-1], axis=1), blocked=True).excess]
    for blocked in (True, False):
        board = Leaderboard.of(logs, blocked=blocked)
        numbers += [float(np.nansum(board.distances**2)), float(board.freedom.sum()), float(np.nansum(board.errors))]
        numbers += [float(critical_range(12, board.freedom, ALPHA).sum()), float(possible_best(board, 0.5).sum())]
        answer = contrast(board, [(0, 6), (1, 7)])
        numbers += [answer.error, answer.freedom] if answer else []
    return [float(f"{number:.6g}") for number in numbers]


def _generator(key: str, number: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(key.encode()), number])


def _best_is_lost(board: Leaderboard, levels: Floats) -> int:
    kept = possible_best(board, ALPHA)
    best = np.flatnonzero(levels == levels.max())
    return int(not np.isin(best, kept).all())


def _false_tie(board: Leaderboard, replicates: int) -> int:
    margin = TIE_MARGIN / np.sqrt(replicates)
    apart = np.arange(board.logs.shape[0]) % 2 == 0
    claimed = ties(board.shifted(np.where(apart, margin, 0.0)), ALPHA, float(np.expm1(margin)))
    return int((claimed & (apart[:, None] != apart[None, :])).any())


def _missed(answer: Contrast | None) -> int:
    if answer is None:
        return 0
    low, high = answer.interval(1 - ALPHA)
    return int(not low <= 0 <= high)
