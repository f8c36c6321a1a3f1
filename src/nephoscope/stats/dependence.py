"""Replicates that depend on the one before: how much less than as many independent ones they say of a mean."""

from functools import lru_cache

import numpy as np

from nephoscope.stats.decide import ALPHA
from nephoscope.stats.moderation import Spreads
from nephoscope.stats.order import serial_effect
from nephoscope.stats.samples import Floats
from nephoscope.stats.two_way import TwoWayFit

MIN_FREEDOM = 20
"""With fewer degrees of freedom the residuals of a fit say too little of dependence."""
_MOST = 0.9


def excess_of(fit: TwoWayFit, spreads: Spreads) -> float:
    """What variances of means are, as a multiple of those that independent replicates with these residuals would have.

    Judged by the lag-1 autocorrelation of the residuals in the order of the blocks, over all configurations, against
    that of other orders of the same blocks: exact, whatever the residuals look like. 1 if it is not significant at 5 %.

    Args:
        fit: within blocks, which are columns in the order of time.
        spreads: of its configurations.

    Source: the correlation is that of an autoregression whose residuals from a mean would have the same expected
    lag-1 autocorrelation; Bayley & Hammersley, The effective number of independent observations (1946).
    """
    known = spreads.variances > 0
    if not fit.blocked or fit.freedom[known].sum() < MIN_FREEDOM:
        return 1.0
    effect = serial_effect(fit.residuals[known] / np.sqrt(spreads.variances[known])[:, None])
    if effect is None or effect.p_value > ALPHA:
        return 1.0
    return float(np.interp(effect.statistic, *_autoregressions(fit.residuals.shape[1])))


@lru_cache(maxsize=64)
def _autoregressions(blocks: int) -> tuple[Floats, Floats]:
    """For correlations from 0 up: the expected lag-1 autocorrelation of residuals from a mean, and the excess."""
    places = np.arange(blocks)
    centre = np.eye(blocks) - 1 / blocks
    expected, excess = [], []
    for correlation in np.linspace(0, _MOST, 91):
        covariance = correlation ** np.abs(np.subtract.outer(places, places))
        inside = centre @ covariance @ centre
        expected.append(np.trace(inside, offset=1) / np.trace(inside))
        excess.append(covariance.mean() * blocks * (blocks - 1) / np.trace(inside))
    return np.array(expected), np.array(excess)
