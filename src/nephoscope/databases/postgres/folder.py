"""The folder of nephoscope's PostgreSQL server: created, and cleared of what a killed controller left there."""

import asyncio
import os
import secrets
import shutil
import signal
from contextlib import suppress
from pathlib import Path

from nephoscope.databases.postgres.binaries import Binaries
from nephoscope.databases.postgres.shared_memory import hint_on, remove_left
from nephoscope.databases.programs import as_server_user
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed, StorageFailed

USER = "nephoscope"
METHOD = "scram-sha-256"
"""Of every login."""
STOP_TIMEOUT_S = 600.0
"""Limit for an orderly stop: it first writes every dirty page of the shared buffers."""

_INITDB_TIMEOUT_S = 300.0
_NOTICE_S = 2.0
"""A server process sees within this time that its parent is dead; one in a tight loop never does."""
_KILL_S = 30.0
_LOOK_EVERY_S = 0.05

_INITDB_HINT = (
    "run as an ordinary user, or allow user namespaces (sysctl user.max_user_namespaces), "
    "or set `dsn` in the study to a server of your own"
)


class ServerFolder:
    """Where nephoscope's server lives on the database machine."""

    def __init__(self, data_dir: str, version: str | None = None) -> None:
        """It.

        Args:
            data_dir: of the machine.
            version: that a study names: each major version has a folder of its own, as none reads another's data.
        """
        major = "" if version is None else f"-{version.split('.', maxsplit=1)[0]}"
        self.root = Path(data_dir).resolve() / f"postgres{major}"
        self.data = self.root / "data"
        self.password = self.root / "password"
        self.marker = self.root / "initialised"
        self.pid_file = self.data / "postmaster.pid"

    def processes(self) -> set[int]:
        """Every living PostgreSQL process of ours that works in this data folder, whichever controller started it."""
        return {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and self._holds(entry)}

    def postmaster(self) -> int | None:
        """The process that the pid file names."""
        with suppress(OSError, ValueError):
            return int(self.pid_file.read_text(encoding="utf-8").split("\n", 1)[0])
        return None

    def _holds(self, process: Path) -> bool:
        """A zombie no longer has a working directory, and a user's shell in the folder is not PostgreSQL."""
        try:
            ours = process.stat().st_uid == os.geteuid()
            return ours and (process / "cwd").readlink() == self.data and "postgres" in (process / "comm").read_text()
        except OSError:
            return False


async def prepare(machine: MachineHandle, binaries: Binaries, folder: ServerFolder) -> None:
    """A folder in which a server can be started.

    Raises:
        DatabaseFailed: a predecessor cannot be ended, or initdb failed.
        StorageFailed: the folder cannot be created.
    """
    await end_predecessors(folder)
    if folder.marker.exists():
        return
    try:
        await _create(machine, binaries, folder)
    except OSError as error:
        raise StorageFailed.of(folder.root, error) from error


async def _create(machine: MachineHandle, binaries: Binaries, folder: ServerFolder) -> None:
    """Runs initdb from scratch, whatever an interrupted one left behind; the marker commits it."""
    shutil.rmtree(folder.root, ignore_errors=True)
    folder.root.mkdir(parents=True, mode=0o700)
    folder.password.touch(mode=0o600)
    folder.password.write_text(secrets.token_urlsafe(24), encoding="utf-8")
    initdb = [binaries.path("initdb"), "-D", str(folder.data), "-U", USER, "-E", "UTF8", "--locale=C",
              f"--auth={METHOD}", f"--pwfile={folder.password}", "--no-instructions"]  # fmt: skip
    completed = await machine.remote.execute(Command(as_server_user(initdb), timeout_s=_INITDB_TIMEOUT_S))
    if completed.exit_code != 0:
        said = completed.stderr.decode(errors="replace").strip()
        failure = f"initdb failed with exit code {completed.exit_code}: {said[-600:]}"
        raise DatabaseFailed(failure, hint=hint_on(said, _INITDB_HINT))
    folder.marker.touch()


async def end_predecessors(folder: ServerFolder) -> None:
    """Ends every server process that a killed controller left in the folder, then their shared memory and pid file.

    The lock of the results folder guarantees that no other process works here. A postmaster dies with its controller,
    but its children have sessions of their own and outlive it for as long as they are busy: none may write while the
    next server recovers. PostgreSQL takes a zombie for alive and would refuse to start, hence the pid file.

    Raises:
        DatabaseFailed: a process cannot be ended.
    """
    postmaster = folder.postmaster()
    if postmaster in folder.processes():
        _send(postmaster, signal.SIGINT)  # "fast": the postmaster ends its children in order
        await _all_gone(folder, STOP_TIMEOUT_S, until_without=postmaster)
    # A child is never signalled by itself: SIGINT means "cancel" to one and "write the last checkpoint" to another.
    if not await _all_gone(folder, _NOTICE_S):
        for process in folder.processes():
            _send(process, signal.SIGKILL)
        if not await _all_gone(folder, _KILL_S):
            left = " ".join(map(str, sorted(folder.processes())))
            raise DatabaseFailed(
                f"processes {left} of an earlier PostgreSQL server still use {folder.data}",
                hint=f"stop them: kill -9 {left}, then run again",
            )
    remove_left(folder.pid_file)
    folder.pid_file.unlink(missing_ok=True)


def _send(process: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


async def _all_gone(folder: ServerFolder, timeout_s: float, until_without: int | None = None) -> bool:
    """Waits until no process is left (or not that one) for at most `timeout_s`; True if this happened."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    while True:
        left = folder.processes()
        if not left or (until_without is not None and until_without not in left):
            return True
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(_LOOK_EVERY_S)
