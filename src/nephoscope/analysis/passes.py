"""How often points of a search passed, level by level."""

from collections import defaultdict
from collections.abc import Sequence

from nephoscope.analysis.renamed import measurements
from nephoscope.analysis.table import Table
from nephoscope.benchmarks.search.measurements import CONFIRMING, LARGER_CLIENT, LEVEL, PASSED
from nephoscope.benchmarks.search.warehouses import WAREHOUSES
from nephoscope.model.rows import MeasurementRow, PassRow
from nephoscope.stats.proportion import proportion_interval

LEVELS = (LEVEL.name, WAREHOUSES.name)
"""Metrics that say at which level a point was measured."""
_OF_A_POINT = {*LEVELS, PASSED.name, CONFIRMING.name, LARGER_CLIENT.name}


def passes_of(measurements: Sequence[MeasurementRow]) -> list[PassRow]:
    """A row for each level of each search, including those of excluded trials.

    Points of different trials are never added up: they may be from different machines or days. Points with the larger
    client are left out, because they answer another question: was the client the limit? Points that were set aside
    because of stolen CPU time have no measurements.

    Args:
        measurements: of the study; values of one trial and one moment belong to one point.

    Returns:
        Sorted by benchmark, configuration, replicate, trial and level.
    """
    points: dict[tuple[str, float], dict[str, MeasurementRow]] = defaultdict(dict)
    for row in measurements:
        if row.metric in _OF_A_POINT and row.at_s is not None:
            points[row.trial, row.at_s][row.metric] = row
    levels: dict[tuple[str, float], list[dict[str, MeasurementRow]]] = defaultdict(list)
    for (trial, _), point in points.items():
        level = next((point[metric] for metric in LEVELS if metric in point), None)
        if level is not None and PASSED.name in point and not _is(point, LARGER_CLIENT.name):
            levels[trial, level.value].append(point)
    found = [_row(many) for many in levels.values()]
    return sorted(found, key=lambda row: (row.benchmark, row.configuration, row.replicate, row.trial, row.level))


def _row(points: Sequence[dict[str, MeasurementRow]]) -> PassRow:
    level = next(points[0][metric] for metric in LEVELS if metric in points[0])
    passed = sum(_is(point, PASSED.name) for point in points)
    low, high = proportion_interval(passed, len(points))
    return PassRow(
        benchmark=level.benchmark,
        subject=level.subject,
        configuration=level.configuration,
        trial=level.trial,
        replicate=level.replicate,
        counts=level.valid,
        level=level.value,
        unit=level.unit,
        points=len(points),
        confirmations=sum(_is(point, CONFIRMING.name) for point in points),
        passed=passed,
        low=low,
        high=high,
    )


def _is(point: dict[str, MeasurementRow], metric: str) -> bool:
    return metric in point and point[metric].value == 1


PASSES = Table("passes", PassRow, lambda of: passes_of(of(measurements)), has_columns=False)
