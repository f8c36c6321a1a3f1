"""Who does which trial when: the port that a study's work goes through, and the queue of one controller in memory."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

from nephoscope.run.clock import Clock


@dataclass(frozen=True)
class Step:
    """What became of a trial by one step."""

    ended: bool
    wait_s: float = 0.0
    """Before the next step, where it has not ended."""


Advance = Callable[[str], Awaitable[Step]]
"""Takes a trial, by its id, one step on. What was done already is not done again: the results folder says what was."""


class Queue(Protocol):
    """Takes trials to their ends."""

    async def drain(self, trials: Sequence[str], advance: Advance) -> None:
        """Begins the trials in this order, some at once; returns when each has ended, wherever it was done.

        Raises:
            NephoscopeError: as `advance` does; the other trials were cancelled then.
        """
        ...


class OwnQueue(Queue):
    """In memory: enough where machines die with their controller, as the results folder says what is left to do."""

    def __init__(self, at_once: int, clock: Clock) -> None:
        self._at_once = at_once
        self._clock = clock

    @override
    async def drain(self, trials: Sequence[str], advance: Advance) -> None:
        waiting = iter(trials)
        workers = [asyncio.ensure_future(self._work(waiting, advance)) for _ in trials[: self._at_once]]
        if not workers:
            return
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)

    async def _work(self, waiting: Iterator[str], advance: Advance) -> None:
        for trial in waiting:
            while not (step := await advance(trial)).ended:
                await self._clock.sleep(step.wait_s)
