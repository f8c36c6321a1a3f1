"""Data sets kept beside the stores of servers that stand still, as hard links: each trial starts from the same files.

Pebble never changes a table (`.sst`) that it has written, so a link to one takes neither time nor space. All other
files are copied, as Pebble's own `DB.Checkpoint` does. A copy of the whole store takes seconds instead of the hours in
which a data set is restored from its backup. Before servers start again, their files leave the page cache: otherwise a
trial would find in memory what the one before it had read.
"""

import asyncio

from nephoscope.databases.cockroachdb.machines import kept_beside, script, stores_of
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
    return all(answer.strip() == "kept" for answer in await _everywhere(cluster, _IS_KEPT, fixture))


async def keep(cluster: Cluster, fixture: str) -> None:
    """Keeps what the stores hold now, under the name of a data set; their servers must not run.

    Raises:
        ToolFailed: the files cannot be linked or copied.
    """
    await _everywhere(cluster, _KEEP, fixture)


async def put_back(cluster: Cluster, fixture: str) -> None:
    """Makes every store what it was when the data set was kept; their servers must not run.

    Raises:
        ToolFailed: the files cannot be linked or copied.
    """
    await _everywhere(cluster, _PUT_BACK, fixture)


async def _everywhere(cluster: Cluster, text: str, fixture: str) -> list[str]:
    stores = [(machine, store) for machine in cluster.database for store in stores_of(machine)]
    return await asyncio.gather(
        *(script(machine, text, store, f"{kept_beside(store)}/{fixture}") for machine, store in stores)
    )
