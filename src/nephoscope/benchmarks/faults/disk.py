"""Faults of the disk with a server's data: limits of the control group in which the server runs, by root.

Whatever runs there meets them, as with a disk that is slow; the kernel, and so the log of the file system, does not.
Version 1 of control groups slows direct reads and writes and what a process itself syncs, as a database does its log;
version 2 also what is written back later.
"""

from abc import abstractmethod

from typing_extensions import override

from nephoscope.benchmarks.faults.kinds import GRACE_S, Fault, Severity, State, Victim
from nephoscope.machines.local import LocalRemote
from nephoscope.model.errors import EnvironmentProblem, InputError
from nephoscope.model.units import MIB

_NO_LIMIT = "max"
_WAYS = ("rbps", "wbps")
"""Bytes read and written per second, as version 2 calls them."""
_LOOK = """
folder=$2 process=$3
no() { echo "lacks=$1"; exit 0; }
on() { findmnt --noheadings --output MAJ:MIN --target "$1" | tr -d ' ' | head -n 1; }
device=$(on "$folder")
[ "$device" != "$(on /)" ] || no 'a disk of its own for its data'
[ ! -e "/sys/dev/block/$device/partition" ] || read -r device <"/sys/dev/block/$device/../dev"
[ -e "/sys/dev/block/$device" ] || no 'a block device below its data'
root=/sys/fs/cgroup
if [ -e "$root/cgroup.controllers" ]; then
    group=$(sed -n 's/^0:://p' "/proc/$process/cgroup")
    file=$root$group/io.max at=$root
    if [ ! -e "$file" ]; then # every group above it must pass the controller on
        for name in $(dirname "$group" | tr / ' ') .; do
            echo +io >"$at/cgroup.subtree_control"
            at=$at/$name
        done
    fi 2>/dev/null
    [ -w "$file" ] || no 'a control group that limits disks'
    sed -n "s/^$device //p" "$file" | tr ' ' '\\n' | grep bps
else
    group=$(sed -n 's/^[0-9]*:blkio://p' "/proc/$process/cgroup")
    file=$root/blkio$group/blkio.throttle
    [ -w "$file.read_bps_device" ] || no 'a control group that limits disks'
    sed -n "s/^$device /rbps=/p" "$file.read_bps_device"
    sed -n "s/^$device /wbps=/p" "$file.write_bps_device"
fi
echo "device=$device"
echo "file=$file"
"""
_SET = """
script=$1 file=$2 device=$3 reads=$4 writes=$5 after=$6 reads_again=$7 writes_again=$8
[ "$after" = never ] || on_its_own "$after" $$ "$script" "$file" "$device" "$reads_again" "$writes_again" never
if [ -e "$file" ]; then
    echo "$device rbps=$reads wbps=$writes" >"$file"
else # of version 1, where 0 is no limit
    [ "$reads" != max ] || reads=0
    [ "$writes" != max ] || writes=0
    echo "$device $reads" >"$file.read_bps_device"
    echo "$device $writes" >"$file.write_bps_device"
fi
"""


class _Throttle(Fault):
    """One that limits the disk."""

    here = False

    @abstractmethod
    def _bytes_per_s(self, severity: Severity) -> int:
        """Of reads, and as many of writes."""

    @override
    async def look(self, victim: Victim) -> State:
        machine, server = victim.server.machine, victim.server
        if isinstance(machine.remote, LocalRemote):
            raise InputError(
                f"the disk of {machine.name} is not for its server alone",
                hint="use machines of their own: `provider` ssh, a cloud, or emulated",
            )
        process = next(iter(await victim.processes()), "self")
        said = await victim.as_root(_LOOK, server.folder, process)
        found = dict(line.partition("=")[::2] for line in said.splitlines())
        if "lacks" in found:
            raise EnvironmentProblem(
                f"the disk of {machine.name} cannot be slowed: it lacks {found['lacks']}",
                hint="a fault of the disk needs root, control groups with `io` or `blkio`, and data that are not on "
                "the disk of the system",
            )
        return {**dict.fromkeys(_WAYS, _NO_LIMIT), **found}

    @override
    async def apply(self, victim: Victim, duration_s: float, before: State) -> None:
        limit, again = str(self._bytes_per_s(victim.severity)), [before[way] for way in _WAYS]
        await victim.as_root(
            _SET, before["file"], before["device"], limit, limit, f"{duration_s + GRACE_S:g}", *again
        )  # fmt: skip

    @override
    def happened(self, before: State, after: State) -> bool:
        return before["device"] == after["device"] and all(before[way] != after[way] != _NO_LIMIT for way in _WAYS)

    @override
    async def undo(self, victim: Victim, before: State) -> None:
        await victim.as_root(_SET, before["file"], before["device"], *(before[way] for way in _WAYS), "never")

    @override
    def is_over(self, before: State, after: State) -> bool:
        return after == before


class StalledDisk(_Throttle):
    """The disk with its data does nothing until it goes on: it reads and writes a byte per second."""

    @override
    def _bytes_per_s(self, severity: Severity) -> int:
        return 1


class SlowDisk(_Throttle):
    """The disk with its data reads and writes `disk_mib_per_s`, and no more."""

    @override
    def _bytes_per_s(self, severity: Severity) -> int:
        return round(severity.disk_mib_per_s * MIB)
