"""Is the machine as requested, and did it stay unchanged?

`Expected` describes the database machines. Where a cluster has several machines the load machine may differ from them,
so there an expectation is broken when no machine meets it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise

from nephoscope.checks.thresholds import CLOCK_OFFSET, CLOCK_STEP, MEMORY_MISSING, QUOTA_OFF, THROTTLED
from nephoscope.checks.verdicts import invalid, mean_over_time, measured_of, over_machines, percent, unknown, valid
from nephoscope.model.numbers import duration
from nephoscope.model.records import Evidence, Facts, TelemetrySample, Verdict, VerdictKind
from nephoscope.model.units import GIB
from nephoscope.model.words import counted

_NO_FACTS = "no facts were taken"
_STABLE = (
    "hostname",
    "cpu_model",
    "architecture",
    "cpus_online",
    "cpus_allowed",
    "memory_bytes",
    "swap_bytes",
    "kernel",
    "virtualization",
    "clock_source",
    "frequency_governor",
    "congestion_control",
    "cgroup_cpu_limit",
)
_STABLE_OF_DISK = ("device", "filesystem", "mount_options", "size_bytes", "scheduler")


def _looks(evidence: Evidence) -> list[tuple[str, str, Facts]]:
    before = [(machine, "before", facts) for machine, facts in sorted(evidence.facts_before.items())]
    return before + [(machine, "after", facts) for machine, facts in sorted(evidence.facts_after.items())]


def as_expected(check: str, evidence: Evidence, judge: Callable[[Facts], tuple[bool | None, str]]) -> Verdict:
    """Compares the facts before the trial with an expectation: (met or None for not known, what was observed)."""
    seen = [(machine, *judge(facts)) for machine, facts in sorted(evidence.facts_before.items())]
    if len(seen) > 1 and any(met for _, met, _ in seen):
        seen = [one for one in seen if one[1]]
    made = {True: valid, False: invalid, None: unknown}
    return over_machines(check, [made[met](check, f"{machine}: {said}") for machine, met, said in seen], _NO_FACTS)


class CpuCount:
    """The affinity mask in force, before and after, and the CPUs of the machine itself."""

    name = "cpu-count"
    text = (
        "Rejects a trial whose processes could use more or fewer CPUs than the configuration requests, or whose "
        "machines do not have the requested `cores` with `threads_per_core` each."
    )

    def __call__(self, evidence: Evidence) -> Verdict:
        """Compares the allowed CPUs with the machine's mask and the requested number."""
        looks = [self._look(evidence, *look) for look in _looks(evidence)]
        verdict = over_machines(self.name, [*looks, *self._ordered(evidence)], _NO_FACTS)
        asked = evidence.expected.cpus
        if verdict.verdict is not VerdictKind.VALID or asked == "all":
            return verdict
        counts = {facts.cpus_allowed for facts in evidence.facts_before.values()}
        if asked not in counts:
            allowed = f"{_numbers(counts)} {'is' if counts == {1} else 'are'} allowed"
            return invalid(self.name, f"{_cpus(asked)} {_were(asked)} requested, but {allowed}")
        return verdict

    def _ordered(self, evidence: Evidence) -> Iterator[Verdict]:
        """Of each database machine, if the study requests cores or threads: it has the product of both as CPUs."""
        asked = evidence.expected
        if asked.cores is None and asked.threads_per_core is None:
            return
        for machine in sorted(measured_of(evidence.facts_before, evidence.load_machines)):
            facts = evidence.facts_before[machine]
            threads = asked.threads_per_core or facts.threads_per_core
            if facts.cpus_online is None or threads is None or facts.threads_per_core is None:
                yield unknown(self.name, f"{machine}: the machine does not report its CPUs and their threads per core")
                continue
            cores = asked.cores or facts.cpus_online // facts.threads_per_core
            wanted = f"{counted(cores, 'core')} with {counted(threads, 'thread')}{' each' if cores > 1 else ''}"
            if facts.cpus_online != cores * threads or facts.threads_per_core != threads:
                has = f"{_cpus(facts.cpus_online)}, {facts.threads_per_core} per core"
                yield invalid(self.name, f"{machine}: has {has}, but {wanted} {_were(cores)} requested")
            else:
                yield valid(self.name, f"{machine}: {wanted}")

    def _look(self, evidence: Evidence, machine: str, when: str, facts: Facts) -> Verdict:
        mask = evidence.measured_cpus.get(machine)
        wanted = len(mask) if mask else facts.cpus_online if evidence.expected.cpus == "all" else evidence.expected.cpus
        if facts.cpus_allowed is None or wanted is None:
            return unknown(self.name, f"{machine}: the machine does not report how many CPUs are allowed")
        if facts.cpus_allowed != wanted:
            allowed = f"{_cpus(facts.cpus_allowed)} {_were(facts.cpus_allowed)} allowed"
            return invalid(self.name, f"{machine}: {allowed} {when} the trial, not {wanted}")
        return valid(self.name, f"{machine}: {wanted} of {_cpus(facts.cpus_online)} {when} the trial")


def _cpus(count: float | None) -> str:
    return "an unknown number of CPUs" if count is None else counted(count, "CPU")


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _numbers(counts: set[int | None]) -> str:
    return " or ".join(str(count) for count in sorted(counts, key=str))


class CpuModel:
    """The CPU model, if the study names one."""

    name = "cpu-model"
    text = "Rejects a machine whose CPU model is not the one the study expects (`expect_cpu_model`)."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Looks for the text in the name, ignoring case; None if the study expects no model."""
        expected = evidence.expected.cpu_model_contains
        if expected is None:
            return None

        def judge(facts: Facts) -> tuple[bool | None, str]:
            if facts.cpu_model is None:
                return None, "the machine does not report its CPU model"
            met = expected.casefold() in facts.cpu_model.casefold()
            return met, facts.cpu_model if met else f"{facts.cpu_model!r} is not {expected!r}"

        return as_expected(self.name, evidence, judge)


class Memory:
    """The memory, if the study names its size."""

    name = "memory"
    text = f"Rejects a machine with over {MEMORY_MISSING.percent} less memory than expected (`expect_memory_gib`)."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Compares observed with expected memory; None if the study expects no size."""
        expected = evidence.expected.memory_bytes
        if expected is None:
            return None

        def judge(facts: Facts) -> tuple[bool | None, str]:
            if facts.memory_bytes is None:
                return None, "the machine does not report its memory"
            met = facts.memory_bytes >= expected * (1 - MEMORY_MISSING.value)
            return met, f"{facts.memory_bytes / GIB:.1f} GiB of {expected / GIB:.1f} GiB expected"

        return as_expected(self.name, evidence, judge)


class CgroupLimit:
    """A CPU quota smaller than the measured CPUs throttles in periods of 100 ms."""

    name = "cgroup-limit"
    text = (
        "Rejects a trial under a cgroup CPU quota smaller than its CPUs: it measured the throttling and not the "
        f"machine; and one during which a quota was used up in over {THROTTLED.percent} of its periods, or a limit on "
        "disks changed, in any group of the trial or above it, whoever set it and for however long. An emulated "
        "machine's own quota must be in force, and may be used up."
    )

    def __call__(self, evidence: Evidence) -> Verdict:
        """Compares the lowest quota found with the number of measured CPUs."""
        looks = [self._look(evidence, machine, facts) for machine, _, facts in _looks(evidence)]
        used_up = [
            verdict
            for machine, samples in sorted(evidence.telemetry.items())
            if machine not in evidence.own_quotas and (verdict := self._used_up(machine, samples)) is not None
        ]
        disks = [verdict for one in sorted(evidence.telemetry.items()) if (verdict := self._disk_limits(*one))]
        return over_machines(self.name, [*looks, *used_up, *disks], _NO_FACTS)

    def _disk_limits(self, machine: str, samples: Sequence[TelemetrySample]) -> Verdict | None:
        """None: they stayed what they were, as those of an emulated machine do."""
        for earlier, later in pairwise(samples):
            if earlier.disk_limits != later.disk_limits:
                before, after = (", ".join(one.disk_limits) or "none" for one in (earlier, later))
                said = f"{machine}: the limits of its control groups on disks changed from {before} to {after}"
                return invalid(self.name, f"{said}, seen after {duration(later.at_s)}")
        return None

    def _used_up(self, machine: str, samples: Sequence[TelemetrySample]) -> Verdict | None:
        """The quota of the sampler's control group, which is the trial's; None: there was none."""
        share = mean_over_time(samples, lambda one: one.cpu_quota_used_up_share)
        if share is None:
            return None
        said = f"{machine}: a CPU quota was used up in {percent(share)} of its periods"
        if share <= THROTTLED.value:
            return valid(self.name, said)
        since_s = min(one.at_s - one.duration_s for one in samples if (one.cpu_quota_used_up_share or 0) > 0)
        return invalid(self.name, f"{said} (limit {THROTTLED.percent}), from {duration(since_s)} on")

    def _look(self, evidence: Evidence, machine: str, facts: Facts) -> Verdict:
        cpus = len(evidence.measured_cpus.get(machine, [])) or facts.cpus_allowed
        if machine in evidence.own_quotas:
            return self._own(machine, evidence.own_quotas[machine], facts)
        if facts.cgroup_cpu_limit is None and not facts.cgroups_seen:
            return unknown(
                self.name, f"{machine}: its cgroups could not be read, so a quota would not have been noticed"
            )
        if facts.cgroup_cpu_limit is None:
            return valid(self.name, f"{machine}: no CPU quota found")
        if cpus is None:
            quota = f"a quota of {_cpus(facts.cgroup_cpu_limit)}"
            return unknown(self.name, f"{machine}: {quota}, but the number of CPUs is not known")
        said = f"{machine}: a quota of {_cpus(facts.cgroup_cpu_limit)} on {cpus}"
        if facts.cgroup_cpu_limit < cpus:
            return invalid(self.name, f"{said}: set `cpus` to no more than the quota")
        return valid(self.name, said)

    def _own(self, machine: str, quota: float, facts: Facts) -> Verdict:
        """The quota defines an emulated machine, so it must be in force."""
        found = facts.cgroup_cpu_limit
        if found is None and not facts.cgroups_seen:
            return unknown(self.name, f"{machine}: its cgroups could not be read, so its own quota was not observed")
        if found is None or abs(found - quota) > QUOTA_OFF.value * quota:
            said = "none" if found is None else _cpus(found)
            return invalid(self.name, f"{machine}: its own quota is {_cpus(quota)}, but {said} was found")
        return valid(self.name, f"{machine}: a quota of {_cpus(quota)}, which is its own")


class ClockOffset:
    """Seconds of several machines are compared with each other, so their clocks must agree."""

    name = "clock-offset"
    text = f"Rejects a trial on several machines if the clock of one is over {CLOCK_OFFSET.words} off the controller's."

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Checks each reading with its bounds; None for one machine, and if the time was never read."""
        looks = _looks(evidence)
        if len(evidence.facts_before) < 2 or all(facts.clock_offset_s is None for _, _, facts in looks):
            return None
        return over_machines(self.name, [self._look(*look) for look in looks], _NO_FACTS)

    def _look(self, machine: str, when: str, facts: Facts) -> Verdict:
        offset_s, bound_s = facts.clock_offset_s, facts.clock_offset_bound_s
        if offset_s is None or bound_s is None:
            return unknown(self.name, f"{machine}: its clock could not be read {when} the trial")
        said = f"{machine}: clock off by {offset_s:+.3f} s {when} the trial (± {bound_s:.3f} s)"
        if abs(offset_s) - bound_s > CLOCK_OFFSET.value:
            return invalid(self.name, f"{said}, limit {CLOCK_OFFSET.words}: set its clock (chronyc makestep)")
        known = abs(offset_s) + bound_s <= CLOCK_OFFSET.value
        return (
            valid(self.name, said)
            if known
            else unknown(self.name, f"{said}: reading the clock took too long to be precise enough")
        )


class ClockStep:
    """Some tools take their durations from the wall clock, which somebody may set."""

    name = "clock-step"
    text = (
        f"Rejects a trial during which the wall clock of a machine jumped by over {CLOCK_STEP.words}: some tools, for "
        "example stress-ng, take their durations from it."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Looks at the largest distance from where the clock was first; None if the sampler did not read it."""
        steps_s = {
            machine: [sample.clock_step_s for sample in samples if sample.clock_step_s is not None]
            for machine, samples in sorted(evidence.telemetry.items())
        }
        verdicts = [self._machine(machine, steps) for machine, steps in steps_s.items() if steps]
        return over_machines(self.name, verdicts, "") if verdicts else None

    def _machine(self, machine: str, steps_s: list[float]) -> Verdict:
        jump_s = max(accumulate(steps_s), key=abs)
        if abs(jump_s) <= CLOCK_STEP.value:
            return valid(self.name, f"{machine}: its clock did not jump")
        return invalid(self.name, f"{machine}: its clock jumped by {jump_s:+.3f} s (limit {CLOCK_STEP.words})")


class MachineUnchanged:
    """Live migration, CPU hot-plug, a remount, a changed governor: the trial would have measured two machines."""

    name = "machine-unchanged"
    text = "Rejects a trial during which a fact about the machine changed (CPUs, memory, kernel, clock, disk, limits)."

    def __call__(self, evidence: Evidence) -> Verdict:
        """Compares the facts before and after, for everything that should be stable."""
        machines = [self._machine(evidence, machine) for machine in sorted(evidence.facts_before)]
        return over_machines(self.name, machines, _NO_FACTS)

    def _machine(self, evidence: Evidence, machine: str) -> Verdict:
        before, after = evidence.facts_before[machine], evidence.facts_after.get(machine)
        if after is None:
            return unknown(self.name, f"{machine}: no facts were taken after the trial")
        pairs = {name: (getattr(before, name), getattr(after, name)) for name in _STABLE}
        pairs |= {f"disk {name}": (getattr(before.disk, name), getattr(after.disk, name)) for name in _STABLE_OF_DISK}
        changed = [
            f"{name} from {old} to {new}" for name, (old, new) in pairs.items() if old != new and None not in {old, new}
        ]
        unseen = [name for name, (old, new) in pairs.items() if (old is None) != (new is None)]
        if changed:
            return invalid(self.name, f"{machine}: changed {', '.join(changed)}")
        if unseen:
            return unknown(self.name, f"{machine}: observed only once: {', '.join(unseen)}")
        return valid(self.name, f"{machine}: unchanged by the trial")
