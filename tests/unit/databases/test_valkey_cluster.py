"""Masters of Valkey or Redis as one cluster: joined, loaded, copied, each with its part."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.databases.base import Endpoint
from nephoscope.databases.valkey import cluster as valkey_cluster
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.databases.valkey.cluster import SLOTS, Member, parts
from nephoscope.databases.valkey.database import ValkeyDatabase
from nephoscope.model.errors import DatabaseFailed
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs

Story = Callable[[ValkeyDatabase, Cluster, Endpoint], Awaitable[None]]


@pytest.mark.parametrize("masters", [1, 3, 6, 7])
def test_every_slot_has_one_master(masters: int) -> None:
    cut = parts(masters)
    assert [slot for first, last in cut for slot in range(first, last + 1)] == list(range(SLOTS))
    lengths = [last - first for first, last in cut]
    assert max(lengths) - min(lengths) <= 1


def with_masters(folder: Path, count: int, story: Story) -> None:
    numbers = range(1, count + 1)
    machines = tuple(replace(this_machine(folder / f"{n}"), name=f"database-{n}", zone=f"zone-{n}") for n in numbers)
    cluster, database = Cluster("tests", machines, machines[0]), ValkeyDatabase(find_valkey)

    async def tell() -> None:
        try:
            await story(database, cluster, await database.start(cluster, DatabaseSettings(), folder / "valkey.log"))
        finally:
            await database.stop(cluster)

    asyncio.run(tell())


@pytest.mark.slow
@needs("redis-server")
def test_three_masters_share_the_keys_and_each_trial_begins_with_the_sealed_ones(tmp_path: Path) -> None:
    async def story(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert endpoint.sharded
        assert not await database.has_fixture(cluster, endpoint, "some")
        await database.create_fixture(cluster, endpoint, "some")
        for key in KEYS:
            await database._command(cluster, await _owner(database, cluster, key), "SET", key, "sealed")
        await database.seal_fixture(cluster, endpoint, "some")
        assert await database.has_fixture(cluster, endpoint, "some")
        for _ in range(2):
            copy = await database.clone_fixture(cluster, endpoint, "some")
            assert (copy.dsn, copy.sharded) == (endpoint.dsn, True)
            held = [await _size(database, cluster, server.endpoint) for server in database._running["tests"]]
            assert sum(held) == len(KEYS)
            assert min(held) > 0
            owner = await _owner(database, cluster, KEYS[0])
            assert (await database._command(cluster, owner, "GET", KEYS[0])).strip() == "sealed"
            await database._command(cluster, owner, "SET", KEYS[0], "changed")
            told = await database.settings(cluster, copy)
            assert (told["masters"], told["cluster-enabled"], told["appendonly"]) == ("3", "yes", "yes")
            assert told["zone of database-2"] == "zone-2"
        assert len(list(tmp_path.glob("valkey-database-*.log"))) == 6  # of the empty servers, and of those with data

    with_masters(tmp_path, 3, story)


def test_masters_that_do_not_come_together_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def alone(*words: str) -> str:
        return "id 10.0.0.1:1@2 myself,master - 0 0 1 connected\n" if words[1] == "NODES" else "cluster_state:fail\r\n"

    monkeypatch.setattr(valkey_cluster, "JOIN_TIMEOUT_S", 0)
    members = [Member("10.0.0.1", 1, alone), Member("10.0.0.2", 1, alone)]
    with pytest.raises(DatabaseFailed, match=r"the 2 masters did not form a cluster .* 10\.0\.0\.1: knows 1, fail"):
        asyncio.run(valkey_cluster.join(members))


KEYS = [f"key-{number}" for number in range(30)]


async def _owner(database: ValkeyDatabase, cluster: Cluster, key: str) -> Endpoint:
    servers = database._running[cluster.key]
    slot = int((await database._command(cluster, servers[0].endpoint, "CLUSTER", "KEYSLOT", key)).split()[-1])
    (index,) = (index for index, (first, last) in enumerate(parts(len(servers))) if first <= slot <= last)
    return servers[index].endpoint


async def _size(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint) -> int:
    return int((await database._command(cluster, endpoint, "DBSIZE")).split()[-1])
