"""One row of statistics per configuration, benchmark and metric, from stored trials."""

from collections.abc import Sequence

from nephoscope.analysis.cells import Cell
from nephoscope.analysis.units import scope_of_cells
from nephoscope.model.rows import Statistic
from nephoscope.stats.median import margin_of_error, median_interval
from nephoscope.stats.spread import outliers, spread


def statistics_of_cells(cells: Sequence[Cell]) -> list[Statistic]:
    """Median, interval, spread and flagged outliers of every metric over the valid replicates.

    Sorted by configuration, benchmark, metric, plain before per CPU. A metric without one valid value has no row.
    """
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
        outliers=[trial for index in outliers(cell.values) for trial in cell.members[index]],
        trials=list(cell.trials),
        counted=cell.counted,
        machines=None if cell.machines is None else len(cell.machines),
        scope=scope_of_cells([cell]),
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
