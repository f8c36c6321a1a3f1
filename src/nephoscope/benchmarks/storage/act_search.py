"""The highest load that a device passes, as a pure state machine: judged loads go in, the next one to try comes out.

1. Probes of an hour double the load until one fails, and halve it if the first fails already.
2. Probes between the highest that passed and the lowest that failed, until these are close.
3. The highest that passed runs for the whole time, then twice that load does, which has only to be kept up with. If
   either fails, an hour says too little of this device: the search continues below, and each load runs the whole time.
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

_LEAST_OF_FIRST = 1 / 16


class Purpose(StrEnum):
    """Why a load is tried, which says for how long and by what it is judged."""

    PROBE = "probe"
    WHOLE = "whole"
    STRESS = "stress"
    """Twice the load: it passes if it is kept up with, however slow the reads are."""


@dataclass(frozen=True)
class Ask:
    """A load to try, as a multiple of the standard one."""

    times: float
    purpose: Purpose


@dataclass(frozen=True)
class ActSearch:
    """What was tried so far, and with which result."""

    first: float
    most: float
    """Higher loads are not tried, except under stress."""
    step: float
    """The search ends when the loads that pass and fail differ by at most this factor."""
    passed: frozenset[Ask] = frozenset()
    failed: frozenset[Ask] = frozenset()

    def observed(self, ask: Ask, *, passed: bool) -> "ActSearch":
        """After it was tried."""
        return replace(self, passed=self.passed | {ask}) if passed else replace(self, failed=self.failed | {ask})

    @property
    def next(self) -> Ask | None:
        """What to try next; None: the search has ended."""
        low, high = self._low, self._high
        if low is None:
            level = self.first if high is None else _rounded(high / 2)
            return Ask(level, self._by) if level >= self.first * _LEAST_OF_FIRST else None
        if high is None and low < self.most:
            return Ask(min(2 * low, self.most), self._by)
        if high is not None and high / low > self.step and low < (middle := _rounded(math.sqrt(low * high))) < high:
            return Ask(middle, self._by)
        due = (Ask(low, Purpose.WHOLE), Ask(2 * low, Purpose.STRESS))
        return next((ask for ask in due if ask not in self.passed), None)

    @property
    def found(self) -> float:
        """The highest load that passed; 0: none did.

        Raises:
            ValueError: the search has not ended.
        """
        if self.next is not None:
            raise ValueError("the search has not ended")
        return self._low or 0.0

    @property
    def _by(self) -> Purpose:
        """By what a load is tried first."""
        return Purpose.WHOLE if any(ask.purpose is not Purpose.PROBE for ask in self.failed) else Purpose.PROBE

    @property
    def _high(self) -> float | None:
        """The lowest load that failed."""
        failed = (ask.times / 2 if ask.purpose is Purpose.STRESS else ask.times for ask in self.failed)
        return min(failed, default=None)

    @property
    def _low(self) -> float | None:
        """The highest load below it that passed."""
        passed = (ask.times for ask in self.passed if ask.purpose is self._by)
        return max((times for times in passed if self._high is None or times < self._high), default=None)


def _rounded(times: float) -> float:
    return float(f"{times:.2g}")
