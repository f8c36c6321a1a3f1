"""What MariaDB and MySQL count: the cost of their work, and what sustained load does to them; pure."""

from collections.abc import Mapping
from typing import Any

from nephoscope.databases.asking import Number, Rows, typed
from nephoscope.databases.base import Upkeep

_COUNTED = {
    "innodb_os_log_written": "log_bytes",
    "innodb_data_read": "read_bytes",
    "innodb_data_written": "written_bytes",
    "bytes_received": "received_bytes",
    "bytes_sent": "sent_bytes",
}
_READS, _MISSES = "innodb_buffer_pool_read_requests", "innodb_buffer_pool_reads"
STATEMENT = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({', '.join(map(repr, (*_COUNTED, _READS, _MISSES)))})"


def _numbers(rows: Rows) -> Mapping[str, float]:
    return {name.lower(): value for name, value in typed(list[tuple[str, Number]], rows)}


def costs(rows: Rows) -> Mapping[str, float]:
    """Counters by name of `server_costs.COUNTED`, of the statement's answer.

    Raises:
        OutputUnreadable: it is no such answer.
    """
    return {_COUNTED[name]: value for name, value in _numbers(rows).items() if name in _COUNTED}


def upkeep(rows: Rows, free_bytes: int | None) -> Upkeep:
    """From the same answer; without free space the disk is not ours to look at.

    Raises:
        OutputUnreadable: it is no such answer.
    """
    found = _numbers(rows)
    disk: dict[str, Any] = {"disk_unseen": True} if free_bytes is None else {"free_bytes": free_bytes}
    reads, misses = found.get(_READS), found.get(_MISSES)
    hits = None if reads is None or misses is None else reads - misses
    return Upkeep(**disk, log_bytes=found.get("innodb_os_log_written"), cache_hits=hits, cache_misses=misses)
