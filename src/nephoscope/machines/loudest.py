"""Which program keeps a machine busy: CPU time of its processes over half a second, from /proc."""

from collections.abc import Mapping

from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import NephoscopeError

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
