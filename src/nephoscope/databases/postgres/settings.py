"""Settings of a PostgreSQL server: how much of its log they let lie on the disk, and which of them are stored.

Stored is what explains a number, and nothing that could be a secret.
"""

import re
from collections.abc import Mapping

from nephoscope.databases.asking import document
from nephoscope.model.errors import InputError
from nephoscope.model.units import GIB, MIB

FOR_STANDBYS: Mapping[str, str] = {"wal_keep_size": "1GB"}
"""Of a primary: without slots nobody keeps the log for a standby that is still being copied."""

_SIZE = re.compile(r"(?P<number>\d+)\s*(?P<unit>B|kB|MB|GB|TB|)")
_UNITS = {"B": 1, "kB": 1024, "MB": MIB, "": MIB, "GB": GIB, "TB": 1024 * GIB}
"""Without one the settings of the log count MB."""


def log_bytes(settings: Mapping[str, str]) -> int:
    """The most that the write-ahead log takes on the disk, by the documentation's formula for `max_wal_size`.

    A checkpoint that has just ended may leave `wal_keep_size` of log before it; what is written until the next one has
    ended is `max_wal_size`, as long as the disk keeps up with it.

    Raises:
        InputError: one of the two is no size.
    """
    return sum(_bytes(name, settings[name]) for name in ("max_wal_size", "wal_keep_size") if name in settings)


def _bytes(name: str, value: str) -> int:
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise InputError(
            f"the setting {name} = {value!r} is not a size", hint="write a whole number with kB, MB, GB or TB: '4GB'"
        )
    return int(found["number"]) * _UNITS[found["unit"]]


ALWAYS = (
    *("data_checksums", "default_transaction_isolation", "fsync", "full_page_writes", "io_method", "jit"),
    *("server_version", "shared_buffers", "synchronous_commit", "wal_level", "wal_sync_method"),
)
"""Settings on which durability and speed depend, reported even at their defaults."""

_OF_USERS_SERVER = re.compile(
    r"""^(
      autovacuum\w* | vacuum_\w+ | bgwriter_\w+ | backend_flush_after | checkpoint_\w+ | commit_delay | commit_siblings
    | cpu_\w+_cost | seq_page_cost | random_page_cost | parallel_\w+_cost | enable_\w+ | jit\w* | geqo\w*
    | default_statistics_target | plan_cache_mode | constraint_exclusion | deadlock_timeout | lock_timeout
    | effective_cache_size | effective_io_concurrency | maintenance_io_concurrency | io_\w+ | huge_page\w*
    | maintenance_work_mem | work_mem | hash_mem_multiplier | logical_decoding_work_mem | shared_buffers | temp_buffers
    | shared_memory_type | dynamic_shared_memory_type | max_\w+ | min_\w+_wal_size | min_wal_size | min_parallel_\w+
    | wal_\w+ | full_page_writes | fsync | synchronous_commit | data_checksums | default_transaction_\w+
    | statement_timeout | idle_\w+_timeout | tcp_keepalives_\w+ | track_\w+ | debug_\w+ | archive_mode
    | log_(autovacuum|checkpoints|connections|disconnections|duration|executor|lock|min|parser|planner|replication
      |rotation|statement|temp)\w* | \w+_preload_libraries | (auto_explain|pg_stat_statements)\.\w+
    | server_version | server_version_num | server_encoding | lc_collate | lc_ctype | block_size | wal_block_size
    | segment_size | compute_query_id
    )$""",
    re.VERBOSE,
)
"""The user's own server may hold secrets in its other settings, and a results folder is shared."""

_MAY_BE_SECRET = re.compile("conninfo|command|passphrase|password|secret|key|token|credential", re.IGNORECASE)
_PATHS = frozenset({"config_file", "data_directory", "hba_file", "ident_file"})
"""Paths of the machine, which are of no use to the reader."""

STATEMENT = (
    "SELECT coalesce(json_object_agg(name, current_setting(name)), '{}') FROM pg_settings "  # noqa: S608 - constants
    f"WHERE source <> 'default' OR name IN ({', '.join(repr(name) for name in ALWAYS)})"
)
"""One row of JSON: a value may hold tabs and newlines."""

IDENTITY = """
SELECT json_build_object(
    'started', to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US "UTC"'),
    'settings read', to_char(pg_conf_load_time() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'),
    'role', CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE 'primary' END,
    'version', current_setting('server_version'),
    'standbys', (SELECT coalesce(
        string_agg(concat_ws(' since ', application_name, backend_start AT TIME ZONE 'UTC'), ', ' ORDER BY
            application_name, backend_start), 'none') FROM pg_stat_replication))
"""
"""One row of JSON: which server answers, since when, and since when its standbys are connected.

A reload shows that a setting may have had another value for a while. Behind a pooler, processes that were there at a
reload know its time a little differently, so whole seconds are told.
"""

USERS_STANDBYS = """
SELECT coalesce(json_object_agg(name, state), '{}') FROM (
    SELECT format('standby %s %s', row_number() OVER (ORDER BY application_name, pid), application_name) AS name,
        concat_ws(' ', coalesce(state, 'state hidden from this role'), sync_state) AS state
    FROM pg_stat_replication
    UNION ALL
    SELECT 'commits wait for', current_setting('synchronous_standby_names')
    WHERE current_setting('synchronous_standby_names') <> ''
) standbys
"""
"""One row of JSON: what a user's own server replicates to; only a member of pg_monitor sees the states."""


def stored_settings(answer: str, origin: str) -> Mapping[str, str]:
    """The settings of `STATEMENT`'s answer that may be stored in a results folder."""
    found = document(dict[str, str], answer)
    return {name: found[name] for name in sorted(found) if _may_be_stored(name, origin)}


def _may_be_stored(name: str, origin: str) -> bool:
    if name in _PATHS or _MAY_BE_SECRET.search(name):
        return False
    return origin != "user" or _OF_USERS_SERVER.match(name) is not None
