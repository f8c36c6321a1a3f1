"""When a volume delivered less than was promised: by Page's cumulative sum (Biometrika 1954), second by second.

What each second lacks of `LEAST` is added up, and what it has beyond is taken off again, never below nothing. Where
the sum passes a limit, a shortfall began when it last was nothing, and ended at its peak. So a second in which nothing
was done is found, and an hour at four fifths, while a few seconds that are only a little low are none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from nephoscope.stats.limits import MAD_TO_SIGMA

LEAST = 0.9
"""Of the promised rate: less is a shortfall."""
_SURE_S = 0.5
"""Seconds of the promised rate that are lacking: half a second of nothing is a shortfall however steady the rest is."""
_CHANCE = 1e-8
"""That noise makes a shortfall, each time that it falls below `LEAST`."""
_NEAREST = 0.02
"""Of the promised rate: how far from `LEAST` a rate counts as being at least, as noise around it has no end."""
_WINDOWS, _LONGEST_S = 20, 60
"""Noise is told by this many windows or more, none longer than this, so that what lasts for seconds is in it."""
_FOR_GOOD_S = 60
"""A shortfall at the end that is shorter may as well be one of many."""


@dataclass(frozen=True)
class Shortfall:
    """Seconds from `start` up to but excluding `end`, and their mean share of the promise."""

    start: int
    end: int
    share: float


@dataclass(frozen=True)
class Kept:
    """How a promise was kept."""

    share_at_least: float
    """Of the seconds: they had `LEAST` of the promised rate or more."""
    lacking: float
    """Share of the promised work that was not done; seconds with more make up for none."""
    shortfalls: tuple[Shortfall, ...]
    throttled_after: int | None
    """Seconds until the shortfall that lasted to the end; None: it was not throttled."""

    @property
    def longest_s(self) -> int:
        """Of the shortfalls; 0 if there is none."""
        return max((one.end - one.start for one in self.shortfalls), default=0)


def kept(shares: Sequence[float]) -> Kept:
    """How a promise was kept in each second.

    Args:
        shares: measured of promised rate, one value per second, in order.

    Raises:
        ValueError: no value.
    """
    if not shares:
        raise ValueError("a promise is kept or not in seconds, and there are none")
    found = shortfalls(shares)
    last = found[-1] if found else None
    lasts = last is not None and last.end == len(shares) and last.end - last.start >= _FOR_GOOD_S
    return Kept(
        share_at_least=sum(one >= LEAST for one in shares) / len(shares),
        lacking=math.fsum(max(0.0, 1 - one) for one in shares) / len(shares),
        shortfalls=found,
        throttled_after=last.start if last is not None and lasts else None,
    )


def shortfalls(shares: Sequence[float]) -> tuple[Shortfall, ...]:
    """See the head of this file; `shares` as in `kept`."""
    limit = _limit(shares)
    found: list[Shortfall] = []
    lacking = peak = 0.0
    start = end = 0
    for at, share in enumerate([*shares, math.inf]):
        if lacking == 0:
            start = at
        lacking = max(0.0, lacking + LEAST - share)
        if lacking > peak:
            peak, end = lacking, at + 1
        elif lacking <= max(0.0, peak - limit):
            if peak >= limit:
                found.append(Shortfall(start, end, math.fsum(shares[start:end]) / (end - start)))
            lacking = peak = 0.0
    return tuple(found)


def _limit(shares: Sequence[float]) -> float:
    """How many seconds of the promise must be lacking, so that noise alone lacks them with `_CHANCE`.

    A sum that drifts down by d and wanders with a variance of v a second ever reaches a height h with exp(-2 d h / v).
    """
    width = max(1, min(_LONGEST_S, len(shares) // _WINDOWS))
    whole = np.asarray(shares[: len(shares) // width * width], dtype=np.float64)
    changes = np.diff(whole.reshape(-1, width).mean(axis=1))
    variance = 0.0
    if changes.size:
        variance = width * (MAD_TO_SIGMA * float(np.median(np.abs(changes)))) ** 2 / 2
    drift = max(_NEAREST, abs(median(shares) - LEAST))
    return max(_SURE_S, -math.log(_CHANCE) * variance / (2 * drift))
