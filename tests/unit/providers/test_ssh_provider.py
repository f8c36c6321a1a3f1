"""Leases and hosts, on a real sshd."""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nephoscope.errors import InputError, MachineInUse
from nephoscope.machines.ssh_link import SshAddress
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.ssh import LEASE_S, SshProvider, hosts_of, parse_destination
from nephoscope.study.model import Configuration
from nephoscope.study.places import Ssh
from tests.support.sshd import Server, sshd


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


def request_of(server: Server, folder: Path, study: str, **changes: Any) -> ClusterRequest:
    address = server.address
    (folder / "hosts.toml").write_text(f'[hosts]\ndb1 = "{address.user}@{address.host}:{address.port}"\n')
    configuration = Configuration.model_validate(
        {
            "name": "mine",
            "provider": "ssh",
            "database_machine": {"hosts": ["db1"], "cpus": 1},
            "ssh": {
                "key_file": str(address.key_file),
                "inventory": str(folder / "hosts.toml"),
                "folder": str(folder / "there"),
            },
        }
    )
    return ClusterRequest(study, configuration, folder, **changes)


def test_a_host_serves_one_study_at_a_time(server: Server, tmp_path: Path) -> None:
    mine, yours = request_of(server, tmp_path, "mine"), request_of(server, tmp_path, "yours")
    owner = tmp_path / "there/lease/owner"

    async def scenario() -> None:
        first, second = SshProvider([]), SshProvider([])
        cluster = await first.create(mine)
        assert cluster.co_located
        assert (cluster.load.name, cluster.load.address, cluster.load.cpus) == ("db1", "127.0.0.1", (0,))
        assert await first.list("mine") == ["mine/mine"]
        with pytest.raises(MachineInUse, match="db1 is leased by mine"):
            await second.create(yours)
        assert owner.read_text() == "mine"
        await first.delete(cluster.key)
        assert not owner.exists()
        await first.delete(cluster.key)
        await second.create(yours)
        long_ago = time.time() - LEASE_S - 10
        os.utime(owner, (long_ago, long_ago))
        taken = await first.create(mine)  # the other one was not heard of
        await second.delete("yours/mine")
        assert owner.read_text() == "mine"  # who lost a lease gives none back
        await first.delete(taken.key)

    asyncio.run(scenario())


def test_the_next_attempt_ends_what_the_last_one_left_and_the_same_one_finds_it(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        died, same, later = SshProvider([]), SshProvider([]), SshProvider([])
        first = await died.create(request_of(server, tmp_path, "mine", trial="t", attempt=1))
        await first.load.remote.start(["sleep", "60"], log=tmp_path / "log")
        jobs = tmp_path / "there/ours/jobs"
        assert len(list(jobs.iterdir())) > 1
        await same.create(request_of(server, tmp_path, "mine", trial="t", attempt=1))
        assert any(not (job / "rc").exists() for job in jobs.glob("t-1.*"))
        again = await later.create(request_of(server, tmp_path, "mine", trial="t", attempt=2))
        assert not list(jobs.glob("t-1.*"))
        await later.delete(again.key)

    asyncio.run(scenario())


def test_where_hosts_are() -> None:
    assert parse_destination("db1", Ssh(), None) == SshAddress("db1")
    assert parse_destination("me@10.0.0.1:2222", Ssh(), None) == SshAddress("10.0.0.1", 2222, "me")
    assert parse_destination("2001:db8::1", Ssh(), None) == SshAddress("2001:db8::1")
    for wrong in ("", "me@", "host:port"):
        with pytest.raises(InputError, match="is no host"):
            parse_destination(wrong, Ssh(), None)
    with pytest.raises(InputError, match="'a' stands twice"):
        hosts_of(["a", "b", "a"], Ssh())
    with pytest.raises(InputError, match="cannot read the inventory"):
        hosts_of(["a"], Ssh(inventory="no/such/file"))
    (host,) = hosts_of(["me@db:22"], Ssh(jump="gate", host_keys={"me@db:22": "ssh-ed25519 AAAA"}))
    assert host.name == "db-22"
    assert host.ssh.jump == SshAddress("gate")
    assert host.ssh.host_key == "ssh-ed25519 AAAA"
