"""A memory limit around whatever is measured: a separate control group, for reads that the page cache must not serve.

Pages that a process of the group reads or writes count towards it, so the kernel drops them beyond the limit. Supports
both versions of control groups; creating one needs root on the machine.
"""

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nephoscope.machines.facts_text import CGROUPS
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import EnvironmentProblem

_TIMEOUT_S = 20.0
_MAKE = r"""
set -e
if [ ! -e "$3/cgroup.controllers" ]; then
  own=$(sed -n 's/^[0-9]*:\([^:]*,\)\{0,1\}memory\(,[^:]*\)\{0,1\}://p' /proc/self/cgroup)
  parent=$3/memory
  if [ -d "$parent$own" ]; then parent=${parent}${own%/}; fi
  limit=memory.limit_in_bytes; swap=memory.memsw.limit_in_bytes; swap_bytes=$2
else
  parent=$3
  grep -qw memory "$parent/cgroup.subtree_control" || echo +memory > "$parent/cgroup.subtree_control"
  limit=memory.max; swap=memory.swap.max; swap_bytes=0
fi
group=$parent/$1
[ ! -d "$group" ] || rmdir "$group"
mkdir "$group"
echo "$2" > "$group/$limit"
[ ! -e "$group/$swap" ] || echo "$swap_bytes" > "$group/$swap"
echo "$group"
"""
"""The group lies below our own (version 1) or at the root, the only one that may hold both processes and groups
(version 2). Only version 2 has `cgroup.controllers`, in every group.
"""
_INSIDE = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"'


@dataclass(frozen=True)
class MemoryGroup:
    """A control group that exists."""

    path: str

    def around(self, argv: Sequence[str]) -> list[str]:
        """The command, inside the group."""
        return ["sh", "-c", _INSIDE, "sh", self.path, *argv]


@asynccontextmanager
async def memory_limited(
    machine: MachineHandle, limit_bytes: int, *, cgroups: str = CGROUPS
) -> AsyncIterator[MemoryGroup]:
    """A group with this limit, swap included, for the duration of the block. One at a time for each data folder.

    Args:
        machine: where the group is made.
        limit_bytes: of memory, page cache included.
        cgroups: where its control groups are mounted.

    Raises:
        EnvironmentProblem: the machine does not allow creating one.
    """
    name = f"nephoscope-{hashlib.sha256(machine.data_dir.encode()).hexdigest()[:12]}"
    argv = ["sh", "-c", _MAKE, "sh", name, str(limit_bytes), cgroups]
    made = await machine.remote.execute(Command(argv, timeout_s=_TIMEOUT_S, pinned=False))
    if made.exit_code != 0:
        said = made.stderr.decode(errors="replace").strip()[-200:]
        raise EnvironmentProblem(
            f"{machine.name} does not allow creating a control group with a memory limit: {said}",
            hint="run as root; without a limit the page cache serves reads, and the check cache-served rejects the "
            "trial",
        )
    group = MemoryGroup(made.stdout.decode().strip())
    try:
        yield group
    finally:
        await machine.remote.execute(Command(["rmdir", group.path], timeout_s=_TIMEOUT_S, pinned=False))
