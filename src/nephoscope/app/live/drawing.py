"""Draws the report of a study in a process of its own, now and then, into a folder that is not the study's.

Run as a module, it is that process: `python -m nephoscope.app.live.drawing DIR OUT`.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from nephoscope.model.errors import NephoscopeError
from nephoscope.store.folder import ResultsFolder

NICENESS = 10


@dataclass(frozen=True)
class Drawn:
    """The report that is shown."""

    folder: Path | None
    """None: none has been drawn."""
    trials: int
    """How many trials had ended when it was begun."""
    drawing: bool
    problem: str
    """Why the last one could not be drawn; empty: it could."""


class ReportDrawer:
    """Draws a study's report when trials have ended since the last one, at most every so many seconds."""

    def __init__(self, folder: ResultsFolder, out: Path, every_s: float) -> None:
        self._folder = folder
        self._out = out
        self._every_s = every_s
        self._process: subprocess.Popen[bytes] | None = None
        self._count = 0
        self._begun_s: float | None = None
        self._begun_with = -1
        self._shown: Path | None = None
        self._shown_with = 0
        self._problem = ""

    def poll(self, ended: int, now_s: float, *, hold: bool) -> Drawn:
        """Takes a report that is ready, and begins a new one if it is time.

        Args:
            ended: trials of the study that have ended.
            now_s: of a clock that never goes back.
            hold: True: begin none now.
        """
        if self._process is not None and self._process.poll() is not None:
            self._take(self._process)
            self._process = None
        waited = self._begun_s is None or now_s - self._begun_s >= self._every_s
        if self._process is None and ended not in {0, self._begun_with} and waited and not hold:
            self._begin(ended, now_s)
        return Drawn(self._shown, self._shown_with, self._process is not None, self._problem)

    def stop(self) -> None:
        """Ends a drawing that is under way."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def _begin(self, ended: int, now_s: float) -> None:
        self._count += 1
        self._begun_s, self._begun_with = now_s, ended
        into = self._out / str(self._count)
        into.mkdir(parents=True)
        command = [sys.executable, "-m", __name__, str(self._folder.path), str(into)]
        with (into / "problem.txt").open("wb") as problem:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=problem,
                start_new_session=True,  # Ctrl-C is for the server, which stops it
            )

    def _take(self, process: subprocess.Popen[bytes]) -> None:
        into = self._out / str(self._count)
        if process.returncode != 0:
            said = (into / "problem.txt").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            self._problem = said[-1] if said else f"the process that draws it ended with {process.returncode}"
            shutil.rmtree(into, ignore_errors=True)
            return
        (into / "problem.txt").unlink()
        if self._shown is not None:
            shutil.rmtree(self._shown, ignore_errors=True)
        self._shown, self._shown_with, self._problem = into, self._begun_with, ""


def draw(folder: Path, out: Path) -> None:
    """Writes the files of a report; nothing in the results folder changes.

    Raises:
        NephoscopeError: the folder cannot be read, or the report not be stored.
    """
    from nephoscope.app.stages.evaluation import analysed_now
    from nephoscope.report.files import report_files
    from nephoscope.store.atomic import write_bytes

    for name, content in report_files(analysed_now(ResultsFolder.existing(folder))).files.items():
        write_bytes(out / name, content)


if __name__ == "__main__":
    os.nice(NICENESS)
    try:
        draw(Path(sys.argv[1]), Path(sys.argv[2]))
    except NephoscopeError as error:
        sys.exit(str(error))
