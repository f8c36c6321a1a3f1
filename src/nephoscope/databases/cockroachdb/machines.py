"""Prepares machines for CockroachDB: the program, a data folder only of this cluster, certificates."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from nephoscope.databases.cockroachdb.commands import CONSOLE_PORT, Layout, version_of
from nephoscope.databases.programs import taken_along
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings

_LOOK_TIMEOUT_S = 60.0
_INSTALL_TIMEOUT_S = 1800.0
_REMOVE_TIMEOUT_S = 600.0
READ_TIMEOUT_S = 6 * 3600.0
"""Limit for the first read of all data sets on a machine."""
_CLIENT_FILES = ("ca.crt", "client.root.crt", "client.root.key")

_LOOK = """
root=$1 version=$2
for one in "$root/bin/cockroach" "$(command -v cockroach)"; do
    [ -n "$one" ] && [ -x "$one" ] || continue
    case "$("$one" version --build-tag)" in
        "v$version" | "v$version".*) echo "$one"; exit 0 ;;
        *) [ -n "$version" ] || { echo "$one"; exit 0; } ;;
    esac
done
"""
"""The program of a version (or of any): copied earlier, or the machine's own."""
_DOWNLOAD = """
[ -n "$version" ] || { echo "it is not on PATH" >&2; exit 1; }
case "$(uname -m)" in
    x86_64) kind=amd64 ;;
    aarch64) kind=arm64 ;;
    *) echo "there is no program for $(uname -m)" >&2; exit 1 ;;
esac
rm -rf "$root/download" && mkdir -p "$root/bin" "$root/download" || exit 1
curl -fsSL -o "$root/download/archive" \\
    "https://binaries.cockroachdb.com/cockroach-v$version.linux-$kind.tgz" >&2 || exit 1
tar -xzf "$root/download/archive" -C "$root/download" --strip-components=1 || exit 1
mv "$root/download/cockroach" "$root/bin/cockroach" || exit 1
rm -rf "$root/download"
echo "$root/bin/cockroach"
"""
"""If there is none, the machine downloads it."""

_CLAIM = """
root=$1 cluster=$2 place=$3
if [ "$(cat "$root/cluster" 2>/dev/null)" = "$cluster" ]; then echo ours
elif [ "$(cat "$root/place" 2>/dev/null)" = "$place" ]; then echo moved
else echo other; fi
"""
_NOTE_PLACE = """
set -eu
printf %s "$2" >"$1/place"
sync -f "$1"
"""
_MOVE = """
set -eu
root=$1 cluster=$2 at_once=$3 kept=$4
shift 4
rm -rf "$@" "$root/certs" "$root/authority" "$root/cluster"
if [ "$at_once" -gt 0 ]; then
    find $kept -type f -print0 | xargs -0 -r -n 4 -P "$at_once" \\
        sh -c 'for file; do dd if="$file" of=/dev/null bs=1M status=none; done' warm
fi
mkdir -p "$root/certs"
chmod 700 "$root/certs"
printf %s "$cluster" >"$root/cluster"
"""
"""A cluster's folders on volumes that come from snapshots: data sets that are kept beside the stores stay."""
_READS_AT_ONCE = 16
"""Of different files, when a volume is read for the first time."""
_EMPTY = """
set -eu
root=$1 cluster=$2
shift 2
rm -rf "$@" "$root/certs" "$root/authority" "$root/cluster" "$root/place"
mkdir -p "$root/certs"
chmod 700 "$root/certs"
printf %s "$cluster" >"$root/cluster"
"""
"""Servers of two clusters do not talk to each other, so data of another cluster must go."""

_CERTIFY = """
set -eu
program=$1 folder=$2
shift 2
[ ! -e "$folder/complete" ] || exit 0
rm -rf "$folder"
umask 077
mkdir -p "$folder"
"$program" cert create-ca --certs-dir="$folder" --ca-key="$folder/ca.key"
"$program" cert create-client root --certs-dir="$folder" --ca-key="$folder/ca.key"
for address; do
    "$program" cert create-node "$address" --certs-dir="$folder" --ca-key="$folder/ca.key"
    mkdir "$folder/$address"
    mv "$folder/node.crt" "$folder/node.key" "$folder/$address"
done
: >"$folder/complete"
"""


_ENQUEUE = """
console=$1
shift
for range; do
    curl -fsS -m 20 -o /dev/null -H 'Content-Type: application/json' \\
        -d '{"queue": "replicate", "range_id": '"$range"', "node_id": 0}' "$console/_admin/v1/enqueue_range"
done
"""
"""Node 0 stands for all, of which the one that leads the range acts."""


async def installed(machine: MachineHandle, settings: DatabaseSettings) -> tuple[str, str]:
    """Path and build tag of the program on a machine: copied from `binary`, else its own, else downloaded there.

    Raises:
        InputError: there is no such file here.
        DatabaseFailed: the machine has none and cannot get it, or its version is not the requested one.
    """
    root = root_of(machine)
    if settings.binary is not None:
        program = await taken_along(machine, settings.binary, f"{root}/bin/cockroach")
    else:
        wanted = (settings.version or "").removeprefix("v")
        found = await machine.remote.execute(
            Command(["sh", "-c", _LOOK + _DOWNLOAD, "find", root, wanted], timeout_s=_INSTALL_TIMEOUT_S, pinned=False)
        )
        if found.exit_code != 0:
            why = found.stderr.decode(errors="replace").strip()[-300:] or "it printed nothing"
            raise DatabaseFailed(
                f"no CockroachDB {wanted or 'at all'} on {machine.name}: {why}",
                hint="set `database.binary` to the program's path on this machine, or `database.version` to a "
                "complete version",
            )
        program = found.stdout.decode().strip().splitlines()[-1]
    said = await machine.remote.execute(
        Command([program, "version", "--build-tag"], timeout_s=_LOOK_TIMEOUT_S, pinned=False)
    )
    tag = said.require().stdout.decode(errors="replace").strip()
    version_of(tag)
    if settings.version is not None and not f"{tag}.".startswith(f"v{settings.version.removeprefix('v')}."):
        raise DatabaseFailed(
            f"the study requires CockroachDB {settings.version}, but the one on {machine.name} is {tag}",
            hint="change `version` in the study, or set `binary` to a program of that version",
        )
    return program, tag


async def found_again(machine: MachineHandle, settings: DatabaseSettings) -> tuple[str, str]:
    """Path and build tag of the program that `installed` once found; nothing is copied to the machine.

    Raises:
        DatabaseFailed: it does not exist.
    """
    wanted = "" if settings.binary else (settings.version or "").removeprefix("v")
    argv = ["sh", "-c", f"{_LOOK}exit 1", "find", root_of(machine), wanted]
    found = await machine.remote.execute(Command(argv, timeout_s=_LOOK_TIMEOUT_S, pinned=False))
    if found.exit_code != 0:
        raise DatabaseFailed(f"{machine.name} has no CockroachDB started by nephoscope")
    program = found.stdout.decode().strip().splitlines()[-1]
    said = await machine.remote.execute(
        Command([program, "version", "--build-tag"], timeout_s=_LOOK_TIMEOUT_S, pinned=False)
    )
    return program, said.require().stdout.decode(errors="replace").strip()


async def require_ours(cluster: Cluster, identity: str) -> None:
    """Checks that every data folder belongs to the cluster `identity`; changes nothing.

    Raises:
        DatabaseFailed: one is not.
    """
    for machine in cluster.database:
        if (await script(machine, _CLAIM, root_of(machine), identity, "")).strip() != "ours":
            raise DatabaseFailed(f"the data folder of {machine.name} belongs to another cluster")


async def claim_folders(cluster: Cluster, identity: str, places: Sequence[str]) -> None:
    """Makes all data folders belong to the cluster `identity`.

    They are kept if they all do. If each has come from a snapshot to the place that it was made for, its data sets are
    kept, and read once where a first read is slow. Else all are emptied.

    Args:
        cluster: whose folders.
        identity: of servers whose data can still be used.
        places: of each machine, what `note_places` was given when the snapshots were made.
    """
    machines = list(zip(cluster.database, places, strict=True))
    said = await asyncio.gather(
        *(script(machine, _CLAIM, root_of(machine), identity, place) for machine, place in machines)
    )
    found = [one.strip() for one in said]
    if "other" in found:
        await asyncio.gather(
            *(script(machine, _EMPTY, root_of(machine), identity, *_folders_of(machine)) for machine, _ in machines)
        )
        return
    at_once = _READS_AT_ONCE if cluster.volumes is not None and cluster.volumes.slow_at_first else 0
    moved = [machine for (machine, _), one in zip(machines, found, strict=True) if one == "moved"]
    await asyncio.gather(*(_move(machine, identity, at_once) for machine in moved))


async def note_places(cluster: Cluster, places: Sequence[str]) -> None:
    """Notes on each machine, before a snapshot is made of its volumes, for which machines of another cluster it is."""
    machines = zip(cluster.database, places, strict=True)
    await asyncio.gather(*(script(machine, _NOTE_PLACE, root_of(machine), place) for machine, place in machines))


async def _move(machine: MachineHandle, identity: str, at_once: int) -> None:
    stores = stores_of(machine)
    kept = " ".join(map(kept_beside, stores))
    await script(machine, _MOVE, root_of(machine), identity, str(at_once), kept, *stores, timeout_s=READ_TIMEOUT_S)


async def enqueue(machine: MachineHandle, ranges: Sequence[str]) -> None:
    """Has ranges copied to servers that lack them, by the console of an insecure server on this machine.

    Raises:
        ToolFailed: there is no curl, or the console cannot be reached.
    """
    await script(machine, _ENQUEUE, f"http://127.0.0.1:{CONSOLE_PORT}", *ranges)


async def certify(cluster: Cluster, layout: Layout) -> str:
    """Certificates for every server and for root, made on the first machine; the folder of root's on load machines.

    Raises:
        ToolFailed: `cockroach cert` fails.
    """
    first, addresses = cluster.database[0], [machine.address for machine in cluster.database]
    authority = f"{root_of(first)}/authority"
    await script(first, _CERTIFY, layout.program, authority, *addresses)
    for machine in cluster.database:
        own = [f"{machine.address}/node.crt", f"{machine.address}/node.key"]
        files = [*_CLIENT_FILES, *own] if machine is first else ["ca.crt", *own]
        await _carry(first, authority, files, machine, f"{root_of(machine)}/certs")
    folder = client_certificates(cluster)
    for machine in () if cluster.co_located else cluster.load_machines:
        await _carry(first, authority, _CLIENT_FILES, machine, folder)
    return folder


def client_certificates(cluster: Cluster) -> str:
    """The folder of root's on the load machines."""
    return f"{root_of(cluster.load)}/certs"


async def _carry(source: MachineHandle, folder: str, files: Sequence[str], to: MachineHandle, into: str) -> None:
    """Copies files by way of this machine, where they are deleted afterwards; only the owner can read keys."""
    await _execute(to, "mkdir", "-p", "-m", "700", into)
    with tempfile.TemporaryDirectory() as here:
        for file in files:
            name = Path(file).name
            local = Path(here) / name
            local.touch(mode=0o600)
            await source.remote.download(f"{folder}/{file}", local)
            await to.remote.upload(local, f"{into}/{name}")
            await _execute(to, "chmod", "600", f"{into}/{name}")


def stores_of(machine: MachineHandle) -> tuple[str, ...]:
    """Folders of data, one on each disk."""
    return tuple(f"{folder}/cockroach/store" for folder in (machine.data_dir, *machine.more_data_dirs))


def kept_beside(store: str) -> str:
    """Folder of the data sets that are kept as hard links, on the disk of the store."""
    return f"{store.rpartition('/')[0]}/kept"


def _folders_of(machine: MachineHandle) -> list[str]:
    """Everything on its disks that belongs to one cluster."""
    return [folder for store in stores_of(machine) for folder in (store, kept_beside(store))]


def root_of(machine: MachineHandle) -> str:
    """Our folder on a machine."""
    return f"{machine.data_dir}/cockroach"


async def script(machine: MachineHandle, text: str, *arguments: str, timeout_s: float = _REMOVE_TIMEOUT_S) -> str:
    """Output of a shell script on a machine.

    Raises:
        ToolFailed: it failed.
    """
    argv = ["sh", "-c", text, "prepare", *arguments]
    completed = await machine.remote.execute(Command(argv, timeout_s=timeout_s, pinned=False))
    return completed.require().stdout.decode(errors="replace")


async def _execute(machine: MachineHandle, *argv: str) -> None:
    (await machine.remote.execute(Command(argv, timeout_s=_LOOK_TIMEOUT_S, pinned=False))).require()
