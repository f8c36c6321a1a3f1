"""CockroachDB on hosts over SSH, played by a stand-in: found again by a controller that did not start it."""

import asyncio
from pathlib import Path

import pytest

from nephoscope.databases.base import CanAttach
from nephoscope.databases.cockroachdb import database as cockroachdb
from nephoscope.databases.cockroachdb.database import CockroachDatabase
from nephoscope.machines.remote import MachineHandle
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.model.errors import TargetLost
from nephoscope.providers.base import Cluster
from nephoscope.run.clock import SystemClock
from nephoscope.study.model import Database as DatabaseSettings
from tests.support import fake_cockroach
from tests.support.local_remote import this_machine
from tests.support.sshd import sshd
from tests.unit.databases.test_cockroachdb import calls


def a_controllers_view(address: SshAddress, folder: Path) -> tuple[CockroachDatabase, Cluster]:
    """A database that knows nothing yet, and two hosts as the attempt t-1 sees them."""

    def machine(name: str, number: int) -> MachineHandle:
        remote = SshRemote(name, address, SystemClock(), folder=str(folder / name / "ours"), session="t-1")
        return MachineHandle(name, remote, f"127.0.0.{number}", (), str(folder / name / "data"))

    return CockroachDatabase(), Cluster("s/c/t-1", (machine("one", 1), machine("two", 2)), machine("load", 9))


@pytest.mark.slow
def test_the_next_controller_finds_the_servers_changes_nothing_and_stops_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cockroachdb, "_LOOK_EVERY_S", 0.02)
    program = fake_cockroach.install(tmp_path / "state", tmp_path / "own" / "cockroach")
    settings = DatabaseSettings(binary=str(program), settings={"admission.kv.enabled": "false"})
    log = tmp_path / "here" / "cockroachdb.log"
    for name in ("one", "two", "load"):
        (tmp_path / name / "data").mkdir(parents=True)

    async def scenario(address: SshAddress) -> None:
        died, cluster = a_controllers_view(address, tmp_path)
        endpoint = await died.start(cluster, settings, log)
        began = len(calls(tmp_path))
        next_one, again = a_controllers_view(address, tmp_path)
        assert isinstance(next_one, CanAttach)
        assert await next_one.attach(again, settings, log) == endpoint
        asked = calls(tmp_path)[began:]
        assert {argv[0] for argv in asked} == {"version", "sql"}
        assert {argv[-1] for argv in asked if argv[0] == "sql"} == {"--execute=SELECT 1"}
        *servers, copies = (await next_one.replication(again)).values()
        assert ({*servers}, copies.startswith("all have")) == ({"live"}, True)
        await next_one.stop(again)
        assert fake_cockroach.State(tmp_path / "state").up() == []
        third, later = a_controllers_view(address, tmp_path)
        with pytest.raises(TargetLost, match=r"s/c/t-1 is no longer running: .*connection refused"):
            await third.attach(later, settings, log)
        await third.stop(later)
        (tmp_path / "two" / "data" / "cockroach" / "cluster").write_text("another")
        with pytest.raises(TargetLost, match="the data folder of two belongs to another cluster"):
            await third.attach(later, settings, log)

    with sshd(tmp_path / "sshd") as running:
        asyncio.run(asyncio.wait_for(scenario(running.address), 60))


def test_a_server_of_this_machine_is_not_found_again(tmp_path: Path) -> None:
    machine = this_machine(tmp_path)
    cluster = Cluster("k", (machine,), machine)
    with pytest.raises(TargetLost, match="stopped together with the nephoscope that started it"):
        asyncio.run(CockroachDatabase().attach(cluster, DatabaseSettings(), tmp_path / "log"))
