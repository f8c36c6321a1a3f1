"""The numbers that figures compare: one per configuration, of one benchmark or selected from the steps of TPC-C.

The Cloud Report of 2022 measured TPC-C at several numbers of warehouses per vCPU, those of 2018 and 2020 at the steps
of a search by hand. Each step is a benchmark of its own, but nobody asks for the leaderboard of one step.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from nephoscope.analysis.lookup import Lookup, headlines
from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow, MeasurementRow, Statistic
from nephoscope.model.subjects import Subject
from nephoscope.model.words import counted

PER_CPU, ABSOLUTE = "active_warehouses_per_cpu", "active_warehouses"


@dataclass(frozen=True)
class Results:
    """One statistic for each configuration, plain and per CPU."""

    about: str
    """'stress-ng', 'tpcc at 1,200 warehouses', 'tpcc, highest step that passed'."""
    metric: Metric
    plain: tuple[Statistic, ...]
    per_cpu: tuple[Statistic, ...] = ()

    def view(self, *, per_cpu: bool) -> tuple[Statistic, ...]:
        """One of the two."""
        return self.per_cpu if per_cpu else self.plain

    def prices(self, lookup: Lookup) -> list[PricePerformance]:
        """What a unit costs, on every basis."""
        chosen = {(one.configuration, one.benchmark) for one in self.plain}
        return [
            row
            for row in lookup[PricePerformance]
            if row.metric == self.metric.name and (row.configuration, row.benchmark) in chosen
        ]


@dataclass(frozen=True)
class Steps:
    """Benchmarks that differ in their number of warehouses alone."""

    per_cpu: bool
    """The number is per vCPU, and so is the rate that is drawn."""
    rows: tuple[tuple[float, BenchmarkRow], ...]
    """By warehouses, fewest first."""

    @property
    def uses(self) -> str:
        """Name of the benchmark that all of them use."""
        return self.rows[0][1].uses

    @property
    def metric(self) -> Metric:
        """What they are ranked by."""
        return headlines(self.rows[0][1])[0]

    @property
    def axis(self) -> str:
        """Title of the horizontal axis."""
        return "active warehouses per vCPU" if self.per_cpu else "active warehouses"

    def statistics(self, lookup: Lookup, *, per_cpu: bool) -> dict[str, list[tuple[float, Statistic]]]:
        """Configuration -> its statistic at each number of warehouses; numbers without valid trials are missing."""
        found: dict[str, list[tuple[float, Statistic]]] = {}
        for at, row in self.rows:
            for one in lookup.statistics_of(row.benchmark, self.metric.name, per_cpu=per_cpu):
                found.setdefault(one.configuration, []).append((at, one))
        return found


def steps_of(benchmarks: Sequence[BenchmarkRow]) -> list[Steps]:
    """Every series of at least two numbers of warehouses, in the order of the benchmarks."""
    return [
        Steps(one.parameter == PER_CPU, one.rows)
        for one in series_of(benchmarks)
        if one.parameter in {PER_CPU, ABSOLUTE}
    ]


def results_of(lookup: Lookup, row: BenchmarkRow, metric: Metric) -> Results:
    """Those of one benchmark."""
    plain, per_cpu = (lookup.statistics_of(row.benchmark, metric.name, per_cpu=view) for view in (False, True))
    return Results(row.benchmark, metric, tuple(plain), tuple(per_cpu))


def of_databases(lookup: Lookup) -> list[Results]:
    """Every headline metric of every database benchmark; of steps, what they were made for and never each of them."""
    rows = [row for row in lookup.study.benchmarks if row.subject is Subject.DATABASE]
    series = steps_of(rows)
    stepped = {row.benchmark for steps in series for _, row in steps.rows}
    found: list[Results] = []
    for row in rows:
        if row.benchmark not in stepped and headlines(row):
            found += [replace(results_of(lookup, row, metric), about=_about(row)) for metric in headlines(row)]
    found += [maximum(lookup, steps) for steps in series if not steps.per_cpu]
    return [one for one in found if one.plain]


def maximum(lookup: Lookup, steps: Steps) -> Results:
    """Of each configuration the step with the best level: its maximum, as steps that failed have no valid trial.

    With wait times, the check `pass-rule` rejects what is slower than the edition allows.
    """
    plain = steps.statistics(lookup, per_cpu=False)
    best = [max((one for _, one in many), key=lambda one: one.compared.value) for many in plain.values()]
    chosen = {(one.configuration, one.benchmark) for one in best}
    per_cpu = [one for many in steps.statistics(lookup, per_cpu=True).values() for _, one in many]
    matching = tuple(one for one in per_cpu if (one.configuration, one.benchmark) in chosen)
    return Results(f"{steps.uses}, highest step that passed", steps.metric, tuple(best), matching)


def every_step(lookup: Lookup, steps: Steps) -> Results:
    """All numbers of warehouses together: several statistics for each configuration."""
    plain, per_cpu = (steps.statistics(lookup, per_cpu=view) for view in (False, True))
    return Results(
        f"{steps.uses}, all numbers of warehouses",
        steps.metric,
        tuple(one for many in plain.values() for _, one in many),
        tuple(one for many in per_cpu.values() for _, one in many),
    )


def _about(row: BenchmarkRow) -> str:
    count = number_of(row, ABSOLUTE)
    return row.benchmark if count is None else f"{row.uses} at {counted(count, 'warehouse')}"


def all_steps(lookup: Lookup) -> Iterator[Steps]:
    """The series of steps of the study's databases."""
    yield from steps_of([row for row in lookup.study.benchmarks if row.subject is Subject.DATABASE])


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


BYTES = "bytes"
"""Counted: bytes of a working set."""
_FORMS = (
    re.compile(r"(?P<count>\d+)-(?P<counted>streams|threads)\.(?P<quantity>\w+)"),
    re.compile(r"(?P<what>[a-z][a-z-]*?)-(?P<count>\d+)\.(?P<quantity>iops|bandwidth|latency_mean|latency_p95)"),
    re.compile(r"(?P<quantity>[a-z]\w*?)_(?P<count>\d+)_(?P<counted>threads|streams|clients)"),
    re.compile(rf"(?P<what>[a-z][a-z-]*)\.(?P<quantity>\w+)_in_(?P<count>\d+)_(?P<counted>{BYTES})"),
)
_LEAST = 2
"""A single number of threads does not make a curve."""


@dataclass(frozen=True)
class Curve:
    """One quantity over the number of threads."""

    what: str
    """'read'; empty where the quantity already says it."""
    quantity: str
    counted: str
    metrics: tuple[tuple[int, Metric], ...]

    @property
    def title(self) -> str:
        """'read IOPS'."""
        return f"{self.what} {self.quantity}".strip().replace("_", " ").replace("iops", "IOPS")


def curves_of(metrics: Iterable[Metric]) -> list[Curve]:
    """Every quantity with at least two numbers of threads, in the order of the metrics."""
    found: dict[tuple[str, str, str], list[tuple[int, Metric]]] = {}
    for metric in metrics:
        match = next((match for form in _FORMS if (match := form.fullmatch(metric.name))), None)
        if match:
            parts = match.groupdict()
            key = (parts.get("what") or "", parts["quantity"], parts.get("counted") or "threads")
            found.setdefault(key, []).append((int(parts["count"]), metric))
    return [
        Curve(what, quantity, counted, tuple(sorted(many, key=lambda one: one[0])))
        for (what, quantity, counted), many in found.items()
        if len(many) >= _LEAST
    ]


MIN_POINTS = 10
MIN_LENGTH_S = 2.0
_WHOLE = 0.95
"""An interval that is shorter than this part of the trial's usual one had not ended."""


def courses(rows: Iterable[MeasurementRow]) -> dict[str, list[MeasurementRow]]:
    """Trial -> its values by time, without an unfinished last one; only trials that are long enough to draw.

    A time axis over a handful of points shows nothing that a table does not show better.
    """
    by_trial: dict[str, list[MeasurementRow]] = {}
    for row in sorted(rows, key=lambda row: (row.position, row.at_s or 0.0)):
        if row.at_s is not None:
            by_trial.setdefault(row.trial, []).append(row)
    whole = {trial: finished(many) for trial, many in by_trial.items()}
    return {trial: many for trial, many in whole.items() if _is_long_enough(many)}


def finished(rows: Sequence[MeasurementRow]) -> list[MeasurementRow]:
    """The values of one trial by time, without a last one whose interval had not ended.

    It is shorter than the others. Or it is exactly zero after values that are not: a thread that ended with the trial
    has no CPU time left to report, and what a client counts in its last moment belongs to the interval before.
    """
    times = [row.at_s or 0.0 for row in rows]
    steps = [later - earlier for earlier, later in pairwise(times)]
    if not steps:
        return list(rows)
    is_short = steps[-1] < _WHOLE * median(steps)
    is_empty = rows[-1].value == 0 and all(row.value != 0 for row in rows[:-1])
    return list(rows[:-1] if is_short or is_empty else rows)


def _is_long_enough(rows: Sequence[MeasurementRow]) -> bool:
    return len(rows) >= MIN_POINTS and (rows[-1].at_s or 0.0) - (rows[0].at_s or 0.0) >= MIN_LENGTH_S
