"""Data sets as the files of stores: kept beside stores of servers that stand still, and copied to Azure's blob storage.

Kept as hard links, so that each trial starts from the same files: Pebble never changes a table (`.sst`) that it has
written, so a link to one takes neither time nor space. All other files are copied, as Pebble's own `DB.Checkpoint`
does. A copy of the whole store takes seconds instead of the hours in which a data set is restored from its backup.
Before servers start again, their files leave the page cache: otherwise a trial would find in memory what the one before
it had read.

The storage is for versions of CockroachDB that cannot log in there. At
`azure-stores://ACCOUNT/CONTAINER/FOLDER?AUTH=implicit` each machine copies its own stores, so a data set fits clusters
of as many machines and stores, of the same version and cluster settings. Servers that start on them find each other by
their new addresses.
"""

import asyncio
from pathlib import Path

from nephoscope.databases.cockroachdb.machines import kept_beside, script, stores_of
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed
from nephoscope.providers.base import Cluster

_COPY = r"""
set -eu
copy() {
    mkdir -p "$2"
    find "$1" -maxdepth 1 -name '*.sst' -exec ln -t "$2" {} +
    find "$1" -mindepth 1 -maxdepth 1 ! -name '*.sst' ! -name logs ! -name extern ! -name LOCK \
        ! -name 'cockroach-temp*' ! -name temp-dirs-record.txt -exec cp -a -t "$2" {} +
}
cold() {
    sync -f "$1"
    find "$1" -type f -exec sh -c 'for file; do dd if="$file" iflag=nocache count=0 status=none; done' cold {} +
}
"""
"""A store's log, backups and scratch files are not part of its data."""
_KEEP = f"""{_COPY}
store=$1 kept=$2
rm -rf "$kept" "$kept.part"
copy "$store" "$kept.part"
mv "$kept.part" "$kept"
cold "$store"
"""
_PUT_BACK = f"""{_COPY}
store=$1 kept=$2
find "$store" -mindepth 1 -maxdepth 1 ! -name logs ! -name extern -exec rm -rf {{}} +
copy "$kept" "$store"
cold "$store"
"""
_IS_KEPT = '[ -d "$2" ] && echo kept || echo missing'


async def is_kept(cluster: Cluster, fixture: str) -> bool:
    """Whether every store of the cluster has this data set beside it."""
    return all(answer.strip() == "kept" for answer in await _on_all_stores(cluster, _IS_KEPT, fixture))


async def keep(cluster: Cluster, fixture: str) -> None:
    """Keeps what the stores hold now, under the name of a data set; their servers must not run.

    Raises:
        ToolFailed: the files cannot be linked or copied.
    """
    await _on_all_stores(cluster, _KEEP, fixture)


async def put_back(cluster: Cluster, fixture: str) -> None:
    """Makes every store what it was when the data set was kept; their servers must not run.

    Raises:
        ToolFailed: the files cannot be linked or copied.
    """
    await _on_all_stores(cluster, _PUT_BACK, fixture)


async def _on_all_stores(cluster: Cluster, text: str, fixture: str) -> list[str]:
    stores = [(machine, store) for machine in cluster.database for store in stores_of(machine)]
    return await asyncio.gather(
        *(script(machine, text, store, f"{kept_beside(store)}/{fixture}") for machine, store in stores)
    )


SCHEME = "azure-stores"
COPY_TIMEOUT_S = 6 * 3600.0
STORAGE = "https://{account}.blob.core.windows.net"
TOKENS = (
    "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://storage.azure.com/"
)
"""Where an Azure machine gets the tokens of its identity."""


def is_place(fixtures: str) -> bool:
    """Whether data sets are kept like this."""
    return fixtures.startswith(f"{SCHEME}://")


async def is_stored(cluster: Cluster, place: str, fixture: str, tag: str) -> bool:
    """Whether the storage has this data set for such a cluster.

    Raises:
        DatabaseFailed: it cannot be asked.
    """
    return all(answer.strip() == "stored" for answer in await _everywhere(cluster, "look", place, fixture, tag))


async def store(cluster: Cluster, place: str, fixture: str, tag: str) -> None:
    """Copies a kept data set to the storage.

    Raises:
        DatabaseFailed: it is not there completely.
    """
    await _everywhere(cluster, "up", place, fixture, tag)


async def fetch(cluster: Cluster, place: str, fixture: str, tag: str) -> None:
    """Copies a data set from the storage to where it is kept.

    Raises:
        DatabaseFailed: it is not here completely.
    """
    await _everywhere(cluster, "down", place, fixture, tag)


async def _everywhere(cluster: Cluster, verb: str, place: str, fixture: str, tag: str) -> list[str]:
    count = len(cluster.database)
    jobs = [
        _copied(machine, verb, place, f"{fixture}/{tag}/{count}/{number}-{disk}", f"{kept_beside(folder)}/{fixture}")
        for number, machine in enumerate(cluster.database, start=1)
        for disk, folder in enumerate(stores_of(machine), start=1)
    ]
    return await asyncio.gather(*jobs)


async def _copied(machine: MachineHandle, verb: str, place: str, name: str, folder: str) -> str:
    account, _, rest = place.partition("://")[2].partition("?")[0].partition("/")
    container, _, prefix = rest.partition("/")
    text = Path(__file__).with_name("blob_copy.py").read_text(encoding="utf-8")
    url = f"{STORAGE.format(account=account)}/{container}"
    argv = ["python3", "-c", text, verb, url, TOKENS, f"{prefix}/{name}".lstrip("/"), folder]
    completed = await machine.remote.execute(Command(argv, timeout_s=COPY_TIMEOUT_S, pinned=False))
    if completed.exit_code != 0:
        said = completed.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise DatabaseFailed(
            f"{machine.name} could not use the storage {account}: {said}",
            hint="the identity of the database machines needs the role Storage Blob Data Contributor on that container",
        )
    return completed.stdout.decode(errors="replace")
