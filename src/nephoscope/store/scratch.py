"""Whether `scratch/` was made here: the data of a database can hold settings and functions that its server executes.

A results folder may be copied and continued, so what a stranger laid into it must not be started. The mark is an empty
file whose inode and time of last change are written in a file beside it. A copy has others, and nobody can choose them;
a folder that is moved within its file system keeps them.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from nephoscope.model.errors import DamagedFile, StorageFailed
from nephoscope.store import digests, plain

_MARK, _SEEN = ".made-here", ".made-here.seen"
KEEP = "ssh"
"""Folder with the key of cloud machines and their host keys, without which a study cannot reach machines that it has.
Nothing in it is executed."""
_KEY, _HOST_KEYS = "id_ed25519", "host-keys/"
_EARLIER = "earlier-keys"
"""Folder with keys that were not made here. They open the machines that exist; others may have them, so no new machine
gets them."""


def claim(scratch: Path) -> bool:
    """Deletes what was not made here, and marks the folder as made here.

    Returns:
        True if something was deleted.

    Raises:
        StorageFailed: it cannot be read, emptied or written to.
    """
    try:
        scratch.mkdir(exist_ok=True)
        if _made_here(scratch):
            return False
        strange = [path for path in scratch.iterdir() if path.name != KEEP or path.is_symlink() or not path.is_dir()]
        for path in strange:
            plain.remove(path)
        if (scratch / KEEP).exists():
            _set_key_aside(scratch / KEEP)
        mark = scratch / _MARK
        mark.touch()
        (scratch / _SEEN).write_bytes(_looks(mark))
    except OSError as error:
        raise StorageFailed.of(scratch, error) from error
    return bool(strange)


def _set_key_aside(folder: Path) -> None:
    """Keeps what the machines that exist are reached with, and nothing else."""
    earlier = folder / _EARLIER
    for name, about in list(digests.walk(folder)):
        if plain.oddity(about) is None and name == _KEY:
            earlier.mkdir(exist_ok=True)
            (folder / name).rename(earlier / secrets.token_hex(4))
        elif plain.oddity(about) is not None or not name.startswith((_HOST_KEYS, f"{_EARLIER}/")):
            (folder / name).unlink()


def _made_here(scratch: Path) -> bool:
    with suppress(OSError, DamagedFile):
        owner = os.lstat(scratch / _MARK).st_uid
        return owner == os.geteuid() and plain.read(scratch / _SEEN) == _looks(scratch / _MARK)
    return False


def _looks(mark: Path) -> bytes:
    found = os.lstat(mark)
    return b"%d %d\n" % (found.st_ino, found.st_ctime_ns)
