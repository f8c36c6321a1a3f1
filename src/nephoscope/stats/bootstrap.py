"""Intervals of quantities that order statistics cannot give: ratios of two medians."""

import warnings
from collections.abc import Sequence

import numpy as np

from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.ratio import RatioInterval
from nephoscope.stats.samples import Floats, positive_sample

RESAMPLES = 10_000
LEAST_REPLICATES = 6
"""Below it a bootstrap interval is too narrow to be shown."""


def median_ratio_interval(
    left: Sequence[float] | Floats,
    right: Sequence[float] | Floats,
    *,
    seed: int,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> RatioInterval | None:
    """BCa bootstrap interval of median(left) / median(right); equal input and seed, equal interval.

    Its `coverage` is the nominal one: a bootstrap has no exact coverage. Where BCa is not defined (most values are
    equal), the percentile interval takes its place.

    Args:
        left: shape (m,), above 0.
        right: shape (n,), above 0, in the same unit.
        seed: of the resampling.
        confidence: nominal coverage, in (0, 1).
        resamples: at least 10,000.

    Returns:
        None below 6 values on either side.

    Raises:
        ValueError: an empty sample, a value that is not a finite number above 0, or fewer than 10,000 resamples.

    Source: Efron, Better bootstrap confidence intervals (1987); Efron & Tibshirani (1993), section 14.3.
    """
    from scipy import stats  # type: ignore[import-untyped]  # half a second to import, and rarely needed

    if resamples < RESAMPLES:
        raise ValueError(f"{resamples} resamples are too few; at least {RESAMPLES} needed")
    x, y = np.sort(positive_sample(left)), np.sort(positive_sample(right))
    if min(x.size, y.size) < LEAST_REPLICATES:
        return None
    if x[0] == x[-1] and y[0] == y[-1]:
        ratio = float(x[0] / y[0])
        return RatioInterval(ratio, ratio, confidence)
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        result = stats.bootstrap(
            (x, y),
            _median_ratio,
            n_resamples=resamples,
            vectorized=True,
            confidence_level=confidence,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
    low, high = (float(end) for end in result.confidence_interval)
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = (float(q) for q in np.quantile(result.bootstrap_distribution, _tails(confidence)))
    return RatioInterval(low, high, confidence)


def _median_ratio(left: Floats, right: Floats, axis: int = -1) -> Floats:
    return np.asarray(np.median(left, axis=axis) / np.median(right, axis=axis))


def _tails(confidence: float) -> tuple[float, float]:
    return (1 - confidence) / 2, (1 + confidence) / 2
