"""Adds up the rates of several streams second by second, although their intervals begin at different times."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.words import counted

MIN_SHARE = 0.8
"""Of the seconds asked for: tools end a little early, and leave out a last interval that is cut."""
_NEARLY_A_SECOND = 0.9
"""A second that a stream covers by less is not counted: its rate would be an extrapolation."""

THROUGHPUT = "throughput"
UNIT = "bit/s"


@dataclass(frozen=True)
class Span:
    """A rate that held from one moment to another."""

    start_s: float
    end_s: float
    bits_per_s: float


def per_second(streams: Sequence[Sequence[Span]], start_s: float, duration_s: float) -> list[float]:
    """The sum of all streams in each whole second of a window that every one of them covers.

    Args:
        streams: spans of each stream in order of time; all times count from one moment.
        start_s: of the window.
        duration_s: of the window.

    Raises:
        OutputUnreadable: a stream covers less than four fifths of the window.
    """
    seconds = math.floor(duration_s + 1e-9)
    found = []
    for second in range(seconds):
        parts = [_mean_within(spans, start_s + second) for spans in streams]
        if all(part is not None for part in parts):
            found.append(math.fsum(part for part in parts if part is not None))
    if len(found) < MIN_SHARE * seconds or not found:
        whole = "the stream: it" if len(streams) == 1 else f"all {len(streams)} streams: one"
        were = "was" if len(found) == 1 else "were"
        raise OutputUnreadable(f"{len(found)} of {counted(seconds, 'second')} {were} covered by {whole} ended early")
    return found


def _mean_within(spans: Iterable[Span], start_s: float) -> float | None:
    """Of one second; None where the stream covers too little of it."""
    covered_s, bits = 0.0, 0.0
    for span in spans:
        overlap_s = min(span.end_s, start_s + 1) - max(span.start_s, start_s)
        if overlap_s > 0:
            covered_s += overlap_s
            bits += overlap_s * span.bits_per_s
    return bits / covered_s if covered_s >= _NEARLY_A_SECOND else None


def throughput_metrics(clock: str) -> tuple[Metric, ...]:
    """Of all streams together: the mean (headline) and what single seconds gave."""
    titles = {
        THROUGHPUT: "throughput",
        f"{THROUGHPUT}_min_1s": "throughput of the slowest second",
        f"{THROUGHPUT}_median_1s": "throughput of the median second",
        f"{THROUGHPUT}_max_1s": "throughput of the fastest second",
    }
    return tuple(
        Metric.higher(
            name,
            UNIT,
            title,
            clock if name == THROUGHPUT else "sum of all streams in each second",
            headline=name == THROUGHPUT,
        )
        for name, title in titles.items()
    )


def throughput_measurements(seconds: Sequence[float], whole: float | None = None) -> list[Measurement]:
    """What `throughput_metrics` declares, and the throughput of each second.

    Args:
        seconds: the sum of all streams in each second.
        whole: the throughput that the tool reports for the whole test; None: use the mean of the seconds.
    """
    values = {
        THROUGHPUT: fmean(seconds) if whole is None else whole,
        f"{THROUGHPUT}_min_1s": min(seconds),
        f"{THROUGHPUT}_median_1s": median(seconds),
        f"{THROUGHPUT}_max_1s": max(seconds),
    }
    wholes = [Measurement.of(name, UNIT, value) for name, value in values.items()]
    return wholes + [Measurement.of(THROUGHPUT, UNIT, value, at_s=float(at_s)) for at_s, value in enumerate(seconds, 1)]
