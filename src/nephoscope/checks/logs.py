"""The gate from logs alone: which machine a log shows, against the machine type on its label.

A log of 2019 has no facts, no telemetry and no exit codes. It has what stress-ng printed, and lines about the CPU where
somebody printed them. Effective CPUs are user time / real time of stressors that do nothing but compute: 16 workers on
16 free CPUs use 16 s of user time in a second.

What a provider documents of a type refuses a log that contradicts it. What was only seen elsewhere on machines of that
type decides nothing: a hypervisor may show another cache or other sockets than the CPU has, and Google's did (see the
table of types). What the log does not show is not judged.

A run without a readable CPU log has siblings: runs of its label and day that name the same server, or hold the same log
of the files' preparation. They were made on the same machines, so what they show holds for it too.
"""

import math
from collections.abc import Sequence

from pydantic import Field

from nephoscope.checks.thresholds import EFFECTIVE_CPUS_MISSING, STRESS_LENGTH, STRESS_START
from nephoscope.checks.verdicts import invalid, percent, unknown, valid
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Verdict, VerdictKind
from nephoscope.model.units import GIB

_ROUNDED = 0.005
"""Newer versions of lscpu print 35.8 MiB for 36608 KiB; the closest two sizes of the table differ by 8 %."""

CPU_BOUND = ("cpu", "matrix")
"""stress-ng's stressors that only compute, of those that the Cloud Reports used."""

LOG_CHECKS = {
    "cpu-log": "Needs a readable log of CPU-bound stressors: without one nothing says which machine this was.",
    "machine-type": "Needs a label whose machine type is known.",
    "effective-cpus": f"Refuses a log with over {EFFECTIVE_CPUS_MISSING.percent} fewer, or more, effective CPUs than "
    "the labelled type has vCPUs.",
    "cpu-contention": f"Refuses a log whose effective CPUs lie over {EFFECTIVE_CPUS_MISSING.percent} below the next "
    "whole number: no machine has a part of a CPU, so others used it, or it was throttled.",
    "same-machine": "Gives a run without a readable CPU log the verdict of the runs of its label and day that were "
    "made on the same machines: they name the same server, or hold the same log of the files' preparation.",
    "cpu-cache": "Refuses a last-level cache that no CPU of the labelled type has, where the provider documents the "
    "CPU. Elsewhere it decides nothing: hypervisors show other sizes than the CPU has.",
    "cpu-model": "Refuses a CPU model that the provider does not list for the labelled type.",
    "cpu-lines": "Refuses another number of vCPUs, printed by lscpu or /proc/cpuinfo, than the labelled type has, or "
    "half of it where they are one for each core: then hyperthreads are off. Sockets decide nothing: hypervisors show "
    "one for each vCPU, or one for all.",
    "cache-served": "Refuses file reads, and nothing else of the log, when the page cache could hold all files.",
}
"""Name -> what it refuses, in the order in which they are asked."""

OF_THE_MACHINE = ("cpu-cache", "cpu-model", "cpu-lines")
"""Checks that tell another machine from one that was only contended."""


class LogFacts(Frozen):
    """What a log shows of its machine. None, or empty: not printed."""

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
        """Share of the CPUs that may be missing."""
        short = STRESS_START.value / self.real_s if self.real_s < STRESS_LENGTH.value else 0.0
        return EFFECTIVE_CPUS_MISSING.value + short


class MachineType(Frozen):
    """What is known of a machine type. None, or empty: not known, and not judged."""

    name: str
    vcpus: int | None
    vcpus_of_size: int | None = Field(default=None, description="where `vcpus` is what CPU options left of it")
    memory_gib: float | None
    cpu_words: tuple[str, ...] = Field(description="one of them is in the name of each CPU that the provider lists")
    l3_kib: tuple[int, ...] = Field(description="one instance of the last-level cache")
    l3_documented: bool = Field(description="False: only seen elsewhere on this type")
    sockets_seen: int | None

    def vcpus_for(self, shown: LogFacts) -> int | None:
        """How many vCPUs a machine of this type has, as far as its log tells of hyperthreads and CPU options."""
        seen = shown.vcpus if shown.vcpus is not None else round(shown.effective_cpus)
        if self.vcpus and shown.threads_per_core == 1 and 2 * seen == self.vcpus:
            return seen
        return seen if seen == self.vcpus_of_size else self.vcpus


class Sibling(Frozen):
    """Another run of the same label and day, on the same machines."""

    number: str
    link: str = Field(description="what proves it: 'the same server 10.128.0.25'")
    verdict: VerdictKind = Field(description="on the machine: a contended run says nothing of which one it was")


def judge_by_siblings(siblings: Sequence[Sibling]) -> Verdict | None:
    """What runs on the same machines say of a run that has no readable CPU log; None when they say nothing."""
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


def judge_log(shown: LogFacts | None, label: str, known: MachineType | None) -> list[Verdict]:
    """Holds what a log shows against the type on its label.

    Args:
        shown: None when there is no readable CPU log.
        label: the claimed machine type, for reasons.
        known: None when nothing is known of that type.

    Returns:
        At least one verdict; parts that the log does not show have none.
    """
    if shown is None:
        return [unknown("cpu-log", "no readable CPU log: nothing says which machine this was")]
    if shown.stressor not in CPU_BOUND:
        return [unknown("cpu-log", f"the stressor {shown.stressor!r} is not known to be CPU-bound")]
    verdicts = [_contention(shown)]
    if known is None:
        return [unknown("machine-type", f"nothing is known of the type {label!r}"), *verdicts]
    maybe = (_effective(shown, known), _cache(shown, known), _model(shown, known), _lines(shown, known))
    return [*verdicts, *(verdict for verdict in maybe if verdict)]


def judge_reads(files_bytes: int, open_flags: str, known: MachineType | None) -> Verdict:
    """Can reads of these files have come from a disk at all?"""
    name = "cache-served"
    if "direct" in open_flags:
        return valid(name, "the files were opened past the page cache")
    if known is None or known.memory_gib is None:
        return unknown(name, "the memory of this type is not known")
    said = f"{files_bytes / GIB:g} GiB of files, {known.memory_gib:g} GiB of memory"
    if files_bytes <= known.memory_gib * GIB:
        return invalid(name, f"{said}: the page cache can hold all of them, so reads need not touch the disk")
    return valid(name, said)


def _contention(shown: LogFacts) -> Verdict:
    name, effective = "cpu-contention", shown.effective_cpus
    whole = max(1, math.ceil(effective * (1 - shown.limit)))
    missing = 1 - effective / whole
    if missing > shown.limit:
        return invalid(name, f"{effective:.2f} effective CPUs: the CPUs were shared with others, or throttled")
    return valid(name, f"{effective:.2f} effective CPUs, within {percent(abs(missing))} of {whole}")


def _effective(shown: LogFacts, known: MachineType) -> Verdict:
    name, effective = "effective-cpus", shown.effective_cpus
    vcpus = known.vcpus_for(shown)
    if vcpus is None:
        return unknown(name, f"the number of vCPUs of {known.name} is not known")
    said = f"{effective:.2f} effective CPUs of {vcpus} vCPUs"
    if effective > vcpus * (1 + shown.limit):
        return invalid(name, f"{said}: more than {known.name} has")
    if effective >= vcpus * (1 - shown.limit):
        return valid(name, said)
    if shown.workers < vcpus and effective >= shown.workers * (1 - shown.limit):
        return unknown(name, f"{shown.workers} stressors cannot keep {vcpus} vCPUs busy")
    whole = round(effective)
    if whole and abs(effective / whole - 1) <= shown.limit:
        said += f": a machine with {whole}, or one that was held to {whole}"
    return invalid(name, said)


def _cache(shown: LogFacts, known: MachineType) -> Verdict | None:
    name = "cpu-cache"
    if not shown.l3_kib:
        return None
    said = f"a last-level cache of {_listed(shown.l3_kib)} KiB"
    if not known.l3_kib:
        return valid(name, f"{said}; that of {known.name} is not known: not judged")
    if all(any(abs(size - one) <= _ROUNDED * one for one in known.l3_kib) for size in shown.l3_kib):
        return valid(name, f"{said}, as {known.name} has")
    if known.l3_documented:
        return invalid(name, f"{said}; the CPUs of {known.name} have {_listed(known.l3_kib)}: another machine")
    seen = f"{_listed(known.l3_kib)} was seen on {known.name} elsewhere, and its provider documents none"
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
        return invalid(name, f"{shown.vcpus} vCPUs are listed; {known.name} has {known.vcpus}")
    said = f"{shown.vcpus} vCPUs are listed" if shown.vcpus is not None else ""
    if said and known.vcpus and shown.threads_per_core == 1 and known.vcpus_for(shown) != known.vcpus:
        said += f", one for each core: the hyperthreads of {known.name} are off"
    if shown.sockets is not None and known.sockets_seen is not None and shown.sockets != known.sockets_seen:
        other = f"{shown.sockets} sockets are listed, {known.sockets_seen} was seen on {known.name}: not judged"
        said = f"{said}; {other}" if said else other
    return valid(name, said) if said and known.vcpus is not None else None


def _listed(sizes: Sequence[int]) -> str:
    return " or ".join(str(size) for size in sorted(sizes))
