"""How evenly a load went: the longest pause, and the share of slow seconds. A checkpoint shows here first; pure."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median

from nephoscope.benchmarks.base import STEP_S, Ended
from nephoscope.benchmarks.declared import declared_metrics
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.units import MS_PER_SECOND

_LEAST_PARTS = 3
"""Of fewer, the median is no usual rate."""
_SLOW = 0.5
_METRICS = declared_metrics("load")
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
