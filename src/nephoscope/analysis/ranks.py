"""Ranks as intervals: 1 + (number certainly better) to number of all - (number certainly worse)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

from nephoscope.analysis.cells import Metrics, declared
from nephoscope.model.records import Direction
from nephoscope.model.rows import Comparison, ComparisonVerdict, RankRow, Statistic
from nephoscope.model.subjects import Subject

View = Literal["plain", "per CPU", "per dollar"]


def performance_ranks(
    statistics: Sequence[Statistic], comparisons: Sequence[Comparison], metrics: Metrics
) -> list[RankRow]:
    """The leaderboards of all headline metrics, plain and per CPU."""
    headlines = {key for key, metric in declared(metrics).items() if metric.headline}
    boards: dict[tuple[str, str, bool], list[Statistic]] = defaultdict(list)
    for row in statistics:
        if (row.benchmark, row.metric) in headlines:
            boards[row.benchmark, row.metric, row.per_cpu].append(row)
    pairs: dict[tuple[str, str, bool], list[Comparison]] = defaultdict(list)
    for comparison in comparisons:
        pairs[comparison.benchmark, comparison.metric, comparison.per_cpu].append(comparison)
    found: list[RankRow] = []
    for (benchmark, metric, per_cpu), board in boards.items():
        found += ranks_of(
            {row.configuration: row.median for row in board},
            pairs[benchmark, metric, per_cpu],
            board[0].direction,
            benchmark=benchmark,
            subject=board[0].subject,
            metric=metric,
            view="per CPU" if per_cpu else "plain",
        )
    return found


def ranks_of(
    medians: Mapping[str, float],
    comparisons: Sequence[Comparison],
    direction: Direction,
    *,
    benchmark: str,
    subject: Subject,
    metric: str,
    view: View,
    basis: str | None = None,
) -> list[RankRow]:
    """One row per configuration, best median first.

    The comparisons are those of one leaderboard, corrected together. A pair without a comparison is undecided.

    Args:
        medians: by configuration.
        comparisons: of these configurations; others are ignored.
        direction: of the metric.
        benchmark: written into every row, like all arguments below.
        subject: of the benchmark.
        metric: its name.
        view: which leaderboard.
        basis: of the prices, of the view per dollar.
    """
    better: dict[str, int] = defaultdict(int)
    worse: dict[str, int] = defaultdict(int)
    ties: dict[str, list[str]] = defaultdict(list)
    for row in comparisons:
        if row.left not in medians or row.right not in medians:
            continue
        for one, other in ((row.left, row.right), (row.right, row.left)):
            if row.verdict is ComparisonVerdict.TIE:
                ties[one].append(other)
        if row.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}:
            won = row.verdict is ComparisonVerdict.BETTER
            winner, loser = (row.left, row.right) if won else (row.right, row.left)
            better[loser] += 1
            worse[winner] += 1
    sign = -1 if direction is Direction.HIGHER else 1
    order = sorted(medians, key=lambda name: (sign * medians[name], name))
    places: dict[float, int] = {}
    for place, name in enumerate(order, start=1):
        places.setdefault(medians[name], place)
    return [
        RankRow(
            benchmark=benchmark,
            subject=subject,
            metric=metric,
            view=view,
            basis=basis,
            configuration=name,
            place=places[medians[name]],
            first=1 + better[name],
            last=len(order) - worse[name],
            of=len(order),
            ties=sorted(ties[name]),
        )
        for name in order
    ]
