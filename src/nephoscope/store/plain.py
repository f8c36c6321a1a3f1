"""A results folder holds plain files and folders only, because it may come from anybody.

A link could lead to any file of this machine, a FIFO never ends, and a device may act when it is opened.
"""

import errno
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from nephoscope.model.errors import DamagedFile, not_read

MOST_BYTES = 1 << 30
"""Of a file that is read as a whole."""
_BLOCK_BYTES = 512
_MOST_RATIO = 1000
"""By which a file system compresses."""
_ODD: Mapping[int, str] = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_MEND = "replace it by a plain file or folder, or remove it: a link could lead anywhere, and holes take years to read"


def oddity(about: os.stat_result) -> str | None:
    """'a link', 'a FIFO', of what `lstat` says; None: a plain file or a folder."""
    if about.st_size > MOST_BYTES and about.st_blocks * _BLOCK_BYTES * _MOST_RATIO < about.st_size:
        return "a file of holes"  # a few bytes of an archive become exbibytes, which take years to read
    return _ODD.get(stat.S_IFMT(about.st_mode))


def require(path: Path | str) -> None:
    """Rejects a path that is neither a plain file nor a folder; there may be nothing.

    Raises:
        DamagedFile: it is something else.
    """
    try:
        odd = oddity(os.lstat(path))
    except (FileNotFoundError, NotADirectoryError):
        return
    if odd is not None:
        raise DamagedFile(f"{path} is {odd}, but a results folder holds plain files and folders only", hint=_MEND)


def require_entries(folder: Path) -> None:
    """As `require`, of everything that is directly in a folder.

    Raises:
        DamagedFile: an entry is something else, or the folder cannot be read.
    """
    try:
        with os.scandir(folder) as found:
            paths = [Path(entry) for entry in found if entry.is_symlink() or not (entry.is_file() or entry.is_dir())]
    except OSError as error:
        raise not_read(folder, error, hint="make it readable") from error
    for path in sorted(paths):
        require(path)


def remove(path: Path) -> None:
    """Deletes a folder with everything in it, or a file, or a link itself; there may be nothing.

    Raises:
        OSError: it cannot be deleted.
    """
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def open_itself(path: str, flags: int) -> int:
    """For `open(..., opener=open_itself)`: opens no file behind a link, and waits for no writer of a FIFO."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)


def read(path: Path | str) -> bytes:
    """The content of a plain file.

    Raises:
        DamagedFile: it is something else, or larger than any file of nephoscope.
        OSError: it is not there, is a folder, or cannot be read.
    """
    try:
        descriptor = open_itself(str(path), os.O_RDONLY)
        try:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES:
                return _content(descriptor, found.st_size)
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        finally:
            os.close(descriptor)
    except OSError:
        require(path)
        raise
    require(path)
    raise DamagedFile(f"{path} is larger than {MOST_BYTES >> 30} GiB", hint="restore it from a copy, or remove it")


def _content(descriptor: int, size: int) -> bytes:
    """All of a file; with one call if it has the size that it had, as an analysis reads fifty thousand of them."""
    parts = [os.read(descriptor, size + 1)]
    while len(parts[-1]) and sum(map(len, parts)) != size:
        parts.append(os.read(descriptor, size + 1))
    return b"".join(parts)
