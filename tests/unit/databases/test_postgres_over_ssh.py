"""PostgreSQL on a host over SSH: found again by a controller that did not start it."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.databases.postgres import PostgresDatabase
from nephoscope.databases.postgres_binaries import embedded_folder, find_binaries
from nephoscope.errors import TargetLost
from nephoscope.machines.remote import MachineHandle
from nephoscope.machines.ssh import SshRemote
from nephoscope.machines.ssh_link import SshAddress
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs
from tests.support.sshd import sshd

pytestmark = needs("postgres")
SETTINGS = DatabaseSettings(connections=4, settings={"shared_buffers": "16MB", "fsync": "off"})


def a_controllers_view(address: SshAddress, folder: Path) -> tuple[PostgresDatabase, Cluster]:
    """A database that knows nothing yet, and the host as the attempt t-1 sees it."""
    remote = SshRemote("db", address, folder=str(folder / "ours"), session="t-1")
    machine = MachineHandle("db", remote, "127.0.0.1", (), str(folder / "data"))
    return PostgresDatabase(lambda: find_binaries(embedded_folder()), {}), Cluster("s/c/t-1", (machine,), machine)


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
        with pytest.raises(TargetLost, match="is not up any more"):
            await third.attach(later, SETTINGS, log)

    with sshd(tmp_path / "sshd") as running:
        asyncio.run(scenario(running.address))


def test_a_server_of_this_machine_is_not_found_again(tmp_path: Path) -> None:
    database = PostgresDatabase(lambda: find_binaries(embedded_folder()), {})
    machine = this_machine(tmp_path)
    with pytest.raises(TargetLost, match="ends with its controller"):
        asyncio.run(database.attach(Cluster("k", (machine,), machine), SETTINGS, tmp_path / "log"))
    users = replace(machine, address="127.0.0.1")
    settings = DatabaseSettings(dsn="postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(Exception, match="does not answer"):
        asyncio.run(database.attach(Cluster("k", (users,), users), settings, tmp_path / "log"))
