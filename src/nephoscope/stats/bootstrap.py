"""Intervals that order statistics cannot give: for geometric means of ratios of medians."""

import warnings
from collections.abc import Sequence

import numpy as np

from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.ratio import RatioInterval
from nephoscope.stats.samples import Floats, positive_sample

RESAMPLES = 10_000
MIN_REPLICATES = 6
"""Below this number a bootstrap interval is too narrow to be shown."""
_BATCH = 1000

Pair = tuple[Sequence[float] | Floats, Sequence[float] | Floats]
"""Values of the left and of the right, above 0 and in one unit."""


def mean_ratio(pairs: Sequence[Pair]) -> float:
    """The geometric mean of median(left) / median(right) over all pairs.

    Raises:
        ValueError: no pair, an empty sample, or a value that is not a finite number above 0.
    """
    if not pairs:
        raise ValueError("a mean needs at least one pair")
    return float(_mean_ratio(*(positive_sample(side) for pair in pairs for side in pair)))


def mean_ratio_interval(
    pairs: Sequence[Pair],
    *,
    seed: int,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> RatioInterval | None:
    """BCa bootstrap interval of `mean_ratio`; equal input and seed, equal interval.

    Each side of each pair is resampled on its own, so the interval is about these pairs, and not about others that
    might have been chosen. Its `coverage` is nominal: a bootstrap has no exact coverage. Where BCa is not
    defined (most values are equal), the percentile interval takes its place.

    Args:
        pairs: a single one gives the ratio of two medians.
        seed: for the resampling.
        confidence: nominal coverage, in (0, 1).
        resamples: at least 10,000.

    Returns:
        None if any side has fewer than 6 values.

    Raises:
        ValueError: as `mean_ratio`, or fewer than 10,000 resamples.

    Source: Efron, Better bootstrap confidence intervals (1987); Efron & Tibshirani (1993), section 14.3.
    """
    from scipy import stats  # type: ignore[import-untyped]  # half a second to import, and rarely needed

    if resamples < RESAMPLES:
        raise ValueError(f"{resamples} resamples are too few; at least {RESAMPLES} are needed")
    middle = mean_ratio(pairs)
    sides = tuple(np.sort(positive_sample(side)) for pair in pairs for side in pair)
    if min(side.size for side in sides) < MIN_REPLICATES:
        return None
    if all(side[0] == side[-1] for side in sides):
        return RatioInterval(middle, middle, confidence)
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        result = stats.bootstrap(
            sides,
            _mean_ratio,
            n_resamples=resamples,
            batch=_BATCH,
            vectorized=True,
            confidence_level=confidence,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
    low, high = (float(end) for end in result.confidence_interval)
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = (float(q) for q in np.quantile(result.bootstrap_distribution, _tails(confidence)))
    return RatioInterval(low, high, confidence)


def _mean_ratio(*sides: Floats, axis: int = -1) -> Floats:
    logs = [np.log(np.median(side, axis=axis)) for side in sides]
    return np.asarray(np.exp((np.add.reduce(logs[::2]) - np.add.reduce(logs[1::2])) / (len(sides) / 2)))


def _tails(confidence: float) -> tuple[float, float]:
    return (1 - confidence) / 2, (1 + confidence) / 2
