"""A share of a CPU for one process: a quota of the kernel where we may set one, else a stand-in that says so.

The stand-in stops and continues the process by turns. It takes the same CPU time away from a process that is always
busy; it is no quota, as it also stops one that would have slept.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

PERIOD_US = 100_000
_ROOT = Path("/sys/fs/cgroup")


class CpuShare(Protocol):
    """Can be changed while the process runs."""

    def limit(self, share: float) -> None:
        """From now on so much of one CPU."""
        ...


@contextmanager
def cpu_share(pid: int, share: float) -> Iterator[CpuShare]:
    """Limits a process until the end of the block."""
    found = _quota(pid) or _Turns(pid)
    try:
        found.limit(share)
        yield found
    finally:
        found.end()


class _Quota:
    """A control group of its own, of version 1 or 2."""

    def __init__(self, folder: Path, pid: int) -> None:
        self._folder = folder
        self._back = _group_of(pid, folder)
        folder.mkdir()
        if not any((folder / name).exists() for name in ("cpu.max", "cpu.cfs_quota_us")):
            folder.rmdir()
            raise OSError(f"{folder} has no quota of CPU time")
        (folder / "cgroup.procs").write_text(str(pid))

    def limit(self, share: float) -> None:
        quota_us = str(round(share * PERIOD_US))
        if (self._folder / "cpu.max").exists():
            (self._folder / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
        else:
            (self._folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self._folder / "cpu.cfs_quota_us").write_text(quota_us)

    def end(self) -> None:
        for pid in (self._folder / "cgroup.procs").read_text().split():
            with suppress(OSError):  # it may be gone
                (self._back / "cgroup.procs").write_text(pid)
        self._folder.rmdir()


class _Turns:
    """The stand-in: SIGSTOP and SIGCONT by turns of 50 ms together."""

    TURN_S = 0.05

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._share = 1.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._take_turns, daemon=True)
        self._thread.start()

    def limit(self, share: float) -> None:
        self._share = share

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _take_turns(self) -> None:
        with suppress(ProcessLookupError):
            while not self._ended.is_set():
                os.kill(self._pid, signal.SIGSTOP)
                self._ended.wait(self.TURN_S * (1 - self._share))
                os.kill(self._pid, signal.SIGCONT)
                self._ended.wait(self.TURN_S * self._share)


def _quota(pid: int) -> _Quota | None:
    """None where we may not: no root, or no such controller."""
    hierarchy = _ROOT / "cpu" if (_ROOT / "cpu").is_dir() else _ROOT
    try:
        return _Quota(hierarchy / f"nephoscope-tests-{pid}", pid)
    except OSError:
        return None


def _group_of(pid: int, folder: Path) -> Path:
    """Where the process is now."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "" or "cpu" in controllers.split(","):
            return folder.parent / path.lstrip("/")
    return folder.parent
