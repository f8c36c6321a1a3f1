"""PostgreSQL on a host over SSH: found again by a controller that did not start it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.databases.postgres import binaries
from nephoscope.databases.postgres import remote as postgres_remote
from nephoscope.databases.postgres.database import PostgresDatabase
from nephoscope.machines.remote import MachineHandle
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.model.errors import DatabaseFailed, TargetLost
from nephoscope.providers.base import Cluster
from nephoscope.run.clock import SystemClock
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs
from tests.support.server import postgres
from tests.support.sshd import sshd

pytestmark = needs("postgres")
SETTINGS = DatabaseSettings(connections=4, settings={"shared_buffers": "16MB", "fsync": "off"})


def a_controllers_view(
    address: SshAddress, folder: Path, own_address: str = "127.0.0.1"
) -> tuple[PostgresDatabase, Cluster]:
    """A database that knows nothing yet, and the host as the attempt t-1 sees it."""
    remote = SshRemote("db", address, SystemClock(), folder=str(folder / "ours"), session="t-1")
    machine = MachineHandle("db", remote, own_address, (), str(folder / "data"))
    return postgres({}), Cluster("s/c/t-1", (machine,), machine)


def test_the_next_controller_finds_the_server_with_its_data_and_stops_it(tmp_path: Path) -> None:
    log = tmp_path / "here" / "postgres.log"
    (tmp_path / "data").mkdir()

    async def scenario(address: SshAddress) -> None:
        died, cluster = a_controllers_view(address, tmp_path)
        endpoint = await died.start(cluster, SETTINGS, log)
        await died._sql(cluster, endpoint, "CREATE TABLE t AS SELECT 7 AS x")
        (server,) = died._running[cluster.key].processes
        next_one, again = a_controllers_view(address, tmp_path)
        found = await next_one.attach(again, SETTINGS, log)
        assert found == endpoint
        assert await next_one._sql(again, found, "SELECT x FROM t") == "7"
        assert await next_one.replication(again) == {}  # there is one copy
        assert server.running()
        await next_one.stop(again)
        async with asyncio.timeout(20):
            while server.running():  # noqa: ASYNC110 - the first controller's view sends no event
                await asyncio.sleep(0.05)
        third, later = a_controllers_view(address, tmp_path)
        with pytest.raises(TargetLost, match="is no longer running"):
            await third.attach(later, SETTINGS, log)

    with sshd(tmp_path / "sshd") as running:
        asyncio.run(scenario(running.address))


def test_a_host_with_an_ipv6_address_serves_itself_and_no_network(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()

    async def scenario(address: SshAddress) -> None:
        database, cluster = a_controllers_view(address, tmp_path, "::1")
        endpoint = await database.start(cluster, SETTINGS, tmp_path / "here" / "postgres.log")
        assert await database._sql(cluster, endpoint, "SELECT 7") == "7"
        allowed = "SELECT DISTINCT address || '|' || netmask FROM pg_hba_file_rules"
        assert await database._sql(cluster, endpoint, allowed) == "::1|ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
        await database.stop(cluster)

    with sshd(tmp_path / "sshd") as running:
        asyncio.run(scenario(running.address))


def test_a_host_serves_the_version_that_the_study_names_or_says_which_it_has(tmp_path: Path) -> None:
    """The embedded folder, which comes first, is of another version."""
    embedded = tmp_path / "embedded"
    embedded.mkdir()
    (embedded / "postgres").write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 99.1'\n")
    (embedded / "postgres").chmod(0o755)
    (installed, *_) = (one for one in binaries.installed(None) if one.major())

    async def scenario(address: SshAddress) -> None:
        _, cluster = a_controllers_view(address, tmp_path)
        (machine,) = cluster.database
        assert (await postgres_remote.programs_on(machine, str(embedded))).folder == str(embedded)
        found = await postgres_remote.programs_on(machine, str(embedded), installed.major())
        assert found.folder == str(installed.folder)
        starting = postgres_remote.start_primary(cluster, str(embedded), "98.2", {}, tmp_path / "log")
        with pytest.raises(DatabaseFailed, match=r"PostgreSQL 98\.2 is not installed on db, which has PostgreSQL 99"):
            await starting
        assert not (tmp_path / "data").exists(), "nothing is made before the version is known"

    with sshd(tmp_path / "sshd") as running:
        asyncio.run(scenario(running.address))


class Machines:
    """Three hosts of one sshd, by addresses of the loopback network; each trial is an attempt of its own."""

    def __init__(self, address: SshAddress, folder: Path) -> None:
        self._address = address
        self._folder = folder
        self._trials = 0
        for name in "abc":
            (folder / name).mkdir()

    def root(self, name: str) -> Path:
        return self._folder / name / "postgres"

    @asynccontextmanager
    async def up(self, names: str, **settings: str) -> AsyncIterator[Callable[..., Awaitable[str]]]:
        """PostgreSQL on these machines, the first one's the primary; what runs SQL on it, or on another one's."""
        self._trials += 1
        machines = []
        for name in names:
            remote = SshRemote(
                name, self._address, SystemClock(), folder=str(self._folder / "ours"), session=f"{self._trials}-{name}"
            )
            address = f"127.0.0.{ord(name)}"
            machines.append(MachineHandle(name, remote, address, (), str(self._folder / name)))
        load = MachineHandle("load", machines[0].remote, "127.0.0.1", (), "")  # whence all of them call
        cluster = Cluster(f"s/{names}/t-{self._trials}", tuple(machines), load)
        database = postgres({})
        try:
            wanted = SMALL_LOG.model_copy(update={"settings": {**SMALL_LOG.settings, **settings}})
            endpoint = await database.start(cluster, wanted, self._folder / "here" / f"{self._trials}.log")

            async def sql(statement: str, name: str = names[0]) -> str:
                dsn = endpoint.dsn.replace(machines[0].address, f"127.0.0.{ord(name)}")
                return await database._sql(cluster, replace(endpoint, dsn=dsn), statement)

            yield sql
            await database.stop(cluster)
        finally:
            await machines[0].remote.end_all()  # type: ignore[attr-defined]  # of an SshRemote
            for machine in machines:
                await machine.remote.close()  # type: ignore[attr-defined]


SMALL_LOG = DatabaseSettings(
    connections=4, settings={"shared_buffers": "16MB", "max_wal_size": "32MB", "min_wal_size": "32MB"}
)
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
STANDBYS = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'"


async def forget_the_log(sql: Callable[[str], Awaitable[str]]) -> None:
    """Writes so much that the primary recycles the log that was current before."""
    await sql("CREATE TABLE IF NOT EXISTS more (x int)")
    for _ in range(4):
        await sql("INSERT INTO more VALUES (1)")
        await sql("SELECT pg_switch_wal()")
        await sql("CHECKPOINT")


@pytest.mark.slow
def test_machines_of_several_configurations_serve_each_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One primary alone, then with two standbys, then another one: no folder is taken for what it is not."""
    monkeypatch.setattr(postgres_remote, "STANDBYS_TIMEOUT_S", 10.0)

    async def scenario(machines: Machines) -> None:
        async with machines.up("abc") as sql:
            await sql("CREATE TABLE t AS SELECT 7 AS x")
            made = (machines.root("b") / "data/backup_label.old").stat().st_mtime_ns
        async with machines.up("abc") as sql:  # nothing is copied again without need
            assert await sql(STANDBYS) == "2"
            assert (machines.root("b") / "data/backup_label.old").stat().st_mtime_ns == made
        async with machines.up("a") as sql:
            await forget_the_log(sql)
        async with machines.up("abc") as sql:
            assert await sql(STANDBYS) == "2"
            assert await sql("SELECT x FROM t") == "7"  # the primary's data sets are kept
        async with machines.up("bc") as sql:
            await sql("CREATE TABLE mine AS SELECT 8 AS x")
            assert await sql(STANDBYS) == "1"

    with sshd(tmp_path / "sshd") as running:
        asyncio.run(scenario(Machines(running.address, tmp_path)))


@pytest.mark.slow
def test_with_one_standby_a_commit_waits_for_it_until_its_readers_see_it(tmp_path: Path) -> None:
    async def scenario(machines: Machines) -> None:
        async with machines.up("ab", synchronous_commit="remote_apply") as sql:
            assert await sql("SELECT state || sync_state FROM pg_stat_replication") == "streamingquorum"
            assert await sql("SHOW synchronous_standby_names") == 'ANY 1 ("b")'
            await sql("CREATE TABLE t (x int)")
            for number in range(10):
                await sql(f"INSERT INTO t VALUES ({number})")  # noqa: S608 - a number
                assert await sql("SELECT max(x) || '|' || pg_is_in_recovery() FROM t", "b") == f"{number}|true"
            await sql("SELECT pg_wal_replay_pause()", "b")
            commit = asyncio.ensure_future(sql("INSERT INTO t VALUES (99)"))
            async with asyncio.timeout(30):
                while await sql(WAITING) != "1":  # noqa: ASYNC110 - the server sends no event
                    await asyncio.sleep(0.05)
            assert not commit.done()
            await sql("SELECT pg_wal_replay_resume()", "b")
            await commit

    with sshd(tmp_path / "sshd") as running:
        asyncio.run(scenario(Machines(running.address, tmp_path)))


@pytest.mark.slow
def test_a_standby_that_fell_behind_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_remote, "STANDBYS_TIMEOUT_S", 5.0)

    async def scenario(machines: Machines) -> None:
        async with machines.up("ab"):
            known = (machines.root("a") / "standbys").read_text()
        async with machines.up("a") as sql:
            await forget_the_log(sql)
        (machines.root("a") / "standbys").write_text(known)  # as if the standby had been away during a trial of both
        async with machines.up("ab") as sql:
            assert await sql(STANDBYS) == "1"

    with sshd(tmp_path / "sshd") as running:
        asyncio.run(scenario(Machines(running.address, tmp_path)))


def test_a_server_of_this_machine_is_not_found_again(tmp_path: Path) -> None:
    database = postgres({})
    machine = this_machine(tmp_path)
    with pytest.raises(TargetLost, match="stopped together with the nephoscope that started it"):
        asyncio.run(database.attach(Cluster("k", (machine,), machine), SETTINGS, tmp_path / "log"))
    users = replace(machine, address="127.0.0.1")
    settings = DatabaseSettings(dsn="postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(Exception, match="does not answer"):
        asyncio.run(database.attach(Cluster("k", (users,), users), settings, tmp_path / "log"))
