"""What a search reports: the level it found, and its curve with one row of numbers per point."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from nephoscope.benchmarks.search import sustained
from nephoscope.benchmarks.search.levels import Ended, Purpose
from nephoscope.benchmarks.search.observe import Observed, response_times, statistic_s
from nephoscope.benchmarks.search.rule import Condition, Rule, quantile_of
from nephoscope.model.records import Direction, Measurement, Metric

HIGHEST = Metric(
    name="highest_load_per_s",
    unit="1/s",
    direction=Direction.HIGHER,
    title="highest sustainable load",
    clock="operations offered per second in an open loop, at the highest level that was confirmed",
    headline=True,
    per_cpu=True,
)
FAILING = Metric(
    name="lowest_failing_load_per_s",
    unit="1/s",
    direction=Direction.HIGHER,
    title="lowest load that failed",
    clock="the lowest level from which on none passed: the other end of the bracket",
)
CLOSED_LOOP = Metric(
    name="closed_loop_per_s",
    unit="1/s",
    direction=Direction.HIGHER,
    title="rate in the closed loop",
    clock="operations completed in the probe / its measurement interval; without a limit on response times",
)
CONFIRMATIONS = Metric(
    name="confirmations",
    unit="1",
    direction=Direction.HIGHER,
    title="confirmations of the level found",
    clock="longer points at that level, all of which passed",
)
POINTS = Metric(
    name="points",
    unit="1",
    direction=Direction.LOWER,
    title="points measured",
    clock="calls of the load generator, without the probe",
)
VOID = Metric(
    name="void_points",
    unit="1",
    direction=Direction.LOWER,
    title="points set aside and measured again",
    clock="points that failed while the load generator lost CPU time to the hypervisor",
)
OBJECTS = Metric(
    name="objects",
    unit="1",
    direction=Direction.HIGHER,
    title="objects of the data set",
    clock="rows loaded before the search",
)
OBJECT_BYTES = Metric(
    name="object_bytes",
    unit="B",
    direction=Direction.HIGHER,
    title="size of an object",
    clock="bytes of its value, without key and overhead; the smallest if sizes vary",
)
OFFERED = Metric(
    name="point.offered_per_s",
    unit="1/s",
    direction=Direction.HIGHER,
    title="offered at a point",
    clock="arrivals due in its measurement interval / its length",
)
LEVEL = Metric(
    name="point.level_per_s",
    unit="1/s",
    direction=Direction.HIGHER,
    title="level of a point",
    clock="the target rate; random arrivals vary around it",
)
ACHIEVED = Metric(
    name="point.achieved_per_s",
    unit="1/s",
    direction=Direction.HIGHER,
    title="achieved at a point",
    clock="operations that completed without failure in its measurement interval / its length",
)
PASSED = Metric(
    name="point.passed",
    unit="1",
    direction=Direction.HIGHER,
    title="point passed",
    clock="1: the rule held and the load generator was not the limit; otherwise 0",
)
CONFIRMING = Metric(
    name="point.confirming",
    unit="1",
    direction=Direction.HIGHER,
    title="point is a confirmation",
    clock="1: a longer point at a level that had passed; otherwise 0",
)
LARGER_CLIENT = Metric(
    name="point.larger_client",
    unit="1",
    direction=Direction.HIGHER,
    title="point has the larger client",
    clock="1: with twice the threads of all other points; otherwise 0",
)
_OF_A_POINT = (LEVEL, OFFERED, ACHIEVED, PASSED, CONFIRMING, LARGER_CLIENT)
_USUAL = ("mean", "p95", "p99")
"""Reported for every operation that a rule limits, in addition to what it limits."""


def _told(rule: Rule) -> Iterator[tuple[str, str]]:
    """Operations that a rule limits, as it names them, each with a reported response time; the worst last."""
    for operation in sorted(rule.operations):
        asked = {one.quantity for one in rule.conditions if one.operation == operation}
        for quantity in sorted(asked.union(_USUAL), key=_place):
            yield operation, quantity


def _place(quantity: str) -> float:
    return {"mean": 0.0, "max": 1.0}.get(quantity) or quantile_of(quantity) or 0.0


def _response(operation: str, quantity: str) -> Metric:
    return Metric(
        name=f"point.{operation}.response_{quantity}",
        unit="s",
        direction=Direction.LOWER,
        title=f"response time at a point, {quantity}, of {operation}",
        clock="from the intended start to the last byte read",
    )


def _limit(condition: Condition) -> Metric:
    return Metric(
        name=f"limit.{condition.operation}.{condition.quantity}",
        unit="s",
        direction=Direction.LOWER,
        title=f"limit of response times, {condition.subject}",
        clock=f"given by the rule: {condition.text}",
    )


def limits(rule: Rule) -> list[Measurement]:
    """What the rule requires of response times."""
    return [_row(_limit(one), one.limit) for one in rule.conditions if one.operation]


def metrics(of_workload: Iterable[Metric], rule: Rule) -> tuple[Metric, ...]:
    """Everything that a search may report.

    Args:
        rule: what a level must hold.
        of_workload: metrics of the workload's own benchmark in an open pace, reported for the level found.
    """
    told = [metric.model_copy(update={"headline": False, "per_cpu": False}) for metric in of_workload]
    asked = tuple(_limit(one) for one in rule.conditions if one.operation)
    responses = tuple(_response(*one) for one in _told(rule))
    of_search = (HIGHEST, FAILING, CLOSED_LOOP, CONFIRMATIONS, POINTS, VOID, OBJECTS, OBJECT_BYTES)
    return (*of_search, *asked, *told, *sustained.METRICS, *_OF_A_POINT, *responses)


def operations_of(of_workload: Iterable[Metric]) -> set[str]:
    """Operations that have response times."""
    tail = ".response_mean"
    return {metric.name.removesuffix(tail) for metric in of_workload if metric.name.endswith(tail)}


def of_result(ended: Ended, points: Sequence[Observed], void: int, probe_per_s: float) -> list[Measurement]:
    """Of the whole search, `void` points left out. What was not found is left out."""
    confirmed = [one for one in points if (one.ask.purpose, one.ask.level) == (Purpose.CONFIRM, ended.level)]
    found: list[tuple[Metric, float | None]] = [
        (HIGHEST, ended.level),
        (FAILING, ended.failing),
        (CLOSED_LOOP, probe_per_s),
        (CONFIRMATIONS, float(len(confirmed)) if confirmed else None),
        (POINTS, float(len(points))),
        (VOID, float(void)),
    ]
    return [_row(metric, value) for metric, value in found if value is not None]


def of_data(rows: int | None, value_bytes: int | None) -> list[Measurement]:
    """How many objects, and how large, as far as the workload says."""
    found = ((OBJECTS, rows), (OBJECT_BYTES, value_bytes))
    return [_row(metric, float(value)) for metric, value in found if value is not None]


def curve(points: Sequence[Observed], rule: Rule, kinds: Mapping[str, Sequence[str]]) -> Iterator[Measurement]:
    """Every point, as rows of one moment: seconds of measurement up to its end, so that rows sort as measured.

    Args:
        points: of the search.
        rule: response times are reported for the operations that it limits.
        kinds: see `Judge.kinds`.
    """
    at_s = 0.0
    for one in points:
        at_s += one.output.measured_s
        yield _row(LEVEL, one.ask.level, at_s)
        yield _row(OFFERED, one.offered_per_s, at_s)
        yield _row(ACHIEVED, one.achieved_per_s, at_s)
        yield _row(PASSED, float(one.point.passed), at_s)
        yield _row(CONFIRMING, float(one.ask.purpose is Purpose.CONFIRM), at_s)
        yield _row(LARGER_CLIENT, float(one.ask.purpose is Purpose.LARGER_CLIENT), at_s)
        times = {name: response_times(one.output, kinds, name) for name in rule.operations}
        for operation, quantity in _told(rule):
            value = statistic_s(times[operation], quantity)
            if value is not None:
                yield _row(_response(operation, quantity), value, at_s)


def _row(metric: Metric, value: float, at_s: float | None = None) -> Measurement:
    return Measurement(metric=metric.name, unit=metric.unit, value=value, role="load", at_s=at_s)
