"""Settings of a MariaDB or MySQL server: those that nephoscope sets, those that exist, those that are stored."""

from collections.abc import Mapping

from nephoscope.databases.asking import Rows, typed
from nephoscope.databases.mysql.programs import NAMES, Product, Programs, product_in, server_of_this_machine, version_in
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import Command, MachineHandle, Remote
from nephoscope.model.errors import DatabaseFailed, InputError, OutputUnreadable
from nephoscope.study.suggest import nearest

DEFAULT_SETTINGS: Mapping[str, str] = {
    # The log of transactions is synced at each commit by default. So is the binary log with this, where a study or
    # MySQL's default turns it on: MariaDB leaves it to the system.
    "sync_binlog": "1",
    # A trial begins with an empty buffer pool, as with PostgreSQL, and nothing fills it in the background.
    "innodb_buffer_pool_load_at_startup": "OFF",
    "innodb_buffer_pool_dump_at_shutdown": "OFF",
}
_HELP_TIMEOUT_S = 60.0

STORED = (
    *("autocommit", "binlog_format", "binlog_row_image", "character_set_server", "collation_server"),
    *("default_storage_engine", "flush", "have_ssl", "innodb_adaptive_hash_index", "innodb_buffer_pool_instances"),
    *("innodb_buffer_pool_size", "innodb_change_buffering", "innodb_checksum_algorithm", "innodb_doublewrite"),
    *("innodb_file_per_table", "innodb_flush_log_at_timeout", "innodb_flush_log_at_trx_commit", "innodb_flush_method"),
    *("innodb_flush_neighbors", "innodb_io_capacity", "innodb_io_capacity_max", "innodb_lock_wait_timeout"),
    *("innodb_log_buffer_size", "innodb_log_file_buffering", "innodb_log_file_size", "innodb_max_dirty_pages_pct"),
    *("innodb_page_size", "innodb_purge_threads", "innodb_read_io_threads", "innodb_redo_log_capacity"),
    *("innodb_rollback_on_timeout", "innodb_snapshot_isolation", "innodb_use_native_aio", "innodb_write_io_threads"),
    *("log_bin", "max_connections", "max_statement_time", "max_execution_time", "performance_schema"),
    *("query_cache_size", "query_cache_type", "read_only", "sql_mode", "sync_binlog", "table_open_cache"),
    *("thread_handling", "thread_cache_size", "thread_pool_size", "transaction_isolation", "tx_isolation"),
    *("aurora_version", "version_comment", "innodb_autoinc_lock_mode", "wsrep_auto_increment_control"),
    *("wsrep_certification_rules", "wsrep_certify_nonpk", "wsrep_desync", "wsrep_ignore_apply_errors"),
    *("wsrep_load_data_splitting", "wsrep_max_ws_size", "wsrep_on", "wsrep_osu_method", "wsrep_retry_autocommit"),
    *("wsrep_slave_threads", "wsrep_sync_wait", "wsrep_trx_fragment_size"),
)
"""Settings on which durability and speed depend, each as far as the server has it. None of them can be a secret."""
_OF_GALERA = "wsrep_provider_options"
_STORED_OF_GALERA = (
    *("cert.optimistic_pa", "evs.inactive_timeout", "evs.suspect_timeout", "gcache.size", "gcs.fc_factor"),
    *(
        "gcs.fc_limit",
        "gcs.sync_donor",
        "gmcast.segment",
        "repl.causal_read_timeout",
        "repl.commit_order",
        "socket.ssl",
    ),
)
"""The others have addresses and paths."""
VERSION = "server_version"
"""The name under which the version is stored with the settings, as PostgreSQL has it."""


def statement(more: Mapping[str, str]) -> str:
    """Asks for the settings that are stored, and for those that a study sets."""
    names = ", ".join(map(repr, dict.fromkeys((*STORED, "version", _OF_GALERA, *more))))
    return f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"


def stored_settings(rows: Rows) -> dict[str, str]:
    """The settings of the statement's answer, with the version as '10.11.19' and those of Galera each for itself."""
    found = {name.lower(): value or "" for name, value in typed(list[tuple[str, str | None]], rows)}
    version, of_galera = found.pop("version", ""), found.pop(_OF_GALERA, "")
    found[VERSION] = version_in(version)
    pairs = (option.partition("=") for option in of_galera.split(";"))
    found |= {name.strip(): value.strip() for name, _, value in pairs if name.strip() in _STORED_OF_GALERA}
    return dict(sorted(found.items()))


async def require_known(machine: MachineHandle, programs: Programs, settings: Mapping[str, str]) -> None:
    """Checks that each setting is one of the program's, by its whole name.

    A server takes the beginning of an option's name for the option, so that no list of options could be kept closed.

    Raises:
        InputError: one is not.
    """
    if not settings:
        return
    known = known_settings(await _help(machine.remote, programs))
    for name in settings:
        if name not in known:
            near = nearest(name, known)
            raise InputError(
                f"{NAMES[programs.product]} {programs.version} has no setting {name!r}",
                hint=f"did you mean {near}?" if near else "its manual lists them as system variables",
            )


async def known_settings_here(product: Product) -> Mapping[str, str]:
    """Setting -> default, of the server of this machine.

    Raises:
        DatabaseFailed: it has none.
    """
    programs = server_of_this_machine(product)
    return known_settings(await _help(LocalRemote(()), programs))


async def _help(remote: Remote, programs: Programs) -> str:
    argv = programs.as_user(programs.server, "--no-defaults", "--verbose", "--help")
    said = await remote.execute(Command(argv, timeout_s=_HELP_TIMEOUT_S, pinned=False))
    return said.require().stdout.decode(errors="replace")


def known_settings(said: str) -> Mapping[str, str]:
    """Setting -> default, of what `--verbose --help` prints.

    Raises:
        OutputUnreadable: it is something else.
    """
    _, mark, table = said.partition("\n--------")
    lines = [line.split(None, 1) for line in table.splitlines()[1:] if line[:1].isalpha()]
    if not mark or not lines:
        raise OutputUnreadable(f"the server's program does not list its settings: {said[-200:]!r}")
    return {name.replace("-", "_"): (rest[0].strip() if rest else "") for name, *rest in lines}


def require_product(said: str, comment: str, product: Product, version: str | None) -> str:
    """The version of a server that says this of itself, '10.11.19', if it is what the study names.

    Raises:
        DatabaseFailed: it is another product, or another version.
    """
    whole, wanted = f"{said} {comment}", NAMES[product]
    if "tidb" in whole.lower():
        raise DatabaseFailed(
            "the server is TiDB, whose transactions are optimistic or take locks of another kind, and whose settings "
            "are its own: nephoscope does not measure it",
            hint=f"name a server of {wanted}",
        )
    if product_in(whole) != product:
        raise DatabaseFailed(
            f"the study names {wanted}, but the server is {NAMES[product_in(whole)]} {said}",
            hint=f'write `system = "{product_in(whole)}"`, or name another server',
        )
    found = version_in(said)
    parts = version.split(".") if version else []
    if parts and found.split(".")[: len(parts[:2])] != parts[:2]:
        raise DatabaseFailed(
            f"the study requires {wanted} {version}, but the server is {found}",
            hint="change `version` in the study, or install that version",
        )
    return found
