"""Input and output of the search: levels, points, outcomes."""

from dataclasses import dataclass
from enum import StrEnum

SIGNIFICANT_DIGITS = 4
"""Of a level: people read rates, and a finer difference would mean nothing to them."""


class Purpose(StrEnum):
    """Why a level is measured."""

    RAMP = "ramp"
    """Up in growing steps until one fails; down when the first one fails."""
    BISECT = "bisect"
    """Between the highest level that passed and the lowest that failed."""
    CONFIRM = "confirm"
    """Again, and longer, at the highest level that passed."""
    BELOW = "below"
    """Somewhat below a confirmed level: a server that passes there must pass here."""
    ABOVE = "above"
    """Once more at the lowest level that failed."""
    LOOK_UP = "look up"
    """Above levels that all failed: a server may fail only at low load."""
    TOP = "top"
    """Above all levels that passed, when none is known to fail."""
    LARGER_CLIENT = "larger client"
    """At or above the lowest level that failed, with twice the client: was it the client that failed?"""
    USUAL_CLIENT = "usual client"
    """The same level with the usual client, right after the larger one did better: was it chance?"""


LONG = frozenset(
    {Purpose.CONFIRM, Purpose.BELOW, Purpose.ABOVE, Purpose.TOP, Purpose.LARGER_CLIENT, Purpose.USUAL_CLIENT}
)
"""Purposes whose points are measured longer, because the outcome depends on them."""


class Outcome(StrEnum):
    """How a search ended."""

    FOUND = "found"
    """A level was confirmed, and one just above it failed."""
    LOWER_BOUND = "lower bound"
    """The highest level that was allowed was confirmed: the limit lies above it."""
    GENERATOR_BOUND = "generator bound"
    """More load generator gives more load: the limit is the client's, and the server's lies above it."""
    UNSTABLE = "unstable"
    """Levels pass and fail in turn, so no level can be defended."""
    BELOW_MIN = "below min"
    """Not even the lowest level passes."""
    DISTURBED = "disturbed"
    """Too many points failed while the load generator lost CPU time to the hypervisor."""


@dataclass(frozen=True)
class Ask:
    """A level to measure next."""

    level: float
    purpose: Purpose

    @property
    def long(self) -> bool:
        """True when the outcome may depend on it."""
        return self.purpose in LONG


@dataclass(frozen=True)
class Point:
    """What was measured at one level."""

    level: float
    purpose: Purpose
    held: bool
    """The rule held: response times, errors, rate achieved, backlog."""
    saturated: bool
    """The load generator shows a sign of having been the limit."""
    achieved: float
    """Of the level: operations completed per second, or the level itself where levels are no rates."""
    disturbed: bool = False
    """The hypervisor gave the load generator's CPUs to other machines."""

    @property
    def passed(self) -> bool:
        """The rule held, and nothing says that the client was the limit."""
        return self.held and not self.saturated

    @property
    def void(self) -> bool:
        """It says nothing about the server: it failed while CPUs were stolen. A level that passed anyway has passed."""
        return self.disturbed and not self.passed


@dataclass(frozen=True)
class Ended:
    """The result of a search."""

    outcome: Outcome
    level: float | None
    """The highest level that was confirmed; None: there is none."""
    failing: float | None
    """The lowest level that failed with none at or above it that held; None: there is none."""
    reason: str
    """In words, for people."""


@dataclass(frozen=True)
class Settings:
    """Where and how finely to search. Levels are positive."""

    floor: float
    """The lowest level of interest."""
    first: float
    ceiling: float
    growth: float = 1.5
    """Factor of the steps of the ramp."""
    resolution: float = 0.02
    """The bracket is narrow enough when its ends differ by this share of the lower one."""
    least_step: float = 0.0
    """Or by this much."""
    confirmations: int = 3
    whole: bool = False
    """Levels are whole numbers (warehouses)."""
    below: tuple[float, ...] = (0.8, 0.5)
    """Shares of a confirmed level at which it is looked below it."""
    most_refuted: int = 4
    """How often a level may fail after it had passed; more often is `UNSTABLE`."""
    most_reopened: int = 3
    """So often a level may be confirmed after it had failed."""
    most_void: int = 12
    """How many points may say nothing; more are `UNSTABLE`."""
    most_points: int = 80

    def rounded(self, level: float) -> float:
        """The level as it is asked for, within floor and ceiling."""
        inside = min(max(level, self.floor), self.ceiling)
        return float(round(inside)) if self.whole else float(f"{inside:.{SIGNIFICANT_DIGITS}g}")

    def close(self, low: float, high: float) -> bool:
        """No level between the two is worth measuring."""
        least = max(low * self.resolution, self.least_step, 1.0 if self.whole else 0.0)
        return high - low <= least or not low < self.middle(low, high) < high

    def middle(self, low: float, high: float) -> float:
        """The level half way between, as factors go."""
        return self.rounded((low * high) ** 0.5)
