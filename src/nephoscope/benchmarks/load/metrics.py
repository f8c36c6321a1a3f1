"""Metrics of every workload of the load generator, the rates of its operations, and how evenly a load went."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from statistics import median

from nephoscope.benchmarks.base import STEP_S, Ended
from nephoscope.benchmarks.declared import declared_metrics
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.saturation import PACING_ERROR, THREAD_CPU
from nephoscope.benchmarks.load.server_costs import SERVER_COSTS
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.units import MS_PER_SECOND

_METRICS = declared_metrics("load")
CLIENT_CPU = _METRICS["client_cpu"]
CLIENT_CPU_PER_OPERATION = _METRICS["client_cpu_per_operation"]
RETRIES = _METRICS["retries_per_operation"]
OFFERED = _METRICS["offered_per_s"]


def generator_metrics(*, paced: bool) -> tuple[Metric, ...]:
    """What every workload reports of load generator and server; `paced` operations have scheduled start times."""
    of_rate = (PACING_ERROR, OFFERED) if paced else ()
    return (CLIENT_CPU, CLIENT_CPU_PER_OPERATION, RETRIES, *STEADINESS, THREAD_CPU, *of_rate, *SERVER_COSTS)


@cache
def latency_metrics(operation: str, *, paced: bool) -> tuple[Metric, ...]:
    """The metrics `load_output.operation_latencies` may yield for one operation."""
    words = operation.replace("_", " ")
    only = "of operations that committed"
    response = f"from the intended start to the last byte read, {only}"
    service = f"from the first byte sent to the last byte read, retries included, {only}"
    queue = f"from the intended start (closed loop: the end of the previous operation) to the first byte sent, {only}"
    attempt = "for single attempts, if operations were retried: first byte sent to last byte read"
    all_of_them = ("mean", "p50", "p90", "p95", "p99")
    return (
        *(_latency(operation, words, "response", which, response) for which in all_of_them if paced),
        *(_latency(operation, words, "service", which, service) for which in all_of_them),
        *(_latency(operation, words, "queue", which, queue) for which in ("mean", "p99")),
        *(_latency(operation, words, "attempt", which, attempt) for which in ("mean", "p99")),
    )


def _latency(operation: str, words: str, clock_name: str, which: str, clock: str) -> Metric:
    return Metric.lower(f"{operation}.{clock_name}_{which}", "s", f"{words}: {clock_name} time, {which}", clock)


def load_row(metric: Metric, value: float, at_s: float | None = None) -> Measurement:
    """One number of the load generator."""
    return metric.measured(value, at_s, role="load")


def rate(metric: Metric, output: load_output.LoadOutput, factor: float, *operations: str) -> list[Measurement]:
    """Operations ended (committed, or rolled back by design) per second x `factor`: of the trial and each interval."""
    outcomes = ("committed", "rolled_back_by_design")
    total = load_output.count(output, operations=operations, outcomes=outcomes)
    found = [load_row(metric, factor * total / output.measured_s)]
    for interval in output.intervals:
        ended = sum(row.count for row in interval.operations if row.outcome in outcomes and row.operation in operations)
        length_s = interval.end_s - interval.start_s
        if length_s > 0:
            found.append(load_row(metric, factor * ended / length_s, at_s=interval.end_s))
    return found


_LEAST_PARTS = 3
"""Of fewer, the median is no usual rate."""
_SLOW = 0.5
PAUSE = _METRICS["longest_pause"]
SLOW_SECONDS = _METRICS["slow_seconds_share"]
STEADINESS = (PAUSE, SLOW_SECONDS)


def steadiness(ended: Sequence[Ended]) -> Iterator[Measurement]:
    """What is known of the operations that ended in each second of the measurement, in order of time."""
    if ended and all(one.per_100_ms for one in ended):
        steps = [step for one in ended for step in one.per_100_ms]
        pauses = (len(list(run)) for is_pause, run in groupby(steps, lambda step: step == 0) if is_pause)
        yield _row(PAUSE, max(pauses, default=0) * STEP_S)
    lengths_s = [(one.to_unix_ms - one.from_unix_ms) / MS_PER_SECOND for one in ended]
    rates = [one.operations / length for one, length in zip(ended, lengths_s, strict=True) if length > 0]
    if len(rates) >= _LEAST_PARTS:
        usual = median(rates)
        yield _row(SLOW_SECONDS, sum(rate < _SLOW * usual for rate in rates) / len(rates))


def _row(metric: Metric, value: float) -> Measurement:
    return metric.measured(value, role="load")
