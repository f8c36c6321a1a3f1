"""What a search for the most warehouses reports: the level, and its curve with one row of numbers per point."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nephoscope.benchmarks.database.tpcc_rules import PassRule
from nephoscope.benchmarks.declared import declared_metrics
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.metrics import load_row
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
from nephoscope.model.records import Measurement, Metric

_METRICS = declared_metrics("warehouses")
MOST = _METRICS["most_warehouses"]
FAILING = _METRICS["least_failing_warehouses"]
WAREHOUSES = _METRICS["point.warehouses"]
TPMC = _METRICS["point.tpmc"]
EFFICIENCY = _METRICS["point.efficiency"]
RESPONSE = _METRICS["point.new_order_response"]
MIN_EFFICIENCY = _METRICS["limit.efficiency"]
LONGEST_RESPONSE = _METRICS["limit.new_order_response"]
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
    return [load_row(metric, value) for metric, value in found if value is not None]


def limits(rule: PassRule) -> Iterator[Measurement]:
    """What the rule requires of efficiency and of New-Order."""
    yield load_row(MIN_EFFICIENCY, least_efficiency(rule))
    if "new_order" in (rule.limits_s or {}):
        yield load_row(LONGEST_RESPONSE, (rule.limits_s or {})["new_order"])


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
        yield load_row(WAREHOUSES, one.ask.level, at_s)
        yield load_row(TPMC, one.tpmc, at_s)
        yield load_row(EFFICIENCY, 100 * one.tpmc / (rule.most_tpmc * one.ask.level), at_s)
        yield load_row(PASSED, float(one.passed), at_s)
        yield load_row(CONFIRMING, float(one.ask.purpose is Purpose.CONFIRM), at_s)
        yield load_row(LARGER_CLIENT, float(one.ask.purpose is Purpose.LARGER_CLIENT), at_s)
        seen = load_output.responses(one.output).get("new_order")
        if seen is not None and rule.quantile.name in seen.quantiles_s:
            yield load_row(RESPONSE, seen.quantiles_s[rule.quantile.name], at_s)
