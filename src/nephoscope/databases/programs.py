"""A server's program: where it is, how it gets to another machine, as whom it runs, what it said at last."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar
from urllib.parse import urlsplit

from nephoscope.machines.loopback import TABLES, listener_in
from nephoscope.machines.remote import Background, Command, MachineHandle
from nephoscope.model.errors import InputError, ToolFailed, ToolTimedOut

_TIMEOUT_S = 3600.0
"""For commands that may copy a whole data set."""
_LOOK_EVERY_S = 0.05
_LISTENERS = Command(["sh", "-c", 'id -u; cat "$@" 2>/dev/null; :', "listeners", *TABLES], timeout_s=30, pinned=False)
"""Who asks, and the kernel's tables of sockets."""

Found = TypeVar("Found")


def find_program(binary: str | None, program: str) -> str | None:
    """Path of the file `binary` on this machine, else of `program` on PATH; None: it has neither.

    Raises:
        InputError: there is no such file.
    """
    if binary is None:
        return shutil.which(program)
    path = Path(binary).expanduser()
    if not path.is_file():
        raise InputError(f"`database.binary` {path} does not exist", hint="give the path of a file on this machine")
    return str(path)


async def taken_along(machine: MachineHandle, binary: str, program: str) -> str:
    """The file `binary` of this machine as `program` there, unless the same is there already; its path there.

    Raises:
        InputError: there is no such file here.
    """
    local = Path(binary).expanduser()
    try:
        with local.open("rb") as content:
            wanted = await asyncio.to_thread(lambda: hashlib.file_digest(content, "sha256").hexdigest())
    except OSError as error:
        raise InputError(f"`database.binary` {local} cannot be read: {error.strerror}") from error
    there = await machine.remote.execute(Command(["sha256sum", program], timeout_s=_TIMEOUT_S, pinned=False))
    if there.exit_code != 0 or there.stdout.decode(errors="replace").split()[:1] != [wanted]:
        await execute(machine, "mkdir", "-p", str(PurePosixPath(program).parent))
        await machine.remote.upload(local, f"{program}.new")
        await execute(machine, "chmod", "755", f"{program}.new")
        await execute(machine, "mv", f"{program}.new", program)
    return program


async def execute(machine: MachineHandle, *argv: str) -> str:
    """What a command prints that must succeed."""
    completed = await machine.remote.execute(Command(argv, timeout_s=_TIMEOUT_S, pinned=False))
    return completed.require().stdout.decode(errors="replace")


async def write_secret(machine: MachineHandle, path: str, text: str) -> None:
    """A file that nobody else may read, not even while it is written."""
    argv = ["sh", "-c", 'umask 077; rm -f -- "$0"; cat >"$0"', path]
    command = Command(argv, timeout_s=_TIMEOUT_S, stdin=text.encode(), pinned=False)
    (await machine.remote.execute(command)).require()


def as_server_user(argv: Sequence[str], *, by_root: bool | None = None) -> list[str]:
    """The command as servers accept it that reject root: root becomes another user in a user namespace.

    Nothing is added to the system and no file changes its owner; a data folder below a 0700 home works. `by_root`
    says whether root would run it; None: as here.
    """
    if not (os.geteuid() == 0 if by_root is None else by_root):
        return list(argv)
    return ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--", *argv]


async def until_up(
    ask: Callable[[], Awaitable[Found]],
    machine: MachineHandle,
    dsn: str,
    process: Background,
    patience_s: Callable[[ToolFailed | ToolTimedOut], float],
) -> Found:
    """The first answer of a server that starts.

    Args:
        ask: fails as long as it is not up; it sends the password, so nobody else's server is asked.
        machine: that the server runs on.
        dsn: its address.
        process: of the server.
        patience_s: how long a start may take on which this failure is seen.

    Raises:
        ToolFailed, ToolTimedOut: the last failure, when the time is over or the server ended.
    """
    clock = asyncio.get_running_loop().time
    started = clock()
    while True:
        try:
            await _require_ours(machine, urlsplit(dsn).port or 0)
            return await ask()
        except (ToolFailed, ToolTimedOut) as error:
            if clock() - started > patience_s(error) or not process.running():
                raise
        await asyncio.sleep(_LOOK_EVERY_S)


async def _require_ours(machine: MachineHandle, port: int) -> None:
    """Everybody on a machine sees a server's port in the list of processes, and may take it before the server does."""
    looked = (await machine.remote.execute(_LISTENERS)).require().stdout.decode(errors="replace")
    us, _, tables = looked.partition("\n")
    if not tables:  # not Linux
        return
    user = listener_in(tables, machine.address, port)
    if user is None:
        raise ToolFailed(f"nothing listens on port {port} yet")
    if str(user) != us:
        raise ToolFailed(f"a process of another user of {machine.name} (number {user}) took port {port} first")


def end_of(log: Path) -> str:
    """The last lines of a server's log; empty: there is none."""
    try:
        return log.read_text(encoding="utf-8", errors="replace").strip()[-600:]
    except OSError:
        return ""
