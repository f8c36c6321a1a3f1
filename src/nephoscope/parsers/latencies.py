"""The one check of a set of latencies: whether a tool's histogram ended before the latencies did.

Overloaded runs, whose high percentiles decide, are where it happens: `cockroach workload` prints 103.08 s for whatever
took longer than 100 s.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.quantities import Bounded, LowerBound

_PRINTED = 1e-5
"""Relative: what printed digits leave of the end of a histogram."""
_MS = 1e-3


@dataclass(frozen=True)
class Histogram:
    """How a tool counts latencies."""

    ends_s: tuple[float, ...] = ()
    """What its versions print of the last bucket; empty: it has no end."""
    resolution: float = 0.02
    """Width of a bucket, relative to its value."""
    has_mean: bool = False
    """The mean is that of the buckets, so that it is too small where the maximum is not known."""

    def is_end(self, latency_s: float) -> bool:
        """Whether a value is that of the last bucket."""
        return any(abs(latency_s - end_s) <= _PRINTED * end_s for end_s in self.ends_s)


FIO = Histogram((17.112760320, 16.711680))
"""Groups of 64 buckets: 29 of nanoseconds (version 3), 19 of microseconds (version 2)."""
SYSBENCH = Histogram((100.0,))
COCKROACH = Histogram((103.079215103,), resolution=0.07, has_mean=True)
"""HDR of one digit, 100 µs to 100 s."""
GO_TPC = Histogram((16.106127359,), resolution=0.07)
"""HDR of one digit, up to `--max-measure-latency`, 16 s unless given."""
NETPERF = Histogram((100.0,), resolution=1.0)
"""Ten buckets a decade."""
EXACT = Histogram()
"""Every value is stored, or the histogram grows."""


@dataclass(frozen=True)
class Latencies:
    """What a set of latencies says."""

    percentiles_s: dict[float, Bounded]
    """Percent -> seconds."""
    maximum_s: Bounded | None
    mean_s: Bounded | None


def latencies(
    what: str,
    histogram: Histogram,
    percentiles_s: Mapping[float, float],
    *,
    mean_s: float | None = None,
    maximum_s: float | None = None,
) -> Latencies:
    """The set, with lower bounds in place of what the histogram cannot tell.

    The end of a histogram that is not known shows in the mean: it is then above what percentiles and maximum allow, and
    all values that are equal to the highest are bounds.

    Raises:
        OutputUnreadable: percentiles that do not rise, or a maximum below one of them.
    """
    ordered = [percentiles_s[percent] for percent in sorted(percentiles_s)]
    if ordered != sorted(ordered):
        raise OutputUnreadable(f"{what}: percentiles that do not rise")
    highest_s = ordered[-1] if ordered else None
    ends = {value for value in (*ordered, maximum_s) if value is not None and histogram.is_end(value)}
    slack = 1 + histogram.resolution
    # A percentile may be the end of the bucket that holds the maximum, and be printed in whole milliseconds.
    if maximum_s not in ends and highest_s not in ends and (highest_s or 0.0) > (maximum_s or math.inf) * slack + _MS:
        raise OutputUnreadable(f"{what}: a percentile of {highest_s:g} s above the maximum of {maximum_s:g} s")
    if mean_s is not None and mean_s > _most_mean_s(percentiles_s, maximum_s) * slack + _MS:
        past = maximum_s is not None and mean_s > maximum_s * slack + _MS
        ends |= {value for value in (highest_s, maximum_s if past else None) if value is not None}
    bounded = {value: LowerBound(above=value) for value in ends}
    return Latencies(
        {percent: bounded.get(value, value) for percent, value in sorted(percentiles_s.items())},
        maximum_s if maximum_s is None else bounded.get(maximum_s, maximum_s),
        LowerBound(above=mean_s) if histogram.has_mean and maximum_s in ends and mean_s is not None else mean_s,
    )


def _most_mean_s(percentiles_s: Mapping[float, float], maximum_s: float | None) -> float:
    """The mean if every value were as long as the next percentile, or the maximum, lets it be.

    Without a maximum the highest percentile takes its place: a mean above that is not explained by what is known.
    """
    if not percentiles_s:
        return math.inf if maximum_s is None else maximum_s
    most_s, below = 0.0, 0.0
    for percent in sorted(percentiles_s):
        most_s += (percent - below) / 100 * percentiles_s[percent]
        below = percent
    longest_s = max(percentiles_s.values()) if maximum_s is None else maximum_s
    return most_s + (100 - below) / 100 * longest_s
