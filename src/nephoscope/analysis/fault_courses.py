"""The course of a load around a fault: seconds of all faults of one kind, laid over each other."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor
from statistics import median

from pydantic import Field

from nephoscope.analysis.faults import FAULTS, FaultRow, fault_kinds
from nephoscope.analysis.lookup import grouped
from nephoscope.analysis.renamed import measurements
from nephoscope.analysis.table import Table, Workings
from nephoscope.benchmarks.database.adversity import LASTED, OPERATIONS, RESPONSE
from nephoscope.model.frozen import Frozen
from nephoscope.model.rows import MeasurementRow

MOST_STEPS = 240
"""Of a course: more have no pixel of their own."""
LEAST_AFTER_S = 8.0
BEFORE, AFTER = 0.25, 2.0
"""Parts of the longest time that anything took: what is shown before the faults, and after their begin."""


class FaultCourseRow(Frozen):
    """A step of the time around the faults of one kind on one configuration. fault_courses.parquet."""

    benchmark: str
    configuration: str
    at_s: float = Field(description="middle of the step, since the fault began")
    step_s: float
    faults: int = Field(description="of valid trials, with seconds in the step")
    operations_per_s: float = Field(description="that ended: median of the faults, each by its mean")
    lowest_per_s: float = Field(description="the lowest of these means")
    highest_per_s: float
    response_p95_s: float | None = Field(description="median; none: too few operations ended in any second of it")
    slowest_p95_s: float | None = Field(description="the longest of all faults")


def courses_of(
    rates: Sequence[MeasurementRow],
    responses: Sequence[MeasurementRow],
    faults: Sequence[MeasurementRow],
    span_s: tuple[float, float],
    baseline_s: float,
) -> list[FaultCourseRow]:
    """Of one benchmark on one configuration.

    Args:
        rates: of seconds, by their end.
        responses: p95 of seconds, by their end.
        faults: by their begin.
        span_s: what is wanted, since the begin of a fault.
        baseline_s: a fault's time begins so long before it.
    """
    step_s = float(max(1, ceil((span_s[1] - span_s[0]) / MOST_STEPS)))
    begins = {
        trial: sorted(row.at_s or 0.0 for row in rows) for trial, rows in grouped(faults, lambda row: row.trial).items()
    }
    of_rates = _laid_over(rates, begins, span_s, baseline_s, step_s)
    of_responses = _laid_over(responses, begins, span_s, baseline_s, step_s)
    found = []
    for step, by_fault in sorted(of_rates.items()):
        means = [sum(many) / len(many) for many in by_fault.values()]
        longest = [max(many) for many in of_responses.get(step, {}).values()]
        found.append(
            FaultCourseRow(
                benchmark=faults[0].benchmark,
                configuration=faults[0].configuration,
                at_s=(step + 0.5) * step_s,
                step_s=step_s,
                faults=len(means),
                operations_per_s=median(means),
                lowest_per_s=min(means),
                highest_per_s=max(means),
                response_p95_s=median(longest) if longest else None,
                slowest_p95_s=max(longest, default=None),
            )
        )
    return found


def span_of(faults: Sequence[FaultRow]) -> tuple[float, float]:
    """From some time before a fault until long after everything is as usual on any of these configurations."""
    times = [
        time_s
        for row in faults
        for time_s in (row.longest_outage_high_s, row.longest_outage_low_s, row.time_to_usual_rate_s, row.lasted_s)
        if time_s is not None
    ]
    after_s = max(LEAST_AFTER_S, AFTER * max(times))
    return -BEFORE * after_s, after_s


def _laid_over(
    rows: Sequence[MeasurementRow],
    begins: Mapping[str, Sequence[float]],
    span_s: tuple[float, float],
    baseline_s: float,
    step_s: float,
) -> dict[int, dict[tuple[str, int], list[float]]]:
    """Step -> fault -> its values."""
    found: dict[int, dict[tuple[str, int], list[float]]] = {}
    for row in rows:
        middle_s = (row.at_s or 0.0) - 0.5
        of_trial = begins.get(row.trial, ())
        number = sum(begin_s - baseline_s <= middle_s for begin_s in of_trial) - 1
        since_s = middle_s - of_trial[number] if number >= 0 else None
        if since_s is not None and span_s[0] <= since_s <= span_s[1]:
            found.setdefault(floor(since_s / step_s), {}).setdefault((row.trial, number), []).append(row.value)
    return found


def _rows(of: Workings) -> Iterator[FaultCourseRow]:
    kinds = fault_kinds(of)
    wanted = {OPERATIONS.name, RESPONSE.name, LASTED.name}
    series = (
        row
        for row in (of(measurements) if kinds else ())
        if row.valid and row.at_s is not None and row.benchmark in kinds and row.metric in wanted
    )
    by_key = grouped(series, lambda row: (row.benchmark, row.configuration, row.metric))
    parameters = {row.benchmark: row.parameters for row in of.inputs.benchmarks}
    for benchmark, rows in grouped(of(FAULTS.rows), lambda row: row.benchmark).items():
        span_s, baseline_s = span_of(rows), float(parameters[benchmark]["baseline_s"])
        for row in rows:
            rates, responses, faults = (
                by_key.get((benchmark, row.configuration, name), [])
                for name in (OPERATIONS.name, RESPONSE.name, LASTED.name)
            )
            if faults:
                yield from courses_of(rates, responses, faults, span_s, baseline_s)


FAULT_COURSES = Table(
    "fault_courses", FaultCourseRow, _rows, order=lambda row: (row.benchmark, row.configuration, row.at_s)
)
