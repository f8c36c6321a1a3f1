"""How a machine that comes up is entered, on a real sshd; what its boot script would do, a test does meanwhile."""

import asyncio
import getpass
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.machines.remote import Command
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.model.errors import EnvironmentProblem, HostKeyRefused, InputError, MachineLost
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.cloud.provider import CloudMachine, Life
from nephoscope.providers.cloud.ssh import SshConnect
from nephoscope.run.clock import FakeClock
from nephoscope.store import scratch
from nephoscope.study.model import Machine
from tests.support.made_cloud import request_of
from tests.support.sshd import Server, sshd

MACHINE = CloudMachine("database-1", "database", "i-1", Life.RUNNING, "a", "127.0.0.1", "10.0.0.7")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with sshd(tmp_path / "sshd") as running:
        (running.folder / "authorized_keys").unlink()  # its boot script brings the key
        yield running


class Booting(FakeClock):
    """Something happens on the machine at each look."""

    def __init__(self, steps: list[Callable[[], object]]) -> None:
        super().__init__()
        self._steps = steps

    def elapse(self, seconds: float) -> None:
        super().elapse(seconds if self._steps else 200.0)  # a few more looks: on a busy machine one may fail
        if self._steps:
            self._steps.pop(0)()


def connect(server: Server, path: Path, steps: list[Callable[[], object]]) -> SshConnect:
    port, mark = server.address.port, str(path / "boot")
    return SshConnect([], Booting(steps), port=port, boot_mark=mark, folder=str(path / "there"))


def request(path: Path) -> ClusterRequest:
    cloud = {"image": "ami-1", "ingress": "203.0.113.7/32", "user": getpass.getuser()}
    return replace(request_of(cloud=cloud), scratch=path / "scratch", log_dir=path / "raw" / "logs")


def let_in(server: Server, key: str) -> None:
    (server.folder / "authorized_keys").write_text(f"{key}\n")


def test_a_machine_is_entered_once_its_script_brought_the_key_and_ended(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        key = await connect(server, tmp_path, []).key(tmp_path / "scratch")
        steps: list[Callable[[], object]] = [
            lambda: None,
            lambda: let_in(server, key),
            lambda: (tmp_path / "boot.log").write_text("+ mkfs.ext4\n"),
            lambda: (tmp_path / "boot").write_text("ready\n"),
        ]
        machine = await connect(server, tmp_path, steps)(
            MACHINE, Machine(cpus=1, local_ssds=2, disks="apart"), request(tmp_path)
        )
        assert steps == []
        assert machine.more_data_dirs == ("/mnt/data-2/nephoscope/data",)
        assert (machine.name, machine.address, machine.cpus) == ("database-1", "10.0.0.7", (0,))
        assert isinstance(machine.remote, SshRemote)
        said = await machine.remote.execute(Command(["echo", "here"], timeout_s=10))
        assert said.stdout == b"here\n"
        await machine.remote.close()

    asyncio.run(scenario())
    assert (tmp_path / "raw/logs/boot-database-1.log").read_text() == "+ mkfs.ext4\n"


def test_the_host_key_of_a_machine_is_kept_as_long_as_it_lives(server: Server, tmp_path: Path) -> None:
    """A second controller, which knows only the results folder, meets another server at the machine's address."""

    async def enter(there: Server, machine: CloudMachine) -> None:
        known = connect(there, tmp_path, [])
        let_in(there, await known.key(tmp_path / "scratch"))
        (tmp_path / "boot").write_text("ready\n")
        entered = await known(machine, Machine(), request(tmp_path))
        assert isinstance(entered.remote, SshRemote)
        await entered.remote.close()

    asyncio.run(enter(server, MACHINE))
    asyncio.run(enter(server, MACHINE))
    with sshd(tmp_path / "another") as another:
        with pytest.raises(HostKeyRefused, match=r"the host key of database-1 \(i-1\) changed since it was created"):
            asyncio.run(enter(another, MACHINE))
        asyncio.run(enter(another, replace(MACHINE, id="i-2")))  # a later machine of that name


def test_a_copied_folder_reaches_the_machines_that_exist_and_new_ones_get_a_key_of_its_own(
    server: Server, tmp_path: Path
) -> None:
    async def enter(known: SshConnect) -> None:
        entered = await known(MACHINE, Machine(), request(tmp_path))
        assert isinstance(entered.remote, SshRemote)
        await entered.remote.close()

    async def scenario() -> None:
        known = connect(server, tmp_path, [])
        (tmp_path / "boot").write_text("ready\n")
        before = await known.key(tmp_path / "scratch")
        assert not scratch.claim(tmp_path / "scratch"), "as of a folder that was copied to here"
        let_in(server, before)
        after = await known.key(tmp_path / "scratch")
        assert after != before
        await enter(known)
        let_in(server, after)
        await enter(known)

    asyncio.run(scenario())


def test_what_the_script_failed_of_is_told(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        known = connect(server, tmp_path, [])
        let_in(server, await known.key(tmp_path / "scratch"))
        (tmp_path / "boot").write_text("E: Unable to locate package fio\n")
        (tmp_path / "boot.log").write_text("+ apt-get install fio\nE: Unable to locate package fio\n")
        with pytest.raises(EnvironmentProblem, match="Unable to locate package fio"):
            await known(MACHINE, Machine(), request(tmp_path))

    asyncio.run(scenario())
    assert (tmp_path / "raw/logs/boot-database-1.log").read_text().startswith("+ apt-get install fio\n")


def test_a_script_that_does_not_end_leaves_what_it_said(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        known = connect(server, tmp_path, [])
        let_in(server, await known.key(tmp_path / "scratch"))
        (tmp_path / "boot.log").write_text("+ apt-get update\n")
        with pytest.raises(MachineLost, match="is not usable after 900 s"):
            await known(MACHINE, Machine(), request(tmp_path))

    asyncio.run(scenario())
    assert (tmp_path / "raw/logs/boot-database-1.log").read_text() == "+ apt-get update\n"


def test_a_machine_that_lets_nobody_in_is_lost(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        known = connect(server, tmp_path, [])
        await known.key(tmp_path / "scratch")
        with pytest.raises(MachineLost, match=r"is not usable after 900 s: .* rejected the login"):
            await known(MACHINE, Machine(), request(tmp_path))

    asyncio.run(scenario())


def test_a_machine_of_fewer_cpus_than_asked_for_is_refused(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        known = connect(server, tmp_path, [])
        let_in(server, await known.key(tmp_path / "scratch"))
        (tmp_path / "boot").write_text("ready\n")
        with pytest.raises(InputError):
            await known(MACHINE, Machine(cpus=4096), request(tmp_path))

    asyncio.run(scenario())


def test_a_machine_without_an_address_from_outside_says_what_to_do(tmp_path: Path) -> None:
    inside = replace(MACHINE, public_address=None)
    with pytest.raises(EnvironmentProblem, match="no public address") as told:
        asyncio.run(SshConnect([], FakeClock())(inside, Machine(), request(tmp_path)))
    assert "subnet" in told.value.hint


def test_a_study_has_one_key_whoever_asks_first_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    async def several() -> list[str]:
        return await asyncio.gather(*(SshConnect([], FakeClock()).key(tmp_path) for _ in range(8)))

    keys = set(asyncio.run(several()))
    assert len(keys) == 1
    assert keys.pop().startswith("ssh-ed25519 ")
    assert [file.name for file in (tmp_path / "ssh").iterdir()] == ["id_ed25519"]
    assert (tmp_path / "ssh/id_ed25519").stat().st_mode & 0o777 == 0o600
