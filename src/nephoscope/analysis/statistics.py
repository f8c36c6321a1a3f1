"""Stored trials -> one row of statistics per configuration, benchmark and metric."""

from collections.abc import Sequence

from nephoscope.analysis.cells import Cell, Metrics, cells_of
from nephoscope.model.rows import MeasurementRow, Statistic, TrialRow
from nephoscope.stats.median import margin_of_error, median_interval
from nephoscope.stats.spread import outliers, spread


def statistics_of(
    trials: Sequence[TrialRow], measurements: Sequence[MeasurementRow], metrics: Metrics
) -> list[Statistic]:
    """Median, interval, spread and flagged outliers of every metric over the replicates that count.

    Only trials with `counts` and their per-trial numbers (`at_s` is None) enter; one-second samples are never n.

    Args:
        trials: every planned trial, whatever became of it: those that do not count are counted.
        measurements: of these trials, in any order.
        metrics: what each benchmark declares; see `cells_of` for what is not declared.

    Returns:
        Sorted by configuration, benchmark, metric, plain before per CPU. A metric without one valid value has no row.

    Raises:
        ValueError: as `cells_of`.
    """
    return statistics_of_cells(cells_of(trials, measurements, metrics))


def statistics_of_cells(cells: Sequence[Cell]) -> list[Statistic]:
    """`statistics_of`, of values that are grouped already."""
    rows = [_statistic(cell) for cell in cells]
    return sorted(rows, key=lambda row: (row.configuration, row.benchmark, row.metric, row.per_cpu))


def _statistic(cell: Cell) -> Statistic:
    interval, around = median_interval(cell.values), spread(cell.values)
    return Statistic(
        configuration=cell.configuration,
        benchmark=cell.benchmark,
        subject=cell.subject,
        metric=cell.metric,
        unit=cell.unit,
        direction=cell.direction,
        per_cpu=cell.per_cpu,
        cpus=cell.cpus,
        n=len(cell.values),
        n_excluded=cell.n_excluded,
        median=interval.median,
        low=interval.low,
        high=interval.high,
        coverage=interval.coverage,
        margin_percent=_percent(margin_of_error(interval)) if len(cell.values) > 1 else None,
        cv_percent=_percent(around.cv),
        range_percent=_percent(around.relative_range),
        mad=around.mad,
        minimum=around.minimum,
        maximum=around.maximum,
        more_replicates_needed=interval.more_needed,
        outliers=[cell.trials[index] for index in outliers(cell.values)],
        trials=list(cell.trials),
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
