"""How evenly a load went: the longest pause, and the share of slow seconds. A checkpoint shows here first; pure."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median

from nephoscope.benchmarks.base import STEP_S, Ended
from nephoscope.model.records import Direction, Measurement, Metric
from nephoscope.model.units import MS_PER_SECOND

_LEAST_PARTS = 3
"""Of fewer, the median is no usual rate."""
_SLOW = 0.5
PAUSE = Metric(
    name="longest_pause",
    unit="s",
    direction=Direction.LOWER,
    title="longest time in which no operation ended",
    clock="whole steps of 0.1 s of the measurement, one after the other; of a slow load, also between its operations",
)
SLOW_SECONDS = Metric(
    name="slow_seconds_share",
    unit="share",
    direction=Direction.LOWER,
    title="share of seconds below half of the median rate",
    clock="seconds of the measurement in which less than half of the median of all seconds ended",
)
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
    return Measurement(metric=metric.name, unit=metric.unit, value=value, role="load")
