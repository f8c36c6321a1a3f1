"""Ranks as intervals, simultaneous within a leaderboard: 1 + (certainly better) to all - (certainly worse)."""

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
from nephoscope.model.questions import BestRow
from nephoscope.model.records import Direction
from nephoscope.model.rows import RankRow
from nephoscope.model.written import OVERALL
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.leaderboard import differences, possible_ranks, ties
from nephoscope.stats.samples import Indices, Mask


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
