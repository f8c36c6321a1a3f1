"""Masters of Valkey or Redis as one cluster: joined, loaded, copied, each with its part."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.faults.kinds import Victim
from nephoscope.databases.base import Endpoint
from nephoscope.databases.valkey import cluster as valkey_cluster
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.databases.valkey.cluster import SLOTS, Member, followed, nodes_of, parts
from nephoscope.databases.valkey.database import ValkeyDatabase
from nephoscope.machines.loopback import listening
from nephoscope.machines.remote import Command
from nephoscope.model.errors import DatabaseFailed, ToolFailed
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


@pytest.mark.parametrize(("masters", "each"), [(1, 2), (2, 1), (3, 1), (3, 2)])
def test_each_master_has_as_many_replicas_and_none_on_a_machine_of_its_zone(masters: int, each: int) -> None:
    masters_of = [followed(masters, number) for number in range(masters * each)]
    assert sorted(masters_of) == sorted(list(range(masters)) * each)
    apart = each < masters
    assert all(number % masters != master for number, master in enumerate(masters_of)) == apart


def with_masters(folder: Path, count: int, story: Story, **wanted: Any) -> None:
    machines = tuple(
        replace(this_machine(folder / f"{n}"), name=f"database-{n}", zone=f"zone-{n}", address=f"127.0.0.{n}")
        for n in range(1, count + 1)
    )
    cluster, database = Cluster("tests", machines, machines[0]), ValkeyDatabase(find_valkey)

    async def tell() -> None:
        try:
            settings = DatabaseSettings.model_validate(wanted)
            await story(database, cluster, await database.start(cluster, settings, folder / "valkey.log"))
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


@needs("redis-server")
def test_a_sealed_data_set_serves_only_as_many_masters_of_the_same_version(tmp_path: Path) -> None:
    """Machines of several configurations keep their data folders."""

    async def seal(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        await database.seal_fixture(cluster, endpoint, "some")
        assert await database.has_fixture(cluster, endpoint, "some")

    async def look(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert not await database.has_fixture(cluster, endpoint, "some")
        await seal(database, cluster, endpoint)
        (server,) = database._running["tests"]
        database._running["tests"] = [replace(server, endpoint=replace(endpoint, version="Redis 0.1"))]
        assert not await database.has_fixture(cluster, endpoint, "some")

    async def find(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert await database.has_fixture(cluster, endpoint, "some")

    for masters, story in ((2, seal), (1, look), (2, find)):
        with_masters(tmp_path, masters, story)


@pytest.mark.slow
@needs("redis-server")
def test_each_trial_begins_with_replicas_that_have_their_masters_data(tmp_path: Path) -> None:
    """Three masters and a replica of each; then a replica that is lost is told."""
    connected = {
        "replica database-4": "connected to database-2",
        "replica database-5": "connected to database-3",
        "replica database-6": "connected to database-1",
    }

    async def story(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert await database.replication(cluster) == connected
        await database.create_fixture(cluster, endpoint, "some")
        for key in KEYS:
            await database._command(cluster, await _owner(database, cluster, key), "SET", key, "sealed")
        await database.seal_fixture(cluster, endpoint, "some")
        assert await database.has_fixture(cluster, endpoint, "some")
        servers = []
        for _ in range(2):
            copy = await database.clone_fixture(cluster, endpoint, "some")
            servers = database._running["tests"]
            held = [await _size(database, cluster, server.endpoint) for server in servers]
            assert (sum(held[:3]), held[3:]) == (len(KEYS), [held[1], held[2], held[0]])
            told = await database.settings(cluster, copy)
            assert (told["masters"], told["replica database-4"]) == ("3", "connected to database-2")
            owner = await _owner(database, cluster, KEYS[0])
            await database._command(cluster, owner, "SET", KEYS[0], "changed")
            assert (await database._command(cluster, owner, "WAIT", "1", "5000")).split()[-1] == "1"
        await servers[1].process.stop(signal=signal.SIGTERM, timeout_s=30)
        lost = {**connected, "replica database-4": "not connected to database-2"}
        async with asyncio.timeout(30):
            while await database.replication(cluster) != lost:  # noqa: ASYNC110 - the server sends no event
                await asyncio.sleep(0.1)

    with_masters(tmp_path, 6, story, replicas=1)


FAST: dict[str, Any] = {"replicas": 1, "failover": "cluster", "settings": {"cluster-node-timeout": "1000"}}
"""Three masters, of which each is given up after a second."""


@pytest.mark.slow
@needs("redis-server")
def test_a_master_that_a_busy_machine_holds_up_keeps_its_role_until_a_trial_begins(tmp_path: Path) -> None:
    """It would be a replica, and answer READONLY to what empties and loads it."""

    async def hold_up(database: ValkeyDatabase, cluster: Cluster) -> None:
        victim = Victim(database.servers(cluster)[0], "primary", database, cluster)
        await victim.act("pause", "60")
        await asyncio.sleep(4)
        await victim.act("resume")

    async def story(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        await hold_up(database, cluster)
        await database.create_fixture(cluster, endpoint, "some")
        await hold_up(database, cluster)
        await database.seal_fixture(cluster, endpoint, "some")
        copy = await database.clone_fixture(cluster, endpoint, "some")
        assert await database.roles(cluster) == ["primary"] * 3 + ["replica"] * 3
        told = await database.settings(cluster, copy)
        assert (told["cluster-node-timeout"], told["cluster-replica-no-failover"]) == ("1000", "no")

    with_masters(tmp_path, 6, story, **FAST)


@pytest.mark.slow
@needs("redis-server")
def test_a_replica_takes_over_and_each_server_gets_back_its_role(tmp_path: Path) -> None:
    async def story(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        await database.seal_fixture(cluster, endpoint, "none")
        await database.clone_fixture(cluster, endpoint, "none")
        before, first = await database.replication(cluster), database._running["tests"][0]
        assert await database.roles(cluster) == ["primary"] * 3 + ["replica"] * 3
        assert await database.is_complete(cluster)
        await first.process.stop(signal=signal.SIGKILL, timeout_s=30)
        assert not await database.is_complete(cluster)
        async with asyncio.timeout(60):
            while (await database.roles(cluster))[5] != "primary":  # noqa: ASYNC110 - the server sends no event
                await asyncio.sleep(0.1)
        assert not await database.is_complete(cluster), "the one that took over has no copy"
        await database.start_again(cluster, database.servers(cluster)[0])
        async with asyncio.timeout(60):
            while not await database.is_complete(cluster):  # noqa: ASYNC110 - the server sends no event
                await asyncio.sleep(0.1)
        assert await database.roles(cluster) == ["replica", "primary", "primary", "replica", "replica", "primary"]
        await database.put_back(cluster)
        assert await database.roles(cluster) == ["primary"] * 3 + ["replica"] * 3
        assert await database.replication(cluster) == before

    with_masters(tmp_path, 6, story, **FAST)


@needs("redis-server")
def test_who_does_not_have_the_key_of_the_trial_gets_no_slot(tmp_path: Path) -> None:
    """A server that says on the bus to have all slots since later than anybody else: it is believed where it is heard.

    It is driven by hand, as anyone does it who reaches the bus: any other user of a machine.
    """

    async def story(database: ValkeyDatabase, cluster: Cluster, _: Endpoint) -> None:
        members = database._members(cluster)
        (itself,) = (one for one in await valkey_cluster._known(members) if "myself" in one.flags)
        with listening("127.0.0.1") as one, listening("127.0.0.1") as other:
            port, bus = one.getsockname()[1], other.getsockname()[1]
        stranger = tmp_path / "stranger"
        stranger.mkdir()
        (stranger / "nodes.conf").write_text(
            f"{'a' * 40} 127.0.0.1:{port}@{bus} myself,master - 0 0 1000 connected 0-{SLOTS - 1}\n"
            "vars currentEpoch 1000 lastVoteEpoch 0\n"
        )
        binaries = find_valkey()
        options = {"port": port, "cluster-port": bus, "cluster-enabled": "yes", "cluster-node-timeout": 1000}
        options |= {"bind": "127.0.0.1", "dir": stranger}
        argv = [binaries.server, *(part for name, value in options.items() for part in (f"--{name}", str(value)))]
        remote = cluster.load.remote
        process = await remote.start(argv, log=tmp_path / "stranger.log")

        async def ask(*words: str) -> str:
            completed = await remote.execute(Command([binaries.client, "-p", str(port), "-e", *words], timeout_s=30))
            return completed.stdout.decode() if completed.exit_code == 0 else ""

        try:
            async with asyncio.timeout(60):
                while "PONG" not in await ask("PING"):  # noqa: ASYNC110 - the server sends no event
                    await asyncio.sleep(0.1)
                await ask("CLUSTER", "MEET", "127.0.0.1", str(members[0].port), itself.bus_port)
                while "handshake" in (met := await ask("CLUSTER", "NODES")):  # noqa: ASYNC110 - see above
                    await asyncio.sleep(0.1)
            assert len(nodes_of(met)) == 1, "it was heard"
        finally:
            await process.stop(signal=signal.SIGTERM, timeout_s=30)
        assert len(await valkey_cluster._known(members)) == len(members)

    with_masters(tmp_path, 2, story)


def test_masters_that_do_not_come_together_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def alone(*words: str) -> str:
        return "id 10.0.0.1:1@2 myself,master - 0 0 1 connected\n" if words[1] == "NODES" else "cluster_state:fail\r\n"

    monkeypatch.setattr(valkey_cluster, "JOIN_TIMEOUT_S", 0)
    members = [Member("a", "10.0.0.1", 1, 3, alone), Member("b", "10.0.0.2", 1, 3, alone)]
    with pytest.raises(DatabaseFailed, match=r"the 2 servers did not form a cluster .* 10\.0\.0\.1: knows 1, fail"):
        asyncio.run(valkey_cluster.join(members, 2))


class Forgetful:
    """Servers that forget an introduction: the first one at first, then the one that it met."""

    def __init__(self) -> None:
        self.known = {1: {1}, 2: {2}}
        self.met: list[int] = []

    def member(self, number: int) -> Member:
        async def ask(*words: str) -> str:
            if words[1] == "NODES":
                return "".join(
                    f"id 10.0.0.{one}:6379@16379 {'myself,' * (one == number)}master - 0 0 1 connected 0-1\n"
                    for one in self.known[number]
                )
            if words[1] == "MEET":
                assert words[3:] == ("6379", "16379")
                self.met.append(number)
                if len(self.met) > 1:
                    self.known[number].add(3 - number)
            return "cluster_state:ok\r\n"

        return Member(f"database-{number}", f"10.0.0.{number}", 6379, 6380, ask)


def test_servers_that_forget_an_introduction_are_introduced_again() -> None:
    servers = Forgetful()
    asyncio.run(valkey_cluster.wait_until_whole([servers.member(1), servers.member(2)]))
    assert servers.met == [1, 1, 2]


class Refusing:
    """A replica and its master, of which the first refuses to take over at first, as if it were master already."""

    def __init__(self) -> None:
        self.master, self.asked = 2, 0

    def member(self, number: int) -> Member:
        async def ask(*words: str) -> str:
            if words == ("CLUSTER", "NODES"):
                return "".join(
                    f"id 10.0.0.{one}:6379@16379 {'master' if one == self.master else 'slave'} - 0 0 1 connected"
                    f"{' 0-16383' * (one == self.master)}\n"
                    for one in (1, 2)
                )
            if words == ("CLUSTER", "FAILOVER"):
                self.asked += 1
                if self.asked == 1:
                    raise ToolFailed("ERR You should send CLUSTER FAILOVER to a replica")
                self.master = number
            if number == self.master:
                return "role:master\r\nconnected_slaves:1\r\nslave0:ip=10.0.0.9,state=online\r\n"
            return "role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6380\r\nmaster_link_status:up\r\n"

        return Member(f"database-{number}", f"10.0.0.{number}", 6379, 6380, ask)


def test_a_server_that_refuses_to_take_over_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valkey_cluster, "_TAKES_OVER_S", 0)
    servers = Refusing()
    asyncio.run(valkey_cluster.put_back([servers.member(1), servers.member(2)], 1))
    assert (servers.master, servers.asked) == (1, 2)


KEYS = [f"key-{number}" for number in range(30)]


async def _owner(database: ValkeyDatabase, cluster: Cluster, key: str) -> Endpoint:
    servers = database._masters(cluster)
    slot = int((await database._command(cluster, servers[0].endpoint, "CLUSTER", "KEYSLOT", key)).split()[-1])
    (index,) = (index for index, (first, last) in enumerate(parts(len(servers))) if first <= slot <= last)
    return servers[index].endpoint


async def _size(database: ValkeyDatabase, cluster: Cluster, endpoint: Endpoint) -> int:
    return int((await database._command(cluster, endpoint, "DBSIZE")).split()[-1])
