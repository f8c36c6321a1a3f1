"""What faults cost the clients, from the load generator's output and the notes of what was inflicted; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, sqrt
from statistics import pstdev
from types import MappingProxyType

from nephoscope.benchmarks.base import STEP_S
from nephoscope.benchmarks.histograms import Quantile, merged, value_ns
from nephoscope.benchmarks.load.contract import Interval, Outage
from nephoscope.benchmarks.load.output import LoadOutput
from nephoscope.model.quantities import Bounded, LowerBound
from nephoscope.model.records import InflictedFault
from nephoscope.model.units import MS_PER_SECOND

LEAST_PER_STEP = 20
"""Operations that usually end in a step: of fewer, one may be empty by chance."""
SLOW, USUAL = 0.8, 0.95
"""Shares of the usual rate: a second below the first is slow, and from the second on clients have it again."""
CHANCE = 4
"""Standard deviations by which a second may be below the usual rate by chance: about 200 overlapping ones are looked at
after a fault, and none of them may seem slower in 95 of 100 trials without one."""
P99 = Quantile(0.99)
_CODES: Mapping[str, Sequence[str]] = MappingProxyType({
    "lost": ("lost", "08", "40003"),
    "away": ("57P", "LOADING", "BUSY"),
    "not_primary": (
        *("25006", "1047", "READONLY", "MOVED", "ASK", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS"),
    ),
    "conflict": ("40",),
})  # fmt: skip
"""Name of an error's class -> with what the codes of its errors begin."""


def error_class(sqlstate: str) -> str:
    """The class of an error by its SQLSTATE, or by what stands in its place."""
    return next((name for name, codes in _CODES.items() if sqlstate.startswith(tuple(codes))), "other")


@dataclass(frozen=True)
class FaultedLoad:
    """A load in which one fault follows another."""

    output: LoadOutput
    faults: tuple[InflictedFault, ...]
    baseline_s: float
    """Before each fault."""

    @cached_property
    def effects(self) -> tuple["Effect", ...]:
        """What each fault did, until the baseline of the next begins or the load ends."""
        begins = [self._load_s(fault.begin_unix_ms) for fault in self.faults]
        ends = [*(begin - self.baseline_s for begin in begins[1:]), *(one.end_s for one in self.output.intervals[-1:])]
        return tuple(
            Effect(
                output=self.output,
                begin_s=begin,
                lifted_s=self._load_s(fault.lifted_unix_ms),
                undone_s=self._load_s(fault.end_unix_ms),
                complete_s=self._known_s(fault.complete_unix_ms),
                end_s=min(end, self._known_s(fault.rested_unix_ms) or end),
                baseline_s=self.baseline_s,
            )
            for fault, begin, end in zip(self.faults, begins, ends, strict=False)  # without faults there are ends
        )

    @property
    def noted(self) -> list[InflictedFault]:
        """The faults, with when their effects ended."""
        return [
            fault.model_copy(update={"until_unix_ms": fault.begin_unix_ms + effect.exempt_s * MS_PER_SECOND})
            for fault, effect in zip(self.faults, self.effects, strict=True)
        ]

    @property
    def outside(self) -> LoadOutput:
        """The same load without the intervals that a fault touches, as if nothing else had been measured."""
        noted = self.noted
        intervals = tuple(
            one
            for one in self.output.intervals
            if one.phase != "measure" or not any(fault.covers(one.at_unix_ms, one.ended_unix_ms) for fault in noted)
        )
        rest = replace(self.output, intervals=intervals)
        offered = [one.offered for one in rest.measured]
        finished = self.output.finished.model_copy(
            update={
                "measured_s": sum(one.end_s - one.start_s for one in rest.measured) or None,
                "offered": sum(one or 0 for one in offered) if self.output.finished.offered is not None else None,
                "not_sent": None,  # known of the whole load alone
                "client_cpu_s": sum(one.client.cpu_s for one in rest.measured),
            }
        )
        return replace(rest, finished=finished)

    def _known_s(self, at_unix_ms: float | None) -> float | None:
        return None if at_unix_ms is None else self._load_s(at_unix_ms)

    def _load_s(self, at_unix_ms: float) -> float:
        """Seconds since the load started."""
        first = self.output.intervals[0]
        return first.start_s + (at_unix_ms - first.at_unix_ms) / MS_PER_SECOND


@dataclass(frozen=True)
class Effect:
    """What one fault did. Times are in seconds since the load started."""

    output: LoadOutput
    begin_s: float
    lifted_s: float
    undone_s: float
    complete_s: float | None
    end_s: float
    """Of what is looked at."""
    baseline_s: float

    @cached_property
    def usual_per_s(self) -> float | None:
        """The rate before it; None: nothing was done, so that nothing can be compared with it."""
        return self._rate(self.begin_s - self.baseline_s, self.begin_s) or None

    @property
    def longest_s(self) -> Bounded:
        """The longest time for which any client that had work was without success; above that if it did not end."""
        gaps = [one.longest_gap_s for one in self._intervals(self.begin_s, self.end_s) if one.longest_gap_s is not None]
        outages = self._outages
        longest_s = max([*gaps, *(one.longest_s for one in outages)], default=0.0)
        ended = bool(gaps) and all(one.ended for one in outages)
        return longest_s if ended else LowerBound(above=longest_s or self.end_s - self.begin_s)

    @property
    def clients_share(self) -> float | None:
        """Clients that saw an outage, as a share of all; None: the output does not say."""
        seen = self.output.finished.outages
        return None if seen is None else min(1.0, sum(one.clients for one in self._outages) / max(1, seen.clients))

    @property
    def zero_s(self) -> float:
        """Time in which no operation ended, in steps in which some usually do."""
        steps = self._steps(self.begin_s, self.end_s, self._finest)
        return sum(length_s for count, length_s in steps if count == 0)

    @property
    def slow_s(self) -> float | None:
        """Seconds below `SLOW` of the usual rate, and below what chance makes of it."""
        steps = self._steps(self.begin_s, self.end_s, round(1 / STEP_S))
        return (
            None
            if self.usual_per_s is None
            else sum(length_s for count, length_s in steps if count < self._least(SLOW))
        )

    @property
    def during_share(self) -> float | None:
        """The rate until its undoing began, as a share of the usual one; None: that was within a step."""
        return self._share(self.begin_s, self.lifted_s)

    @property
    def after_share(self) -> float | None:
        """The rate since then, with what had to wait, as a share of the usual one."""
        return self._share(self.lifted_s, self.end_s)

    @cached_property
    def usual_again_s(self) -> Bounded | None:
        """From its begin until a second begins with the usual rate and without an empty step; 0: it never was slower.

        What had waited may make up for empty steps in the same second. None: there is no usual rate.
        """
        fine = self._finest
        if self.usual_per_s is None:
            return None
        steps, second = self._steps(self.begin_s, self.end_s, 1), round(1 / STEP_S)
        slow = False
        for first in range(len(steps) - second + 1):
            counts = [count for count, _ in steps[first : first + second]]
            empty = not all(sum(counts[at : at + fine]) for at in range(0, second - fine + 1, fine))
            usual_again = sum(counts) >= self._least(USUAL) and not empty
            slow = slow or not usual_again
            if slow and usual_again:
                return first * STEP_S
        return LowerBound(above=self.end_s - self.begin_s) if slow else 0.0

    @property
    def until_complete_s(self) -> float | None:
        """From its begin until all servers were up and all copies complete; None: not known, or not in time."""
        return None if self.complete_s is None else self.complete_s - self.begin_s

    @property
    def exempt_s(self) -> float:
        """From its begin until it was undone and clients had their usual rate again."""
        again = self.usual_again_s
        back_s = self.end_s - self.begin_s if again is None or isinstance(again, LowerBound) else again
        return max(back_s, self.undone_s - self.begin_s)

    @property
    def p99_ratio(self) -> float | None:
        """Response time at the 99th percentile, of what ended up to the first second with the usual rate, to before.

        What had to wait ends in that second. None: too few operations ended in one of the two.
        """
        back_s = self.begin_s + self.exempt_s + 1
        before = _p99_ns(self._intervals(self.begin_s - self.baseline_s, self.begin_s, whole=True))
        during = _p99_ns(self._intervals(self.begin_s, back_s))
        return None if before is None or during is None else during / before

    def errors_of(self, name: str) -> float:
        """Errors of a class, of all operations that ended from its begin on."""
        counted = (error for one in self._intervals(self.begin_s, self.end_s) for error in one.errors)
        return float(sum(error.count for error in counted if error_class(error.sqlstate) == name))

    @property
    def _outages(self) -> list[Outage]:
        seen = self.output.finished.outages
        episodes = [] if seen is None else seen.episodes
        return [one for one in episodes if one.end_s > self.begin_s and one.begin_s < self.end_s]

    @property
    def _finest(self) -> int:
        """So many steps of 0.1 s together have enough operations, at most a second."""
        return min(round(1 / STEP_S), max(1, ceil(LEAST_PER_STEP / ((self.usual_per_s or 1.0) * STEP_S))))

    def _least(self, share: float) -> float:
        """So many operations in a second are that share of the usual ones, or as few as chance makes them."""
        usual_per_s = self.usual_per_s or 0.0
        return min(share * usual_per_s, usual_per_s - CHANCE * self._spread)

    @cached_property
    def _spread(self) -> float:
        """Standard deviation of the operations in a second, as the steps of the baseline vary."""
        counts = [count for count, _ in self._steps(self.begin_s - self.baseline_s, self.begin_s, 1)]
        return pstdev(counts) * sqrt(1 / STEP_S) if counts else 0.0

    def _share(self, from_s: float, to_s: float) -> float | None:
        rate, usual = self._rate(from_s, to_s), self.usual_per_s
        return None if rate is None or usual is None else rate / usual

    def _rate(self, from_s: float, to_s: float) -> float | None:
        steps = self._steps(from_s, to_s, 1)
        return sum(count for count, _ in steps) / (STEP_S * len(steps)) if steps else None

    def _steps(self, from_s: float, to_s: float, together: int) -> list[tuple[int, float]]:
        """Operations that ended in whole steps between two moments, and the length of these steps."""
        fine = [
            count
            for interval in self._intervals(from_s, to_s)
            for at, count in enumerate(interval.ended_per_100_ms)
            if from_s <= interval.start_s + at * STEP_S + _NEXT and interval.start_s + (at + 1) * STEP_S <= to_s + _NEXT
        ]
        whole = len(fine) - len(fine) % together
        return [(sum(fine[at : at + together]), together * STEP_S) for at in range(0, whole, together)]

    def _intervals(self, from_s: float, to_s: float, *, whole: bool = False) -> list[Interval]:
        """Those that touch a time, or lie in it as a whole."""
        return [
            one
            for one in self.output.intervals
            if (one.start_s >= from_s and one.end_s <= to_s if whole else one.end_s > from_s and one.start_s < to_s)
        ]


_NEXT = 1e-6
"""Of a second: ends of intervals are no exact multiples of a step."""


def _p99_ns(intervals: Sequence[Interval]) -> int | None:
    histogram = merged(
        row.histograms.response for one in intervals for row in one.operations if row.outcome == "committed"
    )
    return value_ns(histogram, P99) if P99.is_supported_by(histogram.get_total_count()) else None
