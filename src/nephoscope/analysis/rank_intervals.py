"""The simultaneous intervals behind ranks, so that a page can rank any part of the configurations at any price."""

import math
from collections.abc import Sequence

import numpy as np

from nephoscope.analysis.boards import Board, boards
from nephoscope.analysis.quiet_boards import QuietBoards, quiet
from nephoscope.analysis.table import Table
from nephoscope.model.questions import RankIntervals
from nephoscope.model.records import Direction
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.leaderboard import differences, half_widths
from nephoscope.stats.ratio import RatioInterval
from nephoscope.stats.samples import Floats

MAX_PAIRS = 500_000
"""Pairs of all boards together that are stored: those of 25 boards of 200 configurations."""
DIGITS = 4
"""Significant digits of a half-width, which is rounded up."""


def rank_intervals_of(
    boards: Sequence[Board], quiet: QuietBoards, *, alpha: float = ALPHA, max_pairs: int = MAX_PAIRS
) -> list[RankIntervals]:
    """One row per headline metric as measured, sorted by benchmark and metric; as many as fit.

    Where trials are disturbed, each interval covers that of all trials and that of the quiet ones.

    Args:
        boards: all; those per CPU and per dollar are these ones, shifted.
        quiet: the boards without disturbed trials.
        alpha: error rate of all pairs of one board together.
        max_pairs: further boards have no row.
    """
    plain = [board for board in boards if board.headline and board.view == "plain" and len(board.members) > 1]
    found = []
    for board in sorted(plain, key=lambda one: (one.benchmark, one.metric)):
        max_pairs -= math.comb(len(board.members), 2)
        if max_pairs >= 0:
            found.append(_of_board(board, quiet, alpha))
    return found


def lead_of(
    row: RankIntervals, first: str, second: str, direction: Direction, alpha: float = ALPHA
) -> tuple[float, RatioInterval] | None:
    """The first as a multiple of the second, with its interval; None: it is not shown to be better by any amount."""
    gap = None if row.signs_only else row.gap(first, second)
    if gap is None or gap[0] <= gap[1]:
        return None
    middle, half = (-gap[0] if direction is Direction.LOWER else gap[0]), gap[1]
    return math.exp(middle), RatioInterval(math.exp(middle - half), math.exp(middle + half), 1 - alpha)


def _of_board(board: Board, quiet: QuietBoards, alpha: float) -> RankIntervals:
    names = sorted(board.members)
    levels = board.levels[board.rows_of(names)]
    second = quiet.of(board, len(names)) if quiet.touch(board) else board
    known = second is not None
    views = [board, second] if second is not None else [board]
    steps = any(view.fit.discrete for view in views)
    width = _signs if steps else _widths
    halves = np.maximum.reduce([width(view, names, levels, alpha) for view in views])
    pairs = halves[np.triu_indices(len(names), 1)]
    return RankIntervals(
        benchmark=board.benchmark,
        metric=board.metric,
        configurations=names,
        levels=[float(level) for level in levels],
        half_widths=[float(half) if known and np.isfinite(half) else None for half in _rounded_up(pairs)],
        signs_only=steps,
    )


def _widths(view: Board, names: Sequence[str], levels: Floats, alpha: float) -> Floats:
    """Shape (k, k): how far from the gaps of `levels` the intervals of this view reach, to either side."""
    found = np.full((len(names), len(names)), np.nan)
    rows = view.rows_of(names)  # sorted by name, like `names`
    inside = [index for index, name in enumerate(names) if name in view.places]
    moved = view.fit.gaps[np.ix_(rows, rows)] - np.subtract.outer(levels[inside], levels[inside])
    halves = np.abs(moved) + half_widths(view.fit, alpha, rows)
    disputed = (view.fit.gaps[np.ix_(rows, rows)] > halves) & view.below_by_median[np.ix_(rows, rows)]
    found[np.ix_(inside, inside)] = np.where(disputed | disputed.T, np.nan, halves)
    return found


def _signs(view: Board, names: Sequence[str], levels: Floats, alpha: float) -> Floats:
    """Shape (k, k): 0 where the one with the higher level is surely better, else NaN."""
    found = np.full((len(names), len(names)), np.nan)
    rows = view.rows_of(names)
    above = differences(view.fit, alpha, rows) & ~view.below_by_median[np.ix_(rows, rows)]
    for first, second in np.argwhere(above):
        better, worse = (names.index(view.names[rows[place]]) for place in (first, second))
        if levels[better] > levels[worse]:
            found[better, worse] = found[worse, better] = 0.0
    return found


def _rounded_up(values: Floats) -> Floats:
    """To `DIGITS` significant digits, never down; zero and NaN stay."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10 ** (np.floor(np.log10(values)) - DIGITS + 1)
        found = np.ceil(values / scale) * scale
    return np.asarray(np.where(values > 0, found, values))


RANK_INTERVALS = Table(
    "rank_intervals", RankIntervals, lambda of: rank_intervals_of(of(boards), of(quiet)), has_columns=False
)
