"""What tools could not tell, kept apart from every value that a statistic may use. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from nephoscope.model.rows import LowerBoundRow, MeasurementRow, TrialRow

Key = tuple[str, str, str]
"""Configuration, benchmark, metric."""


def apart(
    trials: Sequence[TrialRow], measurements: Sequence[MeasurementRow], bounds: Sequence[MeasurementRow]
) -> tuple[list[MeasurementRow], list[LowerBoundRow]]:
    """The measurements that statistics may use, and a row for each metric of a configuration with a bound.

    A median without the values that are too large to be known would be too good: where a valid trial has a bound, the
    values of the others are left out as well.

    Args:
        trials: of the study.
        measurements: known values.
        bounds: what is only known to be above the value of its row.
    """
    by_id = {row.trial: row for row in trials}
    counting = [row for row in bounds if row.at_s is None and by_id[row.trial].counts]
    bounded: dict[Key, list[MeasurementRow]] = defaultdict(list)
    for key, row in _keyed(counting, by_id):
        bounded[key].append(row)
    if not bounded:
        return list(measurements), []
    known: dict[Key, list[MeasurementRow]] = defaultdict(list)
    left: list[MeasurementRow] = []
    for row in measurements:
        keys = [key for key, _ in _keyed([row], by_id) if key in bounded and row.at_s is None]
        for key in keys:
            if by_id[row.trial].counts:
                known[key].append(row)
        left += [] if keys else [row]
    return left, [_row(key, rows, known[key]) for key, rows in sorted(bounded.items())]


def _keyed(rows: Sequence[MeasurementRow], by_id: Mapping[str, TrialRow]) -> list[tuple[Key, MeasurementRow]]:
    return [
        ((row.configuration, benchmark, row.metric), row) for row in rows for benchmark in by_id[row.trial].benchmarks
    ]


def _row(key: Key, bounds: Sequence[MeasurementRow], known: Sequence[MeasurementRow]) -> LowerBoundRow:
    ordered = sorted([(row.value, True) for row in bounds] + [(row.value, False) for row in known])
    median, is_bound = ordered[(len(ordered) - 1) // 2]
    configuration, benchmark, metric = key
    return LowerBoundRow(
        configuration=configuration,
        benchmark=benchmark,
        metric=metric,
        unit=bounds[0].unit,
        above=median,
        or_equal=not is_bound,
        n=len(ordered),
        bounded=len(bounds),
        trials=sorted(row.trial for row in [*bounds, *known]),
        subject=bounds[0].subject,
    )
