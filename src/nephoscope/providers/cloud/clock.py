"""Time, as providers of clouds need it."""

from typing import Protocol


class Clock(Protocol):
    """What is needed of `run.clock.Clock`."""

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        ...
