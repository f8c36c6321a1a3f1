"""What must not stop half-way: a cancellation waits for its end."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

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
