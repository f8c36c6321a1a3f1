"""What a search reports: the level it found, and its curve with one row of numbers per point."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from nephoscope.benchmarks.declared import declared_metrics
from nephoscope.benchmarks.load.metrics import load_row
from nephoscope.benchmarks.search import sustained
from nephoscope.benchmarks.search.levels import Ended, Purpose
from nephoscope.benchmarks.search.observe import Observed, response_times, statistic_s
from nephoscope.benchmarks.search.rule import Condition, Rule, quantile_of
from nephoscope.model.records import Measurement, Metric

_METRICS = declared_metrics("search")
HIGHEST = _METRICS["highest_load_per_s"]
FAILING = _METRICS["lowest_failing_load_per_s"]
CLOSED_LOOP = _METRICS["closed_loop_per_s"]
CONFIRMATIONS = _METRICS["confirmations"]
POINTS = _METRICS["points"]
VOID = _METRICS["void_points"]
OBJECTS = _METRICS["objects"]
OBJECT_BYTES = _METRICS["object_bytes"]
OFFERED = _METRICS["point.offered_per_s"]
LEVEL = _METRICS["point.level_per_s"]
ACHIEVED = _METRICS["point.achieved_per_s"]
PASSED = _METRICS["point.passed"]
CONFIRMING = _METRICS["point.confirming"]
LARGER_CLIENT = _METRICS["point.larger_client"]
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
    return Metric.lower(
        f"point.{operation}.response_{quantity}",
        "s",
        f"response time at a point, {quantity}, of {operation}",
        "from the intended start to the last byte read",
    )


def _limit(condition: Condition) -> Metric:
    return Metric.lower(
        f"limit.{condition.operation}.{condition.quantity}",
        "s",
        f"limit of response times, {condition.subject}",
        f"given by the rule: {condition.text}",
    )


def limits(rule: Rule) -> list[Measurement]:
    """What the rule requires of response times."""
    return [load_row(_limit(one), one.limit) for one in rule.conditions if one.operation]


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
    return [load_row(metric, value) for metric, value in found if value is not None]


def of_data(rows: int | None, value_bytes: int | None) -> list[Measurement]:
    """How many objects, and how large, as far as the workload says."""
    found = ((OBJECTS, rows), (OBJECT_BYTES, value_bytes))
    return [load_row(metric, float(value)) for metric, value in found if value is not None]


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
        yield load_row(LEVEL, one.ask.level, at_s)
        yield load_row(OFFERED, one.offered_per_s, at_s)
        yield load_row(ACHIEVED, one.achieved_per_s, at_s)
        yield load_row(PASSED, float(one.point.passed), at_s)
        yield load_row(CONFIRMING, float(one.ask.purpose is Purpose.CONFIRM), at_s)
        yield load_row(LARGER_CLIENT, float(one.ask.purpose is Purpose.LARGER_CLIENT), at_s)
        times = {name: response_times(one.output, kinds, name) for name in rule.operations}
        for operation, quantity in _told(rule):
            value = statistic_s(times[operation], quantity)
            if value is not None:
                yield load_row(_response(operation, quantity), value, at_s)
