"""Did somebody stop what was measured, or what measures? Then the trial's number is of less time than it says."""

from collections.abc import Sequence

from nephoscope.checks.thresholds import GENERATOR_STOP, SAMPLER_GAP
from nephoscope.checks.verdicts import invalid, over_machines, valid
from nephoscope.model.numbers import duration
from nephoscope.model.records import Evidence, InflictedFault, TelemetrySample, Verdict
from nephoscope.model.units import MS_PER_SECOND


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
