"""A rate that falls steadily has no levels: the line through it says how far it fell."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nephoscope.stats.change_points import FALL_SIGMAS, Plateau, wander
from nephoscope.stats.limits import MIN_CHANGE
from nephoscope.stats.steadiness import steadiness


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
