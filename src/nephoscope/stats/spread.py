"""How far the replicates of one configuration are apart, and which of them deserve a second look."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.stats.samples import Floats, middle, sample, smallest_first

OUTLIER_THRESHOLD = 3.5
"""Limit of the modified z-score (Iglewicz & Hoaglin 1993)."""
MIN_N_OF_OUTLIERS = 6
"""Of fewer values none is flagged: when two of three happen to be close, the score of the third has no bound."""
NORMAL_MAD = 0.6745
"""MAD / standard deviation of a normal distribution: its third quartile."""
NORMAL_MEAN_DEVIATION = 0.797885
"""Mean absolute deviation / standard deviation of a normal distribution: sqrt(2 / pi)."""


@dataclass(frozen=True)
class Spread:
    """Measures of spread. Shares are of the mean (cv) or the median (range); None: not defined for these values."""

    minimum: float
    maximum: float
    cv: float | None
    """Standard deviation (n - 1) / |mean|; None below two values or if the mean is 0."""
    relative_range: float | None
    """(max - min) / |median|; None if the median is 0."""
    mad: float
    """Median absolute deviation from the median, in the unit of the values, not scaled to a normal distribution."""


def spread(values: Sequence[float] | Floats) -> Spread:
    """CV, range and MAD of a sample.

    Args:
        values: shape (n,), n >= 1; the order does not matter.

    Raises:
        ValueError: no values, NaN or infinity.
    """
    ordered = smallest_first(values)
    n, median = len(ordered), middle(ordered)
    smallest, largest, mean = ordered[0], ordered[-1], math.fsum(ordered) / n
    deviation = 0.0
    if n > 1 and smallest != largest:
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in ordered) / (n - 1))
    return Spread(
        minimum=smallest,
        maximum=largest,
        cv=None if n < 2 or mean == 0 else deviation / abs(mean),
        relative_range=None if median == 0 else (largest - smallest) / abs(median),
        mad=middle(sorted(abs(value - median) for value in ordered)),
    )


def modified_z_scores(values: Sequence[float] | Floats) -> list[float]:
    """0.6745 |x - median| / MAD of every value, in the order given.

    More than half of the values being equal makes MAD 0; the mean absolute deviation then takes its place, each scaled
    by its value for a normal distribution. All values equal: all scores are 0.

    Args:
        values: shape (n,), n >= 1.

    Returns:
        As many, no unit.

    Raises:
        ValueError: no values, NaN or infinity.

    Source: Iglewicz & Hoaglin, How to Detect and Handle Outliers (1993), section 3.3.
    """
    array = sample(values).tolist()
    median = middle(sorted(array))
    deviations = [abs(value - median) for value in array]
    mad, mean_deviation = middle(sorted(deviations)), math.fsum(deviations) / len(deviations)
    scale = NORMAL_MAD / mad if mad > 0 else NORMAL_MEAN_DEVIATION / mean_deviation if mean_deviation > 0 else 0.0
    return [scale * deviation for deviation in deviations]


def outliers(values: Sequence[float] | Floats) -> list[int]:
    """Indices of the values with a modified z-score over 3.5: to be flagged and inspected, never dropped.

    None below six values.
    """
    if len(values) < MIN_N_OF_OUTLIERS:
        return []
    return [place for place, score in enumerate(modified_z_scores(values)) if score > OUTLIER_THRESHOLD]


def pull(values: Sequence[float] | Floats, level: float) -> tuple[int, float] | None:
    """The values that pull a mean away from the median: how many, and how far from it the middle one of them is.

    They are those on the side of the mean that are at least half as far from the median as the farthest.

    Args:
        values: shape (n,), n >= 1, above 0.
        level: their mean, of whatever kind.

    Returns:
        A number and a share of the median: (2, -0.34) for two values of about a third less. None: they agree.
    """
    ordered = smallest_first(values)
    median = middle(ordered)
    side = math.copysign(1, level - median)
    distances = [side * math.log(value / median) for value in ordered]
    if math.isclose(level, median, rel_tol=1e-12) or max(distances) <= 0:
        return None
    far = [value for value, distance in zip(ordered, distances, strict=True) if 2 * distance >= max(distances)]
    return len(far), middle(far) / median - 1
