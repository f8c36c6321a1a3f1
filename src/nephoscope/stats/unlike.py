"""Values that are not like the others of their configuration: far off, or of a second kind.

A value so far from all others that chance does not put it there hides any difference, because it widens the spread by
more than it moves the mean. So it is set aside where configurations are compared, and the answer says so. It stays in
the median, and wherever values are shown.

A machine type that is slower in some of its trials has two kinds of values. A mean of both says how many of each there
were by chance. So a claim about such a configuration must hold for its mean and for the kind that most of its values
are of.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.limits import NO_SPREAD
from nephoscope.stats.samples import Floats, Indices, Mask
from nephoscope.stats.two_way import TwoWayFit, two_way_fit

FAR_LEVEL = 0.002
"""In so few configurations chance alone sets a value aside. What is left then looks less spread than it is: at 1 %, two
equal configurations were told apart in 6 % of studies."""
ONE_IN = 6
"""At most one value in so many is set aside. Two of six are no accident, but a second kind."""


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
    if not (chances < FAR_LEVEL).any():
        return None
    row, column = np.unravel_index(np.nanargmin(chances), chances.shape)
    if fit.blocked and able.sum() == able.size == 2:  # what one has too little in a block, the other has too much
        row = np.nanargmax(np.abs(logs[:, column] - np.nanmedian(logs, axis=1)))
    return int(row), int(column)


KINDS_LEVEL = 0.005
"""Level of Student's t which the gap between two kinds exceeds, in units of the spread within them. Among all gaps of
six normal values, the largest does so in 3 % of samples, and of ten in 2 %."""
MIN_OF_A_KIND = 2
"""One value is no kind."""

_MIRRORED = 1.5
"""Times the gap that two kinds of one leave in the residuals of each other configuration: less may be its mirror."""


@dataclass(frozen=True)
class Kinds:
    """Of each configuration, on logarithms. All are 0 where the values are of one kind."""

    low: Floats
    """Shape (K,), at most 0: how far the more frequent kind is below the mean. Equally frequent, both count as it."""
    high: Floats
    """Shape (K,), at least 0: how far it is above the mean."""
    lower: Indices
    """Shape (K,): the number of values of the lower kind; 0: there are no two kinds."""
    apart: Floats
    """Shape (K,): how far the means of the two kinds are apart."""

    @property
    def several(self) -> Mask:
        """Shape (K,): which configurations came in two kinds."""
        return np.asarray(self.lower > 0)

    def named(self, logs: Floats) -> "Kinds":
        """The same claims, with `lower` and `apart` only of those that came in two kinds themselves.

        Within blocks, what one has too little in some, the others have too much.

        Args:
            logs: shape (K, B), the values within blocks.
        """
        others = int((~np.isnan(logs)).any(axis=1).sum()) - 1
        if others < 1 or not self.lower.any():
            return self
        rows = np.flatnonzero(self.lower)
        scatter = np.nanmax(logs[rows], axis=1) - np.nanmin(logs[rows], axis=1)
        first = rows[np.argmax(scatter if others == 1 else self.apart[rows])]
        own = (self.apart > _MIRRORED * self.apart[first] / others) | (np.arange(self.apart.size) == first)
        return Kinds(
            self.low, self.high, np.where(own, self.lower, 0), np.where(own, self.apart * (1 + 1 / others), 0.0)
        )


def kinds_of(residuals: Floats) -> Kinds:
    """Splits the values of each configuration where the gap is widest, in units of the spread within both parts.

    A spread that is narrower than that of most configurations counts as theirs.

    Args:
        residuals: shape (K, B), NaN where there is no value; each row has a mean of 0.
    """
    counts = (~np.isnan(residuals)).sum(axis=1)
    splits = np.arange(MIN_OF_A_KIND, residuals.shape[1] - MIN_OF_A_KIND + 1)
    if splits.size == 0:
        none = np.zeros(counts.size)
        return Kinds(none, none, np.zeros(counts.size, dtype=np.intp), none)
    ordered = np.sort(residuals, axis=1)
    sums, squares = np.nancumsum(ordered, axis=1), np.nancumsum(ordered**2, axis=1)
    below, above = sums[:, splits - 1], sums[:, -1:] - sums[:, splits - 1]
    others = counts[:, None] - splits
    inside = squares[:, -1:] - below**2 / splits - above**2 / np.maximum(others, 1)
    possible = (others >= MIN_OF_A_KIND) & (inside > NO_SPREAD)  # without any spread within, these are steps
    spreads = np.sqrt(np.where(possible, inside, np.inf) / np.maximum(counts - 2, 1)[:, None])
    gaps = np.where(possible, ordered[:, splits] - ordered[:, splits - 1], 0.0)
    at = np.arange(counts.size), np.argmax(gaps / spreads, axis=1)
    known = possible.any(axis=1)
    usual = np.median(spreads[at][known]) if known.any() else 0.0
    needed = special.stdtrit(np.maximum(counts - 2, 1), 1 - KINDS_LEVEL / 2) * np.maximum(spreads[at], usual)
    lower = np.where(known & (gaps[at] > needed), splits[at[1]], 0)
    means = below[at] / splits[at[1]], above[at] / np.maximum(others[at], 1)
    low, high = 2 * lower >= counts, 2 * lower <= counts
    return Kinds(
        low=np.where((lower > 0) & low, means[0], 0.0),
        high=np.where((lower > 0) & high, means[1], 0.0),
        lower=lower,
        apart=np.where(lower > 0, means[1] - means[0], 0.0),
    )
