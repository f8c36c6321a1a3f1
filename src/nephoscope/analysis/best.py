"""The best of each leaderboard: overall, within a cloud, within a size, as measured, per CPU and per dollar."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from nephoscope.analysis.boards import Board
from nephoscope.model.questions import BestRow
from nephoscope.stats.decide import ALPHA, POWER
from nephoscope.stats.leaderboard import possible_best, ties
from nephoscope.stats.rank_board import possible_best_by_ranks
from nephoscope.stats.samples import Indices
from nephoscope.stats.studentized_range import critical_range
from nephoscope.study.scopes import Scope

ScopesOf = Callable[[tuple[str, ...]], Sequence[Scope]]
"""Names of configurations -> the scopes in which they compete."""


Leaderboard = tuple[str, str, str, str, str]
"""Benchmark, metric, view, basis of the prices or an empty text, scope."""


def best_of(
    boards: Sequence[Board],
    scopes_of: ScopesOf,
    *,
    margin_percent: float,
    alpha: float = ALPHA,
    settled: Mapping[Leaderboard, Collection[str]] = MappingProxyType({}),
) -> list[BestRow]:
    """A row for each headline metric, view and scope. Each is a question of its own, with its own error rate.

    Args:
        boards: plain, per CPU and per dollar.
        scopes_of: who competes with whom, among the configurations of a board.
        margin_percent: the study's equivalence margin.
        alpha: the chance of excluding a configuration that is the best or equal to it, for each row.
        settled: who may be the best by the looks of a study that stops by itself. A test of all its values at this
            error rate would come on top of theirs.
    """
    remembered = lru_cache(maxsize=None)(scopes_of)
    return [
        _row(board, scope, margin_percent, alpha, settled)
        for board in boards
        if board.headline
        for scope in remembered(board.members)
    ]


def _row(
    board: Board,
    scope: Scope,
    margin_percent: float,
    alpha: float,
    settled: Mapping[Leaderboard, Collection[str]],
) -> BestRow:
    among = board.rows_of(scope.members)
    said = settled.get((board.benchmark, board.metric, board.view, board.basis or "", scope.name), ())
    kept = np.intersect1d(among, board.rows_of([*said]))
    if kept.size == 0:
        kept = _possible(board, among, alpha)
    decidable = board.fit.decidable
    best = sorted(kept[decidable[kept]], key=lambda row: (-board.fit.fit.means[row], board.names[row]))
    unknown = [row for row in kept if not decidable[row]]
    tied, close = _ties(board, among, best, margin_percent / 100, alpha)
    counts = board.fit.fit.counts[among]
    known = among[decidable[among]]
    variances, freedom = board.fit.spreads.variances[known], board.fit.spreads.freedom[known]
    by_values = board.method in {"within blocks", "without blocks"}
    return BestRow(
        benchmark=board.benchmark,
        subject=board.subject,
        metric=board.metric,
        direction=board.direction,
        view=board.view,
        basis=board.basis,
        scope=scope.name,
        of=among.size,
        best=[board.names[row] for row in best],
        excluded=among.size - kept.size,
        open=sorted(board.names[row] for row in unknown),
        left_out=sorted(board.left_out),
        tied=tied,
        close=close,
        alpha=alpha,
        method="none" if known.size < 2 else board.method,
        n_least=int(counts.min()),
        n_most=int(counts.max()),
        cv_percent=100 * math.sqrt(float(np.median(variances))) if by_values and known.size else None,
        degrees_of_freedom=_finite(float(freedom.min())) if by_values and known.size else None,
        detectable_percent=_detectable_percent(board, known, alpha) if by_values else None,
        margin_percent=margin_percent,
        trials=sorted({trial for row in kept for trial in board.trials[row]}),
    )


def _possible(board: Board, among: Indices, alpha: float) -> Indices:
    if not board.fit.discrete:
        return possible_best(board.fit, alpha, among)
    return among[possible_best_by_ranks([board.samples[row] for row in among], alpha)]


def _ties(board: Board, among: Indices, best: Sequence[int], margin: float, alpha: float) -> tuple[bool, list[str]]:
    """Whether the best ones are all ties, and which others tie with the only one."""
    if board.fit.discrete or not best:
        return False, []
    equal = ties(board.fit, alpha, margin, among)
    places = [int(place) for place in np.searchsorted(among, best)]
    if len(best) == 1:
        return False, [board.names[among[other]] for other in np.flatnonzero(equal[places[0]])]
    return bool(equal[np.ix_(places, places)].sum() == len(places) * (len(places) - 1)), []


def _detectable_percent(board: Board, known: Indices, alpha: float) -> float | None:
    """For the median pair: what the range needs, and the error of the estimate with the chance of `POWER`."""
    if known.size < 2:
        return None
    upper = np.triu_indices(known.size, 1)
    square = np.ix_(known, known)
    errors, freedom = board.fit.errors[square][upper], board.fit.freedom[square][upper]
    typical, least = float(np.median(errors)), float(np.median(freedom))
    needed = float(critical_range(known.size, least, alpha)) / math.sqrt(2)
    needed += float(special.stdtrit(min(least, 1e9), POWER))
    return 100 * math.expm1(needed * typical) if math.isfinite(needed) and needed * typical < 100 else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
