"""What sustained load costs besides response times, as reported by a database: log, cache, debt, free space."""

from collections.abc import Sequence
from typing import Any

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
    try:
        ((log, hits, misses),) = ([float(value or "") for value in row] for row in rows)
    except ValueError as error:
        raise OutputUnreadable(f"the server's counters cannot be read: {str(rows)[:200]}") from error
    disk: dict[str, Any] = {"disk_unseen": True} if free_bytes is None else {"free_bytes": free_bytes}
    return Upkeep(**disk, log_bytes=log, cache_hits=hits, cache_misses=misses)


def of_valkey(persistence: str, free_bytes: int) -> Upkeep:
    """From INFO persistence; a server that appends nothing has no log.

    `aof_rewrites` counts rewrites that began, but the log shrinks when one ends: only then the base changes.
    """
    said = dict(line.strip().partition(":")[::2] for line in persistence.splitlines())
    if "aof_current_size" not in said or "aof_base_size" not in said:
        return Upkeep(free_bytes=free_bytes)
    current, base = float(said["aof_current_size"]), float(said["aof_base_size"])
    return Upkeep(free_bytes=free_bytes, log_bytes=current, debt_bytes=current - base, rewritten_bytes=(base,))


def counters_of_valkey(info: str) -> dict[str, float]:
    """From INFO: what its work cost. After a rewrite of its log the server does not know how much it appended.

    Raises:
        OutputUnreadable: there is no such number.
    """
    said = dict(line.strip().partition(":")[::2] for line in info.splitlines())
    try:
        found = {
            "cpu_s": float(said["used_cpu_user"]) + float(said["used_cpu_sys"]),
            "received_bytes": float(said["total_net_input_bytes"]),
            "sent_bytes": float(said["total_net_output_bytes"]),
        }
        is_whole = said.get("aof_current_size") and said.get("aof_rewrite_in_progress") == "0"
        return {**found, "log_bytes": float(said["aof_current_size"])} if is_whole else found
    except (KeyError, ValueError) as error:
        raise OutputUnreadable(f"INFO of the server cannot be read: {error}") from error


def together(many: Sequence[Upkeep]) -> Upkeep:
    """Of several servers: sums, of free space the least, and what is wrong with any."""
    log, debt = ([getattr(one, name) for one in many] for name in ("log_bytes", "debt_bytes"))
    free, assured = (
        [said for one in many if (said := getattr(one, name)) is not None] for name in ("free_bytes", "assured_bytes")
    )
    return Upkeep(
        free_bytes=min(free, default=None),
        assured_bytes=min(assured, default=None) if len(assured) == len(many) else None,
        log_bytes=None if None in log else sum(log),
        rewritten_bytes=tuple(length for one in many for length in one.rewritten_bytes),
        debt_bytes=None if None in debt else sum(debt),
        trouble="; ".join(dict.fromkeys(one.trouble for one in many if one.trouble)),
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
