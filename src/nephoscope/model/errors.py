"""Every error that a user can see: what happened, whose move it is, what to try. Exit codes are API.

| exit code | meaning | class |
|---|---|---|
| 0 | done | |
| 1 | a defect in nephoscope: please report it; of a part of a report only with `--strict` | any other exception |
| 2 | the input is wrong: study, arguments, a results folder this version cannot read | InputError |
| 3 | something needed is missing or cannot be reached: tool, database, permission | EnvironmentProblem |
| 4 | some trials failed, were not run, or (`parse`, `parse-output`) could not be read; everything else was done | |
| 5 | another process works on this results folder | FolderInUse |
| 6 | results could not be stored (disk full, read-only) | StorageFailed |
| 7 | `claims`: the data do not support a claim | ClaimsFailed |
| 8 | `compare --fail-if`: worse or not decided; `verify`: stored files altered | ComparisonFailed, ResultsAltered |
| 129, 130, 143 | stopped by a closed terminal (SIGHUP), by Ctrl-C, by SIGTERM; `run` again resumes | |
"""

import errno
import os
import signal
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from nephoscope.model.text import line

EXIT_OK = 0
EXIT_DEFECT = 1
EXIT_TRIALS_FAILED = 4
EXIT_HUNG_UP = 129
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143
EXIT_OF_SIGNAL = {signal.SIGHUP: EXIT_HUNG_UP, signal.SIGINT: EXIT_INTERRUPTED, signal.SIGTERM: EXIT_TERMINATED}
"""The shell's convention: 128 and the signal's number."""

PROCESS_HINTS = {
    errno.EMFILE: "this process may open no more files: `ulimit -n 1024` in its shell, or LimitNOFILE= of its service",
    errno.ENFILE: "this machine has too many open files: end what holds them, or raise `sysctl fs.file-max`",
    errno.ENOMEM: "there is not enough memory: free some, raise `ulimit -v`, or use a machine with more",
}
"""An OSError with one of these is about the process that raised it, and not about the file that it could not read."""

_STORAGE_HINTS = {
    errno.ENOSPC: "free some space on that disk and run the same command again: it resumes",
    errno.EDQUOT: "your disk quota is used up: free some space and run the same command again",
    errno.EROFS: "the file system is read-only: choose another folder with --out",
    errno.EFBIG: "a limit on the size of a file is reached: `ulimit -f unlimited`, or another file system with --out",
    **PROCESS_HINTS,
    errno.ENOENT: "a folder of this path does not exist and cannot be created: choose another path",
    errno.ENOTDIR: "a part of this path is a file, not a folder: choose another path",
    errno.EISDIR: "there is a folder where this file belongs: rename or delete it",
    errno.EEXIST: "there is a file where this folder belongs: rename or delete it",
    errno.EACCES: "you have no permission to write there: choose another folder with --out",
}


STORAGE_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})
"""An OSError with one of these is about the disk, not about the program that raised it."""


class Move(StrEnum):
    """Whose move it is."""

    YOURS = "yours"
    """Something outside nephoscope must change."""
    OURS = "ours"
    """A defect of nephoscope."""
    NOBODY = "nobody"
    """Nothing to do: the problem may go away by itself."""


class Stopped(Exception):
    """A signal ended the work; `exit_code` is the shell's convention for it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = EXIT_OF_SIGNAL[signal.Signals(number)]


_MOST_LINES = 200
"""Of a message: a file of a stranger's may have something wrong in each of a million lines."""


class NephoscopeError(Exception):
    """Base: `message` says what happened, `hint` what to try. `failure_class` names it in `status.json`."""

    exit_code: ClassVar[int] = EXIT_DEFECT
    failure_class: ClassVar[str] = "defect"
    move: ClassVar[Move] = Move.OURS

    def __init_subclass__(
        cls, *, named: str | None = None, exit_code: int | None = None, move: Move | None = None
    ) -> None:
        """What a kind of error does not state it has from its base; `named` is its `failure_class`."""
        cls.failure_class = named or cls.failure_class
        cls.exit_code = cls.exit_code if exit_code is None else exit_code
        cls.move = move or cls.move

    def __init__(self, message: str | Sequence[str], *, hint: str = "") -> None:
        """A text is one line, whatever a server or a file put into it; a message of several is given as a list."""
        lines = [message] if isinstance(message, str) else list(message)
        if len(lines) > _MOST_LINES:
            lines[_MOST_LINES:] = [f"and {len(lines) - _MOST_LINES:,} more lines"]
        self.message = "\n".join(map(line, lines))
        self.hint = line(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}; hint: {self.hint}" if self.hint else self.message


class InputError(NephoscopeError, exit_code=2, named="bad_input", move=Move.YOURS):
    """The input is wrong: study file, arguments."""


class StudyError(InputError):
    """A study file is wrong; the message holds `file:line: key` for each problem, one per line."""


class NewerSchema(InputError, named="newer_schema"):
    """A file was written by a newer nephoscope."""


class DamagedFile(InputError, named="damaged_file"):
    """A stored file cannot be read: damaged, or edited by hand."""


class EnvironmentProblem(NephoscopeError, exit_code=3, named="environment", move=Move.YOURS):
    """Something needed is missing or cannot be reached."""


def not_read(path: Path | str, error: OSError, *, hint: str) -> NephoscopeError:
    """Of a stored file or folder: damaged, unless this process could read no other, either."""
    message = f"{path} cannot be read: {error.strerror or error}"
    if error.errno in PROCESS_HINTS:
        return EnvironmentProblem(message, hint=PROCESS_HINTS[error.errno])
    return DamagedFile(message, hint=hint)


class ToolMissing(EnvironmentProblem, named="tool_missing"):
    """A tool is not installed, so the benchmark that needs it does not run."""


class TargetUnreachable(EnvironmentProblem, named="target_unreachable"):
    """A database cannot be reached."""


class MachineUnreachable(EnvironmentProblem, named="machine_unreachable"):
    """A machine does not answer over SSH."""


class AccessDenied(EnvironmentProblem, named="access_denied"):
    """A machine answers but rejects the login: wrong user, wrong key."""


class HostKeyRefused(EnvironmentProblem, named="host_key_refused"):
    """A machine's host key is not known, or differs from the one known for it."""


class ClockOff(EnvironmentProblem, named="clock_off"):
    """The clocks of load machines that must start together differ by too much."""


class MachineInUse(EnvironmentProblem, named="machine_in_use"):
    """Another study holds the lease of a machine."""


class CleanupFailed(EnvironmentProblem, named="machines_left"):
    """Machines of a study could not be deleted, and may still cost money."""


class LeaseLost(EnvironmentProblem, named="taken_for_dead"):
    """Other controllers of a study heard nothing from this one for too long, and took over its trials."""


class FolderInUse(NephoscopeError, exit_code=5, named="folder_in_use", move=Move.YOURS):
    """Another process holds the lock of this results folder."""


class StorageFailed(NephoscopeError, exit_code=6, named="storage", move=Move.YOURS):
    """A result could not be stored."""

    @classmethod
    def of(cls, path: Path, error: OSError) -> "StorageFailed":
        """For a failed write of `path`, with a hint by its cause."""
        what = error.strerror or str(error)
        default = "check the disk's health, then run the same command again: it resumes"
        return cls(f"could not store {path}: {what}", hint=_STORAGE_HINTS.get(error.errno or 0, default))


class ClaimsFailed(NephoscopeError, exit_code=7, named="claims_failed", move=Move.YOURS):
    """The data at hand do not support a published claim."""


class ComparisonFailed(NephoscopeError, exit_code=8, named="comparison_failed", move=Move.YOURS):
    """The later of two studies is worse than the earlier one by the stated margin, or that is not decided."""


class ResultsAltered(NephoscopeError, exit_code=8, named="altered", move=Move.YOURS):
    """Stored files of a results folder were changed, removed or added after their trials ended."""


class FilesUnreadable(NephoscopeError, exit_code=EXIT_TRIALS_FAILED, named="files_unreadable", move=Move.YOURS):
    """Files that were given to `parse-output` are damaged, or no known tool wrote them."""


class TrialFailure(NephoscopeError, exit_code=EXIT_TRIALS_FAILED, named="trial", move=Move.YOURS):
    """A trial could not be finished; the study continues with the next one."""


class ToolFailed(TrialFailure, named="tool_failed"):
    """A tool ended with an error."""


class ToolTimedOut(TrialFailure, named="timeout"):
    """A tool did not finish in time and was killed."""


class OutputUnreadable(TrialFailure, named="output_unreadable", move=Move.OURS):
    """A parser does not recognise a tool's output: it is garbage, empty, or from another version."""


class TargetLost(TrialFailure, named="target_lost"):
    """The database died or disappeared during a trial."""


class DatabaseFailed(TrialFailure, named="database_failed"):
    """The database could not be started, prepared or stopped."""


class NoSpaceOnMachine(TrialFailure, named="no_space_on_machine"):
    """A measured machine's disk is full."""


def tool_failed(message: str, *, hint: str = "", otherwise: type[TrialFailure] = ToolFailed) -> TrialFailure:
    """A tool or server ended with an error. The operating system's message shows whether a disk is full."""
    if os.strerror(errno.ENOSPC) in message:
        return NoSpaceOnMachine(message, hint=MORE_SPACE)
    return otherwise(message, hint=hint)


MORE_SPACE = "free some space, choose another --out folder, or lower the data set's size in the study"


class InfrastructureFailure(TrialFailure, named="infrastructure", move=Move.NOBODY):
    """Machines could not be created, or were lost. Nothing was measured, so the trial runs again on new machines."""


class UnknownAnswer(InfrastructureFailure, named="unknown_answer", move=Move.YOURS):
    """The provider refused with a code that nephoscope does not know: it tries once more, and then the trial ends."""


class CapacityLacking(InfrastructureFailure, named="capacity"):
    """The zone has no such machines at the moment: the next listed zone is tried, then nephoscope waits."""


class QuotaReached(InfrastructureFailure, named="quota", move=Move.YOURS):
    """The account's quota allows no more such machines: nephoscope keeps fewer clusters at once."""


class Throttled(InfrastructureFailure, named="throttled"):
    """The provider limits the rate of requests: nephoscope waits."""


class MachineLost(InfrastructureFailure, named="machine_lost"):
    """A machine disappeared or cannot be reached any more: deleted by the provider, crashed, or disconnected."""


class MachinePreempted(MachineLost, named="preempted"):
    """The provider took a preemptible machine (`spot = true`) back: nephoscope uses a new cluster."""


class BudgetReached(TrialFailure, named="budget"):
    """The budget ran out during a trial, so its cluster was deleted. With a larger budget the trial restarts."""


class MachineUnsupported(TrialFailure, named="unsupported"):
    """The provider does not offer such a machine there; trying again would not help."""
