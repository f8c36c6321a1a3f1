import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.databases.base import Endpoint, HasFixtures, HasSettings
from nephoscope.databases.postgres import PostgresDatabase
from nephoscope.databases.postgres_binaries import Binaries, embedded_folder, find_binaries, major_version
from nephoscope.errors import DatabaseFailed, TargetUnreachable
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.command_line import processes_naming
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs

SETTINGS = DatabaseSettings(connections=4)
Scenario = Callable[[PostgresDatabase, Cluster, Endpoint], Awaitable[None]]

pytestmark = needs("postgres")


def embedded() -> Binaries:
    return find_binaries(embedded_folder())


def cluster_in(folder: Path) -> Cluster:
    machine = this_machine(folder)
    return Cluster("study/configuration", (machine,), machine)


def with_server(folder: Path, scenario: Scenario, settings: DatabaseSettings = SETTINGS) -> None:
    async def run() -> None:
        database, cluster = PostgresDatabase(embedded, {}), cluster_in(folder)
        try:
            await scenario(database, cluster, await database.start(cluster, settings, folder / "log"))
        finally:
            await database.stop(cluster)

    asyncio.run(run())
    assert processes_naming(str(folder)) == []


async def sql(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint, statement: str) -> str:
    return await database._sql(cluster, endpoint, statement)


def test_a_server_of_ours_is_durable_pinned_and_tells_its_settings(tmp_path: Path) -> None:
    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert isinstance(database, HasFixtures)
        assert isinstance(database, HasSettings)
        assert endpoint.origin == "embedded"
        assert endpoint.version.startswith("18.")
        settings = await database.settings(cluster, endpoint)
        assert settings["fsync"] == settings["synchronous_commit"] == settings["full_page_writes"] == "on"
        assert settings["work_mem"] == "7MB"
        assert settings["max_connections"] == "24"
        assert str(tmp_path) not in repr(settings)
        password = endpoint.environment["PGPASSWORD"]
        assert password not in endpoint.dsn
        assert password not in repr(endpoint)
        pid = (tmp_path / "postgres" / "data" / "postmaster.pid").read_text().split()[0]
        assert os.sched_getaffinity(int(pid)) == {0}

    with_server(tmp_path, scenario, DatabaseSettings(connections=4, settings={"work_mem": "7MB"}))


def test_nobody_enters_without_the_password(tmp_path: Path) -> None:
    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        stranger = replace(endpoint, environment={"PGPASSWORD": "wrong"})
        with pytest.raises(Exception, match="password authentication failed"):
            await sql(database, cluster, stranger, "SELECT 1")

    with_server(tmp_path, scenario)


def test_every_trial_starts_from_the_same_state(tmp_path: Path) -> None:
    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert not await database.has_fixture(cluster, endpoint, "fixture_a")
        empty = await database.create_fixture(cluster, endpoint, "fixture_a")
        await sql(database, cluster, empty, "CREATE TABLE t AS SELECT 1 AS v")
        assert not await database.has_fixture(cluster, endpoint, "fixture_a")
        empty = await database.create_fixture(cluster, endpoint, "fixture_a")  # the load was interrupted: from nothing
        await sql(database, cluster, empty, "CREATE TABLE t AS SELECT 2 AS v")
        await database.seal_fixture(cluster, endpoint, "fixture_a")
        assert await database.has_fixture(cluster, endpoint, "fixture_a")
        for _ in range(2):
            trial = await database.clone_fixture(cluster, endpoint, "fixture_a")
            assert await sql(database, cluster, trial, "SELECT sum(v) FROM t") == "2"
            await sql(database, cluster, trial, "INSERT INTO t VALUES (40)")

    with_server(tmp_path, scenario)


def test_a_server_killed_with_its_controller_comes_up_again_with_its_fixtures(tmp_path: Path) -> None:
    async def before(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        await database.create_fixture(cluster, endpoint, "fixture_a")
        await database.seal_fixture(cluster, endpoint, "fixture_a")
        pid = (tmp_path / "postgres" / "data" / "postmaster.pid").read_text().split()[0]
        os.kill(int(pid), signal.SIGKILL)

    async def after(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert await database.has_fixture(cluster, endpoint, "fixture_a")

    with_server(tmp_path, before)
    with_server(tmp_path, after)


def test_a_setting_that_it_refuses_is_told_with_its_log(tmp_path: Path) -> None:
    async def nothing(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        raise AssertionError("it came up")

    settings = DatabaseSettings(settings={"shared_buffers": "many"})
    with pytest.raises(DatabaseFailed, match="shared_buffers") as caught:
        with_server(tmp_path, nothing, settings)
    assert "its log is" in caught.value.hint


def test_another_major_version_than_asked_for_is_refused(tmp_path: Path) -> None:
    async def nothing(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        raise AssertionError("it came up")

    with pytest.raises(DatabaseFailed, match=r"asks for PostgreSQL 9\.6, and the embedded server is 18"):
        with_server(tmp_path, nothing, DatabaseSettings(version="9.6"))


def test_a_server_of_the_users_is_reached_and_left_alone(tmp_path: Path) -> None:
    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        users = PostgresDatabase(embedded, endpoint.environment)
        settings = DatabaseSettings(dsn=endpoint.dsn)
        reached = await users.start(cluster, settings, tmp_path / "other-log")
        assert (reached.origin, reached.dsn) == ("user", endpoint.dsn)
        await users.stop(cluster)
        assert await sql(database, cluster, endpoint, "SELECT 1") == "1"
        stranger = PostgresDatabase(embedded, {"PGPASSWORD": "wrong"})
        with pytest.raises(TargetUnreachable, match="password authentication failed"):
            await stranger.start(cluster, settings, tmp_path / "other-log")

    with_server(tmp_path, scenario)


def test_where_a_server_comes_from(tmp_path: Path) -> None:
    for version in ("9.6", "15", "17"):
        (tmp_path / "system" / version / "bin").mkdir(parents=True)
        (tmp_path / "system" / version / "bin" / "postgres").touch()
    (tmp_path / "embedded").mkdir()
    (tmp_path / "embedded" / "postgres").touch()
    assert find_binaries(tmp_path / "embedded", tmp_path / "system").origin == "embedded"
    system = find_binaries(None, tmp_path / "system")
    assert (system.origin, system.folder.parent.name) == ("system", "17")
    with pytest.raises(DatabaseFailed, match="no PostgreSQL server was found") as caught:
        find_binaries(None, tmp_path / "nowhere")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "major"),
    [("18.6", "18"), ("postgres (PostgreSQL) 15.18 (Debian 15.18-0)", "15"), ("17beta1", "17"), ("unknown", None)],
)
def test_major_versions(text: str, major: str | None) -> None:
    assert major_version(text) == major
