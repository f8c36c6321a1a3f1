"""The time of a rehearsal: it passes at once, and for all clusters together."""

import asyncio
import heapq
from itertools import count

from typing_extensions import override

from nephoscope.run.clock import FakeClock

_TURNS = 200
"""Of the event loop, enough for all who are awake to get to where they sleep again: fewer than 100 are needed."""


class SimulatedClock(FakeClock):
    """Jumps to the moment at which the first sleeper wakes up, once all others sleep, too."""

    def __init__(self, unix_ms: int) -> None:
        super().__init__(unix_ms)
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._jumping: asyncio.Task[None] | None = None

    @override
    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.monotonic_s() + seconds, next(self._numbers), woken))
        if self._jumping is None:
            self._jumping = asyncio.ensure_future(self._jump())
        await woken

    async def _jump(self) -> None:
        try:
            while self._sleepers:
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
                wakes_s, _, woken = heapq.heappop(self._sleepers)
                if not woken.done():  # else it was cancelled
                    self.elapse(wakes_s - self.monotonic_s())
                    woken.set_result(None)
        finally:
            self._jumping = None
