"""A server's program on this machine: where it is, and how it gets to another machine."""

import asyncio
import hashlib
import shutil
from pathlib import Path, PurePosixPath

from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import InputError

_LOOK_TIMEOUT_S = 60.0


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
    there = await machine.remote.execute(Command(["sha256sum", program], timeout_s=_LOOK_TIMEOUT_S, pinned=False))
    if there.exit_code != 0 or there.stdout.decode(errors="replace").split()[:1] != [wanted]:
        await _execute(machine, "mkdir", "-p", str(PurePosixPath(program).parent))
        await machine.remote.upload(local, f"{program}.new")
        await _execute(machine, "chmod", "755", f"{program}.new")
        await _execute(machine, "mv", f"{program}.new", program)
    return program


async def _execute(machine: MachineHandle, *argv: str) -> None:
    (await machine.remote.execute(Command(argv, timeout_s=_LOOK_TIMEOUT_S, pinned=False))).require()
