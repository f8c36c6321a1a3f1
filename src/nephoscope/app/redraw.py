"""Writes the report of a study now, whether or not it has ended, in a process of its own; and keeps it up to date.

Run as a module, it is that process: `python -m nephoscope.app.redraw DIR PHASE NICENESS`.
"""

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from nephoscope.model.errors import NephoscopeError
from nephoscope.run.clock import Clock, SystemClock
from nephoscope.store.folder import ResultsFolder

FIRST_PAGE = "index.html"
"""Of a report; the module that defines it takes a second to load."""
NICENESS = 10
"""Of a process that works while trials may run."""


class Phase(StrEnum):
    """What a page says about its study."""

    RUNNING = "running"
    MAY_STOP = "may-stop"
    """It runs, and may end before its last block."""
    ENDED = "ended"
    """Nobody runs it now; some of its trials may be left."""


def command(folder: Path, phase: Phase, niceness: int) -> list[str]:
    """The program and its arguments. Nothing in the working directory is imported."""
    return [sys.executable, "-P", "-m", __name__, str(folder), phase, str(niceness)]


def problem_of(returncode: int, stderr: bytes) -> str:
    """Why such a process wrote no report; empty: it did."""
    if returncode == 0:
        return ""
    lines = stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"the process that writes it ended with {returncode}"


def changed_ns(folder: ResultsFolder) -> int:
    """When the study's plan or one of its trials changed last, in nanoseconds of Unix time."""
    trials = folder.path / "trials"
    return max((_modified_ns(path) for path in (folder.plan_path, *_folders(trials))), default=0)


def written_ns(folder: ResultsFolder) -> int:
    """When its report was written, in nanoseconds of Unix time; 0: there is none."""
    return _modified_ns(folder.report_dir / FIRST_PAGE)


def _folders(trials: Path) -> Iterator[Path]:
    """Those of trials and attempts: their times change with their files."""
    for pattern in ("*", "*/attempts", "*/attempts/*"):
        yield from trials.glob(pattern)


def _modified_ns(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0


def redraw(folder: ResultsFolder, clock: Clock, phase: Phase) -> None:
    """Writes the report; the first page last, so that it is never there without the others.

    Raises:
        NephoscopeError: the folder cannot be read, or the report not be stored.
    """
    from nephoscope.app.stages.evaluation import analysed_now, logo_of, named
    from nephoscope.app.stages.tracking import progress
    from nephoscope.report.files import CHANGES, MISSING, report_files
    from nephoscope.report.main.progress import Running

    running = None
    if phase is not Phase.ENDED:
        now_unix_ms = clock.unix_ms()
        running = Running(now_unix_ms, progress(folder, now_unix_ms).left_s, phase is Phase.MAY_STOP)
    study, logo = analysed_now(folder), ""
    with contextlib.suppress(NephoscopeError):  # `report` says what is wrong with it; a study that runs goes on
        logo = logo_of(folder, study)
    files = report_files(study, running=running, logo=logo, folder=named(folder)).files
    last = {FIRST_PAGE: files[FIRST_PAGE]}
    folder.write_report({name: files[name] for name in files if name not in last} | last, sometimes={CHANGES, MISSING})


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


def _main(path: str, phase: str, niceness: str) -> None:
    os.nice(int(niceness))
    try:
        redraw(ResultsFolder.existing(Path(path)), SystemClock(), Phase(phase))
    except NephoscopeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main(*sys.argv[1:])
