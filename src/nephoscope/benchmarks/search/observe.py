"""One point of the search: what the load generator wrote, judged by a rule; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hdrh.histogram import HdrHistogram

from nephoscope.benchmarks.histograms import Quantile, mean_ns, merged, value_ns
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.contract import Interval
from nephoscope.benchmarks.load.output import LoadOutput
from nephoscope.benchmarks.load.saturation import saturation
from nephoscope.benchmarks.search.levels import Ask, Point
from nephoscope.benchmarks.search.rule import Condition, Rule, quantile_of
from nephoscope.checks.generator import signs_of_saturation
from nephoscope.checks.thresholds import STEAL
from nephoscope.model.records import Requirement, Saturation
from nephoscope.model.units import NANOSECONDS_PER_SECOND

ENDED = ("committed", "rolled_back_by_design")
ALL = "all"
"""What a rule calls every operation of a workload."""
MIN_LAG = 0.002
"""A backlog is of interest from this share of the measurement interval on: a fifth of what `achieved` lets pass."""


@dataclass(frozen=True)
class Observed:
    """A point with what was seen of it."""

    ask: Ask
    output: LoadOutput
    asked: tuple[Requirement, ...]
    """Every condition of the rule beside what was observed."""
    grows: bool
    """The backlog of operations that are due grows."""
    signs: tuple[str, ...]
    """Of a load generator that was the limit."""
    disturbed: bool
    """The hypervisor gave its CPUs to others."""

    @property
    def offered_per_s(self) -> float:
        """Arrivals due in the measurement interval."""
        return (self.output.finished.offered or 0) / self.output.measured_s

    @property
    def achieved_per_s(self) -> float:
        """Operations that ended in it and did not fail."""
        return load_output.count(self.output, outcomes=ENDED) / self.output.measured_s

    @property
    def held(self) -> bool:
        """The rule held; a condition without enough operations counts as broken."""
        return not self.grows and all(one.met for one in self.asked)

    @property
    def point(self) -> Point:
        """For the state machine. Arrivals are random, so achieved is compared with the load really offered."""
        share = self.achieved_per_s / self.offered_per_s if self.offered_per_s else 0.0
        achieved = share * self.ask.level
        return Point(self.ask.level, self.ask.purpose, self.held, bool(self.signs), achieved, self.disturbed)

    @property
    def reasons(self) -> list[str]:
        """Why it did not pass; empty if it passed."""
        unmet = [_said(one) for one in self.asked if not one.met]
        return [*unmet, *(["the backlog grows"] if self.grows else []), *self.signs]


@dataclass(frozen=True)
class Judge:
    """What all points of a search are judged by."""

    rule: Rule
    kinds: Mapping[str, Sequence[str]]
    """Operations of the workload by what a rule may call them: `read` -> `point_select`."""
    calibration: LoadOutput | None
    co_located: bool

    def __call__(self, ask: Ask, output: LoadOutput) -> Observed:
        """Judges one point.

        Raises:
            OutputUnreadable: nothing was measured, or a histogram cannot be decoded.
        """
        signs, taken = of_client(output, self.calibration, co_located=self.co_located)
        asked = self.rule.judge(lambda condition: self._value(output, condition))
        return Observed(ask, output, tuple(asked), backlog_grows(output), signs, taken)

    def _value(self, output: LoadOutput, condition: Condition) -> float | None:
        ended, failed = (load_output.count(output, outcomes=which) for which in (ENDED, ("failed",)))
        if condition.quantity == "errors":
            return failed / (ended + failed) if ended + failed else None
        if condition.quantity == "achieved":
            offered = output.finished.offered
            return ended / offered if offered else None
        return statistic_s(response_times(output, self.kinds, condition.operation or ALL), condition.quantity)


def response_times(output: LoadOutput, kinds: Mapping[str, Sequence[str]], name: str) -> HdrHistogram:
    """Of what a rule calls by this name, in nanoseconds, of operations that committed; see `Judge.kinds`."""
    wanted = kinds.get(name, (name,))
    return merged(
        row.histograms.response
        for interval in output.measured
        for row in interval.operations
        if row.outcome == "committed" and (name == ALL or row.operation in wanted)
    )


def statistic_s(histogram: HdrHistogram, quantity: str) -> float | None:
    """`mean`, `max`, `p99` and the like; None where too few operations ended to say."""
    count, share = histogram.get_total_count(), quantile_of(quantity)
    quantile = None if share is None else Quantile(share)
    if count == 0 or (quantile is not None and not quantile.is_supported_by(count)):
        return None
    if quantile is not None:
        return value_ns(histogram, quantile) / NANOSECONDS_PER_SECOND
    found_ns = mean_ns(histogram) if quantity == "mean" else histogram.get_max_value()
    return float(found_ns) / NANOSECONDS_PER_SECOND


def of_client(output: LoadOutput, calibration: LoadOutput | None, *, co_located: bool) -> tuple[tuple[str, ...], bool]:
    """Signs of a load generator that was the limit, and whether its CPUs were taken away: see `_cpus_taken`.

    Raises:
        OutputUnreadable: nothing was measured, or a histogram cannot be decoded.
    """
    seen = saturation(output, calibration)
    if seen is None:
        return (), False
    return tuple(signs_of_saturation(seen, co_located=co_located)), _cpus_taken(seen)


def _cpus_taken(seen: Saturation) -> bool:
    """True when the hypervisor gave so much of the load generator's CPUs to others that no trial would count."""
    if seen.steal_s_per_s is None or seen.machine_cpus is None:
        return False
    return seen.steal_s_per_s / seen.machine_cpus > STEAL.value


def backlog_grows(output: LoadOutput) -> bool:
    """True when the backlog never emptied towards the end, and was longer there than at the beginning.

    At exactly the critical load a queue grows like the square root of time, which a fitted line does not show; the
    backlog of a stall shrinks again. So the smallest backlog of the last third is compared with the mean of the first
    third, and with `MIN_LAG` of the interval's length.
    """
    intervals, measured_s = output.measured, output.measured_s
    third = len(intervals) // 3
    rate = (output.finished.offered or 0) / measured_s
    if third == 0 or rate == 0:
        return False
    first_s = sum(_lag_s(one, rate) for one in intervals[:third]) / third
    last_s = min(_lag_s(one, rate) for one in intervals[-third:])
    return last_s > max(first_s, MIN_LAG * measured_s)


def _lag_s(interval: Interval, rate_per_s: float) -> float:
    """How far behind its arrivals the load was at the end of an interval."""
    return interval.client.queued / rate_per_s


def _said(one: Requirement) -> str:
    if one.observed is None:
        return f"{one.what}: too few operations to say"
    if one.unit == "s":
        return f"{one.what} {one.observed * 1000:.3g} ms, must be {one.relation} {one.limit * 1000:g} ms"
    return f"{one.what} {one.observed * 100:.3g} %, must be {one.relation} {one.limit * 100:g} %"
