"""Ranks as intervals, simultaneous within a leaderboard: 1 + (certainly better) to all - (certainly worse).

And the intervals behind them, so that a page can rank any part of the configurations at any price.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from nephoscope.analysis.best import best
from nephoscope.analysis.boards import Board, boards, priced
from nephoscope.analysis.costs import costs, months_by_basis
from nephoscope.analysis.delivered import notes, ranks_with_notes
from nephoscope.analysis.quiet_boards import QuietBoards, quiet
from nephoscope.analysis.renamed import extents
from nephoscope.analysis.statistics import statistics
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.questions import BestRow, RankIntervals
from nephoscope.model.records import Direction
from nephoscope.model.rows import RankRow
from nephoscope.model.written import OVERALL
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.leaderboard import differences, half_widths, possible_ranks, ties
from nephoscope.stats.ratio import RatioInterval
from nephoscope.stats.samples import Floats, Indices, Mask


def ranks_of(
    board: Board, levels: Mapping[str, float], *, margin_percent: float, alpha: float = ALPHA
) -> list[RankRow]:
    """One row per configuration, best level first.

    All ranks of a board are right at once in 1 - `alpha` of studies; and so are all ties.

    Args:
        board: the leaderboard.
        levels: of every configuration that was measured, in the unit of the board. One that is in no row, as a value
            has no logarithm, has a place by its level, and its rank is open.
        margin_percent: the study's equivalence margin.
        alpha: error rate of all ranks of this board together.
    """
    rows = board.rows_of(board.members)
    above = _above(board, alpha, rows)
    first, last = possible_ranks(above)
    equal = ties(board.fit, alpha, margin_percent / 100, rows)
    others = len([name for name in levels if name not in board.places or name not in board.members])
    found = {
        board.names[row]: (
            int(first[place]),
            int(last[place]) + others,
            sorted(board.names[rows[other]] for other in np.flatnonzero(equal[place])),
        )
        for place, row in enumerate(rows)
    }
    sign = -1 if board.direction is Direction.HIGHER else 1
    order = sorted(levels, key=lambda name: (sign * levels[name], name))
    places: dict[float, int] = {}
    for place, name in enumerate(order, start=1):
        places.setdefault(levels[name], place)
    return [
        RankRow(
            benchmark=board.benchmark,
            subject=board.subject,
            metric=board.metric,
            view=board.view,
            basis=board.basis,
            configuration=name,
            place=places[levels[name]],
            first=found[name][0] if name in found else 1,
            last=found[name][1] if name in found else len(order),
            of=len(order),
            ties=found[name][2] if name in found else [],
        )
        for name in order
    ]


def ranks_as_delivered(
    board: Board, levels: Mapping[str, float], quiet: QuietBoards, *, margin_percent: float
) -> list[RankRow]:
    """The ranks; where trials are disturbed, each reaches over what is possible as delivered and in quiet trials.

    Two configurations are tied if they are in both views.

    Args:
        board: the leaderboard of all trials that count.
        levels: see `ranks_of`.
        quiet: the boards without disturbed trials.
        margin_percent: the study's equivalence margin.
    """
    rows = ranks_of(board, levels, margin_percent=margin_percent)
    if not quiet.touch(board):
        return rows
    second = quiet.of(board, len(board.members))
    if second is None:
        return [row.model_copy(update={"first": 1, "last": row.of, "ties": []}) for row in rows]
    others = {row.configuration: row for row in ranks_of(second, levels, margin_percent=margin_percent)}
    found = []
    for row in rows:
        other = others[row.configuration]
        first, last = min(row.first, other.first), max(row.last, other.last)
        tied = [name for name in row.ties if name in other.ties]
        found.append(row.model_copy(update={"first": first, "last": last, "ties": tied}))
    return found


def led_by_the_best(rows: Sequence[RankRow], answer: BestRow | None) -> list[RankRow]:
    """The ranks of a leaderboard; where one configuration alone is the best, it is the first, and no other may be.

    That is the answer to another question, with an error rate of its own: all ranks at once leave more open.
    """
    if answer is None or len(answer.best) != 1 or not answer.excluded or answer.by_median:
        return [*rows]
    winner, unknown = answer.best[0], {*answer.open, *(one.configuration for one in answer.left_out)}
    found = []
    for row in rows:
        if row.configuration == winner:
            found.append(row.model_copy(update={"last": min(row.last, 1 + len(unknown))}))
        elif row.configuration in unknown:
            found.append(row)
        else:
            found.append(row.model_copy(update={"first": max(row.first, 2)}))
    return found


def surely_better_in_both(board: Board, quiet: QuietBoards) -> dict[str, set[str]]:
    """Configuration -> those that are certainly better as delivered, and in quiet trials where some are disturbed."""
    delivered = surely_better(board)
    if not quiet.touch(board):
        return delivered
    second = quiet.of(board, len(board.members))
    others = surely_better(second) if second is not None else {}
    return {name: winners & others.get(name, set()) for name, winners in delivered.items()}


def surely_better(board: Board, alpha: float = ALPHA) -> dict[str, set[str]]:
    """Configuration -> those that are certainly better; one error rate for the whole board."""
    rows = board.rows_of(board.members)
    above = _above(board, alpha, rows)
    return {
        board.names[row]: {board.names[rows[other]] for other in np.flatnonzero(above[:, place])}
        for place, row in enumerate(rows)
    }


def _above(board: Board, alpha: float, rows: Indices) -> Mask:
    """Shape (k, k): the row's configuration is certainly better than the column's, and its median is not worse."""
    return np.asarray(differences(board.fit, alpha, rows) & ~board.below_by_median[np.ix_(rows, rows)])


def _ranks(of: Workings) -> list[RankRow]:
    """Of every headline metric as measured, per CPU and per dollar."""
    levels: dict[tuple[str, str, bool], dict[str, float]] = defaultdict(dict)
    for row in of(statistics):
        levels[row.benchmark, row.metric, row.per_cpu][row.configuration] = row.compared.value
    months = {extent: months_by_basis(of(costs).rows, extent) for extent in {*of(extents).values()}}
    margin_percent = of.inputs.study.equivalence_margin_percent
    answers = {(row.benchmark, row.metric, row.view, row.basis): row for row in of(best) if row.scope == OVERALL}
    ranks: list[RankRow] = []
    for board in (*of(boards), *of(priced)):
        if not board.headline:
            continue
        of_board = levels[board.benchmark, board.metric, board.view == "per CPU"]
        if board.basis is not None:
            usd = months[of(extents)[board.benchmark]][board.basis]
            of_board = {name: of_board[name] / usd[name] for name in board.members}
        found = ranks_as_delivered(board, of_board, of(quiet), margin_percent=margin_percent)
        ranks += led_by_the_best(found, answers.get((board.benchmark, board.metric, board.view, board.basis)))
    return ranks_with_notes(ranks, of(notes))


RANKS = Table(
    "ranks",
    RankRow,
    _ranks,
    order=lambda row: (row.benchmark, row.metric, row.view, row.basis or "", row.place, row.configuration),
)


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
