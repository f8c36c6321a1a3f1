"""Valkey or Redis as a database: started, loaded, copied, told of, stopped."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.databases.base import Endpoint, HasFixtures, HasSettings
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.databases.valkey.database import ValkeyDatabase
from nephoscope.model.errors import DatabaseFailed, InputError, ToolFailed
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs

pytestmark = needs("redis-server")

Ask = Callable[..., Awaitable[str]]


def with_server(
    folder: Path, story: Callable[[ValkeyDatabase, Cluster, Endpoint, Ask], Awaitable[None]], **settings: str
) -> None:
    machine = this_machine(folder, cpus=(0,))
    cluster, database = Cluster("tests", (machine,), machine), ValkeyDatabase(find_valkey)

    async def tell() -> None:
        try:
            endpoint = await database.start(cluster, DatabaseSettings(settings=settings), folder / "log")
            await story(database, cluster, endpoint, lambda *words: database._command(cluster, endpoint, *words))
        finally:
            await database.stop(cluster)
            await database.stop(cluster)

    asyncio.run(tell())


@pytest.mark.parametrize("appends", ["yes", "no"])
def test_each_trial_begins_with_the_sealed_data(tmp_path: Path, appends: str) -> None:
    async def story(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint, ask: Ask) -> None:
        assert isinstance(database, HasFixtures)
        assert not await database.has_fixture(cluster, endpoint, "some")
        await ask("SET", "left", "over")
        await database.create_fixture(cluster, endpoint, "some")
        await ask("SET", "key", "sealed")
        await database.seal_fixture(cluster, endpoint, "some")
        assert await database.has_fixture(cluster, endpoint, "some")
        for _ in range(2):
            copy = await database.clone_fixture(cluster, endpoint, "some")
            assert copy.dsn == endpoint.dsn
            assert (await ask("GET", "key")).strip() == "sealed"
            assert (await ask("DBSIZE")).split()[-1] == "1"
            assert (await database.settings(cluster, copy))["appendonly"] == appends
            await ask("SET", "key", "changed")
            await ask("SET", "another", "one")

    with_server(tmp_path, story, appendonly=appends)


def test_a_server_that_still_loads_its_data_is_waited_for(tmp_path: Path) -> None:
    async def story(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint, ask: Ask) -> None:
        await database.create_fixture(cluster, endpoint, "some")
        await ask("DEBUG", "POPULATE", "20", "key", "1000000")  # it answers once in 2 MiB while it loads
        await database.seal_fixture(cluster, endpoint, "some")
        await database.clone_fixture(cluster, endpoint, "some")
        assert (await ask("DBSIZE")).split()[-1] == "20"

    slow = {"enable-debug-command": "yes", "rdbcompression": "no", "key-load-delay": "50000"}  # microseconds a key
    with_server(tmp_path, story, **slow)


def test_what_is_in_force_is_told_and_no_secret(tmp_path: Path) -> None:
    async def story(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint, _: Ask) -> None:
        assert isinstance(database, HasSettings)
        settings = await database.settings(cluster, endpoint)
        assert (settings["appendfsync"], settings["maxmemory-policy"]) == ("everysec", "allkeys-lru")
        assert "requirepass" not in settings
        (password,) = endpoint.environment.values()
        assert password not in str(settings)
        assert str(tmp_path) not in str(settings)
        assert endpoint.version.split()[0] in {"Valkey", "Redis"}
        assert oct((tmp_path / "valkey" / "valkey.conf").stat().st_mode)[-3:] == "600"

    with_server(tmp_path, story, **{"maxmemory-policy": "allkeys-lru"})


def test_a_password_is_needed(tmp_path: Path) -> None:
    async def story(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint, _: Ask) -> None:
        with pytest.raises(ToolFailed, match="NOAUTH"):
            await database._command(cluster, replace(endpoint, environment={}), "GET", "key")

    with_server(tmp_path, story)


def test_a_server_of_the_users_is_not_emptied(tmp_path: Path) -> None:
    machine = this_machine(tmp_path, cpus=(0,))
    settings = DatabaseSettings(dsn="postgresql://me@127.0.0.1/x")
    start = ValkeyDatabase(find_valkey).start(Cluster("tests", (machine,), machine), settings, tmp_path / "log")
    with pytest.raises(InputError, match="a trial would empty it"):
        asyncio.run(start)


def test_a_server_that_does_not_come_up_says_why(tmp_path: Path) -> None:
    async def story(*_: object) -> None:
        raise AssertionError("it must not come up")

    with pytest.raises(DatabaseFailed, match="Valkey did not start"):
        with_server(tmp_path, story, **{"no-such-setting": "1"})
