"""The only place where numbers enter this package."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


def sample(values: Sequence[float] | Floats, *, minimum: int = 1) -> Floats:
    """The values as a one-dimensional array, in their order.

    Args:
        values: shape (n,), any unit.
        minimum: the minimum number of values.

    Raises:
        ValueError: fewer than `minimum` values, more than one dimension, NaN or infinity.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"a sample must have one dimension, not {array.ndim}")
    if array.size < minimum:
        raise ValueError(f"a sample of {array.size} is too small; at least {minimum} are needed")
    if not np.isfinite(array).all():
        raise ValueError("a sample must hold only finite numbers; omit missing values instead of using NaN")
    return array


def positive_sample(values: Sequence[float] | Floats, *, minimum: int = 1) -> Floats:
    """As `sample`, for values that will be divided or logged.

    Raises:
        ValueError: as `sample`; or a value is zero or negative, so that a ratio is meaningless.
    """
    array = sample(values, minimum=minimum)
    if array.min(initial=np.inf) <= 0:
        raise ValueError("a ratio needs values above 0; zero or negative values have no logarithm")
    return array


def middle(ordered: Sequence[float] | Floats) -> float:
    """The median of values that are sorted already."""
    half = len(ordered) // 2
    return float(ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def smallest_first(values: Sequence[float] | Floats) -> list[float]:
    """A sample in order, as plain numbers: a few of them are added faster than an array is built.

    Raises:
        ValueError: as `sample`.
    """
    return sorted(sample(values).tolist())


@dataclass(frozen=True)
class LogSample:
    """A positive sample, sorted and logged once, to be compared with many others."""

    values: Floats
    """Smallest first."""
    logs: Floats
    """Smallest first."""
    levels: Floats
    """The distinct logarithms, smallest first."""
    times: Indices
    """How often each of them occurs."""
    squares: float
    """Sum of the squared deviations of the logarithms from their mean; exactly 0 if all values are equal."""
    distinct: bool
    """No value occurs twice."""

    @classmethod
    def of(cls, values: "Sequence[float] | Floats | LogSample") -> "LogSample":
        """Returns the argument itself if it is already one.

        Raises:
            ValueError: as `positive_sample`.
        """
        if isinstance(values, LogSample):
            return values
        ordered = np.sort(positive_sample(values))
        logs = np.sort(np.log(ordered))  # neighbours may be rounded past each other
        squares = 0.0 if ordered[0] == ordered[-1] else float(np.sum((logs - logs.mean()) ** 2))
        levels, times = np.unique(logs, return_counts=True)
        return cls(ordered, logs, levels, times, squares, bool((ordered[1:] > ordered[:-1]).all()))
