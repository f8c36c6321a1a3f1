"""Whether a block device may be overwritten: according to the kernel, nothing on the machine uses it.

The study names a device twice; the rest must be checked on the machine itself.
"""

from collections.abc import Sequence

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


async def require_unused(machine: MachineHandle, device: str) -> int:
    """Looks at the machine; the device's size in bytes.

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
            hint="set raw_device and destroys_data_on to an empty, unused disk, or remove both",
        )
    return next(one.size_bytes or 0 for one in devices if one.name == name)


def reason_against(devices: Sequence[BlockDevice], name: str) -> str:
    """Why a device must not be overwritten; empty if it may be. Pure.

    Args:
        devices: of the machine, parts behind the device they are a part of.
        name: as lsblk calls it: 'nvme1n1'.
    """
    device = next((one for one in devices if one.name == name), None)
    if not name or device is None:
        return "there is no such block device"
    parts = [one for one in devices if one.parent == name]
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
