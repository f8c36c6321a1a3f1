"""Aerospike's machines: the program, folders and devices, sizes, copies of data files, and questions to a server.

Questions go through the shell of the server's own machine, which opens the connection (bash's /dev/tcp) and hands on
the message of `aerospike_info`: `asinfo` is a package of its own, which a machine need not have.
"""

import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from nephoscope.databases.aerospike import info
from nephoscope.databases.aerospike.config import PORT, Build, ServerLayout, build_of, own_of
from nephoscope.databases.programs import taken_along
from nephoscope.machines.facts import gather_facts
from nephoscope.machines.remote import Background, Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed, OutputUnreadable
from nephoscope.model.units import GIB, MIB
from nephoscope.study.model import Database as DatabaseSettings

RawDeviceOf = Callable[[MachineHandle, str], Awaitable[tuple[str, int]]]
"""Path and size of the device that a study names; raises InputError if it may not be overwritten."""

MEMORY_SHARE = 0.75
"""Of a machine's memory, for the index: the rest is for write buffers, connections and the kernel."""
DISK_SHARE = 0.4
"""Of the file system, for the file: a sealed copy of it must fit as well."""
MIN_FILE_BYTES = 128 * MIB
"""Aerospike 7.1 takes no smaller ones."""
MAX_FILE_BYTES = 2 * 1024 * GIB
"""AS_STORAGE_MAX_DEVICE_SIZE of the server: it ends on a larger one."""
_LOOK_TIMEOUT_S = 60.0
_COPY_TIMEOUT_S = 6 * 3600.0

_ASK = """
exec 3<>"/dev/tcp/$1/$2" || exit 1
cat >&3
set -- $(head -c 8 <&3 | od -An -v -tu1)
[ $# -eq 8 ] || { echo "the server closed the connection" >&2; exit 1; }
printf "$(printf '\\\\x%02x' "$@")"
shift 2
size=0
for byte; do size=$((size * 256 + byte)); done
exec head -c "$size" <&3
"""
"""Sends stdin, and prints the whole answer. The server leaves the connection open, so its header says where it ends."""

_FIND = """
root=$1
[ -z "$2" ] || { rm -rf "$root/package" && dpkg-deb --extract "$2" "$root/package" || exit 1; }
for one in "$root/package/usr/bin/asd" "$(command -v asd)"; do
    [ -x "$one" ] && { echo "$one"; exit 0; }
done
echo "it is not on PATH" >&2
exit 1
"""
"""The program of a copied package, else the machine's own."""

_START = 'ulimit -n "$(ulimit -Hn)" 2>/dev/null; exec "$@"'
"""A server does not start with fewer files than its proto-fd-max; shells over SSH begin with 1,024."""

_PREPARE = """
set -eu
root=$1 identity=$2
mkdir -p "$root/data" "$root/lua" "$root/smd" "$root/fixtures/$identity"
for one in "$root"/fixtures/*; do [ "$one" = "$root/fixtures/$identity" ] || rm -rf "$one"; done
"""
"""Sealed data sets of other settings can never be used again."""

_EMPTY = """
set -eu
root=$1 device=$2
rm -rf "$root/smd" "$root/data/namespace.dat"
mkdir -p "$root/smd"
[ -z "$device" ] || dd if=/dev/zero of="$device" bs=1M count=8 conv=fsync,notrunc status=none
"""
"""A device whose first 8 MiB are zero is a fresh one to Aerospike; it rejects any other foreign content."""


async def installed(machine: MachineHandle, settings: DatabaseSettings) -> tuple[str, Build]:
    """Path and version of the program on a machine: copied from `binary` (or from its package), else the machine's own.

    Raises:
        InputError: there is no such file here.
        DatabaseFailed: the machine has none, it does not start, or its version is not the requested one.
    """
    root, package = root_of(machine), ""
    if settings.binary is not None and not settings.binary.endswith(".deb"):
        program = await taken_along(machine, settings.binary, f"{root}/bin/asd")
    else:
        if settings.binary is not None:
            package = await taken_along(machine, settings.binary, f"{root}/bin/asd.deb")
        argv = ["sh", "-c", _FIND, "find", root, package]
        found = await machine.remote.execute(Command(argv, timeout_s=_LOOK_TIMEOUT_S, pinned=False))
        if found.exit_code != 0:
            raise DatabaseFailed(
                f"no Aerospike on {machine.name}: {_end_of(found.stderr)}",
                hint="set `database.binary` to the program `asd`, or to a Debian package of the server",
            )
        program = found.stdout.decode().strip()
    said = await machine.remote.execute(Command([program, "--version"], timeout_s=_LOOK_TIMEOUT_S, pinned=False))
    if said.exit_code != 0:
        raise DatabaseFailed(
            f"{program} does not start on {machine.name}: {_end_of(said.stderr)}",
            hint="install the server's package, which brings the missing libraries",
        )
    build = build_of(said.stdout.decode(errors="replace"))
    if settings.version is not None and not f"{build.text}.".startswith(f"{settings.version}."):
        raise DatabaseFailed(
            f"the study requires Aerospike {settings.version}, but the one on {machine.name} is {build.text}",
            hint="change `version` in the study, or set `binary` to a program of that version",
        )
    return program, build


async def place_of(
    machine: MachineHandle, number: int, settings: DatabaseSettings, raw_device_of: RawDeviceOf
) -> ServerLayout:
    """Where a server's data are, and how much space they have.

    Raises:
        InputError: something uses the device.
        DatabaseFailed: the disk is too small.
        OutputUnreadable: the machine does not report its sizes.
    """
    own, size, device = own_of(settings), 0, None
    if own.device is not None:
        device, _ = await raw_device_of(machine, own.device)
    else:
        size = int(own.disk_gib * GIB) if own.disk_gib is not None else int(await _disk_bytes(machine) * DISK_SHARE)
        size = min(size - size % MIB, MAX_FILE_BYTES)
        if size < MIN_FILE_BYTES:
            raise DatabaseFailed(
                f"the disk of {machine.name} has room for a file of {size // MIB} MiB, but Aerospike needs at least "
                f"{MIN_FILE_BYTES // MIB} MiB",
                hint="give the machine a larger disk",
            )
    memory = int(own.memory_gib * GIB) if own.memory_gib is not None else await _memory_bytes(machine)
    return ServerLayout(root_of(machine), machine.address, number, memory - memory % MIB, device, size)


async def write_config(machine: MachineHandle, layout: ServerLayout, text: str, identity: str) -> None:
    """Writes folders and the configuration file; deletes data sets sealed under other settings."""
    await _script(machine, _PREPARE, layout.root, identity)
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / "aerospike.conf"
        local.write_text(text, encoding="utf-8")
        await machine.remote.upload(local, layout.config)


async def empty(machine: MachineHandle, layout: ServerLayout) -> None:
    """Deletes everything that its server stored."""
    await _script(machine, _EMPTY, layout.root, layout.device or "")


async def copy(machine: MachineHandle, source: str, to: str) -> None:
    """Copies a data file next to another one; the final name commits the copy."""
    argv = ["cp", "--sparse=always", "--", source, f"{to}.part"]
    (await machine.remote.execute(Command(argv, timeout_s=_COPY_TIMEOUT_S, pinned=False))).require()
    (
        await machine.remote.execute(Command(["mv", "--", f"{to}.part", to], timeout_s=_LOOK_TIMEOUT_S, pinned=False))
    ).require()


async def exists(machine: MachineHandle, path: str) -> bool:
    """True if a file exists."""
    return (
        await machine.remote.execute(Command(["test", "-e", path], timeout_s=_LOOK_TIMEOUT_S, pinned=False))
    ).exit_code == 0


async def launch(machine: MachineHandle, layout: ServerLayout, program: str, log: Path) -> Background:
    """Starts a server in the foreground; its output goes to `log`.

    Cold: the Enterprise Edition would take its index from shared memory again, and the files below it are others now.
    """
    argv = ["sh", "-c", _START, "start", program, "--foreground", "--cold-start", "--config-file", layout.config]
    return await machine.remote.start(argv, log=log)


async def ask(machine: MachineHandle, commands: Sequence[str]) -> list[str]:
    """The answers of the machine's server to each command.

    Raises:
        ToolFailed, ToolTimedOut: it does not answer.
        OutputUnreadable: with something else.
    """
    argv = ["bash", "-c", _ASK, "ask", machine.address, str(PORT)]
    said = await machine.remote.execute(
        Command(argv, stdin=info.request(commands), timeout_s=_LOOK_TIMEOUT_S, pinned=False)
    )
    return info.answers(said.require().stdout, commands)


async def uptime_s(machine: MachineHandle) -> float:
    """How long the machine has run: a clock that nobody sets.

    Raises:
        ToolFailed, ToolTimedOut, OutputUnreadable: it does not say.
    """
    said = await machine.remote.execute(Command(["cat", "/proc/uptime"], timeout_s=_LOOK_TIMEOUT_S, pinned=False))
    words = said.require().stdout.split()
    try:
        return float(words[0])
    except (IndexError, ValueError) as error:
        raise OutputUnreadable(f"/proc/uptime of {machine.name}: {error}") from error


def root_of(machine: MachineHandle) -> str:
    """Our folder on a machine."""
    return f"{machine.data_dir}/aerospike"


async def _disk_bytes(machine: MachineHandle) -> int:
    """Size of the data folder's file system, independent of its contents."""
    argv = ["df", "--output=size", "-B1", machine.data_dir]
    said = (
        (await machine.remote.execute(Command(argv, timeout_s=_LOOK_TIMEOUT_S, pinned=False))).require().stdout.split()
    )
    if len(said) != 2 or not said[1].isdigit():
        raise OutputUnreadable(f"unexpected format: df on {machine.name} printed {said!r}")
    return int(said[1])


async def _memory_bytes(machine: MachineHandle) -> int:
    facts, _ = await gather_facts(machine)
    if facts.memory_bytes is None:
        raise OutputUnreadable(f"{machine.name} does not report its memory")
    return int(facts.memory_bytes * MEMORY_SHARE)


async def _script(machine: MachineHandle, script: str, *arguments: str) -> None:
    argv = ["sh", "-c", script, "prepare", *arguments]
    (await machine.remote.execute(Command(argv, timeout_s=_COPY_TIMEOUT_S, pinned=False))).require()


def _end_of(said: bytes) -> str:
    return said.decode(errors="replace").strip()[-300:] or "it printed nothing"
