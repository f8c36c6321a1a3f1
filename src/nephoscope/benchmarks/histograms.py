"""Reads latencies from HDR histograms: V2-deflate base64, nanoseconds, 3 significant digits, 1 ns to 1 h.

NumPy is imported where a histogram is read, because `plan` only names benchmarks and must not wait for it.
"""

import base64
import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from hdrh.histogram import HdrHistogram

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Measurement
from nephoscope.model.units import NANOSECONDS_PER_SECOND, SECONDS_PER_HOUR

LOWEST_NS = 1
HIGHEST_NS = SECONDS_PER_HOUR * NANOSECONDS_PER_SECOND
SIGNIFICANT_DIGITS = 3
_HEAD_BYTES = 8
"""Before the packed part of a histogram: a cookie, and the length of that part."""
_MOST_BYTES = 1 << 20
"""Unpacked: 34,000 counts of at most nine bytes each."""
MIN_BEYOND = 10
"""A percentile is printed only when at least this many values lie beyond it: n x (1 - p) >= 10."""
_DECIMALS = 6
"""Of that product: 100 x (1 - 0.9) is 9.999999999999998."""


@dataclass(frozen=True)
class Quantile:
    """A quantile between 0 and 1; the type prevents confusing 0..1 with 0..100, a bug of a published tool."""

    value: float

    def __post_init__(self) -> None:
        if not 0 < self.value < 1:
            raise ValueError(f"a quantile must be between 0 and 1, not {self.value}")

    @property
    def name(self) -> str:
        """'p99', 'p999'."""
        return f"p{self.value * 100:g}".replace(".", "")

    @property
    def least_count(self) -> int:
        """So many values are enough, and fewer are not."""
        return math.ceil(round(MIN_BEYOND / (1 - self.value), _DECIMALS))

    def is_supported_by(self, count: int) -> bool:
        """True if enough of so many values lie beyond it."""
        return round(count * (1 - self.value), _DECIMALS) >= MIN_BEYOND

    def rank(self, count: int) -> int:
        """Which of so many values, the smallest being the first, it is: ceil(p x n), as HDR histograms define it."""
        return max(1, math.ceil(round(self.value * count, _DECIMALS)))


QUANTILES = tuple(Quantile(value) for value in (0.5, 0.9, 0.95, 0.99))


def merged(encoded: Iterable[str]) -> HdrHistogram:
    """The exact sum of histograms.

    Raises:
        OutputUnreadable: one of them is not a histogram.
    """
    total = HdrHistogram(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
    for text in encoded:
        try:
            _require_small(text)
            total.decode_and_add(text)
        except Exception as error:  # the library raises whatever its decoder met (zlib, struct, index)
            raise OutputUnreadable(f"a histogram cannot be decoded: {error!r}") from error
    return total


def _require_small(text: str) -> None:
    """The library unpacks whatever there is: a megabyte of text can be a gigabyte of zeros."""
    unpacking = zlib.decompressobj()
    unpacking.decompress(base64.b64decode(text)[_HEAD_BYTES:], _MOST_BYTES)
    if unpacking.unconsumed_tail:
        raise ValueError(f"it unpacks to more than {_MOST_BYTES:,} bytes")


def mean_ns(histogram: HdrHistogram) -> float:
    """The mean, as the library has it: each value counts as the middle of its bucket.

    The library itself takes about 100 times as long, as it looks at every bucket up to the highest value.
    """
    import numpy as np

    count = histogram.get_total_count()
    if count == 0:
        return 0.0
    counts = np.frombuffer(histogram.counts, dtype=np.uint64)
    total = sum(int(counts[index]) * _middle_ns(histogram, int(index)) for index in np.flatnonzero(counts))
    return total / float(count)


def value_ns(histogram: HdrHistogram, quantile: Quantile) -> int:
    """The value of the quantile's rank: the highest one of its bucket; see `mean_ns`.

    The library rounds the rank to the nearest, and so is one value low wherever p x n ends below .5.
    """
    import numpy as np

    wanted = quantile.rank(histogram.get_total_count())
    reached = np.cumsum(np.frombuffer(histogram.counts, dtype=np.uint64))
    if len(reached) == 0 or reached[-1] < wanted:
        return 0
    index = int(np.searchsorted(reached, wanted))
    return int(histogram.get_highest_equivalent_value(histogram.get_value_from_index(index)))


def _middle_ns(histogram: HdrHistogram, index: int) -> int:
    lowest = histogram.get_value_from_index(index)
    return int(lowest + ((histogram.get_highest_equivalent_value(lowest) - lowest + 1) >> 1))


def latencies(prefix: str, histogram: HdrHistogram) -> list[Measurement]:
    """Mean and the quantiles that its count supports, in seconds, as `<prefix>_mean`, `<prefix>_p50` ..."""
    count = histogram.get_total_count()
    if count == 0:
        return []
    found = [Measurement.of(f"{prefix}_mean", "s", _seconds(mean_ns(histogram)), role="load")]
    for quantile in QUANTILES:
        if quantile.is_supported_by(count):
            value = value_ns(histogram, quantile)
            found.append(Measurement.of(f"{prefix}_{quantile.name}", "s", _seconds(value), role="load"))
    return found


def _seconds(value_ns: float) -> float:
    return value_ns / NANOSECONDS_PER_SECOND
