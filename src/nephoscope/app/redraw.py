"""Writes the report of a study now, whether or not it has ended, in a process of its own.

Run as a module, it is that process: `python -m nephoscope.app.redraw DIR PHASE NICENESS`.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

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
    from nephoscope.app.stages.evaluation import analysed_now, logo_of
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
    files = report_files(study, running=running, logo=logo).files
    last = {FIRST_PAGE: files[FIRST_PAGE]}
    folder.write_report({name: files[name] for name in files if name not in last} | last, sometimes={CHANGES, MISSING})


def _main(path: str, phase: str, niceness: str) -> None:
    os.nice(int(niceness))
    try:
        redraw(ResultsFolder.existing(Path(path)), SystemClock(), Phase(phase))
    except NephoscopeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main(*sys.argv[1:])
