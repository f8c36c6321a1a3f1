"""A share of a CPU for one process: a quota of the kernel where we may set one, else a stand-in that says so.

The stand-in stops and continues the process by turns. It takes the same CPU time away from a process that is always
busy; it is no quota, as it also stops one that would have slept.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from tests.support.control_group import ControlGroup, control_group

PERIOD_US = 100_000


class CpuShare(Protocol):
    """Can be changed while the process runs."""

    def limit(self, share: float) -> None:
        """From now on so much of one CPU."""
        ...


@contextmanager
def cpu_share(pid: int, share: float) -> Iterator[CpuShare]:
    """Limits a process until the end of the block."""
    with ExitStack() as at_the_end:
        quota = _quota(pid, at_the_end)
        found: CpuShare = _turns(pid, at_the_end) if quota is None else quota
        found.limit(share)
        yield found


def _quota(pid: int, at_the_end: ExitStack) -> "_Quota | None":
    """None where we may not: no root, or no such controller."""
    try:
        quota = _Quota(at_the_end.enter_context(control_group("cpu", f"share-{pid}")))
        quota.limit(1.0)
        quota.group.take(pid)
    except OSError:
        return None
    return quota


def _turns(pid: int, at_the_end: ExitStack) -> "_Turns":
    turns = _Turns(pid)
    at_the_end.callback(turns.end)
    return turns


@dataclass(frozen=True)
class _Quota:
    """In a control group of its own."""

    group: ControlGroup

    def limit(self, share: float) -> None:
        quota_us = round(share * PERIOD_US)
        self.group.set(("cpu.cfs_quota_us", quota_us), ("cpu.max", f"{quota_us} {PERIOD_US}"))


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
