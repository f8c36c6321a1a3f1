"""The few distribution functions that need SciPy, typed, in one place."""

from functools import lru_cache

from scipy import special  # type: ignore[import-untyped]


@lru_cache(maxsize=65_536)
def student_t_quantile(probability: float, degrees_of_freedom: float) -> float:
    """Quantile of Student's t.

    Args:
        probability: in (0, 1).
        degrees_of_freedom: above 0.
    """
    return float(special.stdtrit(degrees_of_freedom, probability))


@lru_cache(maxsize=4096)
def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal, for a probability in (0, 1)."""
    return float(special.ndtri(probability))


def normal_cdf(z: float) -> float:
    """P(Z <= z) of the standard normal."""
    return float(special.ndtr(z))


def fair_coin_cdf(heads: int, tosses: int) -> float:
    """P(at most `heads` heads in `tosses` tosses of a fair coin); 0 for heads < 0."""
    return float(special.bdtr(heads, tosses, 0.5)) if heads >= 0 else 0.0


@lru_cache(maxsize=4096)
def beta_quantile(probability: float, a: float, b: float) -> float:
    """Quantile of the beta distribution, for a probability in (0, 1); a and b are above 0."""
    return float(special.betaincinv(a, b, probability))
