"""Values so far from all others of their configuration that chance does not put them there.

One of them hides any difference, because it widens the spread by more than it moves the mean. So it is set aside where
configurations are compared, and the answer says so. It stays in the median, and wherever values are shown.
"""

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.limits import NO_SPREAD
from nephoscope.stats.samples import Floats, Mask
from nephoscope.stats.two_way import TwoWayFit, two_way_fit

LEVEL = 0.002
"""In so few configurations chance alone sets a value aside. What is left then looks less spread than it is: at 1 %, two
equal configurations were told apart in 6 % of studies."""
ONE_IN = 6
"""At most one value in so many is set aside. Two of six are no accident, but a second kind: see `kinds`."""


def without_far_off(logs: Floats, *, blocked: bool) -> tuple[TwoWayFit, Mask]:
    """The fit without the values that are far off, set aside one after the other, the furthest first.

    A value is measured from where the others put it, by the spread of the others of its configuration, or by that of
    most configurations if this is larger.

    Args:
        logs: as in `two_way_fit`.
        blocked: as in `two_way_fit`.

    Returns:
        The fit, and which values it leaves out: shape (K, B).

    Source: externally studentised residuals with Bonferroni's correction for the values of a configuration; Cook and
    Weisberg, Residuals and Influence in Regression (1982), section 2.2.
    """
    out = np.zeros(logs.shape, dtype=bool)
    most = (~np.isnan(logs)).sum(axis=1) // ONE_IN
    fit = two_way_fit(logs, blocked=blocked)
    while (able := out.sum(axis=1) < most).any() and (place := _furthest(logs, fit, able)) is not None:
        out[place] = True
        fit = two_way_fit(np.where(out, np.nan, logs), blocked=blocked)
    return fit, out


def _furthest(logs: Floats, fit: TwoWayFit, able: Mask) -> tuple[int, int] | None:
    """Row and column of the least probable value of those that are `able`; None: none is far off."""
    counts, squares = fit.counts[:, None], fit.residuals**2
    with np.errstate(divide="ignore", invalid="ignore"):
        others = fit.squares[:, None] - squares * counts / (counts - 1)
        variances = others * (counts - 1) / (counts - 2) / fit.freedom[:, None]
        variances = np.where((others > NO_SPREAD) & (counts > 2), variances, np.nan)
        usual = np.median(np.min(variances, axis=1, where=~np.isnan(variances), initial=np.inf))
        if np.isfinite(usual):
            variances = np.maximum(variances, usual)
        distances = np.sqrt(squares / variances * counts / fit.freedom[:, None])
        chances = np.where(able[:, None], 2 * counts * special.stdtr(counts - 2, -distances), np.nan)
    if not (chances < LEVEL).any():
        return None
    row, column = np.unravel_index(np.nanargmin(chances), chances.shape)
    if fit.blocked and able.sum() == able.size == 2:  # what one has too little in a block, the other has too much
        row = np.nanargmax(np.abs(logs[:, column] - np.nanmedian(logs, axis=1)))
    return int(row), int(column)
