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
