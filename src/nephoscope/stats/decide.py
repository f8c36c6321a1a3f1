"""From intervals and p-values to one of three verdicts, and what an open verdict would need to close."""

import math
from collections.abc import Sequence
from typing import Literal

from nephoscope.stats.distributions import normal_quantile, student_t_quantile
from nephoscope.stats.limits import growth
from nephoscope.stats.rank_sum import least_n_each, smallest_p_value
from nephoscope.stats.ratio import RatioInterval
from nephoscope.stats.samples import Floats, LogSample

ALPHA = 0.05
"""Share of wrong "better" or "worse" verdicts allowed in a family of comparisons."""
POWER = 0.8
"""Chance at which a difference counts as detectable."""
MANN_WHITNEY_EFFICIENCY = 3 / math.pi
"""Pitman efficiency of the Mann-Whitney against the t test for normal values: n is worth 0.955 n."""
MAX_REPLICATES = 100_000
"""Upper limit of the search for a sufficient number of replicates."""

Relation = Literal["above", "below", "tie", "unresolved"]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values that bound the chance of even one false claim in the family, in the order given.

    Source: Holm, A simple sequentially rejective multiple test procedure (1979).

    Raises:
        ValueError: a p-value outside [0, 1].
    """
    p = _checked(p_values)
    adjusted, highest = [0.0] * len(p), 0.0
    for place, index in enumerate(sorted(range(len(p)), key=lambda i: (p[i], i))):
        highest = max(highest, min(1.0, (len(p) - place) * p[index]))
        adjusted[index] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values that bound the expected share of false claims among the claims, in the order given.

    Source: Benjamini & Hochberg, Controlling the false discovery rate (1995).

    Raises:
        ValueError: a p-value outside [0, 1].
    """
    p = _checked(p_values)
    adjusted, lowest = [0.0] * len(p), 1.0
    for place, index in enumerate(sorted(range(len(p)), key=lambda i: (-p[i], i))):
        lowest = min(lowest, max(p[index], p[index] * len(p) / (len(p) - place)))
        adjusted[index] = lowest
    return adjusted


def _checked(p_values: Sequence[float]) -> list[float]:
    p = [float(value) for value in p_values]
    if not all(0 <= value <= 1 for value in p):
        raise ValueError("a p-value must be between 0 and 1")
    return p


def tie_range(equivalence_margin: float) -> tuple[float, float]:
    """The least and the largest ratio that is a tie: the same for left / right as for right / left."""
    return 1 / (1 + equivalence_margin), 1 + equivalence_margin


def relation(
    interval: RatioInterval | None, p_adjusted: float, *, equivalence_margin: float, alpha: float = ALPHA
) -> Relation:
    """The verdict on a ratio, decided in this order, so that a real but negligible difference is a tie.

    1. tie: the interval lies within `tie_range`;
    2. above or below: the adjusted p-value is under alpha and the interval excludes 1;
    3. unresolved: neither, or no interval.

    That range is symmetric for ratios: swapping left and right keeps ties and mirrors the rest. A 95 % interval inside
    it is stricter than two one-sided tests at 5 %, which need a 90 % interval.

    Args:
        interval: of the ratio; None if there are too few values for one.
        p_adjusted: after the correction for many comparisons.
        equivalence_margin: share, above 0: 0.015 for 1.5 %.
        alpha: level of the claims.

    Raises:
        ValueError: a margin that is not above 0.
    """
    if equivalence_margin <= 0:
        raise ValueError(f"an equivalence margin must be above 0, not {equivalence_margin}")
    if interval is None:
        return "unresolved"
    least, largest = tie_range(equivalence_margin)
    if least <= interval.low and interval.high <= largest:
        return "tie"
    if p_adjusted < alpha and interval.low > 1:
        return "above"
    if p_adjusted < alpha and interval.high < 1:
        return "below"
    return "unresolved"


def pooled_log_deviation(
    left: Sequence[float] | Floats | LogSample, right: Sequence[float] | Floats | LogSample
) -> float | None:
    """The standard deviation of the logarithms within the two samples; None below two degrees of freedom.

    Raises:
        ValueError: an empty sample or a value that is not a finite number above 0.
    """
    x, y = LogSample.of(left), LogSample.of(right)
    degrees_of_freedom = x.logs.size + y.logs.size - 2
    if degrees_of_freedom < 2:
        return None
    return math.sqrt((x.squares + y.squares) / degrees_of_freedom)


def minimum_detectable_share(
    log_deviation: float | None, m: int, n: int, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The smallest difference that m against n replicates show with 80 % power: 0.04 means a ratio of 1.04.

    For one comparison on its own, without the correction for many. The normal approximation to the power of the
    Mann-Whitney test on logarithms, with Student's t in place of the normal for the unknown deviation.

    Args:
        log_deviation: standard deviation of the logarithms within the samples.
        m: replicates on the left.
        n: replicates on the right.
        alpha: two-sided level.
        power: chance of seeing it.

    Returns:
        None if the deviation is unknown or 0, or if no difference could reach the level with m against n.

    Source: Noether, Sample size determination for some common nonparametric tests (1987).
    """
    if not log_deviation or smallest_p_value(m, n) > alpha:
        return None
    freedom = m + n - 2
    quantiles = student_t_quantile(1 - alpha / 2, freedom) + student_t_quantile(power, freedom)
    return growth(quantiles * log_deviation * math.sqrt((1 / m + 1 / n) / MANN_WHITNEY_EFFICIENCY))


def replicates_to_decide(
    ratio: float, log_deviation: float | None, *, equivalence_margin: float, alpha: float = ALPHA
) -> int | None:
    """Replicates per side that decide with a chance of 80 %, if ratio and spread are as now estimated.

    The smaller of two numbers: those that show the difference (the interval excludes 1), and those that show a tie (the
    interval fits between the ratio and the nearer end of the margin). The first is small for large differences, the
    second for small ones, so together they are largest half-way to the margin. An estimate for planning: it is only as
    good as the ratio and the spread that it starts from.

    Args:
        ratio: as estimated.
        log_deviation: standard deviation of the logarithms within the samples.
        equivalence_margin: share, above 0.
        alpha: level that this comparison must reach, the correction for many comparisons included.

    Returns:
        The replicates of each side in all; None when the deviation is not known or no number up to 100,000 is enough.

    Source: Noether (1987) for a difference; Chow, Shao & Wang, Sample Size Calculations (2008), section 3.2 for a tie.
    """
    if log_deviation is None or not 0 < alpha < 1:
        return None
    difference = abs(math.log(ratio))
    tie_needs = math.log1p(equivalence_margin) - difference
    least = least_n_each(ALPHA)
    candidates = [
        _replicates_for_room(tie_needs, log_deviation, (ALPHA, (1 + POWER) / 2), least),
        _replicates_for_room(difference, log_deviation, (alpha, POWER), max(least, least_n_each(alpha))),
    ]
    found = [n for n in candidates if n is not None]
    return min(found) if found else None


def _replicates_for_room(room: float, deviation: float, level: tuple[float, float], least: int) -> int | None:
    """The least n >= `least` whose half-width plus the estimate's own error fits into `room` (of logarithms).

    `level` holds the two-sided alpha of the interval, and the one-sided chance that the error stays below its share.
    """
    alpha, chance = level
    if room <= 0:
        return None

    def enough(n: int) -> bool:
        quantiles = student_t_quantile(1 - alpha / 2, 2 * n - 2) + student_t_quantile(chance, 2 * n - 2)
        return quantiles * deviation * math.sqrt(2 / (n * MANN_WHITNEY_EFFICIENCY)) <= room

    normal = (normal_quantile(1 - alpha / 2) + normal_quantile(chance)) * deviation / room
    if 2 * normal**2 / MANN_WHITNEY_EFFICIENCY > MAX_REPLICATES:
        return None
    n = max(least, math.ceil(2 * normal**2 / MANN_WHITNEY_EFFICIENCY))
    while n <= MAX_REPLICATES and not enough(n):  # Student's quantiles are a little larger: a few steps at the most
        n += 1
    return n if n <= MAX_REPLICATES else None
