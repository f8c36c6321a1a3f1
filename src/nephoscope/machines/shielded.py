"""What must not stop half-way, as a cancellation waits for its end; work that needs a companion, or is one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import asynccontextmanager, suppress
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


@asynccontextmanager
async def meanwhile(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs `work` until the block ends, which cancels it.

    Raises:
        Exception: what `work` raised, once the block has ended.
    """
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
