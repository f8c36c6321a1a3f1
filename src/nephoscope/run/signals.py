"""Ctrl-C, SIGTERM and SIGHUP become a cancellation, so that every `finally` of a study runs once and in order."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from nephoscope.model.errors import EXIT_OF_SIGNAL, Stopped

Result = TypeVar("Result")


def run_until_stopped(
    work: Coroutine[Any, Any, Result], new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None
) -> Result:
    """Runs `work` to its end in an event loop of its own, made by `new_loop`; None: one of asyncio.

    Raises:
        Stopped: SIGINT, SIGTERM or SIGHUP came; the work was cancelled and has cleaned up. A second signal is ignored.
    """
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_guarded(work))


async def _guarded(work: Coroutine[Any, Any, Result]) -> Result:
    task = asyncio.ensure_future(work)
    received: list[int] = []

    def stop(number: int) -> None:
        if not received:
            received.append(number)
            task.cancel()

    loop = asyncio.get_running_loop()
    # `nohup` ignores SIGHUP, and it stays ignored
    numbers = [
        number for number in EXIT_OF_SIGNAL if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    ]
    for number in numbers:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        if received:
            raise Stopped(received[0]) from None
        raise
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
