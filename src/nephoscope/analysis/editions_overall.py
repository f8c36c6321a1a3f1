"""What changed from one study to another over all configurations that both hold: one number for each metric.

The mean change of many configurations is a ratio without an exact interval: here alone a bootstrap is needed.
"""

from collections import defaultdict
from collections.abc import Sequence

from nephoscope.analysis.cells import cells_of
from nephoscope.results import AnalysedStudy, EditionOverall, EditionRow
from nephoscope.stats.bootstrap import mean_ratio, mean_ratio_interval

LEAST_CONFIGURATIONS = 2
"""Of one configuration alone its own row says more."""


def overall_of(before: AnalysedStudy, after: AnalysedStudy, rows: Sequence[EditionRow]) -> list[EditionOverall]:
    """A row for each headline metric that at least two configurations have like for like, sorted.

    Args:
        before: the older study, A.
        after: the newer one, B; its seed is that of the resampling.
        rows: what is like for like; see `editions_of`.
    """
    old, new = _values(before), _values(after)
    boards: dict[tuple[str, str], list[EditionRow]] = defaultdict(list)
    for row in rows:
        boards[row.benchmark, row.metric].append(row)
    found: list[EditionOverall] = []
    for (benchmark, metric), board in sorted(boards.items()):
        if len(board) < LEAST_CONFIGURATIONS:
            continue
        keys = [(benchmark, metric, row.configuration) for row in board]
        pairs = [(new[key], old[key]) for key in keys]
        interval = mean_ratio_interval(pairs, seed=after.seed)
        found.append(
            EditionOverall(
                benchmark=benchmark,
                metric=metric,
                direction=board[0].direction,
                configurations=len(board),
                least_n=min(min(row.n_before, row.n_after) for row in board),
                ratio=mean_ratio(pairs),
                low=interval.low if interval else None,
                high=interval.high if interval else None,
                coverage=interval.coverage if interval else None,
            )
        )
    return found


def _values(study: AnalysedStudy) -> dict[tuple[str, str, str], tuple[float, ...]]:
    cells = cells_of(study.trials, study.measurements, {row.benchmark: row.metrics for row in study.benchmarks})
    return {(c.benchmark, c.metric, c.configuration): c.values for c in cells if c.headline and not c.per_cpu}
