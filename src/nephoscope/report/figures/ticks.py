"""Where the ticks of an axis stand: round numbers, of which the last is not below the largest value drawn."""

import math
from collections.abc import Sequence

MOST_STEPS = 6
"""Between the first tick and the last, where the values leave a choice: more would not fit on a telephone."""
_STEPS = (1, 2, 5, 10, 20)
_DENSITIES = ((1, 2, 5), (1, 3), (1,))
_NARROW = 4.0
"""A logarithmic axis over less than this factor gets evenly spaced ticks: it has too few powers of ten."""


def linear_ticks(low: float, high: float, most: int = MOST_STEPS) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, from the last one below `low` to the first one above `high`."""
    if high <= low:
        high = low + (abs(low) or 1.0)
    exponent = math.floor(math.log10((high - low) / most))
    step = next(
        size
        for factor in _STEPS
        for size in [_rounded(factor, exponent)]
        if _index_above(high, size) - _index_below(low, size) <= most or factor == _STEPS[-1]
    )
    first, last = _index_below(low, step), _index_above(high, step)
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)]


def log_ticks(low: float, high: float, most: int = MOST_STEPS) -> list[float]:
    """Round numbers for a logarithmic axis, of which the first and the last enclose all values.

    Both ends must be above zero.
    """
    if high < _NARROW * low:
        even = linear_ticks(low, high, most)
        if even[0] > 0:
            return even
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    for factors in _DENSITIES:
        every = [_rounded(factor, decade) for decade in decades for factor in factors]
        below = max(tick for tick in every if tick <= low * (1 + 1e-9))
        above = min(tick for tick in every if tick >= high * (1 - 1e-9))
        found = [tick for tick in every if below <= tick <= above]
        if len(found) <= most + 1:
            break
    return found if len(found) <= 2 * MOST_STEPS else _thinned(found)


def _thinned(ticks: Sequence[float]) -> list[float]:
    """Every n-th tick, counted from the last, which stays."""
    every = -(-len(ticks) // MOST_STEPS)
    return list(ticks[::-1][::every][::-1])


def decimals(ticks: Sequence[float]) -> int:
    """How many digits after the point tell these ticks apart."""
    texts = [f"{tick:.12f}".rstrip("0").partition(".")[2] for tick in ticks]
    return max(map(len, texts), default=0)


def _rounded(factor: float, exponent: int) -> float:
    return float(f"{factor}e{exponent}")


def _index_below(value: float, step: float) -> int:
    return math.floor(value / step + 1e-9)


def _index_above(value: float, step: float) -> int:
    return math.ceil(value / step - 1e-9)
