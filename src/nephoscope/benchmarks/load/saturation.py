"""Was the load generator itself the limit? Evidence from its output, second by second; a check gives the verdict."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from nephoscope.benchmarks.declared import declared_metrics
from nephoscope.benchmarks.histograms import Quantile, merged, value_ns
from nephoscope.benchmarks.load.contract import Interval
from nephoscope.benchmarks.load.output import LoadOutput
from nephoscope.checks.generator import counts_against
from nephoscope.checks.thresholds import WAKE_UP
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Measurement, Metric, Saturation
from nephoscope.model.units import NANOSECONDS_PER_SECOND

THROTTLING_PERIODS_PER_S = 10
"""A cgroup's quota is one of 100 ms (kernel, cpu.cfs_period_us)."""
MIN_INTERVAL_S = 0.5
"""Of a shorter one (the last of a measurement) no share means much."""
P99 = Quantile(0.99)

_METRICS = declared_metrics("load")
THREAD_CPU = _METRICS["generator_thread_cpu_share"]
PACING_ERROR = _METRICS["generator_pacing_error_p99"]


def saturation(output: LoadOutput, calibration: LoadOutput | None) -> Saturation | None:
    """Evidence of the measurement interval; None when the output says nothing of threads.

    Args:
        output: of the trial.
        calibration: of the null workload on as many connections; None: there was none.

    Raises:
        OutputUnreadable: nothing was measured, a histogram cannot be decoded, or its numbers cannot be of one run.
    """
    if not any(interval.client.threads for interval in output.measured):
        return None
    try:
        return _evidence(output, calibration)
    except ValidationError as error:
        first = error.errors()[0]
        raise OutputUnreadable(f"nephoscope-load: {first['loc'][0]} cannot be: {first['msg']}") from error


def _evidence(output: LoadOutput, calibration: LoadOutput | None) -> Saturation:
    intervals = output.measured
    measured_s, ended = output.measured_s, _ended(output)
    throttled = _sum(interval.client.throttled for interval in intervals)
    networks = [interval.client.network for interval in intervals]
    seen = [network for network in networks if network is not None]
    idle = sum(interval.client.queued_while_idle for interval in intervals)
    steal_s = _sum(interval.client.steal_s for interval in intervals)
    return Saturation(
        threads=max(len(interval.client.threads) for interval in intervals),
        thread_cpu_share=_most_busy(intervals),
        run_queue_share=_run_queue_share(intervals),
        steal_s_per_s=None if steal_s is None else steal_s / measured_s,
        machine_cpus=intervals[-1].client.machine_cpus,
        throttled_share=None if throttled is None else throttled / (THROTTLING_PERIODS_PER_S * measured_s),
        pacing_error_p99_s=_pacing_error_s(intervals),
        queued_while_idle_share=idle / ended if ended else None,
        retransmitted_segments=sum(row.retransmitted_segments for row in seen) if seen else None,
        dropped_packets=sum(row.dropped_packets for row in seen) if seen else None,
        gaps=output.finished.gaps,
        measured_s=measured_s,
        round_trips_per_s=round_trips_per_s(output),
        calibration_per_s=None if calibration is None else round_trips_per_s(calibration),
        calibration_thread_cpu_share=None if calibration is None else _most_busy(calibration.measured),
    )


def too_slow(output: LoadOutput, calibration: LoadOutput) -> bool:
    """Whether the calibration counts against the load generator; see the check `generator-bound`."""
    busiest = _most_busy(calibration.measured)
    return busiest is not None and counts_against(round_trips_per_s(calibration), round_trips_per_s(output), busiest)


def saturation_measurements(output: LoadOutput) -> list[Measurement]:
    """`THREAD_CPU` and `PACING_ERROR`, of the trial and of each interval; empty when the output does not say."""
    found = saturation(output, None)
    if found is None:
        return []
    return [
        *_rows(THREAD_CPU, found.thread_cpu_share, [(one.end_s, _busiest(one)) for one in _long(output.intervals)]),
        *_rows(
            PACING_ERROR,
            found.pacing_error_p99_s,
            [(one.end_s, _pacing_error_s([one])) for one in _long(output.intervals)],
        ),
    ]


def _rows(metric: Metric, whole: float | None, series: Iterable[tuple[float, float | None]]) -> list[Measurement]:
    values = [(None, whole), *series]
    return [metric.measured(value, at_s, role="load") for at_s, value in values if value is not None]


def _long(intervals: Sequence[Interval]) -> Sequence[Interval]:
    return [one for one in intervals if one.end_s - one.start_s >= MIN_INTERVAL_S] or intervals


def _busiest(interval: Interval) -> float | None:
    """Share of wall time that the busiest thread used in one interval."""
    length_s = interval.end_s - interval.start_s
    spent_s = max((thread.cpu_s for thread in interval.client.threads), default=None)
    return None if spent_s is None or length_s <= 0 else spent_s / length_s


def _most_busy(intervals: Sequence[Interval]) -> float | None:
    return max((share for one in _long(intervals) if (share := _busiest(one)) is not None), default=None)


def _run_queue_share(intervals: Sequence[Interval]) -> float | None:
    """The longest wait of any thread for other threads, over the intervals that the kernel reports.

    Where it tells how often a thread got a CPU, `WAKE_UP` is subtracted for each time that it had not just lost one.
    None when it reports no waits.
    """
    waits_s: dict[int, float] = defaultdict(float)
    lengths_s: dict[int, float] = defaultdict(float)
    for interval in intervals:
        for index, thread in enumerate(interval.client.threads):
            if thread.run_queue_s is not None:
                woken = max(0, (thread.runs or 0) - (thread.involuntary_switches or 0))
                waits_s[index] += max(0.0, thread.run_queue_s - WAKE_UP.value * woken)
                lengths_s[index] += interval.end_s - interval.start_s
    return max((waits_s[index] / lengths_s[index] for index in waits_s if lengths_s[index] > 0), default=None)


def _pacing_error_s(intervals: Sequence[Interval]) -> float | None:
    texts = [interval.client.pacing_error for interval in intervals if interval.client.pacing_error is not None]
    histogram = merged(texts)
    if histogram.get_total_count() == 0:
        return None
    return value_ns(histogram, P99) / NANOSECONDS_PER_SECOND


def _ended(output: LoadOutput) -> int:
    return sum(row.count for interval in output.measured for row in interval.operations)


def round_trips_per_s(output: LoadOutput) -> float:
    """Of the measurement interval: its operations by the mean of the whole action, which alone is counted."""
    everything = sum(row.all for row in output.finished.operations)
    return _ended(output) * output.finished.round_trips / everything / output.measured_s if everything else 0.0


def _sum(values: Iterable[float | None]) -> float | None:
    """None when one of them is not known."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
