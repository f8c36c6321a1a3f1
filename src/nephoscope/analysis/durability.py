"""When a database acknowledges a commit, by its settings in force; pure."""

from collections.abc import Mapping
from enum import StrEnum


class Acknowledged(StrEnum):
    """What a crash of the machine can take of what was acknowledged."""

    ON_DISK = "on disk"
    """Nothing: the log is synced first."""
    WITHIN_A_SECOND = "within a second"
    """The last second or less: the log is synced in the background."""
    UNSYNCED = "unsynced"
    """More: when the system writes the log, or whether there is one, is left to others."""


_OFF = frozenset({"off", "no", "0"})


def acknowledged(settings: Mapping[str, str]) -> Acknowledged | None:
    """Of PostgreSQL, MariaDB, MySQL, Valkey and Redis; None: the settings do not say."""
    if "innodb_flush_log_at_trx_commit" in settings:
        synced = settings["innodb_flush_log_at_trx_commit"] == "1"
        return Acknowledged.ON_DISK if synced else Acknowledged.WITHIN_A_SECOND
    if "synchronous_commit" in settings:
        if settings.get("fsync", "on") in _OFF:
            return Acknowledged.UNSYNCED
        background = settings["synchronous_commit"] in _OFF
        return Acknowledged.WITHIN_A_SECOND if background else Acknowledged.ON_DISK
    if "appendfsync" in settings and settings.get("appendonly") == "yes":
        of = {"always": Acknowledged.ON_DISK, "everysec": Acknowledged.WITHIN_A_SECOND}
        return of.get(settings["appendfsync"], Acknowledged.UNSYNCED)
    return Acknowledged.UNSYNCED if "appendfsync" in settings else None
