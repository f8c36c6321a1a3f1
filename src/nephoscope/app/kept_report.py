"""Keeps the report of a study up to date while it runs, without disturbing what is measured."""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from nephoscope.app.redraw import NICENESS, Phase, command, problem_of
from nephoscope.run.clock import Clock

REST = 20
"""A report is written once the study has been measured this many times as long as the last report took."""
FIRST_S = 3.0
"""What the first report is expected to take."""
LIMIT_S = 300.0
"""Time after which a report is given up."""
Result = TypeVar("Result")
Write = Callable[[Phase, int], Awaitable[str]]
"""Writes the report with a niceness, and returns why it could not; empty: it could."""


class KeptReport:
    """The report of one run. Its method `pause` is a `Pause` of the run."""

    def __init__(
        self, write: Write, clock: Clock, warn: Callable[[str], None], outdated: Callable[[], bool], *, may_stop: bool
    ) -> None:
        """Writes nothing yet.

        Args:
            write: how.
            clock: for durations.
            warn: told once why a report could not be written.
            outdated: whether the folder has a report that is older than its trials.
            may_stop: the study may end before its last block.
        """
        self._write = write
        self._clock = clock
        self._warn = warn
        self._outdated = outdated
        self._phase = Phase.MAY_STOP if may_stop else Phase.RUNNING
        self._since_s = clock.monotonic_s()
        self._took_s = FIRST_S
        self._writing: asyncio.Future[None] | None = None
        self._written = False
        self._problems: set[str] = set()

    async def pause(self, *, alone: bool) -> None:
        """Writes the report if it is time. See `Pause`: while other trials run, it does not wait for the report."""
        if self._writing is not None and not self._writing.done():
            return
        if self._clock.monotonic_s() - self._since_s < REST * self._took_s:
            return
        self._writing = asyncio.ensure_future(self._rewrite(self._phase, 0 if alone else NICENESS))
        if alone:
            await self._writing

    async def during(self, run: Coroutine[Any, Any, Result]) -> Result:
        """Ends with `run`; then a report that was there, or that this wrote, is of all trials."""
        try:
            result = await run
        finally:
            if self._writing is not None:
                self._writing.cancel()
                await asyncio.wait({self._writing})
        if self._written or self._outdated():
            await self._rewrite(Phase.ENDED, 0)
        return result

    async def _rewrite(self, phase: Phase, niceness: int) -> None:
        begun_s = self._clock.monotonic_s()
        problem = await self._write(phase, niceness)
        self._since_s = self._clock.monotonic_s()
        self._took_s = self._since_s - begun_s
        self._written = self._written or not problem
        if problem and problem not in self._problems:
            self._problems.add(problem)
            self._warn(f"the report could not be written, and the study goes on: {problem}")


async def write_beside(folder: Path, phase: Phase, niceness: int) -> str:
    """Writes the report in another process. See `Write`."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command(folder, phase, niceness),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=PIPE,
            start_new_session=True,  # Ctrl-C is for the run, which ends it
        )
    except OSError as error:
        return str(error)
    try:
        _, stderr = await asyncio.wait_for(process.communicate(), LIMIT_S)
    except TimeoutError:
        return f"it took longer than {LIMIT_S:.0f} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return problem_of(process.returncode or 0, stderr)
