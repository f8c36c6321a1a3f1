"""Whether a block device may be overwritten: nothing on the machine uses it, and it carries nothing that is known.

The study names a device twice; the rest must be checked on the machine itself. A disk that nephoscope created with the
machine may carry what an earlier trial wrote.
"""

from collections.abc import Sequence

from nephoscope.benchmarks.base import VOLUME
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import InputError
from nephoscope.parsers.lsblk import BlockDevice, parse_lsblk

_TIMEOUT_S = 20.0
_WHOLE = frozenset({"disk", "loop"})
_PARTS_OF_SOMETHING = frozenset(
    {"LVM2_member", "linux_raid_member", "crypto_LUKS", "zfs_member", "swap", "bcache", "btrfs"}
)
"""What lies on it belongs to more than this device, or is in use without a mount point."""
_COLUMNS = "NAME,TYPE,SIZE,RO,FSTYPE,PKNAME"
_USERS = (
    'ls -d /sys/class/block/"$1"/holders/* /sys/fs/ext4/"$1" /sys/fs/xfs/"$1" /sys/fs/f2fs/"$1" '
    '/sys/fs/btrfs/*/devices/"$1" 2>/dev/null'
)
"""Also what is mounted in another mount namespace, which lsblk does not see."""


_SIGNATURE = 'PATH=$PATH:/usr/sbin:/sbin; blkid -p -o value -s TYPE -s PTTYPE -- "$1"; [ $? -ne 8 ] || echo several'
"""By the device's content: lsblk repeats what udev saw. Exit code 8: of several kinds at once."""


async def raw_device_of(machine: MachineHandle, wanted: str) -> tuple[str, int]:
    """Path and size in bytes of the device that a study calls 'volume', or names by its path.

    Raises:
        InputError: it is not there, not a whole disk, something uses it, or it is not empty and not nephoscope's own.
        OutputUnreadable: the output of lsblk has an unexpected format.
    """
    if wanted != VOLUME:
        return wanted, await require_unused(machine, wanted)
    if not machine.raw_devices:
        raise InputError(
            f"the benchmark measures a raw volume, but nephoscope created none for {machine.name}",
            hint='on a cloud, add a volume with `use = "raw"`; elsewhere name the device instead of "volume"',
        )
    return machine.raw_devices[0], await require_unused(machine, machine.raw_devices[0], created=True)


async def require_unused(machine: MachineHandle, device: str, *, created: bool = False) -> int:
    """Looks at the machine; the device's size in bytes.

    Args:
        machine: it is there.
        device: its path.
        created: nephoscope created it with the machine, so that only nephoscope's own data can be on it.

    Raises:
        InputError: it is not there, not a whole disk, or something uses it.
        OutputUnreadable: the output of lsblk has an unexpected format.
    """
    look = machine.remote.execute
    resolved = await look(Command(["readlink", "-e", device], timeout_s=_TIMEOUT_S, pinned=False))
    name = resolved.stdout.decode(errors="replace").strip().removeprefix("/dev/")
    listed = await look(
        Command(["lsblk", "-J", "-b", "-o", f"{_COLUMNS},MOUNTPOINTS"], timeout_s=_TIMEOUT_S, pinned=False)
    )
    if listed.exit_code != 0:  # util-linux before 2.37 knows one mount point
        listed = await look(
            Command(["lsblk", "-J", "-b", "-o", f"{_COLUMNS},MOUNTPOINT"], timeout_s=_TIMEOUT_S, pinned=False)
        )
    devices = parse_lsblk(listed.require().stdout.decode(errors="replace"))
    users = await look(Command(["sh", "-c", _USERS, "sh", name], timeout_s=_TIMEOUT_S, pinned=False))
    why_not = reason_against(devices, name) or _used_by(users.stdout.decode(errors="replace").split())
    if why_not:
        raise InputError(
            f"{device} of {machine.name} must not be overwritten: {why_not}",
            hint="name an empty, unused disk as the raw device, or none",
        )
    if not created:
        await _require_empty(machine, device, name)
    return next(one.size_bytes or 0 for one in devices if one.name == name)


async def _require_empty(machine: MachineHandle, device: str, name: str) -> None:
    """Rejects a device on which a filesystem, a partition table or a member of something larger is recognised."""
    asked = Command(["sh", "-c", _SIGNATURE, "sh", f"/dev/{name}"], timeout_s=_TIMEOUT_S, pinned=False)
    found = (await machine.remote.execute(asked)).stdout.decode(errors="replace").split()
    if found:
        raise InputError(
            f"{device} of {machine.name} must not be overwritten: it contains {' and '.join(found)}",
            hint=f"if its data may be lost, remove them yourself: wipefs --all {device}",
        )


def reason_against(devices: Sequence[BlockDevice], name: str) -> str:
    """Why a device must not be overwritten; empty if it may be. Pure.

    Args:
        devices: of the machine, parts behind the device they are a part of.
        name: as lsblk calls it: 'nvme1n1'.
    """
    device = next((one for one in devices if one.name == name), None)
    if not name or device is None:
        return "there is no such block device"
    parts = [one for one in devices if name in one.parents]
    mounts = [place for one in devices if one.name == name or one in parts for place in one.mountpoints]
    kinds = sorted({str(part.kind) for part in parts})
    reasons = {
        "it is swap space": "[SWAP]" in mounts,
        f"it is mounted at {', '.join(mounts)}": bool(mounts),
        "it has partitions": "part" in kinds,
        f"it is in use by {', '.join(kinds)}": bool(kinds),
        f"it is not a whole disk but a {device.kind}": device.kind not in _WHOLE,
        "it is read-only": device.read_only,
        "it has no size": not device.size_bytes,
        f"it contains {device.filesystem}": device.filesystem in _PARTS_OF_SOMETHING,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _used_by(users: Sequence[str]) -> str:
    return f"it is in use according to the kernel: {', '.join(users)}" if users else ""
