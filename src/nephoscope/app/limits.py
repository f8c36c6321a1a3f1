"""Limits that a shell or a service puts on this process (`ulimit`), and what to do where one is too low.

Libraries in C++ and Rust end the process, or wait forever, when they get no addresses or no file: that is asked before
they load.
"""

import errno
import os
import resource
from dataclasses import dataclass

from nephoscope.model.errors import PROCESS_HINTS, EnvironmentProblem
from nephoscope.model.units import GIB, KIB

_TABLES = frozenset({"analyze", "query", "compare", "claims"})
_PICTURES = frozenset({"report", "demo", "serve"})
_TABLES_BYTES, _THREAD_BYTES = 2 * GIB, GIB // 8
"""Addresses for the libraries of an analysis, and for a thread of them on each CPU: its stack and its heap."""
_PICTURES_BYTES = 72 * GIB
"""V8, which draws the figures, reserves 64 GiB of addresses at once. The memory it uses is a fraction of one."""
_FEWEST_FILES = 64
_FEWEST_PROCESSES = 256
_MEMORY_INSTEAD = "to limit memory and not addresses, use `systemd-run --scope -p MemoryMax=4G`"


@dataclass(frozen=True)
class Limits:
    """Of this process; None: unlimited."""

    addresses_bytes: int | None
    files: int | None
    processes: int | None


def limits() -> Limits:
    """What the system says."""
    names = (resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)
    found = (resource.getrlimit(name)[0] for name in names)
    return Limits(*(None if limit == resource.RLIM_INFINITY else limit for limit in found))


def require_enough(command: str, now: Limits, cpus: int) -> None:
    """Refuses a command whose libraries would end this process.

    Raises:
        EnvironmentProblem: a limit is too low for it.
    """
    if command not in _TABLES | _PICTURES:
        return
    need_bytes = (_PICTURES_BYTES if command in _PICTURES else _TABLES_BYTES) + cpus * _THREAD_BYTES
    if now.addresses_bytes is not None and now.addresses_bytes < need_bytes:
        raise EnvironmentProblem(
            f"`nephoscope {command}` needs {need_bytes // GIB} GiB of addresses, most of which it only reserves; "
            f"`ulimit -v` allows {now.addresses_bytes // KIB:,} KiB",
            hint=f"`ulimit -v unlimited`; {_MEMORY_INSTEAD}",
        )
    if now.files is not None and now.files < _FEWEST_FILES:
        raise EnvironmentProblem(
            f"`nephoscope {command}` opens up to {_FEWEST_FILES} files at once; `ulimit -n` allows {now.files}",
            hint=_HINTS[errno.EMFILE],
        )


_HINTS = {**PROCESS_HINTS, errno.EAGAIN: "`ulimit -u` allows no more processes and threads: raise it, or end some"}


def lacking(error: BaseException, now: Limits) -> EnvironmentProblem | None:
    """What this process lacked when it raised an error; None: the error is about something else."""
    if isinstance(error, MemoryError):
        number, what = errno.ENOMEM, "there is not enough memory"
    elif isinstance(error, OSError) and error.errno in _HINTS:
        number, what = error.errno, os.strerror(error.errno)
    else:
        return None
    if number == errno.ENOMEM and now.addresses_bytes is not None:
        hint = f"`ulimit -v` allows {now.addresses_bytes // KIB:,} KiB: `ulimit -v unlimited`; {_MEMORY_INSTEAD}"
        return EnvironmentProblem(what, hint=hint)
    return EnvironmentProblem(what, hint=_HINTS[number])


def low(now: Limits) -> list[str]:
    """Limits that are seldom so low, as a shell sets them: they may be why a library failed without saying so."""
    found = []
    if now.addresses_bytes is not None:
        found.append(f"ulimit -v {now.addresses_bytes // KIB}")
    if now.files is not None and now.files < _FEWEST_FILES:
        found.append(f"ulimit -n {now.files}")
    if now.processes is not None and now.processes < _FEWEST_PROCESSES:
        found.append(f"ulimit -u {now.processes}")
    return found
