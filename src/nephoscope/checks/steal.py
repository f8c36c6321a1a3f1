"""CPU time that the hypervisor gave to others: an accident of the host, or a part of what is bought.

On the user's own machine another guest disturbed the trial, which is rejected. On a rented machine steal is part of
what is delivered: rejecting the trials that it hit would select on the outcome, so they count and the loss is recorded.
A machine with CPU credits loses CPU time at a steady level once they are spent: that is its sustained state.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from nephoscope.checks.thresholds import STEAL
from nephoscope.checks.verdicts import (
    below_limit,
    invalid,
    mean_over_cpus,
    mean_over_time,
    over_machines,
    percent,
    valid,
)
from nephoscope.model.numbers import duration
from nephoscope.model.records import Evidence, TelemetrySample, Verdict, VerdictKind

if TYPE_CHECKING:
    from nephoscope.stats.credits import CreditPhase


def stolen_shares(samples: Sequence[TelemetrySample], mask: Collection[str]) -> dict[str, float | None]:
    """Means over a trial, by the words that follow the number; None: not recorded.

    Args:
        samples: of one machine.
        mask: names of the CPUs of whatever is measured; if the machine has others, the mask is judged by itself too.
    """
    found = {"of CPU time was stolen": mean_over_time(samples, lambda s: s.cpu_steal_share)}
    if mask and any(sample.cpus_steal_share.keys() - set(mask) for sample in samples):
        of_mask = mean_over_time(samples, lambda s: mean_over_cpus(s.cpus_steal_share, mask))
        found["of the CPU time of the affinity mask was stolen"] = of_mask
    return found


def stolen_share(samples: Sequence[TelemetrySample], mask: Collection[str]) -> float | None:
    """The number that the check compares with its limit; None: not recorded."""
    shares = stolen_shares(samples, mask).values()
    known = [share for share in shares if share is not None]
    return max(known) if known and len(known) == len(shares) else None


def stolen_series(samples: Sequence[TelemetrySample], mask: Collection[str]) -> list[float]:
    """Stolen share of the affinity mask, else of the whole machine, second by second."""
    of_mask = [mean_over_cpus(sample.cpus_steal_share, mask) for sample in samples]
    return [sample.cpu_steal_share if share is None else share for sample, share in zip(samples, of_mask, strict=True)]


def at_baseline(samples: Sequence[TelemetrySample], mask: Collection[str]) -> bool:
    """True if a machine with CPU credits lost CPU time at a steady level throughout."""
    return _phase(samples, mask).kind == "baseline"


class Steal:
    """See the module's text."""

    name = "steal"
    text = (
        f"Rejects a trial during which the hypervisor withheld more than {STEAL.percent} of the CPU time of its "
        "affinity mask, or of the whole machine, and one whose search it disturbed so often that no level was found. "
        'With `disturbance = "record"`, the default on clouds, a trial that lost CPU time counts and the loss is '
        "recorded. A burstable machine whose credits are spent, and which loses CPU time at a steady level, counts too."
    )

    def __call__(self, evidence: Evidence) -> Verdict:
        """Means over the trial, from telemetry."""
        found = below_limit(
            self.name,
            evidence,
            lambda machine, samples: stolen_shares(samples, evidence.measured_cpus.get(machine, [])),
            STEAL.value,
        )
        if found.verdict is VerdictKind.INVALID and evidence.burstable:
            found = self._by_credits(evidence)
        if evidence.disturbance == "record":
            lost = found.verdict is VerdictKind.INVALID
            return valid(self.name, f"{found.reason}; recorded: the trial counts") if lost else found
        search = evidence.operations.search if evidence.operations else None
        if found.verdict is not VerdictKind.INVALID and search is not None and search.outcome == "disturbed":
            return invalid(self.name, str(search.reason))
        return found

    def _by_credits(self, evidence: Evidence) -> Verdict:
        """Machine by machine: what is over the limit counts if it is the baseline of a burstable machine."""
        verdicts: list[Verdict] = []
        for machine, samples in sorted(evidence.telemetry.items()):
            mask = evidence.measured_cpus.get(machine, [])
            share = stolen_share(samples, mask)
            if share is None:  # the check would have been `unknown`
                continue
            said = f"{machine}: {percent(share)} of CPU time was stolen"
            if share <= STEAL.value:
                verdicts.append(valid(self.name, said))
                continue
            kind = evidence.burstable.get(machine)
            phase = _phase(samples, mask) if kind else None
            if phase is not None and phase.kind == "baseline":
                verdicts.append(valid(self.name, f"{said} at a steady level: the baseline of {kind}, credits spent"))
            else:
                why = f" (limit {STEAL.percent})" + (f": {_why(phase, kind or '')}" if phase else "")
                verdicts.append(invalid(self.name, f"{said}{why}"))
        return over_machines(self.name, verdicts, "no machine was sampled during the trial")


def _phase(samples: Sequence[TelemetrySample], mask: Collection[str]) -> "CreditPhase":
    from nephoscope.stats.credits import credit_phase  # with NumPy, for which `status` should not wait

    return credit_phase(stolen_series(samples, mask), STEAL.value)


def _why(phase: "CreditPhase", kind: str) -> str:
    """Why a trial on a burstable machine is not its sustained state."""
    if phase.start is not None and phase.stolen_before is not None and phase.stolen_after is not None:
        before, after = percent(max(0.0, phase.stolen_before)), percent(phase.stolen_after)
        return f"the credits of {kind} ran out after {duration(phase.start)}, {before} before and {after} after"
    if phase.kind == "too short":
        from nephoscope.stats.credits import MIN_SECONDS

        return f"it takes {MIN_SECONDS} seconds to tell the baseline of {kind} from a disturbance"
    return f"not at a steady level, as the baseline of {kind} would be"
