"""What a study will be able to decide, from stored critical values: a plan does not wait for NumPy and SciPy.

`scripts/regenerate` writes the table with `detectable.errors_to_exclude` and SciPy, at the usual level and power.
"""

import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TypedDict

from nephoscope.stats.limits import growth


class CriticalValues(TypedDict):
    """The table. Degrees of freedom are stored as their inverses, rising from 0."""

    alpha: float
    """Error rate of a question."""
    power: float
    """Chance of excluding a configuration that is as far behind the best as `detectable_share` says."""
    min_replicates: int
    """Nothing is claimed with fewer."""
    groups: list[int]
    range_inverse_freedom: list[float]
    log_ranges: list[list[float]]
    """Logarithms of critical ranges at `alpha`: a row for each of `range_inverse_freedom`, a column for each group."""
    t_inverse_freedom: list[float]
    t_two_sided: list[float]
    """Student's t at 1 - `alpha` / 2."""
    t_power: list[float]
    """Student's t at `power`."""


def detectable_share(configurations: int, replicates: int, cv: float) -> float | None:
    """The smallest difference from the best that excludes a configuration: 0.04 means a ratio of 1.04.

    Within whole blocks, with one spread for all configurations, so that it has (K - 1)(n - 1) degrees of freedom. The
    first step of the step-down test is assumed to decide; later ones need less.

    Args:
        configurations: K, at least 2; more than 100,000 count as 100,000.
        replicates: n of each configuration, one in each block.
        cv: standard deviation of single values / mean, within blocks.

    Returns:
        None if there are too few replicates for any claim.
    """
    table = critical_values()
    if replicates < table["min_replicates"]:
        return None
    inverse = 1 / ((configurations - 1) * (replicates - 1))
    power = _interpolated(inverse, table["t_inverse_freedom"], table["t_power"])
    errors = _critical_range(table, configurations, inverse) / math.sqrt(2) + power
    return growth(errors * cv * math.sqrt(2 / replicates))


@cache
def critical_values() -> CriticalValues:
    """The stored table."""
    text = resources.files(__package__).joinpath("critical_values.json").read_text(encoding="utf-8")
    table: CriticalValues = json.loads(text)
    return table


def _critical_range(table: CriticalValues, configurations: int, inverse_freedom: float) -> float:
    """As `studentized_range.critical_range`, which interpolates in the same way."""
    if configurations == 2:
        return math.sqrt(2) * _interpolated(inverse_freedom, table["t_inverse_freedom"], table["t_two_sided"])
    logs = [math.log(groups) for groups in table["groups"]]
    column = [_interpolated(math.log(configurations), logs, row) for row in table["log_ranges"]]
    return math.exp(_interpolated(inverse_freedom, table["range_inverse_freedom"], column))


def _interpolated(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """Linear between rising `xs`; the end values beyond them."""
    right = bisect_left(xs, x)
    if right in {0, len(xs)}:
        return ys[min(right, len(xs) - 1)]
    share = (x - xs[right - 1]) / (xs[right] - xs[right - 1])
    return ys[right - 1] + share * (ys[right] - ys[right - 1])
