"""The interval of a probability, from how often something happened in independent tries."""

from nephoscope.stats.distributions import beta_quantile
from nephoscope.stats.median import CONFIDENCE


def proportion_interval(times: int, tries: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of the probability of what happened `times` in `tries`, both ends in 0..1.

    Its coverage is at least the requested one, whatever the probability: 3 of 3 gives 29 % to 100 %.

    Raises:
        ValueError: there are no tries, more times than tries, or a confidence outside (0, 1).

    Source: Clopper and Pearson, The use of confidence or fiducial limits (Biometrika, 1934).
    """
    if not 0 <= times <= tries or tries < 1 or not 0 < confidence < 1:
        raise ValueError(f"{times} of {tries} has no interval of confidence {confidence}")
    tail = (1 - confidence) / 2
    low = beta_quantile(tail, times, tries - times + 1) if times else 0.0
    high = beta_quantile(1 - tail, times + 1, tries - times) if times < tries else 1.0
    return low, high
