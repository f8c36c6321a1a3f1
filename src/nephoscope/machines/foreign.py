"""Counters of the sampler -> CPUs that others kept busy in each interval. Pure.

The machine's busy time of /proc/stat, less that of the trial's processes, less that of the kernel. It is a difference,
because a list of processes shows neither those that end within a second nor those of another PID namespace.

- Interrupts are the kernel's: a trial causes them with its packets and its I/O.
- So are kernel threads. The sampler reads them only while the difference is over its limit; what they used since they
  were last read is spread over the intervals in between, in proportion to their differences.
- Where kernel threads are not visible (in a container), only time in user mode can be told apart: they have none.
- An interval before which a process of the trial ended without leaving its CPU time to its parent says nothing, and
  neither does one over the limit after which the kernel's threads were never read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from pydantic import ConfigDict, Field

from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import NephoscopeError
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import ForeignProcess
from nephoscope.model.units import MICROSECONDS_PER_SECOND

Count = Annotated[int, Field(ge=0, lt=1 << 64)]
"""A counter of the kernel, of 64 bits."""


class _Counters(Frozen):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Loud(_Counters):
    """A process of others."""

    pid: int
    name: str
    cpu_us: Count


class Others(_Counters):
    """CPU time of everybody else since they were last read."""

    kernel_us: Count
    visible_us: Count
    loudest: list[Loud]


class Used(_Counters):
    """CPU time of the trial since the sampler's start."""

    user_us: Count
    system_us: Count
    complete: bool
    kernel_visible: bool
    over_limit: bool
    stopped: Count | None = None
    others: Others | None


@dataclass(frozen=True)
class Moment:
    """One line of the sampler: busy time of the whole machine in seconds of CPU, and what the trial used of it."""

    at_s: float
    user_s: float
    system_s: float
    interrupts_s: float
    used: Used | None


@dataclass(frozen=True)
class Foreign:
    """What is known of others in one interval."""

    cpus: float | None = None
    kernel_cpus: float | None = None
    named_s: float | None = None
    processes: tuple[ForeignProcess, ...] = ()


def foreign_of(moments: Sequence[Moment]) -> list[Foreign]:
    """For each interval between two moments; intervals between two readings of the trial share one value."""
    read = [at for at, moment in enumerate(moments) if moment.used is not None]
    kernel = _kernel_s(moments, read)
    found = [Foreign()] * max(0, len(moments) - 1)
    for place, (start, end) in enumerate(pairwise(read)):
        before, after = moments[start], moments[end]
        duration_s = after.at_s - before.at_s
        share = kernel[place]
        if after.used is None or duration_s <= 0:
            continue
        known = share is not None and after.used.complete
        others = after.used.others
        value = Foreign(
            cpus=(_difference_s(before, after) - (share or 0.0)) / duration_s if known else None,
            kernel_cpus=(after.interrupts_s - before.interrupts_s + (share or 0.0)) / duration_s,
        )
        found[start:end] = [value] * (end - start)
        if others is not None:
            found[end - 1] = Foreign(value.cpus, value.kernel_cpus, _seconds(others.visible_us), _loudest(others))
    return found


def _difference_s(before: Moment, after: Moment) -> float:
    """Busy time that is not the trial's, nor in interrupts."""
    if before.used is None or after.used is None:
        return 0.0
    user_s = after.user_s - before.user_s - _seconds(after.used.user_us - before.used.user_us)
    if not after.used.kernel_visible:
        return user_s
    return user_s + after.system_s - before.system_s - _seconds(after.used.system_us - before.used.system_us)


def _kernel_s(moments: Sequence[Moment], read: Sequence[int]) -> list[float | None]:
    """CPU time of kernel threads between each two readings of the trial; None: over the limit, and not known."""
    differences = [max(0.0, _difference_s(moments[start], moments[end])) for start, end in pairwise(read)]
    found: list[float | None] = [0.0] * len(differences)
    first = 0
    for place, end in enumerate(read[1:]):
        used = moments[end].used
        if used is not None and used.others is not None:
            together_s = sum(differences[first : place + 1])
            spent_s = min(_seconds(used.others.kernel_us), together_s) if used.kernel_visible else 0.0
            for each in range(first, place + 1):
                found[each] = spent_s * differences[each] / together_s if together_s > 0 else 0.0
            first = place + 1
    for place in range(first, len(differences)):
        used = moments[read[place + 1]].used
        if used is not None and used.over_limit and used.kernel_visible:
            found[place] = None
    return found


def _loudest(others: Others) -> tuple[ForeignProcess, ...]:
    return tuple(ForeignProcess(pid=one.pid, name=one.name, cpu_s=_seconds(one.cpu_us)) for one in others.loudest)


def _seconds(microseconds: int) -> float:
    return microseconds / MICROSECONDS_PER_SECOND


LOOK_S = 0.5
MIN_SHARE = 0.1
"""Of one CPU: quieter processes are not worth a name."""
_TICKS_PER_S = 100
_TIMEOUT_S = 10.0
_SCRIPT = "cat /proc/[0-9]*/stat 2>/dev/null; echo; sleep $1; cat /proc/[0-9]*/stat 2>/dev/null; true"


async def loudest_process(machine: MachineHandle) -> str:
    """'rustc uses 98 % of a CPU'; empty if no process stands out, or if the machine does not tell."""
    argv = ["sh", "-c", _SCRIPT, "loudest", str(LOOK_S)]
    try:
        seen = await machine.remote.execute(Command(argv, timeout_s=_TIMEOUT_S, pinned=False))
    except NephoscopeError:
        return ""
    before, _, after = seen.stdout.decode(errors="replace").partition("\n\n")
    return loudest_between(before, after, LOOK_S)


def loudest_between(before: str, after: str, between_s: float) -> str:
    """See `loudest_process`; of two readings of all `/proc/<pid>/stat`."""
    earlier, used = _ticks(before), dict[str, float]()
    for (pid, name), ticks in _ticks(after).items():
        share = (ticks - earlier.get((pid, name), ticks)) / _TICKS_PER_S / between_s
        used[name] = used.get(name, 0.0) + share
    name = max(used, key=lambda one: used[one], default="")
    if not name or used[name] < MIN_SHARE:
        return ""
    return f"{name} uses {used[name]:.0%} of a CPU"


def _ticks(text: str) -> Mapping[tuple[str, str], int]:
    """(process, program) -> clock ticks of CPU time; the program is in brackets and may hold any character."""
    found: dict[tuple[str, str], int] = {}
    for line in text.splitlines():
        head, bracket, tail = line.rpartition(")")
        pid, _, name = head.partition(" (")
        fields = tail.split()
        if bracket and len(fields) > 12 and fields[11].isdigit() and fields[12].isdigit():
            found[pid, name] = int(fields[11]) + int(fields[12])
    return found
