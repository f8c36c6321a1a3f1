"""Times in which nothing was completed: what they cost, and whether the server worked meanwhile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import fsum, inf
from operator import itemgetter
from statistics import median, pstdev

from nephoscope.checks.thresholds import DIPS_COST, IDLE
from nephoscope.checks.verdicts import invalid, mean_over_cpus, measured_of, over_machines, percent, valid
from nephoscope.model.events import Event
from nephoscope.model.numbers import duration
from nephoscope.model.records import Evidence, Series, TelemetrySample, Verdict, VerdictKind
from nephoscope.model.units import MS_PER_SECOND
from nephoscope.stats.dips import Dip, Dips, dips, finest_steps

_LEAST_QUIET = 2
"""Readings that must say what is usual: one alone says nothing of how much they differ."""
_LEAST_PER_STEP = 20
"""Operations in a step of a series: of fewer, some steps have none by chance."""
_COARSER = (1, 2, 5, 10)
"""Steps of work that are tried, in those that were recorded."""
_TOLD_S = 0.5
"""A stall that costs less than the margin and is shorter is below what a reader could see in any number."""
_UNFILLED = 2
"""Steps that a stop shorter than a step begins and ends in."""
_UNSTEADY = 0.03
"""Of the usual busy share of a machine: a second differs by as much from the next without any reason."""


class Stalls:
    """Were there times in which nothing was completed, and whose were they?"""

    name = "stalls"
    text = (
        "Reports times in which nothing was completed, and what dips below half of the usual rate cost the mean, in a "
        "series of any length: the load generator and fio count operations in steps of 100 ms, which are taken "
        f"together, up to a second, until {_LEAST_PER_STEP} operations end in one and their noise makes no dip; other "
        f"tools log seconds. A stall under {duration(_TOLD_S)} is told if it costs more than the "
        "margin below. One during which the server worked (a checkpoint, a compaction) is its performance. Rejects a "
        f"trial whose dips cost more than the study's margin of a tie (else {DIPS_COST.percent}) and during whose "
        f"stall the CPUs and disks of all measured machines were at most {IDLE.percent} busy: the server was stopped, "
        "or waited for something outside of its machines. Of a stall under a second, the CPU time that is missing in "
        "the seconds around it tells. Each step that led a search to its result is judged alone."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Its verdict over all work; None if none is recorded, or if so little of it ends that a step may be empty."""
        most = DIPS_COST.value if evidence.margin_percent is None else evidence.margin_percent / 100
        verdicts = [self._stretch(stretch, evidence, most) for stretch in _stretches(evidence)]
        steps = (self._stretch(step, evidence, most) for step in _fine(evidence.steps))
        verdicts += [step for step in steps if step.verdict is VerdictKind.INVALID]
        return over_machines(self.name, verdicts, "") if verdicts else None

    def _stretch(self, stretch: "_Stretch", evidence: Evidence, most: float) -> Verdict:
        """`most`: the share of the mean that dips may cost without deciding a comparison."""
        event = stretch.event(most)
        if event is None:
            return valid(self.name, f"{stretch.series.metric}: dips cost {percent(stretch.seen.cost)} of the mean")
        told = f"{stretch.series.metric}: {event.clause}"
        if stretch.seen.cost > most and _stood_still(stretch, evidence):
            return invalid(
                self.name,
                f"{told}, and no measured machine worked meanwhile: the server was stopped, or waited for something "
                "outside of its machines",
                event,
            )
        return valid(self.name, told, event)


@dataclass(frozen=True)
class _Stretch:
    """What was measured without a break."""

    series: Series
    seen: Dips
    begins_s: float = 0.0
    """From the beginning of the measurement."""
    metric: str | None = None
    """The only one that it is about; None: all of the trial."""

    @property
    def stalls(self) -> list[Dip]:
        return [dip for dip in self.seen.each if dip.zeros]

    @property
    def maybe_stopped(self) -> list[Dip]:
        """The dips that a stop may have made: stalls; without any, steps of which it filled none."""
        fine = self.series.at_unix_ms is not None and self.series.step_s < 1
        return self.stalls or [dip for dip in self.seen.each if fine and dip.length <= _UNFILLED]

    @property
    def longest_s(self) -> float:
        return self.series.step_s * max((dip.zeros for dip in self.seen.each), default=0)

    def event(self, most: float) -> Event | None:
        """Time in which nothing was completed, if it was long or cost more than `most`; else dips that did."""
        costs = self.seen.cost > most
        stalls = self.stalls if costs or self.longest_s >= _TOLD_S else []
        told = stalls or (self.seen.each if costs else ())
        if not told:
            return None
        return Event(
            "stall" if stalls else "dips",
            len(told),
            first_s=round(self.begins_s + self.series.step_s * told[0].start, 3),
            length_s=round(self.series.step_s * fsum(dip.lost if stalls else dip.length for dip in told), 3),
            cost=self.seen.cost,
            metric=self.metric,
        )


def _stretches(evidence: Evidence) -> Iterator[_Stretch]:
    """The work that was recorded, in the finest steps that tell something; else every rate of seconds."""
    fine = list(_fine(evidence.work))
    metrics = {series.metric for series in evidence.work}
    yield from (replace(stretch, metric=stretch.series.metric) if len(metrics) > 1 else stretch for stretch in fine)
    untold = metrics - {stretch.series.metric for stretch in fine}
    operations = evidence.operations
    for series in (each for each in evidence.series if not metrics or each.metric in untold):
        seen, working = dips(series.values), sum(rate > 0 for rate in series.values)
        if seen is not None and (operations is None or operations.attempted >= _LEAST_PER_STEP * working):
            yield _Stretch(series, seen, metric=series.metric)


def _fine(work: Sequence[Series]) -> Iterator[_Stretch]:
    """Those in which so much was done that an empty step tells something."""
    begun: dict[str, float] = {}
    for series in work:
        begins_unix_ms = begun.setdefault(series.metric, series.at_unix_ms or 0.0)
        factors = [factor for factor in _COARSER if factor * series.step_s <= 1] or [1]
        steps = finest_steps([rate * series.step_s for rate in series.values], factors, _LEAST_PER_STEP)
        seen = None if steps is None else dips(steps.values, steps.low)
        if steps is not None and seen is not None:
            begins_s = ((series.at_unix_ms or begins_unix_ms) - begins_unix_ms) / MS_PER_SECOND
            step_s = steps.factor * series.step_s
            yield _Stretch(series.model_copy(update={"step_s": step_s, "values": steps.values}), seen, begins_s)


def _stood_still(stretch: _Stretch, evidence: Evidence) -> bool:
    """Whether no measured machine worked while nothing was completed. Not known is no."""
    if not stretch.maybe_stopped:
        return False
    machines = measured_of(evidence.telemetry, evidence.load_machines)
    masks = evidence.measured_cpus
    readings = [[_Reading.of(one, masks.get(name, [])) for one in evidence.telemetry[name]] for name in machines]
    if stretch.series.at_unix_ms is not None and all(one.end_unix_ms is not None for each in readings for one in each):
        return bool(readings) and all(_worked_less(stretch, each) for each in readings)
    idle_s = min((_idle_s(each) for each in readings), default=0.0)
    # A stall and the second that the sampler reads it in begin at different moments.
    return idle_s >= max(stretch.series.step_s, stretch.longest_s - 1)


@dataclass(frozen=True)
class _Reading:
    """One second of a machine, as far as it tells whether the machine worked."""

    length_s: float
    cpu: float
    """Busy share of its CPUs."""
    disk: float | None
    """None: its disks were not seen."""
    end_unix_ms: float | None

    @classmethod
    def of(cls, sample: TelemetrySample, mask: Sequence[str]) -> "_Reading":
        busy = mean_over_cpus(sample.cpus_busy_share, mask)
        cpu = sample.cpu_busy_share if busy is None else busy
        return cls(sample.duration_s, cpu, sample.disk_busy_share, sample.at_unix_ms)

    @property
    def is_idle(self) -> bool:
        return self.cpu <= IDLE.value and self.disk is not None and self.disk <= IDLE.value

    def within_s(self, from_unix_ms: float, to_unix_ms: float) -> float:
        """How much of it lies between two moments."""
        end = self.end_unix_ms or -inf
        begin = end - self.length_s * MS_PER_SECOND
        return max(0.0, min(end, to_unix_ms) - max(begin, from_unix_ms)) / MS_PER_SECOND


def _idle_s(readings: Sequence[_Reading]) -> float:
    """The longest time between two busy readings in which a machine did not work.

    The sampler starts before the load and stops after it: what is idle at either end is no stall.
    """
    busy = [at for at, one in enumerate(readings) if not one.is_idle]
    within = [(one.is_idle, one.length_s) for one in readings[busy[0] : busy[-1]]] if busy else []
    runs = (fsum(length_s for _, length_s in run) for is_idle, run in groupby(within, key=itemgetter(0)) if is_idle)
    return max(runs, default=0.0)


def _worked_less(stretch: _Stretch, readings: Sequence[_Reading]) -> bool:
    """Whether the busy time that readings with a dip lack says that the machine did nothing for as long as it cost.

    The readings without one say what is usual, and how much readings differ. If they differ too much, nothing is known.
    """
    begin, step_ms = stretch.series.at_unix_ms or 0.0, stretch.series.step_s * MS_PER_SECOND
    end = begin + step_ms * len(stretch.series.values)
    spans = [(begin + step_ms * dip.start, begin + step_ms * (dip.start + dip.length)) for dip in stretch.maybe_stopped]
    lost_s = stretch.series.step_s * fsum(dip.lost for dip in stretch.maybe_stopped)
    quiet: list[_Reading] = []
    touched: list[_Reading] = []
    at = 0
    for one in readings:
        while at < len(spans) and spans[at][1] <= (one.end_unix_ms or 0.0) - one.length_s * MS_PER_SECOND:
            at += 1
        if at < len(spans) and one.within_s(*spans[at]) > 0:
            touched.append(one)
        elif one.within_s(begin, end) > 0.99 * one.length_s:
            quiet.append(one)
    disks = [one.disk * one.length_s for one in touched if one.disk is not None]
    quiet_disks = [one.disk for one in quiet if one.disk is not None]
    if len(quiet_disks) < _LEAST_QUIET or not disks or len(disks) < len(touched):
        return False
    around_s = fsum(one.within_s(begin, end) for one in touched)

    def busy_meanwhile(usual: float, busy_s: float) -> float:
        return (busy_s - usual * (around_s - lost_s)) / lost_s

    cpu, disk = median(one.cpu for one in quiet), median(quiet_disks)
    noise = max(_UNSTEADY * cpu, pstdev([one.cpu for one in quiet])) * around_s / lost_s
    limit = IDLE.value + noise
    return (
        limit < cpu / 2
        and busy_meanwhile(cpu, fsum(one.cpu * one.length_s for one in touched)) <= limit
        and busy_meanwhile(disk, fsum(disks)) <= limit
    )
