"""Is a series steady, or does it fall? Finds where its warm-up ends (MSER-5), and whether it drifts from there on.

MSER-5 (White, Cobb and Spratt, WSC 2000): means of five neighbours; the warm-up ends where the standard error of the
remaining values is smallest. The answer is valid only in the first half: a later minimum means that the series never
became steady. A rate that falls steadily has no levels: the line through it says how far it fell.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nephoscope.stats.change_points import FALL_SIGMAS, Plateau, wander
from nephoscope.stats.distributions import student_t_quantile
from nephoscope.stats.limits import MIN_CHANGE

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


@dataclass(frozen=True)
class Decline:
    """The line through a series by least squares, at both ends."""

    first: float
    last: float

    @property
    def share(self) -> float:
        """How far it fell, of where it began."""
        return 1 - self.last / self.first

    def fits_better_than(self, values: Sequence[float], levels: Sequence[Plateau]) -> bool:
        """Whether the line leaves over less than the levels do, each of which may be placed as well."""
        raw = np.asarray(values, dtype=np.float64)
        stairs = np.concatenate([np.full(one.end - one.start, raw[one.start : one.end].mean()) for one in levels])
        line = np.linspace(self.first, self.last, raw.size)
        count = raw.size

        def cost(fitted: np.ndarray[tuple[int, ...], np.dtype[np.float64]], parameters: int) -> float:
            # Schwarz's criterion.
            return float(count * np.log(np.mean(np.square(raw - fitted))) + parameters * np.log(count))

        return cost(line, 2) < cost(stairs, 2 * len(levels) - 1)


def declines(values: Sequence[float]) -> Decline | None:
    """The steady decline of a series at equal steps of time; None if there is none of over `MIN_CHANGE` for certain.

    The whole 95 % interval of the drift, which dependence of neighbours widens, must lie beyond that, and the fall must
    be further than the series wanders around the line.
    """
    seen = steadiness(values)
    if seen is None or seen.drift_high > -MIN_CHANGE:
        return None
    raw = np.asarray(values, dtype=np.float64)
    at = np.linspace(-0.5, 0.5, raw.size)
    slope, middle = np.polynomial.polynomial.polyfit(at, raw, 1)[::-1]
    if -slope <= FALL_SIGMAS * wander(raw - middle - slope * at):
        return None
    return Decline(float(middle - slope / 2), float(middle + slope / 2)) if middle > slope / -2 else None
