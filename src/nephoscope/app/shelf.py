"""The studies that `serve` shows, and the processes that write the reports which they lack."""

import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from nephoscope.app.redraw import NICENESS, Phase, changed_ns, command, problem_of, written_ns
from nephoscope.app.stages.evaluation import stored_study
from nephoscope.app.stages.tracking import progress
from nephoscope.model.errors import NephoscopeError
from nephoscope.model.words import counted, left_in_words
from nephoscope.run.clock import Clock
from nephoscope.store.folder import ResultsFolder

REST = 20
"""How far a study is, is read again after this many times as long as it took: a big one takes a second."""


@dataclass(frozen=True)
class Shown:
    """One study as the list shows it."""

    key: int
    title: str
    folder: Path
    words: str
    """How far it is."""
    reported: bool
    """It has a report."""
    writing: bool
    """A report is being written."""
    problem: str
    """Why it could not be read, or its report not be written."""


class Shelf:
    """All studies that are served. Several threads may ask."""

    def __init__(self, folders: Sequence[ResultsFolder], clock: Clock) -> None:
        """Reads each study file.

        Raises:
            InputError, DamagedFile, NewerSchema: a folder cannot be read.
        """
        self._lock = threading.Lock()
        self._studies = {key: _Study(key, folder, clock) for key, folder in enumerate(folders, start=1)}

    def shown(self) -> list[Shown]:
        """Every study now; begins to write the reports that are missing or older than their trials."""
        with self._lock:
            return [study.shown() for study in self._studies.values()]

    def folder(self, key: int) -> ResultsFolder | None:
        """None: there is no such study."""
        study = self._studies.get(key)
        return None if study is None else study.folder

    def stop(self) -> None:
        """Ends what is being written."""
        with self._lock:
            for study in self._studies.values():
                study.stop()


class _Study:
    def __init__(self, key: int, folder: ResultsFolder, clock: Clock) -> None:
        study = stored_study(folder)
        self._key = key
        self.folder = folder
        self._title = study.title or study.name
        self._clock = clock
        self._writing: tuple[subprocess.Popen[bytes], IO[bytes]] | None = None
        self._written_of_ns = 0
        """The last change that the report which is, or was, being written has."""
        self._problem = ""
        self._words = ""
        self._words_due_s = clock.monotonic_s()

    def shown(self) -> Shown:
        try:
            words, problem = self._now(), ""
            self._poll()
        except (NephoscopeError, OSError) as error:
            words, problem = "", str(error)
        return Shown(
            key=self._key,
            title=self._title,
            folder=self.folder.path,
            words=words,
            reported=written_ns(self.folder) > 0,
            writing=self._writing is not None,
            problem=problem or self._problem,
        )

    def stop(self) -> None:
        if self._writing is not None:
            process, stderr = self._writing
            process.terminate()
            process.wait()
            stderr.close()

    def _poll(self) -> None:
        if self._writing is not None:
            process, stderr = self._writing
            if process.poll() is None:
                return
            stderr.seek(0)
            self._problem = problem_of(process.returncode, stderr.read())
            stderr.close()
            self._writing = None
        last_ns = changed_ns(self.folder)
        # A run writes the report itself, when that disturbs no trial.
        if last_ns > max(written_ns(self.folder), self._written_of_ns) and not self.folder.in_use():
            self._written_of_ns = last_ns
            stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the process has ended
            process = subprocess.Popen(
                command(self.folder.path, Phase.ENDED, NICENESS),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,  # Ctrl-C is for the server, which stops it
            )
            self._writing = process, stderr

    def _now(self) -> str:
        """'running; 5 of 8 trials ended: 4 done, 1 invalid, 3 planned; about 3 min left'."""
        begun_s = self._clock.monotonic_s()
        if begun_s >= self._words_due_s:
            found, in_use = progress(self.folder, self._clock.unix_ms()), self.folder.in_use()
            complete = found.ended == len(found.states)
            parts = ["running" if in_use else "complete" if complete else "not running"]
            parts.append(f"{found.ended:,} of {counted(len(found.states), 'trial')} ended: {found.words}")
            if in_use and found.left_s:
                parts.append(left_in_words(found.left_s))
            self._words = "; ".join(parts)
            now_s = self._clock.monotonic_s()
            self._words_due_s = now_s + REST * (now_s - begun_s)
        return self._words
