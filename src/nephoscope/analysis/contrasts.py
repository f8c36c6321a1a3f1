"""Contrasts: what one thing changes, as one question over all pairs of configurations that differ in it only."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from nephoscope.analysis.agreement import agree
from nephoscope.analysis.boards import Board, boards, priced
from nephoscope.analysis.comparisons import verdict_of
from nephoscope.analysis.delivered import CellKey, notes
from nephoscope.analysis.quiet_boards import QuietBoards, notes_of, quiet
from nephoscope.analysis.renamed import requested
from nephoscope.analysis.table import Table, Workings
from nephoscope.model.questions import ContrastRow
from nephoscope.model.rows import ComparisonVerdict
from nephoscope.stats.blocked import compare_in_blocks
from nephoscope.stats.decide import ALPHA, POWER, relation
from nephoscope.stats.leaderboard import contrast
from nephoscope.stats.limits import factor, growth
from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.ratio import RatioInterval, reaching
from nephoscope.study.contrasts import Question, contrasts_of

Pair = tuple[int, int]


def contrasts_on(
    boards: Sequence[Board], questions: Sequence[Question], *, margin_percent: float, alpha: float = ALPHA
) -> list[ContrastRow]:
    """A row for each headline metric, view and question that at least one pair of configurations can answer.

    Args:
        boards: plain, per CPU and per dollar.
        questions: see `study.contrasts.contrasts_of`.
        margin_percent: the study's equivalence margin.
        alpha: the chance of a false "better" or "worse", for each row.
    """
    rows = []
    for board in boards:
        if not board.headline or not board.fit.decidable.any():
            continue
        for question in questions:
            row = _row(board, question, margin_percent, alpha)
            if row is not None:
                rows.append(row)
    return rows


def contrasts_as_delivered(
    rows: Sequence[ContrastRow],
    questions: Sequence[Question],
    quiet: QuietBoards,
    notes: Mapping[CellKey, str],
    *,
    margin_percent: float,
) -> list[ContrastRow]:
    """The answers; one about disturbed trials is decided only if the quiet trials give the same verdict.

    Quiet trials that cannot answer a question confirm nothing, as in comparisons of two configurations.

    Args:
        rows: over all trials that count, see `contrasts_on`.
        questions: those that the rows answer.
        quiet: the boards without disturbed trials.
        notes: see `delivered.rejection_notes`.
        margin_percent: the study's equivalence margin.
    """
    boards = [board for board in quiet.strict.values() if board is not None]
    others = {_key(row): row.verdict for row in contrasts_on(boards, questions, margin_percent=margin_percent)}
    found = []
    for row in rows:
        names = [*row.lefts, *row.rights]
        update: dict[str, object] = {"note": notes_of(row.benchmark, row.metric, row.view, names, notes)}
        if not quiet.disturbed.isdisjoint(row.trials):
            other = others.get(_key(row), ComparisonVerdict.UNRESOLVED)
            agreed = agree(row.verdict, other)
            update |= {"verdict": agreed.verdict, "delivered": row.verdict, "quiet": other, "reason": agreed.reason}
        found.append(row.model_copy(update=update))
    return found


def _key(row: ContrastRow) -> tuple[object, ...]:
    return row.question, row.left, row.right, row.declared, row.benchmark, row.metric, row.view, row.basis


def _row(board: Board, question: Question, margin_percent: float, alpha: float) -> ContrastRow | None:
    competing = {*board.members}
    known = board.fit.decidable
    measured = [
        (board.places[left], board.places[right])
        for left, right in question.pairs
        if left in competing and right in competing
    ]
    pairs = [(left, right) for left, right in measured if known[left] and known[right]]
    found = _answer(board, pairs) if pairs else None
    if found is None:
        return None
    ratio, interval, p_value, detectable = found
    margin = margin_percent / 100
    agreeing = sum(board.sign * board.fit.gaps[pair] * math.log(ratio) > 0 for pair in pairs)
    return ContrastRow(
        question=question.name,
        left=question.left,
        right=question.right,
        declared=question.declared,
        benchmark=board.benchmark,
        subject=board.subject,
        metric=board.metric,
        direction=board.direction,
        view=board.view,
        basis=board.basis,
        pairs=len(pairs),
        pairs_agreeing=int(agreeing),
        pairs_left_out=len(question.pairs) - len(pairs),
        ratio=ratio,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        coverage=interval.coverage if interval else None,
        p_value=p_value,
        verdict=verdict_of(relation(interval, p_value, equivalence_margin=margin, alpha=alpha), board.direction),
        alpha=alpha,
        method=board.method,
        margin_percent=margin_percent,
        detectable_percent=detectable,
        lefts=[board.names[left] for left, _ in pairs],
        rights=[board.names[right] for _, right in pairs],
        trials=sorted({trial for pair in pairs for row in pair for trial in board.trials[row]}),
    )


def _answer(board: Board, pairs: list[Pair]) -> tuple[float, RatioInterval | None, float, float | None] | None:
    """Ratio, interval, p-value and detectable difference in percent."""
    if board.fit.discrete:
        values = [tuple(np.exp(board.sign * board.fit.samples[row]).tolist() for row in pair) for pair in pairs]
        exact = compare_in_blocks([(left, right) for left, right in values], CONFIDENCE)
        if len(pairs) > 1:
            return exact.ratio, exact.interval, exact.p_value, None
        ratio = board.ratio_of(*pairs[0])
        return ratio, reaching(ratio, exact.interval), exact.p_value, None
    found = contrast(board.fit, pairs)
    if found is None:
        return None
    low, high = found.interval(CONFIDENCE)
    ends = sorted((factor(board.sign * low), factor(board.sign * high)))
    quantiles = special.stdtrit(found.freedom, 1 - ALPHA / 2) + special.stdtrit(found.freedom, POWER)
    return (
        factor(board.sign * found.estimate),
        RatioInterval(ends[0], ends[1], CONFIDENCE),
        min(found.p_value, 1.0),
        100 * growth(float(quantiles) * found.error) if found.error > 0 else None,
    )


def _contrasts(of: Workings) -> list[ContrastRow]:
    margin_percent = of.inputs.study.equivalence_margin_percent
    questions = contrasts_of(of(requested), of.inputs.study.contrasts)
    rows = contrasts_on([*of(boards), *of(priced)], questions, margin_percent=margin_percent)
    return contrasts_as_delivered(rows, questions, of(quiet), of(notes), margin_percent=margin_percent)


CONTRASTS = Table(
    "contrasts",
    ContrastRow,
    _contrasts,
    order=lambda row: (
        *(not row.declared, row.question, row.left, row.right),
        *(row.benchmark, row.metric, row.view, row.basis or ""),
    ),
)
