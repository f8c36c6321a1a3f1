"""What must not stop half-way, as a cancellation waits for its end; and work that needs a companion."""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, NoReturn, TypeVar

Result = TypeVar("Result")


async def to_its_end(action: Awaitable[Result]) -> Result:
    """Awaits `action` so that a cancellation waits for its end.

    Raises:
        asyncio.CancelledError: it was cancelled meanwhile; `action` has ended.
    """
    task = asyncio.ensure_future(action)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # retrieved and ignored: it was stopped anyway
        raise


async def beside(work: Coroutine[Any, Any, Result], companion: Coroutine[Any, Any, NoReturn]) -> Result:
    """The result of `work`, or an earlier error of `companion`; whichever is left is cancelled."""
    working, going = asyncio.ensure_future(work), asyncio.ensure_future(companion)
    try:
        await asyncio.wait({working, going}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            going.result()
        return await working
    finally:
        for task in (going, working):
            task.cancel()
        await asyncio.wait({working, going})
