"""A machine whose /dev/shm is too small for PostgreSQL is told what to enlarge."""

import asyncio
import ctypes
import os
import secrets
from pathlib import Path

import pytest

from nephoscope.databases.postgres import shared_memory
from nephoscope.databases.postgres.binaries import Binaries
from nephoscope.databases.postgres.folder import ServerFolder, prepare
from nephoscope.databases.postgres.shared_memory import remove_left, require_room
from nephoscope.model.errors import DatabaseFailed, EnvironmentProblem
from tests.support.local_remote import this_machine

RECORDED = """\
2026-11-28 01:47:45.439 UTC [28106] FATAL:  could not resize shared memory segment "/PostgreSQL.1029292366" to
 1048576 bytes: No space left on device
2026-11-28 01:47:45.439 UTC [28106] PANIC:  cannot abort transaction 1, it was already committed
"""
"""By initdb of PostgreSQL 18.6, with a /dev/shm of 1 MiB."""


@pytest.mark.parametrize(
    ("said", "hint"), [(RECORDED, "make /dev/shm larger"), ("initdb: cannot be run as root", "run as an ordinary user")]
)
def test_the_hint_of_a_data_folder_that_cannot_be_made_fits_its_reason(tmp_path: Path, said: str, hint: str) -> None:
    program = tmp_path / "programs" / "initdb"
    program.parent.mkdir()
    (program.parent / "said").write_text(said)
    program.write_text(f"#!/bin/sh\ncat '{program.parent}/said' >&2; exit 1\n")
    program.chmod(0o755)
    machine = this_machine(tmp_path / "data")
    folder = ServerFolder(str(tmp_path / "data"))
    with pytest.raises(DatabaseFailed, match="initdb failed with exit code 1") as failure:
        asyncio.run(prepare(machine, Binaries(program.parent, "system"), folder))
    assert failure.value.hint.startswith(hint)


@pytest.mark.parametrize(("blocks", "fits"), [(256, False), (512, True)])
def test_too_little_room_is_said_before_the_first_trial(
    blocks: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of 4 KiB: initdb of PostgreSQL 18 ended with 1 MiB, and came up with 1.1 MiB."""
    full = os.statvfs_result((4096, 4096, 16384, blocks, blocks, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _path: full)
    if fits:
        require_room()
    else:
        with pytest.raises(EnvironmentProblem, match="1,048,576 bytes are left in ") as failure:
            require_room()
        assert failure.value.hint.startswith("make /dev/shm larger")


@pytest.mark.root
@pytest.mark.parametrize("creator", [0, 65534])
def test_what_a_segment_of_another_user_names_is_not_removed(tmp_path: Path, creator: int) -> None:
    """Numbers of segments are given again, so anyone may wait for that of a killed server."""
    libc, handle, pid = shared_memory._libc(), secrets.randbits(31) & ~1, 4_000_000
    libc.shmat.restype = ctypes.c_void_p
    os.seteuid(creator)
    try:
        segment = libc.shmget(0, 4096, 0o1600)
        place = libc.shmat(segment, None, 0)
    finally:
        os.seteuid(0)
    header = shared_memory._HEADER.pack(shared_memory._HEADER_MAGIC, pid, 0, 0, handle)
    ctypes.memmove(place, header, len(header))
    libc.shmdt(ctypes.c_void_p(place))
    named = shared_memory._file(handle)
    named.write_bytes(shared_memory._CONTROL.pack(shared_memory._CONTROL_MAGIC, 0, 0))
    (tmp_path / "postmaster.pid").write_text(f"{pid}\n" + "\n" * 5 + f"0 {segment}\n")
    try:
        remove_left(tmp_path / "postmaster.pid")
        assert named.exists() == (creator != 0)
    finally:
        named.unlink(missing_ok=True)
        libc.shmctl(segment, 0, None)
