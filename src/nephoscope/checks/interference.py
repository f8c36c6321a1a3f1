"""Did others use the machine before or during the trial, or stop it, or nephoscope itself? For the hypervisor: `steal`.

A mean over all CPUs hides a single busy one: one of sixteen is six percent. So a trial on some CPUs of a machine is
judged on those CPUs together and on the whole machine. A trial that somebody stopped for a while has a number of less
time than it says.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nephoscope.checks.thresholds import (
    BURST_MIN_S,
    BURST_TIME_SHARE,
    BUSY_BEFORE,
    BUSY_OUTSIDE,
    FOREIGN_BURST,
    FOREIGN_SHARE,
    GENERATOR_STOP,
    SAMPLER_COST,
    SAMPLER_GAP,
)
from nephoscope.checks.verdicts import (
    below_limit,
    invalid,
    mean_over_cpus,
    mean_over_time,
    over_machines,
    percent,
    unknown,
    valid,
)
from nephoscope.model.numbers import duration
from nephoscope.model.records import Evidence, Facts, InflictedFault, TelemetrySample, Verdict
from nephoscope.model.units import MS_PER_SECOND

_MIN_NAMED_SHARE = 0.1
"""Processes with less than this share of what others used are not worth a name."""
_MAX_NAMED = 3
_ROUNDING = 0.99
"""Intervals of a second are a little shorter or longer."""


@dataclass(frozen=True)
class ForeignUse:
    """What others used of the CPUs that count, over the intervals in which it is known."""

    mean_share: float
    loud: bool
    """Over one of the limits."""
    said: str
    """For people, with the loudest processes if over a limit."""


def foreign_use(samples: Sequence[TelemetrySample], mask: Collection[str], *, whole_machine: bool) -> ForeignUse | None:
    """The load of others during a trial; None: not known for any interval.

    What others did on CPUs outside the mask is subtracted: everything that runs there counts as theirs, so that the
    result is at most what they used of the mask. `whole_machine`: the machine is a part of one, and all of it counts.

    The mean is of signed values, so that the noise of single seconds, which goes both ways, cancels out.
    """
    known = [
        (share, sample)
        for sample in samples
        if (share := _share(sample, () if whole_machine else mask)) is not None and sample.duration_s > 0
    ]
    known_s = sum(sample.duration_s for _, sample in known)
    if known_s <= 0:
        return None
    mean = max(0.0, sum(share * sample.duration_s for share, sample in known) / known_s)
    burst_s = sum(sample.duration_s for share, sample in known if share > FOREIGN_BURST.value)
    if mean > FOREIGN_SHARE.value:
        limit = f"limit {FOREIGN_SHARE.percent} on average: {percent(mean)}"
    elif burst_s >= BURST_MIN_S * _ROUNDING and burst_s > BURST_TIME_SHARE * known_s:
        limit = f"limit {FOREIGN_BURST.percent} of its CPU time in a burst of {BURST_MIN_S:g} s"
    else:
        return ForeignUse(mean, loud=False, said=f"others used {percent(mean)} of its CPU time during the trial")
    return ForeignUse(mean, loud=True, said=f"{_told([sample for _, sample in known], mask, whole_machine)} ({limit})")


def _cpus(sample: TelemetrySample, mask: Collection[str]) -> float | None:
    """CPUs of the mask that others kept busy at least; of the whole machine if no mask is known."""
    if sample.foreign_cpus is None or not mask:
        return sample.foreign_cpus
    outside = sample.cpus_busy_share.keys() - set(mask)
    return sample.foreign_cpus - sum(
        max(0.0, sample.cpus_busy_share[cpu] - sample.cpus_interrupt_share.get(cpu, 0.0)) for cpu in outside
    )


def _share(sample: TelemetrySample, mask: Collection[str]) -> float | None:
    cpus, of = _cpus(sample, mask), len(mask or sample.cpus_busy_share)
    return None if cpus is None or not of else cpus / of


def _told(samples: Sequence[TelemetrySample], mask: Collection[str], whole_machine: bool) -> str:
    """'others used 96 % of one CPU for 9 of 10 s: python3 burn.py (pid 4711) 95 %'."""
    counted = () if whole_machine else mask
    loud = [one for one in samples if (_share(one, counted) or 0.0) > FOREIGN_SHARE.value]
    loud_s, known_s = (sum(one.duration_s for one in those) for those in (loud, samples))
    if loud_s <= 0:  # the mean is over its limit, so this does not happen
        return "others used its CPUs"
    used = sum((_cpus(one, counted) or 0.0) * one.duration_s for one in loud) / loud_s
    named = _named(samples, loud_s, used)
    said = f"others used {_of_cpus(used)} for {loud_s:.0f} of {known_s:.0f} s"
    return f"{said}: {', '.join(named)}" if named else said


def _of_cpus(cpus: float) -> str:
    return f"{percent(cpus)} of one CPU" if cpus < _ONE_CPU else f"{cpus:.1f} CPUs"


_ONE_CPU = 1.05


def _named(samples: Sequence[TelemetrySample], loud_s: float, used: float) -> list[str]:
    """The loudest processes with their share of one CPU, and what no visible process accounts for."""
    named = loudest(samples, loud_s, _MIN_NAMED_SHARE * used)
    read = [sample.foreign_named_s for sample in samples if sample.foreign_named_s is not None]
    unseen = used - sum(read) / loud_s
    if read and unseen >= _MIN_NAMED_SHARE * used:
        named.append(f"{percent(unseen)} by processes that ended or are not visible from here (another PID namespace)")
    return named


def loudest(samples: Sequence[TelemetrySample], over_s: float, min_cpus: float) -> list[str]:
    """The processes of others that used most, with their share of one CPU, as far as the sampler read them.

    Args:
        samples: of one machine.
        over_s: the time that shares refer to.
        min_cpus: processes below this share of one CPU are not named.
    """
    seconds: dict[tuple[int, str], float] = {}
    for sample in samples:
        for one in sample.foreign_processes:
            seconds[one.pid, one.name] = seconds.get((one.pid, one.name), 0.0) + one.cpu_s
    most = sorted(seconds.items(), key=lambda item: (-item[1], item[0]))[:_MAX_NAMED]
    return [
        f"{name} (pid {pid}) {percent(cpu_s / over_s)}" for (pid, name), cpu_s in most if cpu_s / over_s >= min_cpus
    ]


_MIN_NAMED_CPUS = 0.03
"""Processes that used less of one CPU are not named."""


def _leaves_cpus_out(mask: Collection[str], facts: Facts) -> bool:
    """True if the machine has CPUs outside the affinity mask, as far as is known."""
    return bool(mask) and (facts.cpus_online is None or len(mask) < facts.cpus_online)


class ForeignLoad:
    """Work of others: before the trial on any CPU; during it on the CPUs of its mask, and on those outside.

    During the trial it is what the machine did, less what the trial and the kernel did: see `machines/foreign.py`.
    """

    name = "foreign-load"
    text = (
        f"Rejects a trial if over {BUSY_BEFORE.percent} of the CPU time of its affinity mask, or of the whole "
        f"machine, was in use just before it; if during it others used over {FOREIGN_SHARE.percent} of the mask's CPU "
        f"time on average, or over {FOREIGN_BURST.percent} in a burst; or if over {BUSY_OUTSIDE.percent} of the CPUs "
        "outside the mask were in use."
    )

    def __call__(self, evidence: Evidence) -> Verdict:
        """The verdict over all machines."""
        verdicts: list[Verdict] = []
        for machine, facts in sorted(evidence.facts_before.items()):
            mask = evidence.measured_cpus.get(machine, [])
            verdicts.append(self._before(f"{machine}: was", facts.busy_share))
            if _leaves_cpus_out(mask, facts):
                of_mask = mean_over_cpus(facts.busy_share_by_cpu, mask)
                verdicts.append(self._before(f"{machine}: CPUs of the affinity mask were", of_mask))
                verdicts.append(self._beside(machine, facts, set(mask), evidence))
            samples = evidence.telemetry.get(machine, [])
            during = foreign_use(samples, mask, whole_machine=evidence.emulated)
            if during is not None:
                verdicts.append((invalid if during.loud else valid)(self.name, f"{machine}: {during.said}"))
        return over_machines(self.name, verdicts, "no facts were taken")

    def _before(self, who: str, share: float | None) -> Verdict:
        if share is None:
            return unknown(self.name, f"{who} not observed before the trial")
        said = f"{who} {percent(share)} busy before the trial"
        over = share > BUSY_BEFORE.value
        return invalid(self.name, f"{said} (limit {BUSY_BEFORE.percent})") if over else valid(self.name, said)

    def _beside(self, machine: str, facts: Facts, mask: set[str], evidence: Evidence) -> Verdict:
        samples = evidence.telemetry.get(machine, [])
        if evidence.emulated:
            return valid(
                self.name, f"{machine}: emulated; CPUs outside its affinity mask belong to other emulated machines"
            )

        def outside(sample: TelemetrySample) -> float | None:
            return mean_over_cpus(sample.cpus_busy_share, sample.cpus_busy_share.keys() - mask)

        share = mean_over_time(samples, outside)
        if share is None and facts.cpus_online is None and any(sample.cpus_busy_share for sample in samples):
            return valid(self.name, f"{machine}: no CPU outside the affinity mask was observed")
        if share is None:
            why = evidence.telemetry_problems.get(machine, "")
            return unknown(
                self.name, f"{machine}: CPUs outside the affinity mask were not observed{why and f' ({why})'}"
            )
        said = f"{machine}: CPUs outside the affinity mask were {percent(share)} busy during the trial"
        if share <= BUSY_OUTSIDE.value:
            return valid(self.name, said)
        named = loudest(samples, sum(sample.duration_s for sample in samples), _MIN_NAMED_CPUS)
        by = f"; of one CPU, {', '.join(named)}" if named else ""
        return invalid(self.name, f"{said} (limit {BUSY_OUTSIDE.percent}){by}")


class SamplerCost:
    """The observer's own CPU time."""

    name = "sampler-cost"
    text = f"Rejects a trial whose own sampler used more than {SAMPLER_COST.percent} of one core."

    def __call__(self, evidence: Evidence) -> Verdict:
        """Mean over the trial, as counted by the sampler itself."""

        def shares(_: str, samples: Sequence[TelemetrySample]) -> dict[str, float | None]:
            return {"of a core was used by the sampler": mean_over_time(samples, lambda s: s.sampler_cpu_share)}

        return below_limit(self.name, evidence, shares, SAMPLER_COST.value)


class NotStopped:
    """Signals, the freezer of control groups, and suspended machines; no server and no tool does any of it itself."""

    name = "not-stopped"
    text = (
        "Rejects a trial of which a process was stopped by a signal or frozen when the sampler looked, once a second, "
        f"or whose sampler itself stood still for {GENERATOR_STOP.words} although it did not wait for a CPU (with its "
        f"waits: over {SAMPLER_GAP.words}): it was frozen, or paused with its machine. A shorter stop may fall between "
        "two looks. While the benchmark itself pauses a server, its machine is exempt."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """The verdict over all machines; None if no sampler looked for this."""
        verdicts = [
            self._machine(machine, samples, [one for one in evidence.faults if one.victim == machine])
            for machine, samples in sorted(evidence.telemetry.items())
            if any(one.stopped_processes is not None for one in samples)
        ]
        return over_machines(self.name, verdicts, "") if verdicts else None

    def _machine(self, machine: str, samples: Sequence[TelemetrySample], faults: Sequence[InflictedFault]) -> Verdict:
        stops = [one for one in samples if one.frozen or (one.stopped_processes and not _is_paused(one, faults))]
        if stops:
            how = "frozen" if any(one.frozen for one in stops) else "stopped by a signal"
            said = f"{machine}: a process of the trial was {how} in {len(stops)} of {len(samples)} looks"
            return invalid(self.name, f"{said}, first after {duration(stops[0].at_s)}")
        for one in samples:
            still_s, limit = _stood_still_s(one), GENERATOR_STOP
            if one.duration_s > SAMPLER_GAP.value:
                still_s, limit = one.duration_s, SAMPLER_GAP
            if still_s >= limit.value:
                said = f"{machine}: the sampler stood still for {duration(still_s)} (limit {limit.words})"
                return invalid(self.name, f"{said}, from {duration(one.at_s - still_s)} on")
        return valid(self.name, f"{machine}: no process of the trial was stopped")


def _stood_still_s(sample: TelemetrySample) -> float:
    """What the hypervisor took from the CPU that lost most may be what its machine waited for."""
    stolen_s = max(sample.cpus_steal_share.values(), default=0.0) * sample.duration_s
    return (sample.stood_still_s or 0.0) - stolen_s


def _is_paused(one: TelemetrySample, faults: Sequence[InflictedFault]) -> bool:
    """Whether the benchmark had stopped a server of its machine in this second."""
    if one.at_unix_ms is None:
        return False
    begin, end = one.at_unix_ms - one.duration_s * MS_PER_SECOND, one.at_unix_ms
    pauses = (fault for fault in faults if fault.kind == "pause")
    return any(fault.begin_unix_ms < end and begin < fault.end_unix_ms for fault in pauses)
