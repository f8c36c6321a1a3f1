"""What a search for the most warehouses reports: the level, and its curve with one row of numbers per point."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nephoscope.benchmarks.database.tpcc_rules import PassRule
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.output import LoadOutput
from nephoscope.benchmarks.search import sustained
from nephoscope.benchmarks.search.levels import Ask, Ended, Purpose
from nephoscope.benchmarks.search.measurements import (
    CONFIRMATIONS,
    CONFIRMING,
    LARGER_CLIENT,
    PASSED,
    POINTS,
    VOID,
)
from nephoscope.model.records import Direction, Measurement, Metric

MOST = Metric(
    name="most_warehouses",
    unit="warehouses",
    direction=Direction.HIGHER,
    title="maximum number of active warehouses",
    clock="the highest confirmed number; every terminal with the wait times of the specification",
)
FAILING = Metric(
    name="least_failing_warehouses",
    unit="warehouses",
    direction=Direction.HIGHER,
    title="fewest warehouses that failed",
    clock="the lowest number from which on none passed: the other end of the bracket",
)
WAREHOUSES = Metric(
    name="point.warehouses",
    unit="warehouses",
    direction=Direction.HIGHER,
    title="active warehouses of a point",
    clock="as measured",
)
TPMC = Metric(
    name="point.tpmc",
    unit="1/min",
    direction=Direction.HIGHER,
    title="tpmC at a point",
    clock="New-Orders completed in its measurement interval / minutes",
)
EFFICIENCY = Metric(
    name="point.efficiency",
    unit="%",
    direction=Direction.HIGHER,
    title="efficiency at a point",
    clock="100 x tpmC / (the rule's most tpmC per warehouse x active warehouses)",
)
RESPONSE = Metric(
    name="point.new_order_response",
    unit="s",
    direction=Direction.LOWER,
    title="response time of New-Order at a point, by the rule's percentile",
    clock="from the end of the think time to the last byte read",
)
MIN_EFFICIENCY = Metric(
    name="limit.efficiency",
    unit="%",
    direction=Direction.HIGHER,
    title="least efficiency of the rule",
    clock="given by the rule, directly or as tpmC per warehouse",
)
LONGEST_RESPONSE = Metric(
    name="limit.new_order_response",
    unit="s",
    direction=Direction.LOWER,
    title="limit of New-Order's response time",
    clock="given by the rule",
)
_OF_A_POINT = (WAREHOUSES, TPMC, EFFICIENCY, RESPONSE, PASSED, CONFIRMING, LARGER_CLIENT)


@dataclass(frozen=True)
class CurvePoint:
    """A level with its measurements."""

    ask: Ask
    passed: bool
    tpmc: float
    output: LoadOutput


def metrics(of_tpcc: Iterable[Metric], rule: PassRule) -> tuple[Metric, ...]:
    """Everything that a search may report; metrics of `tpcc` are reported for the level found.

    Its headline is that of `tpcc`, tpmC: what the Cloud Reports of 2018 and 2020 compare and price.
    """
    told = [_at_the_most(metric) if metric.headline else metric for metric in of_tpcc]
    asked = [MIN_EFFICIENCY, *([LONGEST_RESPONSE] if "new_order" in (rule.limits_s or {}) else [])]
    return (MOST, FAILING, CONFIRMATIONS, POINTS, VOID, *asked, *told, *sustained.METRICS, *_OF_A_POINT)


def _at_the_most(headline: Metric) -> Metric:
    clock = f"{headline.clock}; at the highest confirmed number of warehouses"
    return headline.model_copy(update={"title": f"maximum {headline.title}", "clock": clock})


def of_result(ended: Ended, points: Sequence[CurvePoint], void: int) -> list[Measurement]:
    """Of the whole search, `void` points left out. What was not found is left out."""
    confirmed = sum((one.ask.purpose, one.ask.level) == (Purpose.CONFIRM, ended.level) for one in points)
    found: list[tuple[Metric, float | None]] = [
        (MOST, ended.level),
        (FAILING, ended.failing),
        (CONFIRMATIONS, float(confirmed) if confirmed else None),
        (POINTS, float(len(points))),
        (VOID, float(void)),
    ]
    return [_row(metric, value) for metric, value in found if value is not None]


def limits(rule: PassRule) -> Iterator[Measurement]:
    """What the rule requires of efficiency and of New-Order."""
    yield _row(MIN_EFFICIENCY, least_efficiency(rule))
    if "new_order" in (rule.limits_s or {}):
        yield _row(LONGEST_RESPONSE, (rule.limits_s or {})["new_order"])


def least_efficiency(rule: PassRule) -> float:
    """In percent; computed from tpmC per warehouse if the rule limits that; 0 when it limits neither."""
    if rule.least_efficiency_percent is not None:
        return rule.least_efficiency_percent
    return 100 * (rule.least_tpmc_per_warehouse or 0.0) / rule.most_tpmc


def curve(points: Sequence[CurvePoint], rule: PassRule) -> Iterator[Measurement]:
    """Every point, as rows of one moment: seconds of measurement up to its end, so that rows sort as measured."""
    at_s = 0.0
    for one in points:
        at_s += one.output.measured_s
        yield _row(WAREHOUSES, one.ask.level, at_s)
        yield _row(TPMC, one.tpmc, at_s)
        yield _row(EFFICIENCY, 100 * one.tpmc / (rule.most_tpmc * one.ask.level), at_s)
        yield _row(PASSED, float(one.passed), at_s)
        yield _row(CONFIRMING, float(one.ask.purpose is Purpose.CONFIRM), at_s)
        yield _row(LARGER_CLIENT, float(one.ask.purpose is Purpose.LARGER_CLIENT), at_s)
        seen = load_output.responses(one.output).get("new_order")
        if seen is not None and rule.quantile.name in seen.quantiles_s:
            yield _row(RESPONSE, seen.quantiles_s[rule.quantile.name], at_s)


def _row(metric: Metric, value: float, at_s: float | None = None) -> Measurement:
    return Measurement(metric=metric.name, unit=metric.unit, value=value, role="load", at_s=at_s)
