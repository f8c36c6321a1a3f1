"""Did others use the machine before the trial or during it, or nephoscope itself? `checks/steal.py`: the hypervisor.

A mean over all CPUs hides a single busy one: one of sixteen is six percent. So a trial on some CPUs of a machine is
judged on those CPUs together and on the whole machine.
"""

from collections.abc import Collection, Sequence

from nephoscope.checks.foreign import foreign_use, loudest
from nephoscope.checks.thresholds import BUSY_BEFORE, BUSY_OUTSIDE, FOREIGN_BURST, FOREIGN_SHARE, SAMPLER_COST
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
from nephoscope.model.records import Evidence, Facts, TelemetrySample, Verdict

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
