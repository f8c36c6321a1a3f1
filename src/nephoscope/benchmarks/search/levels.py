"""What the search asks for and what it is told: levels, points, outcomes."""

from dataclasses import dataclass
from enum import StrEnum

SIGNIFICANT_DIGITS = 4
"""Of a level: rates are told to people, and a finer one could not be told apart."""


class Purpose(StrEnum):
    """Why a level is measured."""

    RAMP = "ramp"
    """Up in growing steps until one fails; down when the first one fails."""
    BISECT = "bisect"
    """Between the highest level that held and the lowest that failed."""
    CONFIRM = "confirm"
    """Once more, and longer, at the highest level that held."""
    BELOW = "below"
    """Some way under a confirmed level: whoever holds that one must hold this one."""
    ABOVE = "above"
    """Once more at the lowest level that failed."""
    LOOK_UP = "look up"
    """Above levels that all failed: a server may fail at low load alone."""
    TOP = "top"
    """Above every level that held, where none is known that fails."""
    LARGER_CLIENT = "larger client"
    """At or above the lowest level that failed, with twice the client: was it the client that failed?"""
    USUAL_CLIENT = "usual client"
    """The same level with the usual client, right after the larger one did better: was it chance?"""


LONG = frozenset(
    {Purpose.CONFIRM, Purpose.BELOW, Purpose.ABOVE, Purpose.TOP, Purpose.LARGER_CLIENT, Purpose.USUAL_CLIENT}
)
"""Purposes whose points are measured longer, as the outcome rests on them."""


class Outcome(StrEnum):
    """How a search ended."""

    FOUND = "found"
    """A level was confirmed, and one just above it failed."""
    LOWER_BOUND = "lower bound"
    """The highest level that was allowed was confirmed: the limit lies above it."""
    GENERATOR_BOUND = "generator bound"
    """More load generator gives more load: the limit is the client's, and the server's lies above it."""
    UNSTABLE = "unstable"
    """Levels hold and fail by turns: no level can be defended."""
    BELOW_MIN = "below min"
    """Not even the lowest level holds."""


@dataclass(frozen=True)
class Ask:
    """A level to measure next."""

    level: float
    purpose: Purpose

    @property
    def long(self) -> bool:
        """True when the outcome may rest on it."""
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
    """The hypervisor gave the load generator's CPUs to others."""

    @property
    def passed(self) -> bool:
        """The rule held, and nothing says that the client was the limit."""
        return self.held and not self.saturated

    @property
    def void(self) -> bool:
        """It says nothing of the server: it failed while CPUs were taken away. What held in spite of that, held."""
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
    """The lowest level worth knowing."""
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
    """So often a level may fail after it had held; once more is `UNSTABLE`."""
    most_reopened: int = 3
    """So often a level may be confirmed after it had failed."""
    most_void: int = 12
    """So many points may say nothing; once more is `UNSTABLE`."""
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
