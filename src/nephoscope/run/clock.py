"""Time enters here and nowhere else."""

import asyncio
import time
from typing import Protocol

from typing_extensions import override

from nephoscope.machines import waiting


class Clock(waiting.Clock, Protocol):
    """What a conductor needs to know about time."""

    def unix_ms(self) -> int:
        """Milliseconds since 1970; for people and file names, never for durations."""


class SystemClock(Clock):
    """The machine's clock."""

    @override
    def unix_ms(self) -> int:
        return time.time_ns() // 1_000_000

    @override
    def monotonic_s(self) -> float:
        return time.monotonic()

    @override
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class FakeClock(Clock):
    """A clock that stands still until somebody moves it."""

    def __init__(self, unix_ms: int = 0) -> None:
        self._start_unix_ms = unix_ms
        self._elapsed_s = 0.0

    @override
    def unix_ms(self) -> int:
        return self._start_unix_ms + int(self._elapsed_s * 1000)

    @override
    def monotonic_s(self) -> float:
        return self._elapsed_s

    @override
    async def sleep(self, seconds: float) -> None:
        """Returns at once, after other tasks had a turn."""
        self.elapse(seconds)
        await asyncio.sleep(0)

    def elapse(self, seconds: float) -> None:
        """Lets time pass."""
        self._elapsed_s += seconds
