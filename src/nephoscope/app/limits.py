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

_TABLES = frozenset({"analyze", "query", "compare", "claims", "plan", "run", "place", "types", "import"})
_PICTURES = frozenset({"report", "demo", "serve"})
_TABLES_BYTES, _THREAD_BYTES = 2 * GIB, GIB // 8
"""Addresses, and data, for the libraries of tables, and for a thread of them on each CPU: its stack and its heap."""
_PICTURES_BYTES = 72 * GIB
"""V8, which draws the figures, reserves 64 GiB of addresses at once. The memory it uses is a fraction of one."""
_FEWEST_FILES = 64
_FEWEST_PROCESSES = 256
_MEMORY_INSTEAD = "to limit memory and not addresses, use `systemd-run --scope -p MemoryMax=4G`"


@dataclass(frozen=True)
class Limits:
    """Of this process; None: unlimited."""

    addresses_bytes: int | None = None
    data_bytes: int | None = None
    """Of private memory that may be written, reserved or used."""
    files: int | None = None
    processes: int | None = None


def limits() -> Limits:
    """What the system says."""
    names = (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)
    found = (resource.getrlimit(name)[0] for name in names)
    return Limits(*(None if limit == resource.RLIM_INFINITY else limit for limit in found))


def require_enough(command: str, now: Limits, cpus: int) -> None:
    """Refuses a command whose libraries would end this process.

    Raises:
        EnvironmentProblem: a limit is too low for it.
    """
    if command not in _TABLES | _PICTURES:
        return
    data_bytes = _TABLES_BYTES + cpus * _THREAD_BYTES
    addresses_bytes = _PICTURES_BYTES + cpus * _THREAD_BYTES if command in _PICTURES else data_bytes
    for option, what, allowed_bytes, need_bytes in (
        ("v", "addresses", now.addresses_bytes, addresses_bytes),
        ("d", "data", now.data_bytes, data_bytes),
    ):
        if allowed_bytes is not None and allowed_bytes < need_bytes:
            raise EnvironmentProblem(
                f"`nephoscope {command}` needs {need_bytes // KIB:,} KiB of {what}, most of which it only reserves; "
                f"`ulimit -{option}` allows {allowed_bytes // KIB:,} KiB",
                hint=f"`ulimit -{option} unlimited`; {_MEMORY_INSTEAD}",
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
    if number == errno.ENOMEM and (of_memory := _of_memory(now)):
        return EnvironmentProblem(what, hint=f"{' and '.join(of_memory)} may be too low: raise it; {_MEMORY_INSTEAD}")
    return EnvironmentProblem(what, hint=_HINTS[number])


def _of_memory(now: Limits) -> list[str]:
    allowed = (("v", now.addresses_bytes), ("d", now.data_bytes))
    return [f"ulimit -{option} {size // KIB}" for option, size in allowed if size is not None]


def low(now: Limits) -> list[str]:
    """Limits that are seldom so low, as a shell sets them: they may be why a library failed without saying so."""
    found = _of_memory(now)
    if now.files is not None and now.files < _FEWEST_FILES:
        found.append(f"ulimit -n {now.files}")
    if now.processes is not None and now.processes < _FEWEST_PROCESSES:
        found.append(f"ulimit -u {now.processes}")
    return found
