"""Latencies out of HDR histograms: V2-deflate base64, nanoseconds, 3 significant digits, 1 ns to 1 h."""

from collections.abc import Iterable
from dataclasses import dataclass

from hdrh.histogram import HdrHistogram

from nephoscope.errors import OutputUnreadable
from nephoscope.records import Measurement
from nephoscope.units import NANOSECONDS_PER_SECOND, SECONDS_PER_HOUR

LOWEST_NS = 1
HIGHEST_NS = SECONDS_PER_HOUR * NANOSECONDS_PER_SECOND
SIGNIFICANT_DIGITS = 3
LEAST_BEYOND = 10
"""A percentile is printed only when at least this many values lie beyond it: n x (1 - p) >= 10."""


@dataclass(frozen=True)
class Quantile:
    """A quantile between 0 and 1; the type keeps 0..1 and 0..100 apart (a confusion that ships in a public tool)."""

    value: float

    def __post_init__(self) -> None:
        if not 0 < self.value < 1:
            raise ValueError(f"a quantile lies between 0 and 1, and {self.value} does not")

    @property
    def name(self) -> str:
        """'p99', 'p999'."""
        return f"p{self.value * 100:g}".replace(".", "")


QUANTILES = tuple(Quantile(value) for value in (0.5, 0.9, 0.95, 0.99))


def merged(encoded: Iterable[str]) -> HdrHistogram:
    """The exact sum of histograms.

    Raises:
        OutputUnreadable: one of them is not a histogram.
    """
    total = HdrHistogram(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
    for text in encoded:
        try:
            total.decode_and_add(text)
        except Exception as error:  # the library raises whatever its decoder met (zlib, struct, index)
            raise OutputUnreadable(f"a histogram cannot be decoded: {error!r}") from error
    return total


def latencies(prefix: str, histogram: HdrHistogram) -> list[Measurement]:
    """Mean and the quantiles that its count supports, in seconds, as `<prefix>_mean`, `<prefix>_p50` ..."""
    count = histogram.get_total_count()
    if count == 0:
        return []
    found = [Measurement(metric=f"{prefix}_mean", unit="s", value=_seconds(histogram.get_mean_value()), role="load")]
    for quantile in QUANTILES:
        if count * (1 - quantile.value) >= LEAST_BEYOND:
            value = histogram.get_value_at_percentile(100 * quantile.value)
            found.append(Measurement(metric=f"{prefix}_{quantile.name}", unit="s", value=_seconds(value), role="load"))
    return found


def _seconds(value_ns: float) -> float:
    return value_ns / NANOSECONDS_PER_SECOND
