"""An event loop whose clock jumps to the next timer: days of waiting and racing in milliseconds, in their order.

Whatever waits by `asyncio` waits in its time: sleeps, timeouts, and so fakes that sleep where real ones would work.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class VirtualLoop(asyncio.SelectorEventLoop):
    """See the module's text. Nothing but timers is waited for: there are no sockets and no threads."""

    def __init__(self) -> None:
        self.now_s = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now_s


class _Jumping(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        """Where it would wait, it has waited."""
        assert timeout is not None, "everything waits for something that no timer brings"
        self._loop.now_s += max(0.0, timeout)
        return super().select(0)


class LoopClock:
    """The clock of a world in a virtual loop."""

    def __init__(self, start_unix_ms: int = 1_700_000_000_000) -> None:
        self._start_unix_ms = start_unix_ms

    def unix_ms(self) -> int:
        return self._start_unix_ms + int(self.monotonic_s() * 1000)

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run_virtually(work: Coroutine[Any, Any, Result]) -> Result:
    """As `asyncio.run`."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
