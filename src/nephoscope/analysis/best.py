"""The best of each leaderboard: overall, within a cloud, within a size, as measured, per CPU and per dollar."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from nephoscope.analysis.agreement import why_open
from nephoscope.analysis.boards import Board, boards, priced
from nephoscope.analysis.delivered import CellKey, notes
from nephoscope.analysis.quiet_boards import QuietBoards, notes_of, quiet
from nephoscope.analysis.renamed import requested
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.looks import Look
from nephoscope.model.questions import Behind, BestRow
from nephoscope.model.written import Scope
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.leaderboard import errors_to_exclude, possible_best, ties
from nephoscope.stats.samples import Indices
from nephoscope.study.contrasts import scopes_of

ScopesOf = Callable[[tuple[str, ...]], Mapping[Scope, tuple[str, ...]]]
"""Names of configurations -> the scopes in which they compete, each with its members."""


MAX_BEHIND = 3
"""More excluded configurations than these are counted, not named."""
Leaderboard = tuple[str, str, str, str, Scope]
"""Benchmark, metric, view, basis of the prices or an empty text, scope."""


@dataclass(frozen=True)
class _Question:
    margin_percent: float
    alpha: float
    settled: Mapping[Leaderboard, Collection[str]]
    quiet: QuietBoards
    notes: Mapping[CellKey, str]


def best_of(
    boards: Sequence[Board],
    scopes_of: ScopesOf,
    *,
    margin_percent: float,
    alpha: float = ALPHA,
    settled: Mapping[Leaderboard, Collection[str]] = MappingProxyType({}),
    quiet: QuietBoards | None = None,
    notes: Mapping[CellKey, str] = MappingProxyType({}),
) -> list[BestRow]:
    """A row for each headline metric, view and scope. Each is a question of its own, with its own error rate.

    Where trials lost CPU time and count, a configuration is excluded only if it is excluded as delivered and in quiet
    trials, so the error rate holds in both views.

    Args:
        boards: plain, per CPU and per dollar.
        scopes_of: who competes with whom, among the configurations of a board.
        margin_percent: the study's equivalence margin.
        alpha: the chance of excluding a configuration that is the best or equal to it, for each row.
        settled: who may be the best by the looks of a study that stops by itself. A test of all its values at this
            error rate would come on top of theirs.
        quiet: the boards without disturbed trials; default: no trial is disturbed.
        notes: see `delivered.rejection_notes`.
    """
    question = _Question(margin_percent, alpha, settled, quiet or QuietBoards(), notes)
    remembered = lru_cache(maxsize=None)(scopes_of)
    return [
        _row(board, scope, members, question)
        for board in boards
        if board.headline
        for scope, members in remembered(board.members).items()
    ]


def settled(looks: Sequence[Look]) -> dict[Leaderboard, list[str]]:
    """Leaderboard -> who may be the best after all looks."""
    rows = looks[-1].questions if looks else []
    return {
        (row.benchmark, row.metric, row.view, row.basis or "", row.scope): row.configurations
        for row in rows
        if row.scope is not None
    }


def _row(board: Board, scope: Scope, members: Sequence[str], asked: _Question) -> BestRow:
    alpha, among = asked.alpha, board.rows_of(members)
    said = asked.settled.get((board.benchmark, board.metric, board.view, board.basis or "", scope), ())
    kept = np.intersect1d(among, board.rows_of([*said]))
    if kept.size == 0:
        kept = possible_best(board.fit, alpha, among)
    second = _in_quiet_trials(board, among, asked)
    delivered = _best_first(board, kept)
    if second is not None:
        kept = np.union1d(kept, [board.places[name] for name in second.kept]).astype(np.intp)
    decidable = board.fit.decidable
    by_median = _ahead_by_median(board, among, kept)
    kept = np.union1d(kept, by_median)
    best = _best_first(board, kept[decidable[kept]])
    unknown = [row for row in kept if not decidable[row]]
    tied, close = _ties(board, among, best, asked)
    reason = ""
    counts = board.fit.fit.counts[among]
    known = among[decidable[among]]
    if second is not None and known.size > 1:
        tied, close = tied and second.tied(best), [name for name in close if name in second.close(best)]
        ordered = [name for name in _best_first(board, kept) if name in second.kept]
        reason = why_open(delivered, ordered, too_few=second.too_few, never=second.never, of=among.size)
    variances, freedom = board.fit.spreads.variances[known], board.fit.spreads.freedom[known]
    by_values = board.method in {"within blocks", "without blocks"}
    return BestRow(
        benchmark=board.benchmark,
        subject=board.subject,
        metric=board.metric,
        direction=board.direction,
        view=board.view,
        basis=board.basis,
        scope=scope,
        of=among.size,
        best=best,
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
        margin_percent=asked.margin_percent,
        trials=sorted({trial for row in kept for trial in board.trials[row]}),
        reason=reason,
        note=notes_of(board.benchmark, board.metric, board.view, [board.names[row] for row in among], asked.notes),
        behind=_behind(board, among, kept),
        by_median=[board.names[row] for row in by_median],
    )


def _behind(board: Board, among: Indices, kept: Indices) -> list[Behind]:
    """The excluded ones where they are few; none where those that may be the best are the few."""
    others = np.setdiff1d(among, kept)
    levels = board.levels[kept][np.isfinite(board.levels[kept])]
    if not 0 < others.size <= MAX_BEHIND or levels.size <= others.size:
        return []
    usual = float(np.median(levels))
    changes = {board.names[row]: board.sign * (float(board.levels[row]) - usual) for row in others}
    furthest = sorted(changes, key=lambda name: (-abs(changes[name]), name))
    return [Behind(name, 100 * math.expm1(changes[name])) for name in furthest]


def _ahead_by_median(board: Board, among: Indices, kept: Indices) -> Indices:
    """Excluded configurations whose median is better than that of every one that may be the best."""
    candidates = kept[board.fit.decidable[kept]]
    others = np.setdiff1d(among, kept)
    if candidates.size == 0:
        return others[:0]
    return np.asarray(others[board.medians[others] > board.medians[candidates].max()])


def _best_first(board: Board, rows: Indices) -> list[str]:
    """Names, highest level first; those without a level last."""
    levels = board.levels
    return [
        board.names[row]
        for row in sorted(
            rows, key=lambda row: (-levels[row] if np.isfinite(levels[row]) else np.inf, board.names[row])
        )
    ]


@dataclass(frozen=True)
class _Second:
    """What quiet trials say of the configurations of one scope."""

    board: Board | None
    among: Indices
    """Those with a quiet value: rows of `board`."""
    kept: frozenset[str]
    """Configurations that may be the best, those about which nothing is known included."""
    too_few: list[str]
    never: list[str]
    asked: _Question

    def _ties(self, best: Sequence[str]) -> tuple[bool, list[str]]:
        names = {self.board.names[row] for row in self.among} if self.board else set()
        if self.board is None or not names.issuperset(best):
            return False, []
        return _ties(self.board, self.among, best, self.asked)

    def tied(self, best: Sequence[str]) -> bool:
        """Whether these are all ties in quiet trials, too."""
        return self._ties(best)[0]

    def close(self, best: Sequence[str]) -> list[str]:
        """Others that tie with the only best one in quiet trials."""
        return self._ties(best)[1]


def _in_quiet_trials(board: Board, among: Indices, asked: _Question) -> _Second | None:
    """None: no trial of these configurations is disturbed."""
    quiet = asked.quiet
    hit = [row for row in among if not quiet.disturbed.isdisjoint(board.trials[row])]
    if not hit or not quiet.touch(board):
        return None
    names = [board.names[row] for row in among]
    never = sorted(board.names[row] for row in hit if quiet.never_quiet(board.trials[row], among.size))
    second = quiet.of(board, among.size)
    if second is None:
        return _Second(None, np.array([], dtype=np.intp), frozenset(names), sorted(names), never, asked)
    rows = second.rows_of(names)
    known = {second.names[row] for row in rows if second.fit.decidable[row]}
    missing = {*names} - {second.names[row] for row in rows}
    kept = {second.names[row] for row in possible_best(second.fit, asked.alpha, rows)} | missing
    return _Second(second, rows, frozenset(kept), sorted({*names} - known), never, asked)


def _ties(board: Board, among: Indices, best: Sequence[str], asked: _Question) -> tuple[bool, list[str]]:
    """Whether the best ones are all ties, and which others tie with the only one."""
    if not best:
        return False, []
    equal = ties(board.fit, asked.alpha, asked.margin_percent / 100, among)
    places = [int(place) for place in np.searchsorted(among, [board.places[name] for name in best])]
    if len(best) == 1:
        return False, [board.names[among[other]] for other in np.flatnonzero(equal[places[0]])]
    return bool(equal[np.ix_(places, places)].sum() == len(places) * (len(places) - 1)), []


def _detectable_percent(board: Board, known: Indices, alpha: float) -> float | None:
    """For the median pair; None if it cannot be said."""
    if known.size < 2:
        return None
    upper = np.triu_indices(known.size, 1)
    square = np.ix_(known, known)
    errors, freedom = board.fit.errors[square][upper], board.fit.freedom[square][upper]
    typical, least = float(np.median(errors)), float(np.median(freedom))
    needed = errors_to_exclude(known.size, least, alpha)
    return 100 * math.expm1(needed * typical) if math.isfinite(needed) and needed * typical < 100 else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def best(of: Workings) -> list[BestRow]:
    """Of every headline metric, overall and in each scope, as measured, per CPU and per dollar."""
    configurations = of(requested)

    def scopes(members: tuple[str, ...]) -> dict[Scope, tuple[str, ...]]:
        return scopes_of({name: configurations[name] for name in members if name in configurations})

    return best_of(
        [*of(boards), *of(priced)],
        scopes,
        margin_percent=of.inputs.study.equivalence_margin_percent,
        settled=settled(of.inputs.looks),
        quiet=of(quiet),
        notes=of(notes),
    )


BEST = Table(
    "best",
    BestRow,
    best,
    order=lambda row: (row.benchmark, row.metric, row.view, row.basis or "", *row.scope.order),
)
