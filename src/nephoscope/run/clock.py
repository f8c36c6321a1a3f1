"""Time enters here and nowhere else."""

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


class SystemClock:
    """The machine's clock."""

    def unix_ms(self) -> int:
        """See `Clock.unix_ms`."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """See `Clock.monotonic_s`."""
        return time.monotonic()


class FakeClock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self, unix_ms: int = 0) -> None:
        self._start_unix_ms = unix_ms
        self._elapsed_s = 0.0

    def unix_ms(self) -> int:
        """See `Clock.unix_ms`."""
        return self._start_unix_ms + int(self._elapsed_s * 1000)

    def monotonic_s(self) -> float:
        """See `Clock.monotonic_s`."""
        return self._elapsed_s

    def elapse(self, seconds: float) -> None:
        """Lets time pass."""
        self._elapsed_s += seconds
