"""Metrics that are a constant times another one, such as bytes and operations at one block size: one question, not two.

The one that stands for all is a headline metric if one of them is. The others are compared as it is, with the same
ratio, interval and verdict, and count in no correction.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from nephoscope.analysis.cells import Cell, Metrics
from nephoscope.analysis.renamed import measurements, metrics, trials
from nephoscope.analysis.table import Workings
from nephoscope.analysis.units import counted_cells
from nephoscope.stats.samples import Floats

MIN_VALUES = 3
"""Fewer values are multiples of each other by chance."""
ROUNDING = 1e-5
"""Tools round what they print: by up to this share two series of values may differ, and are one."""
LEAST_RANGE = 100 * ROUNDING
"""Of logarithms. Values that hardly differ would all be multiples of each other."""

MetricKey = tuple[str, str]
"""Benchmark, metric."""


def one_question_each(cells: Sequence[Cell], metrics: Metrics) -> list[Cell]:
    """The cells, with every metric that is a constant times another one marked as that question.

    Args:
        cells: values of every metric, plain and per CPU.
        metrics: what each benchmark declares.
    """
    order = {
        (benchmark, metric.name): (not metric.headline, place)
        for benchmark, many in metrics.items()
        for place, metric in enumerate(many)
    }
    same = _same(cells, order)
    return [
        replace(cell, same_as=leader, like_headline=order.get((cell.benchmark, leader), (True, 0))[0] is False)
        if (leader := same.get((cell.benchmark, cell.metric))) is not None
        else cell
        for cell in cells
    ]


def _same(cells: Sequence[Cell], order: Mapping[MetricKey, tuple[bool, int]]) -> dict[MetricKey, str]:
    """Metric -> the one that stands for it, without those that stand for themselves."""
    values: dict[MetricKey, list[Cell]] = defaultdict(list)
    for cell in cells:
        if not cell.per_cpu:
            values[cell.benchmark, cell.metric].append(cell)
    leaders: dict[object, list[tuple[str, Floats]]] = defaultdict(list)
    found: dict[MetricKey, str] = {}
    for key in sorted(values, key=lambda key: (order.get(key, (True, len(order))), key)):
        series = _series(values[key])
        if series is None:
            continue
        alike = leaders[key[0], values[key][0].direction, series[0]]
        leader = next((name for name, logs in alike if np.abs(logs - series[1]).max() <= ROUNDING), None)
        if leader is None:
            alike.append((key[1], series[1]))
        else:
            found[key] = leader
    return found


def _series(cells: Sequence[Cell]) -> tuple[object, Floats] | None:
    """Configurations and trials, and the logarithms of their values against that of the first.

    None: the values are too few, not all above 0, or too close together to say anything.
    """
    rows = sorted(
        (cell.configuration, members, value)
        for cell in cells
        for members, value in zip(cell.members, cell.values, strict=True)
    )
    if len(rows) < MIN_VALUES or min(value for *_, value in rows) <= 0:
        return None
    logs = np.log([value for *_, value in rows])
    if np.ptp(logs) < LEAST_RANGE:
        return None
    return tuple((name, members) for name, members, _ in rows), logs - logs[0]


def cells(of: Workings) -> list[Cell]:
    """The values of every metric on every configuration: what every statement starts from."""
    return one_question_each(counted_cells(of(trials), of(measurements), of(metrics)), of(metrics))
