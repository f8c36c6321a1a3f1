"""One process per results folder; the kernel releases the lock when its holder dies, however it dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nephoscope.model.errors import FolderInUse, StorageFailed

_PATIENCE_S = 0.1


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Holds the lock file `path` while the block runs; it contains the holder's process id, for people.

    Raises:
        FolderInUse: another process holds it.
        StorageFailed: the lock file cannot be created.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StorageFailed.of(path, error) from error
    try:
        with suppress(OSError):  # a file system without modes
            os.fchmod(descriptor, 0o600)  # of an earlier version's file: who may open it may hold it
        try:
            _lock(descriptor)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            raise FolderInUse(
                f"another nephoscope (process {holder}) is using {path.parent}",
                hint="wait for it, stop it, or choose another folder with --out",
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(_PATIENCE_S)  # another process may only be testing the lock, see `held`
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def held(path: Path) -> bool:
    """True while some process, this one included, holds the lock file `path`.

    Testing changes nothing: it tries a shared lock for an instant, and `exclusive` waits longer than that before it
    fails. Of another user's file the kernel's list of locks tells.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except PermissionError:
        return _is_listed(path)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_listed(path: Path) -> bool:
    """proc_locks(5): `1: FLOCK ADVISORY WRITE 17 08:01:4711 0 EOF`, where 4711 is the file's inode."""
    try:
        inode, lines = path.stat().st_ino, Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    return any(line.split()[1] == "FLOCK" and line.split()[-3].endswith(f":{inode}") for line in lines)


def held_since_ns(path: Path) -> int | None:
    """When the process that holds the lock file `path` took it, by the clock of its file system; None: nobody does."""
    try:
        since_ns = path.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return None
    return since_ns if held(path) else None


class Place:
    """The path of a results folder, and which folder it was when it was locked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: tuple[int, int] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """From here to the end of the block, only this folder is written to."""
        self._held = self._seen()
        try:
            yield
        finally:
            self._held = None

    def require(self) -> None:
        """Call this before each write.

        Raises:
            StorageFailed: the folder was moved or removed since it was locked; there may be another at its path.
        """
        if self._held is not None and self._held != self._seen():
            raise StorageFailed(
                f"{self._path} was moved or removed while nephoscope was working in it, so nothing more was stored",
                hint="run the same command again to resume; if the folder was moved, give its new path with --out",
            )

    def _seen(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino
