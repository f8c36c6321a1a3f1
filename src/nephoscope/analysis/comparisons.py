"""Every pair of configurations within one leaderboard: exploratory, so that no sentence rests on it alone.

The best of a leaderboard, ranks and contrasts are questions with error rates of their own. Pairs are evidence: at most
5 % of those that are called better or worse in a leaderboard are expected to be wrong.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from nephoscope.analysis.boards import Board, boards, by_dollars, priced, refitted
from nephoscope.analysis.cells import Cell
from nephoscope.analysis.delivered import compared_as_delivered, disturbed, notes, with_notes
from nephoscope.analysis.one_question import cells
from nephoscope.analysis.table import Table, Workings
from nephoscope.analysis.units import scope_of_cells
from nephoscope.model.price_rows import PriceComparison
from nephoscope.model.records import Direction
from nephoscope.model.rows import MIN_EXTRAPOLATED, Comparison, ComparisonVerdict
from nephoscope.stats.decide import (
    ALPHA,
    POWER,
    Relation,
    benjamini_hochberg,
    minimum_detectable_share,
    pooled_log_deviation,
    relation,
    replicates_to_decide,
)
from nephoscope.stats.limits import MOST_LOG
from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.ratio import RatioInterval, compare_with_each, reaching
from nephoscope.stats.samples import LogSample

Row = TypeVar("Row", bound=Comparison)

MAX_UNDECIDABLE = 24
"""Up to this many configurations, pairs with too few values for any claim also get rows, and every undecided pair an
estimate of how many replicates would decide it."""
MAX_PAIRS = 20_000
"""Pairs of all leaderboards together that get rows; with more, only those of headline metrics do."""


@dataclass(frozen=True)
class _Pair:
    """What is known of two configurations, `left` as a multiple of `right`."""

    left: int
    right: int
    ratio: float
    interval: RatioInterval | None
    p_value: float
    deviation: float | None
    """Standard deviation of a single value's logarithm."""
    detectable: float | None


def with_rows(boards: Sequence[Board]) -> list[Board]:
    """The leaderboards whose pairs get rows: all of them, or with too many pairs as many headline metrics as fit.

    Those as measured come before those per CPU and per dollar.
    """
    sizes = {id(board): math.comb(len(board.members), 2) for board in boards}
    everything = sum(sizes.values()) <= MAX_PAIRS
    room, chosen = MAX_PAIRS, set()
    for board in sorted(boards, key=lambda board: board.view != "plain"):
        if (everything or board.headline) and sizes[id(board)] <= room:
            room -= sizes[id(board)]
            chosen.add(id(board))
    return [board for board in boards if id(board) in chosen]


def comparisons_of(
    boards: Sequence[Board],
    make: Callable[..., Row],
    *,
    margin_percent: float,
    alpha: float = ALPHA,
) -> list[Row]:
    """Compares all pairs of configurations of each board.

    For headline metrics, a pair is compared by Welch's test within the blocks of its leaderboard; corrected by
    Benjamini-Hochberg within each leaderboard. Metrics in steps are compared by exact rank sums instead, and so are all
    other metrics, which have long tails and are corrected together. A pair with too few values for any claim makes none
    and takes no power from the others (Tarone 1990); on a leaderboard of more than 24 configurations it has no row. A
    metric that is a constant times another one has the rows of that one, and is in no family.

    Args:
        boards: see `with_rows`.
        make: makes a row from its fields.
        margin_percent: the study's equivalence margin, above 0.
        alpha: expected share of false claims among the claims of a leaderboard.

    Returns:
        Sorted by benchmark, metric, plain before per CPU, left, right; left is the first by name.

    Raises:
        ValueError: a margin that is not above 0.
    """
    families: dict[tuple[str, ...], list[tuple[Board, _Pair]]] = defaultdict(list)
    own = [board for board in boards if board.same_as is None]
    for place, board in enumerate(own):
        family = (str(place),) if board.headline else ("others", board.view)
        families[family] += [(board, pair) for pair in (_by_values(board) if board.by_values else _by_ranks(board))]
    rows: list[Row] = []
    for found in families.values():
        able = [(board, pair) for board, pair in found if pair.interval is not None]
        adjusted = benjamini_hochberg([pair.p_value for _, pair in able])
        rows += [
            _row(make, board, pair, p, margin_percent, alpha) for (board, pair), p in zip(able, adjusted, strict=True)
        ]
        rows += [
            _row(make, board, pair, 1.0, margin_percent, alpha)
            for board, pair in found
            if pair.interval is None and len(board.members) <= MAX_UNDECIDABLE
        ]
    rows += [copied for board in boards if board.same_as is not None for copied in _of_same(board, rows)]
    return sorted(rows, key=lambda row: (row.benchmark, row.metric, row.per_cpu, row.left, row.right))


def _of_same(board: Board, rows: Sequence[Row]) -> list[Row]:
    """The comparisons of the metric of which this one is a multiple, as its own."""
    about = (board.benchmark, board.same_as, board.view == "per CPU")
    update = {"metric": board.metric, "unit": board.unit}
    return [row.model_copy(update=update) for row in rows if (row.benchmark, row.metric, row.per_cpu) == about]


def _by_values(board: Board) -> Iterator[_Pair]:
    """All pairs at once: Student's t on differences of means, as `stats.leaderboard.contrast` takes one."""
    rows = board.rows_of(board.members)
    upper = np.triu_indices(rows.size, 1)
    left, right = rows[upper[0]], rows[upper[1]]
    fit = board.fit
    gaps, sure, down, up = (part[left, right] for part in (fit.gaps, fit.sure_gaps, fit.down, -fit.down.T))
    errors, freedom = (part[left, right] for part in fit.of_pairs)
    known = fit.decidable[left] & fit.decidable[right]
    freedom = np.where(known, freedom, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = np.where(errors > 0, 2 * special.stdtr(freedom, -np.abs(sure) / errors), (sure == 0) * 1.0)
    halves = special.stdtrit(freedom, (1 + CONFIDENCE) / 2) * errors
    quantiles = special.stdtrit(freedom, 1 - ALPHA / 2) + special.stdtrit(freedom, POWER)
    detectable = np.expm1(np.minimum(quantiles * errors, MOST_LOG))
    deviations = errors / np.sqrt(1 / fit.fit.counts[left] + 1 / fit.fit.counts[right])
    ends = np.sort(board.sign * np.stack([gaps - halves + down, gaps + halves + up]), axis=0)
    ratios, lows, highs = (np.exp(np.clip(one, -MOST_LOG, MOST_LOG)) for one in (board.sign * gaps, *ends))
    columns: list[list[Any]] = [
        one.tolist() for one in (left, right, ratios, lows, highs, p_values, deviations, detectable, known)
    ]
    for i, j, ratio, low, high, p_value, deviation, share, able in zip(*columns, strict=True):
        if able:
            yield _Pair(i, j, ratio, RatioInterval(low, high, CONFIDENCE), min(p_value, 1.0), deviation or None, share)
        else:
            yield _Pair(i, j, ratio, None, 1.0, None, None)


def _by_ranks(board: Board) -> Iterator[_Pair]:
    rows = board.rows_of(board.members).tolist()
    samples = {row: LogSample.of(np.exp(board.sign * board.fit.samples[row])) for row in rows}
    for place, left in enumerate(rows):
        others = rows[place + 1 :]
        estimates = compare_with_each(samples[left], [samples[other] for other in others], CONFIDENCE)
        for right, estimate in zip(others, estimates, strict=True):
            deviation = pooled_log_deviation(samples[left], samples[right])
            share = minimum_detectable_share(deviation, samples[left].logs.size, samples[right].logs.size)
            ratio = board.ratio_of(left, right)
            yield _Pair(left, right, ratio, reaching(ratio, estimate.interval), estimate.p_value, deviation, share)


def _row(
    make: Callable[..., Row], board: Board, pair: _Pair, p_adjusted: float, margin_percent: float, alpha: float
) -> Row:
    interval, left, right = pair.interval, board.cells[pair.left], board.cells[pair.right]
    n_left, n_right = (int(board.fit.fit.counts[row]) for row in (pair.left, pair.right))
    margin = margin_percent / 100
    above = relation(interval, p_adjusted, equivalence_margin=margin, alpha=alpha)
    medians = board.sign * (board.medians[pair.left] - board.medians[pair.right])
    disputed = (above == "above" and medians < 0) or (above == "below" and medians > 0)
    verdict = verdict_of("unresolved" if disputed else above, board.direction)
    more = None
    several = board.by_values and board.fit.kinds.several[[pair.left, pair.right]].any()
    enough = not disputed and not several and min(n_left, n_right) >= MIN_EXTRAPOLATED
    if verdict is ComparisonVerdict.UNRESOLVED and enough and len(board.members) <= MAX_UNDECIDABLE:
        level = alpha if interval is None or p_adjusted == 0 else alpha * pair.p_value / p_adjusted
        each = replicates_to_decide(pair.ratio, pair.deviation, equivalence_margin=margin, alpha=level)
        more = None if each is None else max(1, each - min(n_left, n_right))
    return make(
        benchmark=board.benchmark,
        subject=board.subject,
        metric=board.metric,
        unit=board.unit,
        direction=board.direction,
        per_cpu=board.view == "per CPU",
        left=board.names[pair.left],
        right=board.names[pair.right],
        n_left=n_left,
        n_right=n_right,
        ratio=pair.ratio,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        coverage=interval.coverage if interval else None,
        p_value=pair.p_value,
        p_adjusted=p_adjusted,
        verdict=verdict,
        margin_percent=margin_percent,
        minimum_detectable_percent=None if pair.detectable is None else 100 * pair.detectable,
        more_replicates_needed=more,
        counted_left=left.counted,
        counted_right=right.counted,
        machines_left=None if left.machines is None else len(left.machines),
        machines_right=None if right.machines is None else len(right.machines),
        scope=scope_of_cells([left, right]),
        ratio_of_medians=math.exp(medians),
    )


def verdict_of(found: Relation, direction: Direction) -> ComparisonVerdict:
    """A relation of values as a verdict on the left one: above is better only where higher is better."""
    if found in {"tie", "unresolved"}:
        return ComparisonVerdict(found)
    more_is_better = direction is Direction.HIGHER
    return ComparisonVerdict.BETTER if (found == "above") == more_is_better else ComparisonVerdict.WORSE


def _as_measured(of: Workings) -> list[Comparison]:
    """All pairs; a verdict about disturbed trials holds only if the quiet ones agree."""

    def compare(boards: Sequence[Board]) -> list[Comparison]:
        margin_percent = of.inputs.study.equivalence_margin_percent
        return comparisons_of(with_rows(boards), Comparison, margin_percent=margin_percent)

    def again(quiet: Sequence[Cell]) -> list[Comparison]:
        return compare(of(refitted)(quiet))

    return with_notes(compared_as_delivered(compare(of(boards)), again, of(cells), of(disturbed)), of(notes))


def _per_dollar(of: Workings) -> list[PriceComparison]:
    """All pairs on each basis that has prices, as `_as_measured`."""

    def compare(basis: str, priced: Sequence[Board]) -> list[PriceComparison]:
        on_basis = [board for board in with_rows(priced) if board.basis == basis]
        margin_percent = of.inputs.study.equivalence_margin_percent
        return comparisons_of(on_basis, partial(PriceComparison, basis=basis), margin_percent=margin_percent)

    def again(basis: str, quiet: Sequence[Cell]) -> list[PriceComparison]:
        return compare(basis, of(by_dollars)(of(refitted)(quiet)))

    headline = [cell for cell in of(cells) if cell.headline and not cell.per_cpu]
    rows: list[PriceComparison] = []
    for basis in {board.basis for board in of(priced) if board.basis is not None}:
        rows += compared_as_delivered(compare(basis, of(priced)), partial(again, basis), headline, of(disturbed))
    return with_notes(rows, of(notes))


COMPARISONS = Table(
    "comparisons",
    Comparison,
    _as_measured,
    order=lambda row: (row.benchmark, row.metric, row.per_cpu, row.left, row.right),
)
PRICE_COMPARISONS = Table(
    "price_comparisons",
    PriceComparison,
    _per_dollar,
    order=lambda row: (row.basis, row.benchmark, row.metric, row.left, row.right),
)
