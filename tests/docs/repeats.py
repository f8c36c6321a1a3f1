"""Medians of studies that count, leave out or repeat disturbed trials, as docs/how-to/resume-and-repeat.md prints.

A disturbed trial loses 5 to 15 % and is rejected. Whether it is disturbed is drawn apart from how fast it is: the
disturbance comes from outside. In the last row it is the machine's own, so that leaving it out leaves out a part of
what the machine delivers.
"""

from dataclasses import dataclass

import numpy as np

STUDIES = 20_000
N = 6
SPREAD = 0.02
REPEATS = 2
LOSS = (0.05, 0.15)
SHARES = (0.1, 0.3, 0.5)
OWN_SHARE = 0.7


@dataclass(frozen=True)
class Medians:
    """Of many studies with the same disturbances: usable trials, and the mean error of the median by rule."""

    left_out_n: float
    repeated_n: float
    counted_error: float
    left_out_error: float
    repeated_error: float


def medians(share: float, *, own: bool = False, studies: int = STUDIES) -> Medians:
    """Errors are relative to the median of the machine without foreign disturbances.

    Args:
        share: of trials that are disturbed.
        own: the disturbance belongs to the machine.
        studies: how many are drawn.
    """
    generator = np.random.default_rng([int(1000 * share), own, 2026])
    shape = (studies, N, 1 + REPEATS)
    disturbed = generator.random(shape) < share
    lost = np.where(disturbed, generator.uniform(*LOSS, shape), 0.0)
    values = np.exp(generator.normal(0, SPREAD, shape)) * (1 - lost)
    truth = float(np.median(values)) if own else 1.0
    quiet = np.where(disturbed, np.nan, values)
    first = np.argmin(disturbed, axis=2)  # the first attempt that is not disturbed, else the first
    repeated = np.take_along_axis(quiet, first[..., None], axis=2)[..., 0]

    def error(trials: np.ndarray) -> float:
        some = trials[~np.isnan(trials).all(axis=1)]
        return float(np.nanmedian(some, axis=1).mean()) / truth - 1

    return Medians(
        left_out_n=float((~np.isnan(quiet[..., 0])).sum(axis=1).mean()),
        repeated_n=float((~np.isnan(repeated)).sum(axis=1).mean()),
        counted_error=error(values[..., 0]),
        left_out_error=error(quiet[..., 0]),
        repeated_error=error(repeated),
    )


def repeats() -> str:
    """The table."""
    loss = f"{LOSS[0]:.0%} to {LOSS[1]:.0%}"
    lines = [
        f"{STUDIES:,} studies of {N} replicates with a CV of {SPREAD:.0%}; a disturbed trial loses {loss}:",
        "",
        f"| disturbed | usable of {N}: left out | repeated | error of the median: all counted | left out | repeated |",
        "|---|---|---|---|---|---|",
    ]
    rows = [(f"{share:.0%} of trials", medians(share)) for share in SHARES]
    rows.append((f"{OWN_SHARE:.0%}, by the machine itself", medians(OWN_SHARE, own=True)))
    lines += [
        f"| {name} | {one.left_out_n:.1f} | {one.repeated_n:.1f} | {_signed(one.counted_error)} | "
        f"{_signed(one.left_out_error)} | {_signed(one.repeated_error)} |"
        for name, one in rows
    ]
    return "\n".join(lines).replace("%", " %") + "\n"


def _signed(share: float) -> str:
    return f"{100 * share + 0.0:+.1f}%".replace("-0.0", "0.0").replace("+0.0", "0.0").replace("-", "\N{MINUS SIGN}")
