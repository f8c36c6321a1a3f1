"""Is a series steady? Finds where its warm-up ends (MSER-5), and whether it drifts from there on.

MSER-5 (White, Cobb and Spratt, WSC 2000): means of five neighbours; the warm-up ends where the standard error of the
remaining values is smallest. The answer is valid only in the first half: a later minimum means that the series never
became steady.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nephoscope.stats.distributions import student_t_quantile

_BATCH = 5
_MIN_BATCHES = 10
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Steadiness:
    """The result for a series. Drift: change over the rest of the series, of its mean; with a 95 % interval."""

    warm_up: int
    """Number of values dropped at the start."""
    came_to_rest: bool
    """False: the standard error is smallest in the second half, so the warm-up never ends."""
    drift: float
    drift_low: float
    drift_high: float

    @property
    def drifts(self) -> bool:
        """True if the interval excludes 0."""
        return not self.drift_low <= 0 <= self.drift_high


def steadiness(values: Sequence[float]) -> Steadiness | None:
    """None: too few values to decide, or a mean of 0.

    The interval of the drift is of batch means, widened for what neighbours still depend on each other (AR(1)).
    """
    raw = np.asarray(values, dtype=np.float64)
    batches = raw[: raw.size // _BATCH * _BATCH].reshape(-1, _BATCH).mean(axis=1)
    if batches.size < _MIN_BATCHES:
        return None
    cut = _mser(batches)
    rest = batches[cut:] if cut <= batches.size // 2 else batches
    mean = float(rest.mean())
    if mean == 0:
        return None
    x = np.linspace(-0.5, 0.5, rest.size)
    slope = float(np.dot(x, rest - mean) / np.dot(x, x))
    residuals = rest - mean - slope * x
    half = _half_width(residuals, float(np.dot(x, x)))
    return Steadiness(
        warm_up=cut * _BATCH if cut <= batches.size // 2 else 0,
        came_to_rest=cut <= batches.size // 2,
        drift=slope / mean,
        drift_low=(slope - half) / mean,
        drift_high=(slope + half) / mean,
    )


def _mser(batches: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> int:
    """How many batches to drop at the start; the last five are too few to decide."""
    errors = [float(np.var(batches[cut:])) / (batches.size - cut) for cut in range(batches.size - _BATCH + 1)]
    return int(np.argmin(errors))


def _half_width(residuals: np.ndarray[tuple[int, ...], np.dtype[np.float64]], spread: float) -> float:
    freedom = residuals.size - 2
    variance = float(np.dot(residuals, residuals)) / freedom
    total = float(np.dot(residuals, residuals))
    dependence = float(np.dot(residuals[1:], residuals[:-1])) / total if total > 0 else 0.0
    dependence = min(max(dependence, 0.0), 0.9)
    wider = (1 + dependence) / (1 - dependence)
    quantile = student_t_quantile((1 + _CONFIDENCE) / 2, max(1.0, freedom / wider))
    return quantile * math.sqrt(variance * wider / spread)
