"""Did somebody stop what was measured, or what measures? Then the trial's number is of less time than it says."""

from collections.abc import Sequence

from nephoscope.checks.thresholds import SAMPLER_GAP
from nephoscope.checks.verdicts import invalid, over_machines, valid
from nephoscope.model.numbers import duration
from nephoscope.model.records import Evidence, TelemetrySample, Verdict


class NotStopped:
    """Signals, the freezer of control groups, and suspended machines; no server and no tool does any of it itself."""

    name = "not-stopped"
    text = (
        "Rejects a trial of which a process was stopped by a signal or frozen when the sampler looked, once a second, "
        f"or whose sampler did not run for over {SAMPLER_GAP.words}: it was frozen itself, or suspended with its "
        "machine. A shorter stop may fall between two looks."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """The verdict over all machines; None if no sampler looked for this."""
        verdicts = [
            self._machine(machine, samples)
            for machine, samples in sorted(evidence.telemetry.items())
            if any(one.stopped_processes is not None for one in samples)
        ]
        return over_machines(self.name, verdicts, "") if verdicts else None

    def _machine(self, machine: str, samples: Sequence[TelemetrySample]) -> Verdict:
        gap = next((one for one in samples if one.duration_s > SAMPLER_GAP.value), None)
        stops = [one for one in samples if one.stopped_processes or one.frozen]
        if stops:
            how = "frozen" if any(one.frozen for one in stops) else "stopped by a signal"
            said = f"{machine}: a process of the trial was {how} in {len(stops)} of {len(samples)} looks"
            return invalid(self.name, f"{said}, first after {duration(stops[0].at_s)}")
        if gap is not None:
            since_s = gap.at_s - gap.duration_s
            said = f"{machine}: the sampler stood still for {duration(gap.duration_s)} (limit {SAMPLER_GAP.words})"
            return invalid(self.name, f"{said}, from {duration(since_s)} on")
        return valid(self.name, f"{machine}: no process of the trial was stopped")
