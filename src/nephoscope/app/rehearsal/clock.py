"""The time of a rehearsal: it passes at once, and for all clusters together."""

import asyncio
import heapq
import selectors
from collections.abc import Callable
from itertools import count
from typing import Any

from typing_extensions import override

from nephoscope.run.clock import FakeClock


class SimulatedClock(FakeClock):
    """Jumps to the moment at which the first sleeper wakes up, once all others sleep, too.

    Whoever sleeps by it runs in a loop of `new_loop`, which knows when all sleep.
    """

    def __init__(self, unix_ms: int) -> None:
        super().__init__(unix_ms)
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = count()

    @override
    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.monotonic_s() + seconds, next(self._numbers), woken))
        await woken

    def new_loop(self) -> asyncio.AbstractEventLoop:
        """An event loop in which this time passes."""
        return asyncio.SelectorEventLoop(_Skipping(self._wake_first))

    def _wake_first(self) -> bool:
        """False if nobody sleeps."""
        while self._sleepers:
            wakes_s, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():  # else it was cancelled
                self.elapse(wakes_s - self.monotonic_s())
                woken.set_result(None)
                return True
        return False


class _Skipping(selectors.DefaultSelector):
    """Where its event loop would wait, as nobody has anything to do, it wakes a sleeper instead."""

    def __init__(self, wake_first: Callable[[], bool]) -> None:
        super().__init__()
        self._wake_first = wake_first

    @override
    def select(self, timeout: float | None = None) -> Any:
        would_wait = timeout is None or timeout > 0
        return super().select(0 if would_wait and self._wake_first() else timeout)
