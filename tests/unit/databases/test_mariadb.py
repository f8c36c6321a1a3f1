"""MariaDB as a database: started, loaded, copied, told of, stopped; and a user's own, prepared and left as it was."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from urllib.parse import urlsplit

import pytest

from nephoscope.app.stages.beginning import require_comparable, system_of
from nephoscope.app.stages.leftovers import clean_server
from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.load.benchmark import _loaded
from nephoscope.benchmarks.load.spec import MysqlTarget, PostgresTarget, TpccWorkload
from nephoscope.checks.operations import DatabaseUnchanged
from nephoscope.databases import upkeep
from nephoscope.databases.asking import Rows, UsersServer
from nephoscope.databases.base import Endpoint
from nephoscope.databases.made import DATA_SET
from nephoscope.databases.mysql import counters, users
from nephoscope.databases.mysql.database import MysqlDatabase
from nephoscope.databases.mysql.programs import Programs, product_in, version_in
from nephoscope.databases.mysql.settings import known_settings, require_product, stored_settings
from nephoscope.model.errors import DatabaseFailed, EnvironmentProblem, InputError, OutputUnreadable, TargetUnreachable
from nephoscope.model.records import ENCRYPTION
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from nephoscope.study.starter import read_change
from tests.support.evidence import evidence
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs

pytestmark = needs("mariadbd", "nephoscope-load")
ODD_NAME = "x` SELECT 1 AS y -- -"
"""Of a table, by somebody else who may make one there: a part of a statement, if it is not quoted."""
SMALL = {"innodb_buffer_pool_size": "32M", "innodb_log_file_size": "8M"}


@dataclass(frozen=True)
class Server:
    """One that is up, with everything to ask it."""

    folder: Path
    loop: asyncio.AbstractEventLoop
    database: MysqlDatabase
    cluster: Cluster
    endpoint: Endpoint

    def sql(self, *statements: str) -> list[tuple[str | None, ...]]:
        rows = self.loop.run_until_complete(self.database._rows(self.cluster, self.endpoint, *statements))
        return [tuple(row) for row in rows]

    def users(self, user: str, database: str = "mysql") -> str:
        """The address by which a user of the server's reaches it."""
        return self.endpoint.dsn.replace("nephoscope@", f"{user}@").replace("/mysql", f"/{database}")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("mariadb")
    machine, loop = this_machine(folder), asyncio.new_event_loop()
    cluster, database = Cluster("tests", (machine,), machine), MysqlDatabase("mariadb", {}, load_program())
    endpoint = loop.run_until_complete(database.start(cluster, DatabaseSettings(settings=SMALL), folder / "log"))
    yield Server(folder, loop, database, cluster, endpoint)
    loop.run_until_complete(database.stop(cluster))
    loop.run_until_complete(database.stop(cluster))
    loop.close()


def test_each_trial_begins_with_the_sealed_data(ours: Server) -> None:
    async def scenario() -> tuple[list[object], dict[str, str], dict[str, str]]:
        database, cluster = ours.database, ours.cluster

        async def rows(endpoint: Endpoint, *statements: str) -> list[object]:
            return list(await database._rows(cluster, endpoint, *statements))

        assert not await database.has_fixture(cluster, ours.endpoint, "nephoscope_a")
        empty = await database.create_fixture(cluster, ours.endpoint, "nephoscope_a")
        await rows(empty, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
        assert await database.loaded_bytes(cluster, empty, "nephoscope_a") > 0
        await database.seal_fixture(cluster, empty, "nephoscope_a")
        assert await database.has_fixture(cluster, ours.endpoint, "nephoscope_a")
        found: list[object] = []
        for _ in range(2):
            copy = await database.clone_fixture(cluster, ours.endpoint, "nephoscope_a")
            assert copy.dsn == ours.endpoint.dsn.replace("/mysql", "/nephoscope_a")
            before = await database.identity(cluster, copy)
            found += await rows(copy, "SELECT count(*) FROM t")
            await rows(copy, "DELETE FROM t", "CREATE DATABASE left_over")
            await asyncio.sleep(1.1)
        return found, before, await database.identity(cluster, copy)

    found, before, after = ours.loop.run_until_complete(scenario())
    assert found == [("2",), ("2",)]
    assert before == after
    assert after["role"] == "takes writes"
    names = [name for (name,) in ours.sql("SHOW DATABASES")]
    assert "left_over" in names
    assert [path.name.split("-")[0] for path in (ours.folder / "mariadb" / "sets").iterdir()] != []


def test_durability_is_the_default_and_what_is_in_force_is_told_without_secrets(ours: Server) -> None:
    settings = ours.loop.run_until_complete(ours.database.settings(ours.cluster, ours.endpoint))
    durable = {"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON", "sync_binlog": "1", "log_bin": "OFF"}
    assert {name: settings[name] for name in durable} == durable
    assert settings["innodb_log_file_size"] == str(8 << 20)
    assert settings["server_version"] == ours.endpoint.version
    (password,) = ours.endpoint.environment.values()
    assert password not in str(settings)
    assert str(ours.folder) not in str(settings)
    assert oct((ours.folder / "mariadb" / "users.sql").stat().st_mode)[-3:] == "600"
    assert ours.sql("SELECT count(*) FROM mysql.user WHERE User = 'root'") == [("0",)]


def test_a_server_that_changes_or_restarts_is_named(ours: Server) -> None:
    async def look() -> dict[str, str]:
        database, cluster, endpoint = ours.database, ours.cluster, ours.endpoint
        return await database.settings(cluster, endpoint) | await database.identity(cluster, endpoint)

    looks = [ours.loop.run_until_complete(look())]
    for value in (2, 1):
        ours.sql(f"SET GLOBAL innodb_flush_log_at_trx_commit = {value}")
        looks.append(ours.loop.run_until_complete(look()))
    verdicts = [str(DatabaseUnchanged()(evidence(database_before=looks[0], database_after=one))) for one in looks]
    changed, back = (
        "innodb_flush_log_at_trx_commit: 1 before the trial, 2 after it",
        "settings set since its start: none",
    )
    assert [[name in verdict for name in (changed, back)] for verdict in verdicts] == [
        [False, False],
        [True, True],
        [False, True],
    ]


def test_what_its_work_costs_is_counted(ours: Server) -> None:
    async def counted() -> tuple[float, float]:
        before = await ours.database.counters(ours.cluster, ours.endpoint)
        writes = ["CREATE OR REPLACE TABLE mysql.w (x text) ENGINE = InnoDB", "INSERT INTO mysql.w VALUES ('x')"]
        await ours.database._rows(ours.cluster, ours.endpoint, *writes, "DROP TABLE mysql.w")
        after = await ours.database.counters(ours.cluster, ours.endpoint)
        assert before.keys() == {"log_bytes", "read_bytes", "written_bytes", "received_bytes", "sent_bytes"}
        upkeep = await ours.database.upkeep(ours.cluster, ours.endpoint)
        assert upkeep.free_bytes
        assert upkeep.cache_hits
        return after["log_bytes"] - before["log_bytes"], after["received_bytes"] - before["received_bytes"]

    log, received = ours.loop.run_until_complete(counted())
    assert log > 0
    assert received > 100


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"innodb_buffer_pool_sise": "32M"}, InputError, "did you mean innodb_buffer_pool_size?"),
        ({"init_fil": "x"}, InputError, "runs programs"),
        ({"innodb_data_home": "x"}, InputError, "runs programs"),
        ({"innodb_flush_log_at_trx_commi": "0"}, InputError, "has no setting"),
        ({"log_bin": "/etc/x"}, InputError, "no slashes"),
        ({"innodb_checksum_algorithm": "none-such"}, DatabaseFailed, "cannot be made"),
        ({"innodb_flush_method": "never"}, DatabaseFailed, "did not start"),
    ],
)
def test_a_setting_that_does_not_exist_or_does_not_hold_is_told(
    tmp_path: Path, settings: dict[str, str], error: type[Exception], says: str
) -> None:
    machine = this_machine(tmp_path)
    database, cluster = MysqlDatabase("mariadb", {}, load_program()), Cluster("tests", (machine,), machine)

    async def start() -> None:
        try:
            await database.start(cluster, DatabaseSettings(settings=settings), tmp_path / "log")
        finally:
            await database.stop(cluster)

    with pytest.raises(error) as caught:
        asyncio.run(start())
    assert says in f"{caught.value} {getattr(caught.value, 'hint', '')}"


def test_a_server_of_the_users_gets_data_sets_and_loses_its_copies(
    ours: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYSQL_PWD", "secret")
    ours.sql("DROP DATABASE IF EXISTS nephoscope_a")
    ours.sql(
        "CREATE OR REPLACE USER bench@'%' IDENTIFIED BY 'secret'",
        "GRANT ALL ON `nephoscope\\_%`.* TO bench@'%'",
        "CREATE DATABASE IF NOT EXISTS theirs",
        "GRANT SELECT ON theirs.* TO bench@'%'",
    )
    theirs = MysqlDatabase("mariadb", {"MYSQL_PWD": "secret", "OTHER": "x"}, load_program())
    settings = DatabaseSettings(system="mariadb", dsn=ours.users("bench", "theirs"), connections=8)

    async def scenario() -> list[object]:
        reached = await theirs.start(ours.cluster, settings, tmp_path / "log")
        assert (reached.origin, reached.environment) == ("user", {"MYSQL_PWD": "secret"})
        assert (await theirs.settings(ours.cluster, reached))[ENCRYPTION] == "none"
        empty = await theirs.create_fixture(ours.cluster, reached, "nephoscope_b")
        await theirs._rows(ours.cluster, empty, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        await theirs._rows(ours.cluster, empty, f"CREATE TABLE {users.quoted(ODD_NAME)} (id int)")
        assert not await theirs.has_fixture(ours.cluster, reached, "nephoscope_b")
        await theirs.seal_fixture(ours.cluster, reached, "nephoscope_b")
        assert await theirs.has_fixture(ours.cluster, reached, "nephoscope_b")
        for _ in range(2):
            copy = await theirs.clone_fixture(ours.cluster, reached, "nephoscope_b")
            found: list[object] = list(await theirs._rows(ours.cluster, copy, "SELECT count(*) FROM t"))
            await theirs._rows(ours.cluster, copy, "DELETE FROM t")
        names = users.tables(urlsplit(copy.dsn).path.removeprefix("/"))
        assert sorted(name for (name,) in await theirs._rows(ours.cluster, copy, names) if name) == ["t", ODD_NAME]
        await theirs.stop(ours.cluster)
        return found

    assert ours.loop.run_until_complete(scenario()) == [("1",)]
    ours.sql("CREATE DATABASE nephoscope_by_hand")
    ours.sql(
        "CREATE OR REPLACE DATABASE restored",
        *users.record("restored", DATA_SET),
        "GRANT ALL ON restored.* TO bench@'%'",
    )
    found, left = ours.loop.run_until_complete(clean_server(ours.users("bench", "theirs"), drop_them=False))
    assert {one.name: (one.recorded, one.what) for one in found} == {
        "nephoscope_b": (True, DATA_SET),
        "nephoscope_by_hand": (False, "not recorded as made by nephoscope"),
    }
    ours.loop.run_until_complete(clean_server(ours.users("bench", "theirs"), drop_them=True))
    assert left == {}
    assert ours.sql("SHOW DATABASES LIKE 'nephoscope\\_b%'") == [("nephoscope_by_hand",)]
    assert ours.sql("SHOW DATABASES LIKE 'restored'") == [("restored",)]
    ours.sql("DROP DATABASE nephoscope_by_hand", "DROP DATABASE restored")


def made(*rows: Sequence[str | None]) -> object:
    async def ask(*_: str) -> Rows:
        return rows

    return asyncio.run(users.databases_made(cast(UsersServer, SimpleNamespace(rows=ask))))


def fit(variables: Rows, in_use: Rows) -> object:
    async def ask(statement: str) -> Rows:
        return variables if "local_infile" in statement else in_use

    return asyncio.run(users.require_fit(ask, "x", cast(Cluster, None), 8))


NUMBERS: Mapping[str, Callable[[str], object]] = {
    "databases": lambda odd: made(["nephoscope_a", None, odd, "0"]),
    "sessions": lambda odd: made(["nephoscope_a", None, "0", odd]),
    "limits": lambda odd: fit([["max_connections", odd]], [["Threads_connected", "1"]]),
    "in use": lambda odd: fit([], [["Threads_connected", odd]]),
    "counters": lambda odd: counters.upkeep([["Innodb_os_log_written", odd]], None),
    "postgres": lambda odd: upkeep.of_postgres([[odd, "0", "0"]], None),
    "valkey": lambda odd: upkeep.of_valkey(f"aof_current_size:{odd}\naof_base_size:1", 0),
    "valkey's costs": lambda odd: upkeep.counters_of_valkey(f"used_cpu_user:{odd}\nused_cpu_sys:1"),
}
ROWS: Mapping[str, Callable[[Rows], object]] = {
    "databases": lambda rows: made(*rows),
    "limits": lambda rows: fit(rows, [["Threads_connected", "1"]]),
    "in use": lambda rows: fit([], rows),
    "counters": counters.costs,
    "settings": stored_settings,
    "postgres": lambda rows: upkeep.of_postgres(rows, None),
}


def test_what_is_no_number_of_a_server_is_called_that(subtests: pytest.Subtests) -> None:
    for odd in ["", "many", "nan", "inf", "1e999", "9" * 400, "9" * 5_000]:
        for of in NUMBERS:
            with (
                subtests.test(odd=odd, of=of),
                pytest.raises(OutputUnreadable, match="answered what no such server does"),
            ):
                NUMBERS[of](odd)


def test_rows_of_another_shape_are_no_answer(subtests: pytest.Subtests) -> None:
    shapes: list[Rows] = [[[]], [["a"]], [["a"] * 5], [[None, None]]]
    for rows in shapes:
        for of in ROWS:
            with (
                subtests.test(rows=rows, of=of),
                pytest.raises(OutputUnreadable, match="answered what no such server does"),
            ):
                ROWS[of](rows)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("REVOKE ALL ON `nephoscope\\_%`.* FROM limited@'%'", "GRANT ALL ON `nephoscope\\_%`.*"),
        ("SET GLOBAL local_infile = OFF", "takes no rows from clients (local_infile)"),
        ("SET GLOBAL read_only = ON", "takes no writes (read_only)"),
        ("GRANT USAGE ON *.* TO limited@'%' WITH MAX_STATEMENT_TIME 7", "longer than 7 s"),
        ("GRANT USAGE ON *.* TO limited@'%' WITH MAX_USER_CONNECTIONS 9", "allows this user 9 connections"),
        ("SET GLOBAL max_connections = 10", "has 10 connections"),
    ],
)
def test_what_would_fail_trial_by_trial_is_told_before_the_first(
    ours: Server, tmp_path: Path, statement: str, says: str
) -> None:
    ours.sql(
        "CREATE OR REPLACE USER limited@'%'",
        "GRANT ALL ON `nephoscope\\_%`.* TO limited@'%'",
        "CREATE DATABASE IF NOT EXISTS nephoscope_theirs",
        statement,
    )
    dsn = ours.users("limited", "information_schema")
    settings = DatabaseSettings(system="mariadb", dsn=dsn, connections=9)
    database = MysqlDatabase("mariadb", {}, load_program())
    try:
        with pytest.raises(EnvironmentProblem) as caught:
            ours.loop.run_until_complete(database.start(ours.cluster, settings, tmp_path / "log"))
    finally:
        ours.sql("SET GLOBAL read_only = OFF, local_infile = ON, max_connections = 28")
    assert says in f"{caught.value} {caught.value.hint}"


def test_values_of_servers_of_the_users_are_compared_as_sizes(ours: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    ours.sql("CREATE OR REPLACE USER asks@'%' IDENTIFIED BY 'secret'")
    monkeypatch.setenv("MYSQL_PWD", "secret")
    dsn = ours.users("asks", "information_schema")

    def compared(change: str, *dsns: str) -> list[str]:
        return ours.loop.run_until_complete(require_comparable(read_change(change), dsns, "mariadb"))

    assert ours.loop.run_until_complete(system_of(None, [dsn])) == "mariadb"
    assert compared("innodb_buffer_pool_size=32M,33554432", dsn, dsn) == []
    with pytest.raises(InputError, match="has innodb_buffer_pool_size = 33554432, not 64M"):
        compared("innodb_buffer_pool_size=32M,64M", dsn, dsn)
    with pytest.raises(InputError, match="changes no setting of your mariadb server"):
        compared("innodb_buffer_pool_size=32M,64M", dsn)


def test_a_server_of_the_users_that_does_not_answer_is_named(ours: Server, tmp_path: Path) -> None:
    database = MysqlDatabase("mariadb", {}, load_program())
    settings = DatabaseSettings(system="mariadb", dsn=ours.users("nobody"), connections=8)
    with pytest.raises(TargetUnreachable) as caught:
        ours.loop.run_until_complete(database.start(ours.cluster, settings, tmp_path / "log"))
    assert "MYSQL_PWD" in caught.value.hint


@pytest.mark.parametrize(
    ("said", "comment", "product", "version", "says"),
    [
        ("8.0.11-TiDB-v7.5.0", "TiDB Server (Apache License 2.0)", "mysql", None, "TiDB"),
        ("8.0.36", "MySQL Community Server - GPL", "mariadb", None, "the server is MySQL 8.0.36"),
        ("10.11.19-MariaDB-0+deb12u1", "Debian 12", "mysql", None, "the server is MariaDB"),
        ("10.11.19-MariaDB", "", "mariadb", "11.4", "requires MariaDB 11.4, but the server is 10.11.19"),
    ],
)
def test_another_product_or_version_than_the_study_names_is_refused(
    said: str, comment: str, product: str, version: str | None, says: str
) -> None:
    with pytest.raises(DatabaseFailed, match=says):
        require_product(said, comment, product, version)  # type: ignore[arg-type]


def test_a_version_of_the_study_is_as_exact_as_it_is_written() -> None:
    for version in (None, "10", "10.11", "10.11.3"):
        assert require_product("10.11.19-MariaDB", "", "mariadb", version) == "10.11.19"


def test_mysql_makes_its_folder_by_the_server_itself() -> None:
    """As its manual says; no MySQL was there to try it on."""
    said = "/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)"
    assert (product_in(said), version_in(said)) == ("mysql", "8.0.36")
    programs = Programs("mysql", "/usr/sbin/mysqld", "8.0.36", by_root=False)
    argv = ["/usr/sbin/mysqld", "--no-defaults", "--datadir=/d", "--innodb_page_size=8k", "--initialize-insecure"]
    assert programs.make("/d", ["--innodb_page_size=8k"]) == argv
    assert replace(programs, by_root=True).make("/d", [])[0] == "unshare"


def test_a_load_of_tpcc_names_the_profile_that_is_there() -> None:
    """It loads the same rows for each profile, and its default is none that MariaDB has."""
    there, elsewhere = MysqlTarget(dsn="mysql://u@h/d"), PostgresTarget(dsn="postgresql://u@h/d")
    loads = [_loaded(TpccWorkload(warehouses=1), target) for target in (there, elsewhere)]
    assert [getattr(one, "profile", None) for one in loads] == ["chatty", "batched"]


def test_a_program_that_lists_no_settings_is_not_believed() -> None:
    with pytest.raises(OutputUnreadable):
        known_settings("mysqld  Ver 8.0.36\n")
