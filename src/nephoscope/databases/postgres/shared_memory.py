"""Shared memory of a killed PostgreSQL server: its next start would remove it, but its folder may be gone by then.

The server's System V segment begins with a header that names the control segment in /dev/shm, and that names all other
segments there (PostgreSQL's storage/pg_shmem.h and storage/ipc/dsm.c, equal in 15 to 18). Python has no function for
System V memory, hence the C library.
"""

import ctypes
import os
import struct
from contextlib import suppress
from pathlib import Path

from nephoscope.model.errors import EnvironmentProblem
from nephoscope.model.units import MIB

_POSIX = Path("/dev/shm")  # noqa: S108  # where shm_open of Linux makes its files, by PostgreSQL's names
_HEADER = struct.Struct("@iiNNI")
"""Magic number, process that created it, two sizes, handle of the control segment."""
_HEADER_MAGIC = 679834894
_CONTROL = struct.Struct("@III")
"""Magic number, items in use, most items."""
_CONTROL_MAGIC = 0x9A503D32
_ITEM = struct.Struct("@IINNP?7x")
"""Handle, references, place and size in the main segment, a pointer, and whether it is pinned."""
_ITEMS_AT = 16
_TOO_SMALL = "could not resize shared memory segment"
"""What the server and initdb say where /dev/shm is full; containers have 64 MB of it unless told otherwise."""
_LEAST_BYTES = 2 * MIB
"""PostgreSQL 18 starts with 1.1 MiB and not with 1 MiB."""
_LARGER = (
    "make /dev/shm larger (mount -o remount,size=1g /dev/shm; docker run --shm-size=1g), or set `dsn` in the study to "
    "a server of your own"
)
_ID_LINE = 6
"""Of postmaster.pid, from 0: key and id of the System V segment."""
_READ_ONLY, _FAILED = 0o10000, ctypes.c_void_p(-1).value
_REMOVE, _STATE = 0, 2
_OWNERS = struct.Struct("@iIIII")
"""First of what the kernel tells of a segment, in less than 256 bytes: key, owner, group, creator and its group."""


def require_room() -> None:
    """Finds before the first trial what would fail in each.

    Raises:
        EnvironmentProblem: no server could start here.
    """
    about = os.statvfs(_POSIX)
    room = about.f_bavail * about.f_frsize
    if room < _LEAST_BYTES:
        raise EnvironmentProblem(
            f"{room:,} bytes are left in {_POSIX} of this machine, and a PostgreSQL server needs {_LEAST_BYTES:,}",
            hint=_LARGER,
        )


def hint_on(said: str, otherwise: str = "") -> str:
    """What to do where a server, or initdb, ended with these words."""
    return _LARGER if _TOO_SMALL in said else otherwise


def remove_left(pid_file: Path) -> None:
    """Removes all segments of the server that a pid file names; nothing if it ended in order, or names another's.

    No process of that server may live any more.
    """
    with suppress(OSError, ValueError, IndexError, struct.error):
        lines = pid_file.read_text(encoding="utf-8").splitlines()
        postmaster, segment = int(lines[0]), int(lines[_ID_LINE].split()[1])
        control = _control_of(segment, postmaster)
        if control is None:
            return
        for handle in _handles(control):
            _file(handle).unlink(missing_ok=True)
        _file(control).unlink(missing_ok=True)
        _libc().shmctl(segment, _REMOVE, None)


def _control_of(segment: int, postmaster: int) -> int | None:
    """The handle of the control segment; None: the segment is gone, or belongs to somebody else.

    Another user may make one that names anybody's files, and give it away.
    """
    libc, told = _libc(), ctypes.create_string_buffer(256)
    if libc.shmctl(segment, _STATE, told) != 0:
        return None
    *_, creator, _ = _OWNERS.unpack_from(told)
    if creator != os.geteuid():
        return None
    libc.shmat.restype = ctypes.c_void_p
    place = libc.shmat(segment, None, _READ_ONLY)
    if place in (None, _FAILED):
        return None
    try:
        magic, process, _, _, control = _HEADER.unpack(ctypes.string_at(place, _HEADER.size))
    finally:
        libc.shmdt(ctypes.c_void_p(place))
    return int(control) if (magic, process) == (_HEADER_MAGIC, postmaster) else None


def _handles(control: int) -> list[int]:
    """All segments that a control segment names and that are files; those with an odd handle are in main memory."""
    try:
        content = _file(control).read_bytes()
    except FileNotFoundError:
        return []
    magic, items, most = _CONTROL.unpack_from(content)
    if magic != _CONTROL_MAGIC or items > most:
        return []
    found = [_ITEM.unpack_from(content, _ITEMS_AT + number * _ITEM.size) for number in range(items)]
    return [handle for handle, references, *_ in found if references and not handle & 1]


def _file(handle: int) -> Path:
    return _POSIX / f"PostgreSQL.{handle}"


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
