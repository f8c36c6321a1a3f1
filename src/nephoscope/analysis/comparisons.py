"""Every pair of configurations within one benchmark and metric, with a verdict that survives many comparisons."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nephoscope.analysis.cells import Cell
from nephoscope.analysis.units import scope_of_cells
from nephoscope.model.records import Direction
from nephoscope.model.rows import Comparison, ComparisonVerdict
from nephoscope.stats.decide import (
    ALPHA,
    Relation,
    benjamini_hochberg,
    holm,
    minimum_detectable_share,
    pooled_log_deviation,
    relation,
    replicates_to_decide,
)
from nephoscope.stats.ratio import RatioEstimate, compare_with_each, interval_rank
from nephoscope.stats.samples import LogSample

Row = TypeVar("Row", bound=Comparison)

MAX_UNDECIDABLE = 24
"""Up to this many configurations, pairs with too few replicates for any claim also get rows."""


MAX_PAIRS = 20_000
"""Pairs of all metrics together; with more, only headline metrics are compared, to limit the time this takes."""


@dataclass(frozen=True)
class _Pair:
    left: Cell
    right: Cell
    log_deviation: float | None
    estimate: RatioEstimate


def comparisons_of_cells(cells: Sequence[Cell], *, margin_percent: float, alpha: float = ALPHA) -> list[Comparison]:
    """Compares all pairs of configurations, metric by metric, plain and per CPU.

    Corrections for many comparisons, in four families that answer four questions: the headline metrics by Holm (not
    one false claim, at 95 %), once plain and once per CPU; all other metrics by Benjamini-Hochberg (at most 5 % of the
    claims false), again plain and per CPU. A pair with too few replicates for any claim (its smallest possible p-value
    is above alpha) makes none and is in no family, so it takes no power from the others (Tarone 1990).

    On a leaderboard of more than 24 configurations, only pairs with enough replicates for a claim are compared:
    thousands of rows that all say "one replicate each" would be useless. A pair without a row is undecided. In a study
    with more than 20,000 pairs, only headline metrics are compared: the others have only medians and intervals.

    A metric with a zero or negative value in either configuration is not compared: its ratio means nothing.

    Args:
        cells: the values of every configuration and metric, as `cells_of` groups them.
        margin_percent: the study's equivalence margin, above 0.
        alpha: level of the claims of one family.

    Returns:
        Sorted by benchmark, metric, plain before per CPU, left, right; left is the first by name.

    Raises:
        ValueError: a margin that is not above 0.
    """
    return compared(cells, Comparison, margin_percent=margin_percent, alpha=alpha)


def compared(
    cells: Sequence[Cell], make: Callable[..., Row], *, margin_percent: float, alpha: float = ALPHA
) -> list[Row]:
    """`comparisons_of_cells`, each row made by `make` from its fields."""
    families: dict[tuple[bool, bool], list[_Pair]] = defaultdict(list)
    boards: dict[tuple[str, str, bool], list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.values[0] > 0:
            boards[cell.benchmark, cell.metric, cell.per_cpu].append(cell)
    pairs_in_all = sum(len(board) * (len(board) - 1) // 2 for board in boards.values())
    for board in boards.values():
        if pairs_in_all > MAX_PAIRS and not board[0].headline:
            continue
        if len({cell.unit for cell in board}) > 1:
            units = " and in ".join(sorted({cell.unit for cell in board}))
            raise ValueError(f"{board[0].metric} has values in {units}, and units are not converted")
        samples = [LogSample.of(cell.values) for cell in board]
        for place, (left, x) in enumerate(zip(board, samples, strict=True)):
            others = [
                (right, y)
                for right, y in zip(board[place + 1 :], samples[place + 1 :], strict=True)
                if len(board) <= MAX_UNDECIDABLE or interval_rank(len(left.values), len(right.values), 1 - alpha)
            ]
            estimates = compare_with_each(x, [y for _, y in others], 1 - alpha)
            families[left.headline, left.per_cpu] += [
                _Pair(left, right, pooled_log_deviation(x, y), estimate)
                for (right, y), estimate in zip(others, estimates, strict=True)
            ]
    rows: list[Row] = []
    for (headline, _), pairs in families.items():
        adjust = holm if headline else benjamini_hochberg
        claims = [pair for pair in pairs if pair.estimate.interval is not None]
        adjusted = adjust([pair.estimate.p_value for pair in claims])
        rows += [_row(make, pair, p, margin_percent, alpha) for pair, p in zip(claims, adjusted, strict=True)]
        rows += [_row(make, pair, 1.0, margin_percent, alpha) for pair in pairs if pair.estimate.interval is None]
    return sorted(rows, key=lambda row: (row.benchmark, row.metric, row.per_cpu, row.left, row.right))


def _row(make: Callable[..., Row], pair: _Pair, p_adjusted: float, margin_percent: float, alpha: float) -> Row:
    left, right, estimate = pair.left, pair.right, pair.estimate
    interval, n_left, n_right = estimate.interval, len(left.values), len(right.values)
    margin = margin_percent / 100
    verdict = _verdict(relation(interval, p_adjusted, equivalence_margin=margin, alpha=alpha), left.direction)
    deviation = pair.log_deviation
    detectable = minimum_detectable_share(deviation, n_left, n_right, alpha=alpha)
    more = None
    if verdict is ComparisonVerdict.UNRESOLVED:
        level = alpha if interval is None else alpha * estimate.p_value / p_adjusted
        each = replicates_to_decide(estimate.ratio, deviation, equivalence_margin=margin, alpha=level)
        more = None if each is None else max(1, each - min(n_left, n_right))
    return make(
        benchmark=left.benchmark,
        subject=left.subject,
        metric=left.metric,
        unit=left.unit,
        direction=left.direction,
        per_cpu=left.per_cpu,
        left=left.configuration,
        right=right.configuration,
        n_left=n_left,
        n_right=n_right,
        ratio=estimate.ratio,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        coverage=interval.coverage if interval else None,
        p_value=estimate.p_value,
        p_adjusted=p_adjusted,
        verdict=verdict,
        margin_percent=margin_percent,
        minimum_detectable_percent=None if detectable is None else 100 * detectable,
        more_replicates_needed=more,
        trials=sorted({*left.trials, *right.trials}),
        counted_left=left.counted,
        counted_right=right.counted,
        machines_left=None if left.machines is None else len(left.machines),
        machines_right=None if right.machines is None else len(right.machines),
        scope=scope_of_cells([left, right]),
    )


def _verdict(found: Relation, direction: Direction) -> ComparisonVerdict:
    if found in {"tie", "unresolved"}:
        return ComparisonVerdict(found)
    more_is_better = direction is Direction.HIGHER
    return ComparisonVerdict.BETTER if (found == "above") == more_is_better else ComparisonVerdict.WORSE
