"""Time enters here and nowhere else."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What a conductor needs to know about time."""

    def unix_ms(self) -> int:
        """Milliseconds since 1970; for people and file names, never for durations."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary moment; for durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        ...


class SystemClock:
    """The machine's clock."""

    def unix_ms(self) -> int:
        """See `Clock.unix_ms`."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """See `Clock.monotonic_s`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        await asyncio.sleep(seconds)


class FakeClock:
    """A clock that stands still until somebody moves it."""

    def __init__(self, unix_ms: int = 0) -> None:
        self._start_unix_ms = unix_ms
        self._elapsed_s = 0.0

    def unix_ms(self) -> int:
        """See `Clock.unix_ms`."""
        return self._start_unix_ms + int(self._elapsed_s * 1000)

    def monotonic_s(self) -> float:
        """See `Clock.monotonic_s`."""
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`: it is over at once, and the others had a turn."""
        self.elapse(seconds)
        await asyncio.sleep(0)

    def elapse(self, seconds: float) -> None:
        """Lets time pass."""
        self._elapsed_s += seconds
