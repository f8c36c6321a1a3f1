"""What sustained load costs besides response times, as reported by a database: log, cache, debt, free space."""

from collections.abc import Sequence
from typing import Any

from nephoscope.databases.asking import Number, typed
from nephoscope.databases.base import Upkeep
from nephoscope.machines.remote import Command
from nephoscope.model.errors import OutputUnreadable
from nephoscope.providers.base import Cluster

POSTGRES = (
    "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'), blks_hit, blks_read FROM pg_stat_database "
    "WHERE datname = current_database()"
)
_LOOK_TIMEOUT_S = 30.0


def of_postgres(rows: Sequence[Sequence[str | None]], free_bytes: int | None) -> Upkeep:
    """From the one row that `POSTGRES` gives; without free space the disk is not ours to look at.

    Raises:
        OutputUnreadable: it is no such row.
    """
    ((log, hits, misses),) = typed(tuple[tuple[Number, Number, Number]], rows)
    disk: dict[str, Any] = {"disk_unseen": True} if free_bytes is None else {"free_bytes": free_bytes}
    return Upkeep(**disk, log_bytes=log, cache_hits=hits, cache_misses=misses)


def of_valkey(persistence: str, free_bytes: int) -> Upkeep:
    """From INFO persistence; a server that appends nothing has no log.

    `aof_rewrites` counts rewrites that began, but the log shrinks when one ends: only then the base changes.

    Raises:
        OutputUnreadable: a size is no number.
    """
    said = dict(line.strip().partition(":")[::2] for line in persistence.splitlines())
    if "aof_current_size" not in said or "aof_base_size" not in said:
        return Upkeep(free_bytes=free_bytes)
    current, base = typed(tuple[Number, Number], (said["aof_current_size"], said["aof_base_size"]))
    return Upkeep(free_bytes=free_bytes, log_bytes=current, debt_bytes=current - base, rewritten_bytes=(base,))


def counters_of_valkey(info: str) -> dict[str, float]:
    """From INFO: what its work cost. After a rewrite of its log the server does not know how much it appended.

    Raises:
        OutputUnreadable: there is no such number.
    """
    said = dict(line.strip().partition(":")[::2] for line in info.splitlines())
    names = ["used_cpu_user", "used_cpu_sys", "total_net_input_bytes", "total_net_output_bytes"]
    if said.get("aof_current_size") and said.get("aof_rewrite_in_progress") == "0":
        names.append("aof_current_size")
    user_s, system_s, received, sent, *log = typed(list[Number], [said.get(name) for name in names])
    found = {"cpu_s": user_s + system_s, "received_bytes": received, "sent_bytes": sent}
    return {**found, "log_bytes": log[0]} if log else found


def together(many: Sequence[Upkeep]) -> Upkeep:
    """Of several servers: sums, of free space the least, and what is wrong with any."""
    summed = ("log_bytes", "debt_bytes", "cache_hits", "cache_misses")
    values = {name: [getattr(one, name) for one in many] for name in summed}
    free, assured = (
        [said for one in many if (said := getattr(one, name)) is not None] for name in ("free_bytes", "assured_bytes")
    )
    return Upkeep(
        free_bytes=min(free, default=None),
        assured_bytes=min(assured, default=None) if len(assured) == len(many) else None,
        rewritten_bytes=tuple(length for one in many for length in one.rewritten_bytes),
        trouble="; ".join(dict.fromkeys(one.trouble for one in many if one.trouble)),
        **{name: None if None in said else sum(said) for name, said in values.items()},
    )


async def free_bytes(cluster: Cluster) -> int:
    """Of the file system that has least, of those of the data folders of every database machine.

    Raises:
        OutputUnreadable: a machine does not say.
        ToolFailed, ToolTimedOut: nor does it answer.
    """
    return min([await _free_on(cluster, index) for index in range(len(cluster.database))])


async def _free_on(cluster: Cluster, index: int) -> int:
    machine = cluster.database[index]
    folders = (machine.data_dir, *machine.more_data_dirs)
    argv = ["df", "--output=avail", "-B1", *folders]
    said = (
        (await machine.remote.execute(Command(argv, timeout_s=_LOOK_TIMEOUT_S, pinned=False)))
        .require()
        .stdout.split()[1:]
    )
    if len(said) != len(folders) or not all(word.isdigit() for word in said):
        raise OutputUnreadable(f"unexpected format: df on {machine.name} printed {said!r}")
    return min(map(int, said))
