"""Ctrl-C and SIGTERM become a cancellation, so that every `finally` of a study runs once and in order."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from nephoscope.errors import EXIT_INTERRUPTED, EXIT_TERMINATED

Result = TypeVar("Result")


class Stopped(Exception):
    """A signal ended the work; `exit_code` is the shell's convention for it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = EXIT_INTERRUPTED if number == signal.SIGINT else EXIT_TERMINATED


def run_until_stopped(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs `work` to its end in an event loop of its own.

    Raises:
        Stopped: SIGINT or SIGTERM came; the work was cancelled and has cleaned up. A second signal is ignored.
    """
    return asyncio.run(_guarded(work))


async def _guarded(work: Coroutine[Any, Any, Result]) -> Result:
    task = asyncio.ensure_future(work)
    received: list[int] = []

    def stop(number: int) -> None:
        if not received:
            received.append(number)
            task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        if received:
            raise Stopped(received[0]) from None
        raise
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
