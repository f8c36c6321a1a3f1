"""Where a series of rates changes its level: burst level, sustained level, time to throttle.

Optimal partitioning (Jackson et al. 2005; what PELT computes, Killick, Fearnhead and Eckley, JASA 2012) into plateaus,
not of the values but of what is new in each: of v(t) - d v(t-1), where d says how much neighbours depend on each other
(AR(1); Chakar et al., Bernoulli 2017). There a change of level stands out by its jump, however slowly the noise around
it wanders. The value at a jump belongs to no plateau. Four things keep it quiet on a steady machine:

- A single outlier is replaced by the median around it before the search (Hampel's filter). Levels are medians of
  the values as they were measured.
- The penalty of a change point is 3 ln n variances of what is new. Dependence and variance come from differences over
  one and two steps of time, which a few changes of level do not move, and again from what the plateaus leave over.
- Changes stand only if they explain the series better than one level that wanders, by the likelihood ratio.
- Neighbouring plateaus closer than `MIN_CHANGE` are one: a machine that is a few percent slower was not throttled.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nephoscope.stats.limits import MAD_TO_SIGMA, MIN_CHANGE, MIN_SUSTAINED_SHARE, MIN_SUSTAINED_VALUES

MIN_VALUES = 20
"""Fewer cannot tell a step from noise."""
_SHORTEST_SHARE = 0.025
"""Share of the series: a shorter excursion is not a level."""
_MAX_BINS = 1500
"""Longer series are averaged in bins; a change is then known to 0.1 % of the length."""
_PENALTY = 3.0
_HAMPEL_HALF_WIDTH = 5
_HAMPEL_SIGMAS = 5.0
_CUT_SIGMAS = 3.5
_MAX_DEPENDENT = 0.85
"""Limit for differences: a stronger dependence cannot be distinguished from a change of level."""
_MAX_DEPENDENT_AROUND = 0.95
"""Around plateaus."""

_LONGER_THAN_DIPS = 1.5
"""A series that dips regularly often ends in a dip: what follows a fall must last longer than the dips before it."""

_BLOCKS = 12
FALL_SIGMAS = 4.0
"""How much further than `wander` a rate must have fallen. 1/f noise has as much power between blocks as within them, so
that it falls by a few times as much by itself; the page on detectors counts how seldom further."""

_ROUNDS = 2
"""Number of passes; the second one knows the noise better."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Plateau:
    """Values from `start` up to but excluding `end`, and their median."""

    start: int
    end: int
    level: float


@dataclass(frozen=True)
class Throttling:
    """The rate fell and never recovered."""

    start: int
    """Index of the first value of the sustained level."""
    burst_level: float
    sustained_level: float


def plateaus(values: Sequence[float]) -> tuple[Plateau, ...]:
    """The levels of a series at equal steps of time; a single one if it is steady, or too short to decide.

    Raises:
        ValueError: no value, or one that is not finite.
    """
    raw = np.asarray(values, dtype=np.float64)
    if raw.size == 0 or not np.all(np.isfinite(raw)):
        raise ValueError("a series needs at least one value, and all must be finite")
    if raw.size < MIN_VALUES:
        return (_plateau(raw, 0, raw.size),)
    quiet = without_outliers(raw)
    width = math.ceil(raw.size / _MAX_BINS)
    bins = _binned(quiet, width)
    shortest = max(3, math.ceil(_SHORTEST_SHARE * bins.size))
    noise = _noise_by_differences(bins)
    for _ in range(_ROUNDS):
        found = _placed(bins, _partition(bins, noise, shortest), noise.dependence)
        noise = _noise_around(bins, found)
    if not _explains_more(bins, found, noise):
        found = []
    bounds = [0, *(bound * width for bound in found), raw.size]
    return _merged(raw, [_plateau(raw, start, end) for start, end in pairwise(bounds)])


def throttling(values: Sequence[float], found: Sequence[Plateau]) -> Throttling | None:
    """The fall after which every level of a series stays below for long enough; None if there is none.

    Of several such falls it is the deepest. A dip from which the rate recovers does not count, nor does a rise. A fall
    at the very end cannot be told from such a dip: what follows it must last `MIN_SUSTAINED_VALUES`, and
    `MIN_SUSTAINED_SHARE` of the series, and half as long again as the longest dip before it. And it must be further
    than the series wanders around both levels.
    """
    quiet = without_outliers(np.asarray(values, dtype=np.float64)) if len(found) > 1 else None
    best: tuple[float, Throttling] | None = None
    for cut in range(1, len(found)):
        before, after = _weighted_level(found[:cut]), _weighted_level(found[cut:])
        highest_after = max(one.level for one in found[cut:])
        fall = 1 - after / before if before > 0 else 0.0
        if highest_after > before * (1 - MIN_CHANGE) or fall < MIN_CHANGE:
            continue
        if found[-1].end - found[cut].start < _least_sustained(found, cut, before):
            continue
        if quiet is not None and not _stands_out(quiet, found[cut].start):
            continue
        if best is None or fall > best[0]:
            best = (fall, Throttling(start=found[cut].start, burst_level=before, sustained_level=after))
    return best[1] if best else None


def _stands_out(values: Floats, cut: int) -> bool:
    before, after = values[:cut].mean(), values[cut:].mean()
    around = np.concatenate([values[:cut] - before, values[cut:] - after])
    return bool(before - after > FALL_SIGMAS * wander(around))


def _least_sustained(found: Sequence[Plateau], cut: int, before: float) -> float:
    """Number of values that must follow a fall at `found[cut]` from the level `before`."""
    longest, low_since = 0, None
    for one in found[:cut]:
        if one.level <= before * (1 - MIN_CHANGE):
            low_since = one.start if low_since is None else low_since
        elif low_since is not None:
            longest, low_since = max(longest, one.start - low_since), None
    return max(MIN_SUSTAINED_VALUES, MIN_SUSTAINED_SHARE * found[-1].end, _LONGER_THAN_DIPS * longest)


def wander(rest: Floats) -> float:
    """Standard deviation of the means of a twelfth of a series each, of what a level or a line leaves over."""
    return float(_binned(rest, max(1, rest.size // _BLOCKS)).std(ddof=2))


def without_outliers(values: Floats) -> Floats:
    """Each value far from the median of those around it is replaced by that median."""
    half = min(_HAMPEL_HALF_WIDTH, (values.size - 1) // 2)
    padded = np.pad(values, half, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    medians = np.median(windows, axis=1)
    spread = MAD_TO_SIGMA * float(np.median(np.abs(values - medians)))
    far = np.abs(values - medians) > _HAMPEL_SIGMAS * spread
    return np.where(far, medians, values)


def _binned(values: Floats, width: int) -> Floats:
    """Means of `width` neighbours; a remainder at the end is dropped."""
    whole = values[: values.size // width * width]
    return np.asarray(whole.reshape(-1, width).mean(axis=1))


@dataclass(frozen=True)
class _Noise:
    """AR(1): how much of a value its successor keeps, and the variance of what is new in each."""

    dependence: float
    variance: float


def _noise_by_differences(values: Floats) -> _Noise:
    """The same for a series with occasional steps, from differences over one and over two time steps."""
    one, two = _mean_square(values[1:] - values[:-1]), _mean_square(values[2:] - values[:-2])
    dependence = min(max(two / one - 1, 0.0), _MAX_DEPENDENT) if one > 0 else 0.0
    return _Noise(dependence, one * (1 + dependence) / 2)


def _noise_around(values: Floats, bounds: Sequence[int]) -> _Noise:
    """The same for the residuals after subtracting each plateau's mean."""
    rest = np.concatenate(
        [values[start:end] - values[start:end].mean() for start, end in pairwise([0, *bounds, values.size])]
    )
    total = float(np.dot(rest, rest))
    dependence = float(np.dot(rest[1:], rest[:-1])) / total if total > 0 else 0.0
    dependence = min(max(dependence, 0.0), _MAX_DEPENDENT_AROUND)
    return _Noise(dependence, float(np.mean(np.square(rest[1:] - dependence * rest[:-1]))))


def _mean_square(differences: Floats) -> float:
    """With those beyond a few sigmas cut down to that: a step is such a difference."""
    spread = MAD_TO_SIGMA * float(np.median(np.abs(differences)))
    limit = _CUT_SIGMAS * spread if spread > 0 else np.inf
    return float(np.mean(np.square(np.clip(differences, -limit, limit))))


def _explains_more(values: Floats, bounds: Sequence[int], noise: _Noise) -> bool:
    """Do changes explain the series better than one level whose values depend more on each other?

    By the likelihood ratio, at the same penalty for each change.
    """
    flat = _noise_around(values, [])
    if noise.variance == 0 or flat.variance == 0:
        return flat.variance > 0
    gained = values.size * math.log(flat.variance / noise.variance)
    return gained >= _PENALTY * len(bounds) * math.log(values.size)


def _partition(values: Floats, noise: _Noise, shortest: int) -> list[int]:
    """Change points of the partition with the least sum of squares of what is new, plus penalties."""
    count = values.size
    penalty = _PENALTY * noise.variance * math.log(count)
    new = values[1:] - noise.dependence * values[:-1]
    centred = np.concatenate([[0.0], new - new.mean()])
    sums, squares = (np.concatenate([[0.0], np.cumsum(each)]) for each in (centred, np.square(centred)))
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    last = np.zeros(count + 1, dtype=np.int64)
    for end in range(shortest, count + 1):
        starts = np.arange(0, end - shortest + 1)
        # What is new in a plateau's first value is its jump: left out.
        inside = starts + 1
        within = squares[end] - squares[inside] - np.square(sums[end] - sums[inside]) / (end - inside)
        total = best[starts] + within + penalty
        last[end] = int(np.argmin(total))
        best[end] = total[last[end]]
    found: list[int] = []
    at = int(last[count])
    while at > 0:
        found.append(at)
        at = int(last[at])
    return found[::-1]


def _placed(values: Floats, bounds: Sequence[int], dependence: float) -> list[int]:
    """Each bound where the jump from the one level to the other fits best: a value further or back."""
    edges = [0, *bounds, values.size]
    return [
        _place(values[begin:end], at - begin, dependence) + begin
        for begin, at, end in zip(edges, bounds, edges[2:], strict=False)
    ]


def _place(values: Floats, at: int, dependence: float) -> int:
    before, after = np.median(values[:at]), np.median(values[at + 1 :])

    def misfit(place: int) -> float:
        rest = values - np.where(np.arange(values.size) < place, before, after)
        return float(np.sum(np.square(rest[1:] - dependence * rest[:-1])))

    return min((at, at - 1, at + 1), key=misfit)


def _plateau(raw: Floats, start: int, end: int) -> Plateau:
    return Plateau(start=start, end=end, level=float(np.median(raw[start:end])))


def _merged(raw: Floats, found: list[Plateau]) -> tuple[Plateau, ...]:
    """Removes changes that are too small, the smallest first, because removing it changes its neighbours' levels."""
    while len(found) > 1:
        changes = [_change(left.level, right.level) for left, right in pairwise(found)]
        smallest = int(np.argmin(changes))
        if changes[smallest] >= MIN_CHANGE:
            break
        joined = _plateau(raw, found[smallest].start, found[smallest + 1].end)
        found[smallest : smallest + 2] = [joined]
    return tuple(found)


def _change(left: float, right: float) -> float:
    higher = max(abs(left), abs(right))
    return abs(left - right) / higher if higher > 0 else 0.0


def _weighted_level(found: Sequence[Plateau]) -> float:
    """Median over time: a plateau counts by its length."""
    in_order = sorted(found, key=lambda one: one.level)
    half = sum(one.end - one.start for one in found) / 2
    passed = 0
    for one in in_order:
        passed += one.end - one.start
        if passed >= half:
            return one.level
    return in_order[-1].level
