"""Benchmarks of one study that differ in nothing but how much load they put on: steps of one curve."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.analysis.lookup import headlines
from nephoscope.model.rows import BenchmarkRow

LOADS = {
    "active_warehouses_per_cpu": "active warehouses per vCPU",
    "active_warehouses": "active warehouses",
    "connections": "connections",
    "workers": "clients",
    "rate_per_s": "operations due per second",
    "pipeline": "operations in flight per connection",
}
"""Parameters that say how much load there is, with their names on an axis."""
LEAST_STEPS = 2
"""A single load is no series of steps."""


@dataclass(frozen=True)
class Series:
    """Benchmarks that differ in one parameter alone."""

    parameter: str
    rows: tuple[tuple[float, BenchmarkRow], ...]
    """By that parameter, least first."""

    @property
    def axis(self) -> str:
        """Title of an axis of the parameter."""
        return LOADS[self.parameter]


def series_of(benchmarks: Sequence[BenchmarkRow]) -> list[Series]:
    """Every series of at least two loads, in the order of the benchmarks."""
    found: dict[tuple[str, str, str], list[tuple[float, BenchmarkRow]]] = {}
    for row in benchmarks:
        for key in LOADS:
            count = number_of(row, key)
            if count is not None and headlines(row):
                others = {name: value for name, value in row.parameters.items() if name != key}
                same = json.dumps(others, sort_keys=True, default=str)
                found.setdefault((row.uses, key, same), []).append((count, row))
    return [
        Series(key, tuple(sorted(many, key=lambda step: step[0])))
        for (_, key, _), many in found.items()
        if len({at for at, _ in many}) >= LEAST_STEPS
    ]


def workload(row: BenchmarkRow) -> str:
    """What a benchmark does, however much of it: equal for all loads of one workload."""
    others = {name: value for name, value in row.parameters.items() if name not in LOADS}
    return json.dumps([row.uses, others], sort_keys=True, default=str)


def number_of(row: BenchmarkRow, key: str) -> float | None:
    """A parameter that is a number; None: it is not given."""
    count = row.parameters.get(key)
    return float(count) if isinstance(count, int | float) and not isinstance(count, bool) else None
