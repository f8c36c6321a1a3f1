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


class NephoscopeError(Exception):
    """Base: `message` says what happened, `hint` what to try. `failure_class` names it in `status.json`."""

    exit_code: ClassVar[int] = EXIT_DEFECT
    failure_class: ClassVar[str] = "defect"
    move: ClassVar[Move] = Move.OURS

    def __init__(self, message: str | Sequence[str], *, hint: str = "") -> None:
        """A text is one line, whatever a server or a file put into it; a message of several is given as a list."""
        self.message = "\n".join(map(line, [message] if isinstance(message, str) else message))
        self.hint = line(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}; hint: {self.hint}" if self.hint else self.message


class InputError(NephoscopeError):
    """The input is wrong: study file, arguments."""

    exit_code = 2
    failure_class = "bad_input"
    move = Move.YOURS


class StudyError(InputError):
    """A study file is wrong; the message holds `file:line: key` for each problem, one per line."""


class NewerSchema(InputError):
    """A file was written by a newer nephoscope."""

    failure_class = "newer_schema"


class DamagedFile(InputError):
    """A stored file cannot be read: damaged, or edited by hand."""

    failure_class = "damaged_file"


class EnvironmentProblem(NephoscopeError):
    """Something needed is missing or cannot be reached."""

    exit_code = 3
    failure_class = "environment"
    move = Move.YOURS


def not_read(path: Path | str, error: OSError, *, hint: str) -> NephoscopeError:
    """Of a stored file or folder: damaged, unless this process could read no other, either."""
    message = f"{path} cannot be read: {error.strerror or error}"
    if error.errno in PROCESS_HINTS:
        return EnvironmentProblem(message, hint=PROCESS_HINTS[error.errno])
    return DamagedFile(message, hint=hint)


class ToolMissing(EnvironmentProblem):
    """A tool is not installed, so the benchmark that needs it does not run."""

    failure_class = "tool_missing"


class TargetUnreachable(EnvironmentProblem):
    """A database cannot be reached."""

    failure_class = "target_unreachable"


class MachineUnreachable(EnvironmentProblem):
    """A machine does not answer over SSH."""

    failure_class = "machine_unreachable"


class AccessDenied(EnvironmentProblem):
    """A machine answers but rejects the login: wrong user, wrong key."""

    failure_class = "access_denied"


class HostKeyRefused(EnvironmentProblem):
    """A machine's host key is not known, or differs from the one known for it."""

    failure_class = "host_key_refused"


class ClockOff(EnvironmentProblem):
    """The clocks of load machines that must start together differ by too much."""

    failure_class = "clock_off"


class MachineInUse(EnvironmentProblem):
    """Another study holds the lease of a machine."""

    failure_class = "machine_in_use"


class CleanupFailed(EnvironmentProblem):
    """Machines of a study could not be deleted, and may still cost money."""

    failure_class = "machines_left"


class LeaseLost(EnvironmentProblem):
    """Other controllers of a study heard nothing from this one for too long, and took over its trials."""

    failure_class = "taken_for_dead"


class FolderInUse(NephoscopeError):
    """Another process holds the lock of this results folder."""

    exit_code = 5
    failure_class = "folder_in_use"
    move = Move.YOURS


class StorageFailed(NephoscopeError):
    """A result could not be stored."""

    exit_code = 6
    failure_class = "storage"
    move = Move.YOURS

    @classmethod
    def of(cls, path: Path, error: OSError) -> "StorageFailed":
        """For a failed write of `path`, with a hint by its cause."""
        what = error.strerror or str(error)
        default = "check the disk's health, then run the same command again: it resumes"
        return cls(f"could not store {path}: {what}", hint=_STORAGE_HINTS.get(error.errno or 0, default))


class ClaimsFailed(NephoscopeError):
    """The data at hand do not support a published claim."""

    exit_code = 7
    failure_class = "claims_failed"
    move = Move.YOURS


class ComparisonFailed(NephoscopeError):
    """The later of two studies is worse than the earlier one by the stated margin, or that is not decided."""

    exit_code = 8
    failure_class = "comparison_failed"
    move = Move.YOURS


class ResultsAltered(NephoscopeError):
    """Stored files of a results folder were changed, removed or added after their trials ended."""

    exit_code = 8
    failure_class = "altered"
    move = Move.YOURS


class FilesUnreadable(NephoscopeError):
    """Files that were given to `parse-output` are damaged, or no known tool wrote them."""

    exit_code = EXIT_TRIALS_FAILED
    failure_class = "files_unreadable"
    move = Move.YOURS


class TrialFailure(NephoscopeError):
    """A trial could not be finished; the study continues with the next one."""

    exit_code = EXIT_TRIALS_FAILED
    failure_class = "trial"
    move = Move.YOURS


class ToolFailed(TrialFailure):
    """A tool ended with an error."""

    failure_class = "tool_failed"


class ToolTimedOut(TrialFailure):
    """A tool did not finish in time and was killed."""

    failure_class = "timeout"


class OutputUnreadable(TrialFailure):
    """A parser does not recognise a tool's output: it is garbage, empty, or from another version."""

    failure_class = "output_unreadable"
    move = Move.OURS


class TargetLost(TrialFailure):
    """The database died or disappeared during a trial."""

    failure_class = "target_lost"


class DatabaseFailed(TrialFailure):
    """The database could not be started, prepared or stopped."""

    failure_class = "database_failed"


class NoSpaceOnMachine(TrialFailure):
    """A measured machine's disk is full."""

    failure_class = "no_space_on_machine"


def tool_failed(message: str, *, hint: str = "", otherwise: type[TrialFailure] = ToolFailed) -> TrialFailure:
    """A tool or server ended with an error. The operating system's message shows whether a disk is full."""
    if os.strerror(errno.ENOSPC) in message:
        return NoSpaceOnMachine(message, hint=MORE_SPACE)
    return otherwise(message, hint=hint)


MORE_SPACE = "free some space, choose another --out folder, or lower the data set's size in the study"


class InfrastructureFailure(TrialFailure):
    """Machines could not be created, or were lost. Nothing was measured, so the trial runs again on new machines."""

    failure_class = "infrastructure"
    move = Move.NOBODY


class UnknownAnswer(InfrastructureFailure):
    """The provider refused with a code that nephoscope does not know: it tries once more, and then the trial ends."""

    failure_class = "unknown_answer"
    move = Move.YOURS


class CapacityLacking(InfrastructureFailure):
    """The zone has no such machines at the moment: the next listed zone is tried, then nephoscope waits."""

    failure_class = "capacity"


class QuotaReached(InfrastructureFailure):
    """The account's quota allows no more such machines: nephoscope keeps fewer clusters at once."""

    failure_class = "quota"
    move = Move.YOURS


class Throttled(InfrastructureFailure):
    """The provider limits the rate of requests: nephoscope waits."""

    failure_class = "throttled"


class MachineLost(InfrastructureFailure):
    """A machine disappeared or cannot be reached any more: deleted by the provider, crashed, or disconnected."""

    failure_class = "machine_lost"


class MachinePreempted(MachineLost):
    """The provider took a preemptible machine (`spot = true`) back: nephoscope uses a new cluster."""

    failure_class = "preempted"


class BudgetReached(TrialFailure):
    """The budget ran out during a trial, so its cluster was deleted. With a larger budget the trial restarts."""

    failure_class = "budget"


class MachineUnsupported(TrialFailure):
    """The provider does not offer such a machine there; trying again would not help."""

    failure_class = "unsupported"
