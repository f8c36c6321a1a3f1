"""Building verdicts: the three constructors, percentages, and one verdict for several machines."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from nephoscope.model.events import Event
from nephoscope.model.records import Evidence, TelemetrySample, Verdict, VerdictKind


def valid(check: str, reason: str, *events: Event) -> Verdict:
    """Nothing contradicts the numbers."""
    return Verdict(check=check, verdict=VerdictKind.VALID, reason=reason, events=list(events))


def invalid(check: str, reason: str, *events: Event) -> Verdict:
    """The numbers must not be used."""
    return Verdict(check=check, verdict=VerdictKind.INVALID, reason=reason, events=list(events))


def unknown(check: str, reason: str) -> Verdict:
    """The evidence is missing, so nothing can be decided."""
    return Verdict(check=check, verdict=VerdictKind.UNKNOWN, reason=reason)


def percent(share: float) -> str:
    """A share for people, two digits or whole: '3.1 %', '100 %'."""
    return f"{share * 100:.2g} %" if share < 0.0995 else f"{share * 100:.0f} %"


def overall(verdicts: Sequence[Verdict]) -> VerdictKind:
    """Any invalid makes all invalid; else any unknown makes all unknown; nothing checked is unknown."""
    kinds = {verdict.verdict for verdict in verdicts}
    if VerdictKind.INVALID in kinds:
        return VerdictKind.INVALID
    return VerdictKind.VALID if kinds == {VerdictKind.VALID} else VerdictKind.UNKNOWN


def over_machines(check: str, verdicts: Sequence[Verdict], nothing: str) -> Verdict:
    """One verdict over those of single machines: the worst kind, with the reasons of that kind.

    Args:
        check: its name.
        verdicts: one per machine.
        nothing: reason of the unknown verdict if there is no machine at all.
    """
    if not verdicts:
        return unknown(check, nothing)
    worst = overall(verdicts)
    reasons = dict.fromkeys(verdict.reason for verdict in verdicts if verdict.verdict is worst)
    events = [event for verdict in verdicts for event in verdict.events]
    return Verdict(check=check, verdict=worst, reason="; ".join(map(str, reasons)), events=events)


def measured_of(machines: Collection[str], loads: Collection[str]) -> list[str]:
    """The machines that a trial measures, in their order: without the load generator's, unless there are no others."""
    return [machine for machine in machines if machine not in loads] or list(machines)


def mean_over_time(
    samples: Sequence[TelemetrySample], value_of: Callable[[TelemetrySample], float | None]
) -> float | None:
    """Mean weighted by the length of intervals; None if no sample has the value."""
    known = [(value, sample.duration_s) for sample in samples if (value := value_of(sample)) is not None]
    length_s = sum(duration_s for _, duration_s in known)
    return sum(value * duration_s for value, duration_s in known) / length_s if length_s > 0 else None


def mean_over_cpus(shares: Mapping[str, float], cpus: Collection[str]) -> float | None:
    """Mean share of some CPUs; None if one of them was not observed."""
    return sum(shares[cpu] for cpu in cpus) / len(cpus) if cpus and all(cpu in shares for cpu in cpus) else None


def below_limit(
    check: str,
    evidence: Evidence,
    shares_of: Callable[[str, Sequence[TelemetrySample]], Mapping[str, float | None]],
    limit: float,
) -> Verdict:
    """Compares means of telemetry with a limit on every machine; unknown where they were not recorded.

    Args:
        check: its name.
        evidence: of the attempt; includes a machine whose facts were taken even if its sampler never started.
        shares_of: machine and its samples -> means over the trial, by the words after the number ('of CPU time was
            stolen').
        limit: the highest share that passes.
    """

    def judge(machine: str, what: str, share: float | None) -> Verdict:
        if share is None:
            few = (
                "" if evidence.telemetry.get(machine) else "the sampler left no two readings, which are a second apart"
            )
            why = evidence.telemetry_problems.get(machine, few)
            return unknown(check, f"{machine}: not recorded during the trial{why and f' ({why})'}")
        said = f"{machine}: {percent(share)} {what}"
        return invalid(check, f"{said} (limit {percent(limit)})") if share > limit else valid(check, said)

    verdicts = [
        judge(machine, what, share)
        for machine in sorted({*evidence.facts_before, *evidence.telemetry})
        for what, share in shares_of(machine, evidence.telemetry.get(machine, [])).items()
    ]
    return over_machines(check, verdicts, "no machine was sampled during the trial")


class Check(Protocol):
    """One check."""

    @property
    def name(self) -> str:
        """Its name in verdicts and reports."""

    @property
    def text(self) -> str:
        """One sentence for the report: what it rejects, and at which threshold."""

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Its verdict; None if it does not apply to this evidence at all (no database, nothing to check)."""
