"""The one gate through which numbers enter this package."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sample(values: Sequence[float] | Floats, *, least: int = 1) -> Floats:
    """The values as a one-dimensional array, in their order.

    Args:
        values: shape (n,), any unit.
        least: how many there must be.

    Raises:
        ValueError: fewer than `least` values, more than one dimension, NaN or infinity.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"a sample has one dimension, not {array.ndim}")
    if array.size < least:
        raise ValueError(f"a sample of {array.size} is too small; at least {least} needed")
    if not np.isfinite(array).all():
        raise ValueError("a sample holds only finite numbers; a missing value is left out, never NaN")
    return array


def positive_sample(values: Sequence[float] | Floats, *, least: int = 1) -> Floats:
    """As `sample`, for values that will be divided or logged.

    Raises:
        ValueError: as `sample`; or a value is zero or negative, so that a ratio means nothing.
    """
    array = sample(values, least=least)
    if array.min(initial=np.inf) <= 0:
        raise ValueError("a ratio needs values above 0; zero or negative values have no logarithm")
    return array
