"""Two samples, compared by exact rank sums alone."""

from collections.abc import Sequence

from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.ratio import RatioEstimate, compare_with_each
from nephoscope.stats.samples import Floats, LogSample


def compare(
    left: Sequence[float] | Floats | LogSample,
    right: Sequence[float] | Floats | LogSample,
    confidence: float = CONFIDENCE,
) -> RatioEstimate:
    (found,) = compare_with_each(LogSample.of(left), [LogSample.of(right)], confidence)
    return found
