"""Data sets as the files of all stores in Azure's blob storage, for versions of CockroachDB that cannot log in there.

`azure-stores://ACCOUNT/CONTAINER/FOLDER?AUTH=implicit`: each machine copies its own stores, so a data set fits clusters
of as many machines and stores, of the same version and cluster settings. Servers that start on them find each other by
their new addresses.
"""

import asyncio
from pathlib import Path

from nephoscope.databases.cockroachdb.machines import kept_beside, stores_of
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed
from nephoscope.providers.base import Cluster

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
