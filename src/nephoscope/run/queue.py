"""Which controller runs which trial when: the port for a study's work, and an in-memory queue for one controller."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol, runtime_checkable

from typing_extensions import override

from nephoscope.run.clock import Clock


@dataclass(frozen=True)
class Step:
    """The result of one step of a trial."""

    ended: bool
    wait_s: float = 0.0
    """Wait before the next step, if it has not ended."""


Advance = Callable[[str], Awaitable[Step]]
"""Advances a trial, given by its id, by one step. Nothing is done twice: the results folder shows what was done."""


class Queue(Protocol):
    """Takes trials to their ends."""

    async def drain(self, trials: Sequence[str], advance: Advance) -> None:
        """Starts the trials in this order, several at once; returns when all have ended, wherever they ran.

        Raises:
            NephoscopeError: raised by `advance`; the other trials were cancelled.
        """


@runtime_checkable
class SharedWork(Protocol):
    """An ability of a queue: several controllers share its trials."""

    async def living(self) -> NoReturn:
        """Shows the others that this controller lives; runs as long as it works.

        Raises:
            NephoscopeError: the others must think that it is dead.
        """


async def finish(trial: str, advance: Advance, clock: Clock) -> None:
    """Takes one trial to its end."""
    while not (step := await advance(trial)).ended:
        await clock.sleep(step.wait_s)


class OwnQueue(Queue):
    """In memory, which is enough for one controller: the results folder shows its successor what is left to do."""

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
            await finish(trial, advance, self._clock)
