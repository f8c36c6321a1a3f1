"""Checks that use only logs: which machine a log shows, compared with the machine type on its label.

A log of 2019 has no facts, no telemetry and no exit codes. It holds the output of stress-ng, and lines about the CPU if
somebody printed them. Effective CPUs are user time / real time of stressors that do nothing but compute: 16 workers on
16 free CPUs use 16 s of user time in a second.

If a log contradicts what the provider documents about a type, the log is rejected. What was only observed on other
machines of that type decides nothing: a hypervisor may show another cache or other sockets than the CPU has, and
Google's did (see the table of types). What the log does not show is not judged.

A run without a readable CPU log has siblings: runs of its label and day that name the same server, or hold the same log
of the files' preparation. They ran on the same machines, so what they show holds for it too.
"""

import math
from collections.abc import Sequence

from pydantic import Field

from nephoscope.checks.thresholds import EFFECTIVE_CPUS_MISSING, STRESS_LENGTH, STRESS_START
from nephoscope.checks.verdicts import invalid, percent, unknown, valid
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Verdict, VerdictKind
from nephoscope.model.units import GIB
from nephoscope.model.words import counted

_ROUNDED = 0.005
"""Newer versions of lscpu print 35.8 MiB for 36608 KiB; the closest two sizes of the table differ by 8 %."""

CPU_BOUND = ("cpu", "matrix")
"""The stressors of stress-ng that only compute, of those that the Cloud Reports used."""

LOG_CHECKS = {
    "cpu-log": "Needs a readable log of CPU-bound stressors: without one, nothing shows which machine this was.",
    "machine-type": "Needs a label with a known machine type.",
    "effective-cpus": f"Rejects a log with over {EFFECTIVE_CPUS_MISSING.percent} fewer, or more, effective CPUs than "
    "the labelled type has vCPUs.",
    "cpu-contention": f"Rejects a log whose effective CPUs are over {EFFECTIVE_CPUS_MISSING.percent} below the next "
    "whole number: no machine has a fraction of a CPU, so others used it, or it was throttled.",
    "concurrent-run": "Cannot decide about a run whose I/O logs also hold output of another run on the same machine, "
    "or were copied while a test was still running: which of its numbers the other run disturbed is not known.",
    "same-machine": "Gives a run without a readable CPU log the verdict of the runs of its label and day on the same "
    "machines: they name the same server, or hold the same log of the files' preparation.",
    "cpu-cache": "Rejects a last-level cache that no CPU of the labelled type has, if the provider documents the CPU. "
    "Otherwise it decides nothing, because hypervisors may show a size other than the CPU's.",
    "cpu-model": "Rejects a CPU model that the provider does not list for the labelled type.",
    "cpu-lines": "Rejects a number of vCPUs, printed by lscpu or /proc/cpuinfo, other than the labelled type's, or "
    "half of it where there is one per core (hyperthreads off). Sockets decide nothing: hypervisors show one per "
    "vCPU, or one for all.",
    "repeated-log": "Rejects what a copied log of the files' preparation shows, and nothing else of the run: a run "
    "that finds the files of an earlier one keeps its log, and one measurement must not count several times.",
    "cache-served": "Rejects file reads, and nothing else in the log, if the page cache could hold all files.",
}
"""Name -> what the check rejects, in the order in which they run."""

OF_THE_MACHINE = ("cpu-cache", "cpu-model", "cpu-lines")
"""Checks that distinguish another machine from one that was only contended."""


class LogFacts(Frozen):
    """What a log shows about its machine. None, or empty: not printed."""

    stressor: str
    workers: int = Field(ge=1)
    user_s: float = Field(ge=0, description="of all workers together")
    real_s: float = Field(gt=0)
    l3_kib: tuple[int, ...] = Field(default=(), description="one instance of the last-level cache, as printed")
    cpu_models: tuple[str, ...] = ()
    vcpus: int | None = None
    sockets: int | None = None
    threads_per_core: int | None = None

    @property
    def effective_cpus(self) -> float:
        """How many CPUs the stressors kept busy."""
        return self.user_s / self.real_s

    @property
    def limit(self) -> float:
        """The share of CPUs that is missing."""
        short = STRESS_START.value / self.real_s if self.real_s < STRESS_LENGTH.value else 0.0
        return EFFECTIVE_CPUS_MISSING.value + short


class MachineType(Frozen):
    """What is known about a machine type. None, or empty: not known, and not judged."""

    name: str
    vcpus: int | None
    vcpus_of_size: int | None = Field(default=None, description="where CPU options reduced this to `vcpus`")
    memory_gib: float | None
    cpu_words: tuple[str, ...] = Field(description="the name of each CPU that the provider lists contains one of these")
    l3_kib: tuple[int, ...] = Field(description="one instance of the last-level cache")
    l3_documented: bool = Field(description="False: only observed on other machines of this type")
    sockets_seen: int | None

    def vcpus_for(self, shown: LogFacts) -> int | None:
        """How many vCPUs a machine of this type has, as far as its log shows hyperthreads and CPU options."""
        seen = shown.vcpus if shown.vcpus is not None else round(shown.effective_cpus)
        if self.vcpus and shown.threads_per_core == 1 and 2 * seen == self.vcpus:
            return seen
        return seen if seen == self.vcpus_of_size else self.vcpus


class Sibling(Frozen):
    """Another run of the same label and day, on the same machines."""

    number: str
    link: str = Field(description="the evidence: 'the same server 10.128.0.25'")
    verdict: VerdictKind = Field(description="verdict on the machine: a contended run does not show which one it was")


def judge_by_siblings(siblings: Sequence[Sibling]) -> Verdict | None:
    """What runs on the same machines show about a run without a readable CPU log; None if they show nothing."""
    name = "same-machine"
    told = [one for one in siblings if one.verdict is not VerdictKind.UNKNOWN]
    if not told:
        return None
    kinds = sorted({one.verdict for one in told})
    runs: dict[tuple[str, VerdictKind], list[str]] = {(one.link, one.verdict): [] for one in told}
    for one in told:
        runs[one.link, one.verdict].append(one.number)
    links = [f"{link} as run {', '.join(numbers)}: {kind}" for (link, kind), numbers in runs.items()]
    said = f"no readable CPU log, but {'; '.join(links)}"
    if len(kinds) > 1:
        return unknown(name, f"{said}: they disagree")
    return Verdict(check=name, verdict=kinds[0], reason=said)


def judge_overlap(signs: Sequence[str]) -> Verdict | None:
    """What the signs of another run in a run's I/O logs mean for all of its numbers; None if there are no signs.

    Every part of the run may have been disturbed. A CPU log without contention proves only that the other run was at
    its file tests just then, which need little CPU time.
    """
    return unknown("concurrent-run", "another run used the machine: " + "; ".join(signs)) if signs else None


def judge_log(shown: LogFacts | None, label: str, known: MachineType | None, *, shared: bool = False) -> list[Verdict]:
    """Checks what a log shows against the type on its label.

    Args:
        shown: None if there is no readable CPU log.
        label: the claimed machine type, for reasons.
        known: None if nothing is known about that type.
        shared: another run used the machine, so missing CPUs do not show a smaller machine.

    Returns:
        At least one verdict; facts that the log does not show have none.
    """
    if shown is None:
        return [unknown("cpu-log", "no readable CPU log: nothing shows which machine this was")]
    if shown.stressor not in CPU_BOUND:
        return [unknown("cpu-log", f"the stressor {shown.stressor!r} is not known to be CPU-bound")]
    verdicts = [_contention(shown)]
    if known is None:
        return [unknown("machine-type", f"nothing is known about the type {label!r}"), *verdicts]
    maybe = (_effective(shown, known, shared=shared), _cache(shown, known), _model(shown, known), _lines(shown, known))
    return [*verdicts, *(verdict for verdict in maybe if verdict)]


def judge_copy(original: str) -> Verdict:
    """The verdict on the numbers of a log that another run has as well; `original` is that run."""
    return invalid("repeated-log", f"the same log as run {original}: it was measured once")


def judge_reads(files_bytes: int, open_flags: str, known: MachineType | None) -> Verdict:
    """Could reads of these files have come from a disk at all?"""
    name = "cache-served"
    if "direct" in open_flags:
        return valid(name, "the files were opened with the page cache bypassed")
    if known is None or known.memory_gib is None:
        return unknown(name, "the memory of this type is not known")
    said = f"{files_bytes / GIB:g} GiB of files, {known.memory_gib:g} GiB of memory"
    if files_bytes <= known.memory_gib * GIB:
        return invalid(name, f"{said}: the page cache can hold all of them, so reads may never reach the disk")
    return valid(name, said)


def _contention(shown: LogFacts) -> Verdict:
    name, effective = "cpu-contention", shown.effective_cpus
    whole = max(1, math.ceil(effective * (1 - shown.limit)))
    missing = 1 - effective / whole
    if missing > shown.limit:
        return invalid(name, f"{effective:.2f} effective CPUs: the CPUs were shared with others, or throttled")
    return valid(name, f"{effective:.2f} effective CPUs, within {percent(abs(missing))} of {whole}")


def _effective(shown: LogFacts, known: MachineType, *, shared: bool) -> Verdict:
    name, effective = "effective-cpus", shown.effective_cpus
    vcpus = known.vcpus_for(shown)
    if vcpus is None:
        return unknown(name, f"the number of vCPUs of {known.name} is not known")
    said = f"{effective:.2f} effective CPUs of {counted(vcpus, 'vCPU')}"
    if effective > vcpus * (1 + shown.limit):
        return invalid(name, f"{said}: more than {known.name} has")
    if effective >= vcpus * (1 - shown.limit):
        return valid(name, said)
    if shown.workers < vcpus and effective >= shown.workers * (1 - shown.limit):
        return unknown(name, f"{counted(shown.workers, 'stressor')} cannot keep {counted(vcpus, 'vCPU')} busy")
    whole = round(effective)
    if shared:
        said += ": another run used the rest"
    elif whole and abs(effective / whole - 1) <= shown.limit:
        said += f": a machine with {whole}, or one limited to {whole}"
    return invalid(name, said)


def _cache(shown: LogFacts, known: MachineType) -> Verdict | None:
    name = "cpu-cache"
    if not shown.l3_kib:
        return None
    said = f"a last-level cache of {_listed(shown.l3_kib)} KiB"
    if not known.l3_kib:
        return valid(name, f"{said}; that of {known.name} is not known: not judged")
    if all(any(abs(size - one) <= _ROUNDED * one for one in known.l3_kib) for size in shown.l3_kib):
        return valid(name, f"{said}, as on {known.name}")
    if known.l3_documented:
        return invalid(name, f"{said}; the CPUs of {known.name} have {_listed(known.l3_kib)}: another machine")
    seen = f"{_listed(known.l3_kib)} was observed on another {known.name}, and its provider documents none"
    return valid(name, f"{said}; {seen}: not judged")


def _model(shown: LogFacts, known: MachineType) -> Verdict | None:
    name = "cpu-model"
    if not shown.cpu_models:
        return None
    said = " and ".join(shown.cpu_models)
    if not known.cpu_words:
        return valid(name, f"{said}; the CPU of {known.name} is not known: not judged")
    if all(any(word.casefold() in model.casefold() for word in known.cpu_words) for model in shown.cpu_models):
        return valid(name, said)
    return invalid(name, f"{said}: {known.name} has {' or '.join(known.cpu_words)}")


def _lines(shown: LogFacts, known: MachineType) -> Verdict | None:
    name = "cpu-lines"
    if shown.vcpus is not None and known.vcpus is not None and shown.vcpus != known.vcpus_for(shown):
        return invalid(name, f"{_are_listed(shown.vcpus, 'vCPU')}; {known.name} has {known.vcpus}")
    said = _are_listed(shown.vcpus, "vCPU") if shown.vcpus is not None else ""
    if said and known.vcpus and shown.threads_per_core == 1 and known.vcpus_for(shown) != known.vcpus:
        said += f", one per core: the hyperthreads of {known.name} are off"
    if shown.sockets is not None and known.sockets_seen is not None and shown.sockets != known.sockets_seen:
        other = f"{_are_listed(shown.sockets, 'socket')}, {known.sockets_seen} was observed on {known.name}: not judged"
        said = f"{said}; {other}" if said else other
    return valid(name, said) if said and known.vcpus is not None else None


def _are_listed(count: int, noun: str) -> str:
    return f"{counted(count, noun)} {'is' if count == 1 else 'are'} listed"


def _listed(sizes: Sequence[int]) -> str:
    return " or ".join(str(size) for size in sorted(sizes))
