"""Did somebody else use the machine: before the trial, beside it, below it (the hypervisor), or we ourselves?"""

from nephoscope.checks.thresholds import BUSY_BEFORE, BUSY_OUTSIDE, SAMPLER_COST, STEAL
from nephoscope.checks.verdicts import below_limit, invalid, mean_over_time, over_machines, percent, unknown, valid
from nephoscope.records import Evidence, Facts, TelemetrySample, Verdict


class ForeignLoad:
    """Work that is not the trial's: before it on all CPUs, during it on the CPUs it may not use."""

    name = "foreign-load"
    text = (
        f"Refuses a trial when over {BUSY_BEFORE.percent} of the machine's CPU time was in use just before it, or over "
        f"{BUSY_OUTSIDE.percent} of the CPUs outside its affinity mask during it."
    )

    def __call__(self, evidence: Evidence) -> Verdict:
        """Both looks on every machine."""
        verdicts = [self._before(machine, facts) for machine, facts in sorted(evidence.facts_before.items())]
        verdicts += [
            self._beside(machine, facts, evidence)
            for machine, facts in sorted(evidence.facts_before.items())
            if self._leaves_cpus_out(machine, facts, evidence)
        ]
        return over_machines(self.name, verdicts, "no facts were taken")

    def _before(self, machine: str, facts: Facts) -> Verdict:
        if facts.busy_share is None:
            return unknown(self.name, f"{machine}: not known how busy it was before the trial")
        said = f"{machine}: {percent(facts.busy_share)} busy before the trial"
        over = facts.busy_share > BUSY_BEFORE.value
        return invalid(self.name, f"{said}, over {BUSY_BEFORE.percent}") if over else valid(self.name, said)

    def _leaves_cpus_out(self, machine: str, facts: Facts, evidence: Evidence) -> bool:
        mask = evidence.measured_cpus.get(machine)
        return bool(mask) and (facts.cpus_online is None or len(mask or []) < facts.cpus_online)

    def _beside(self, machine: str, facts: Facts, evidence: Evidence) -> Verdict:
        mask = set(evidence.measured_cpus[machine])

        def outside(sample: TelemetrySample) -> float | None:
            shares = [share for cpu, share in sample.cpus_busy_share.items() if cpu not in mask]
            return sum(shares) / len(shares) if shares else None

        share = mean_over_time(evidence.telemetry.get(machine, []), outside)
        if share is None and facts.cpus_online is None:
            return valid(self.name, f"{machine}: no CPU outside the affinity mask was seen")
        if share is None:
            return unknown(self.name, f"{machine}: CPUs outside the affinity mask were not watched")
        said = f"{machine}: CPUs outside the affinity mask {percent(share)} busy during the trial"
        over = share > BUSY_OUTSIDE.value
        return invalid(self.name, f"{said}, over {BUSY_OUTSIDE.percent}") if over else valid(self.name, said)


class Steal:
    """CPU time the hypervisor gave to others."""

    name = "steal"
    text = f"Refuses a trial over which the hypervisor kept back more than {STEAL.percent} of the CPU time."

    def __call__(self, evidence: Evidence) -> Verdict:
        """Mean over the trial, by telemetry."""
        return below_limit(
            self.name, evidence.telemetry, lambda s: s.cpu_steal_share, STEAL.value, "of CPU time was stolen"
        )


class SamplerCost:
    """The observer's own CPU time."""

    name = "sampler-cost"
    text = f"Refuses a trial whose own sampler used more than {SAMPLER_COST.percent} of one core."

    def __call__(self, evidence: Evidence) -> Verdict:
        """Mean over the trial, by the sampler's own count."""
        return below_limit(
            self.name, evidence.telemetry, lambda s: s.sampler_cpu_share, SAMPLER_COST.value, "of a core by the sampler"
        )
