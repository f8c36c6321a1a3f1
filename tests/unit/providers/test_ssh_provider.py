"""Leases and hosts, on a real sshd."""

import asyncio
import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.machines.doctor import Health
from nephoscope.machines.remote import Command
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.model.errors import EnvironmentProblem, InputError, MachineInUse
from nephoscope.providers import ssh
from nephoscope.providers.base import ClusterRequest, Wanted
from nephoscope.providers.ssh import LEASE_S, SshProvider, hosts_of, parse_destination
from nephoscope.run.clock import SystemClock
from nephoscope.study.model import Configuration
from nephoscope.study.provisioning import Ssh
from tests.support.sshd import Server, Wire, free_port, proxy_command, sshd


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


def request_of(
    server: Server, folder: Path, study: str, hosts: dict[str, int | None] | None = None, **changes: Any
) -> ClusterRequest:
    """Hosts by name and port; the last of several is the load's. All are this machine."""
    address = server.address
    folder.mkdir(exist_ok=True)
    ports = hosts or {"db1": address.port}
    lines = [f'{name} = "{address.user}@{address.host}:{port}"' for name, port in ports.items()]
    (folder / "hosts.toml").write_text("\n".join(["[hosts]", *lines, ""]))
    *database, load = ports if len(ports) > 1 else [*ports, None]
    configuration = Configuration.model_validate(
        {
            "name": "mine",
            "provider": "ssh",
            "database_machine": {"hosts": database, "cpus": 1},
            "load_machine": load and {"hosts": [load], "cpus": 1},
            "ssh": {
                "key_file": str(address.key_file),
                "host_keys": dict.fromkeys(ports, server.host_key),
                "inventory": str(folder / "hosts.toml"),
                "folder": str(folder / "there"),
            },
        }
    )
    return ClusterRequest(study, configuration, folder, **changes)


@pytest.mark.root
def test_a_link_of_another_user_is_not_taken_for_a_folder_of_ours(server: Server, tmp_path: Path) -> None:
    (tmp_path / "ours" / "data").mkdir(parents=True)
    request = request_of(server, tmp_path / "mine", "mine")
    link = tmp_path / "mine" / "there"
    link.symlink_to(tmp_path / "ours")
    os.lchown(link, 65534, 65534)
    with pytest.raises(EnvironmentProblem, match="belongs to somebody else"):
        asyncio.run(SshProvider([], SystemClock()).create(request))
    assert [file.name for file in (tmp_path / "ours").iterdir()] == ["data"]


@pytest.mark.root
def test_in_a_folder_of_another_user_nothing_is_found_run_or_deleted(server: Server, tmp_path: Path) -> None:
    request = request_of(server, tmp_path / "mine", "mine")
    there, precious = tmp_path / "mine" / "there", tmp_path / "precious"
    (precious / "thesis").mkdir(parents=True)
    for folder in (there, there / "lease", there / "ours"):
        folder.mkdir()
        os.chown(folder, 65534, 65534)
    (there / "lease/owner").write_text("mine")
    (there / "lease/cluster").write_text("mine/mine")
    (there / "ours/jobs").symlink_to(precious)

    async def scenario() -> None:
        provider = SshProvider([], SystemClock())
        assert await provider.find("mine", [request.configuration]) == []
        assert await provider.list("mine") == []
        ((found,),) = [one.findings for one in await provider.examine([Wanted(request.configuration)])]
        assert (found.what, found.health) == ("folder", Health.BAD)
        assert "belongs to somebody else" in found.found
        there.rename(tmp_path / "of others")
        cluster = await provider.create(request)
        there.rename(tmp_path / "of ours")
        (tmp_path / "of others").rename(there)
        await provider.delete(cluster.key)

    asyncio.run(scenario())
    assert [file.name for file in precious.iterdir()] == ["thesis"]


def test_nothing_is_written_to_a_folder_that_others_may_write_to(server: Server, tmp_path: Path) -> None:
    """They could lay a link to any file of ours where the lease is written."""
    there, precious = tmp_path / "there", tmp_path / "precious"
    precious.write_text("thesis")
    (there / "lease").mkdir(parents=True)
    (there / "lease/cluster").symlink_to(precious)
    (there / "lease/owner").write_text("dead")
    expire(there / "lease/owner")
    there.chmod(0o707)
    with pytest.raises(EnvironmentProblem, match="belongs to somebody else, or others may write to it"):
        asyncio.run(SshProvider([], SystemClock()).create(request_of(server, tmp_path, "mine")))
    assert precious.read_text() == "thesis"


def test_who_may_only_read_a_folder_keeps_nobody_waiting(server: Server, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()

    async def scenario() -> None:
        provider = SshProvider([], SystemClock())
        cluster = await provider.create(request_of(server, tmp_path, "mine"))
        await provider.delete(cluster.key)

    readable = os.open(there, os.O_RDONLY)
    try:
        fcntl.flock(readable, fcntl.LOCK_EX)
        asyncio.run(scenario())
    finally:
        os.close(readable)
    assert (there / "lock").stat().st_mode & 0o077 == 0


def test_a_lease_of_the_future_ends_as_any_other(server: Server, tmp_path: Path) -> None:
    """The host's clock was ahead when it was taken, and was set back."""
    owner = tmp_path / "there/lease/owner"
    owner.parent.mkdir(parents=True)
    owner.write_text("dead")
    in_ten_years = time.time() + 10 * 365 * 86_400
    os.utime(owner, (in_ten_years, in_ten_years))

    async def scenario() -> None:
        provider = SshProvider([], SystemClock())
        with pytest.raises(MachineInUse, match="db1 is leased by dead, last heard from 0 s ago"):
            await provider.create(request_of(server, tmp_path, "mine"))
        assert owner.stat().st_mtime <= time.time() + 1, "if its holder lives, it has been renewed in five minutes"
        expire(owner)
        await provider.delete((await provider.create(request_of(server, tmp_path, "mine"))).key)

    asyncio.run(scenario())


def test_a_host_that_answers_a_question_with_a_flood_is_not_listened_to(server: Server, tmp_path: Path) -> None:
    request = request_of(server, tmp_path, "mine")
    lease = tmp_path / "there/lease"
    lease.mkdir(parents=True)
    (lease / "owner").write_text("mine")
    (lease / "cluster").write_text("mine/" + "x" * 2_000_000)

    async def scenario() -> None:
        provider = SshProvider([], SystemClock())
        (silent,) = await provider.find("mine", [request.configuration])
        assert "sent more than 65,536 bytes" in silent
        (lease / "owner").write_text("z" * 60_000)
        with pytest.raises(MachineInUse, match=r"db1 is leased by z{250,300};"):
            await provider.create(request)

    asyncio.run(scenario())


def expire(owner: Path) -> None:
    long_ago = time.time() - LEASE_S - 10
    os.utime(owner, (long_ago, long_ago))


def test_a_host_serves_one_study_at_a_time(server: Server, tmp_path: Path) -> None:
    mine, yours = request_of(server, tmp_path, "mine"), request_of(server, tmp_path, "yours")
    owner = tmp_path / "there/lease/owner"

    async def scenario() -> None:
        first, second = (SshProvider([], SystemClock()) for _ in range(2))
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
        expire(owner)
        taken = await first.create(mine)  # the other one was not heard of
        await taken.load.remote.start(["sleep", "60"], log=tmp_path / "log")
        jobs = len(list((tmp_path / "there/ours/jobs").iterdir()))
        await second.delete("yours/mine")
        assert owner.read_text() == "mine"  # who lost a lease gives none back, and ends nothing of its next holder's
        assert len(list((tmp_path / "there/ours/jobs").iterdir())) == jobs
        await first.delete(taken.key)

    asyncio.run(scenario())


def test_clusters_of_one_study_do_not_share_a_host_that_has_two_names(server: Server, tmp_path: Path) -> None:
    first, second = (replace(request_of(server, tmp_path, "mine"), trial=name, attempt=1) for name in ("one", "other"))

    async def scenario() -> None:
        provider, successor = SshProvider([], SystemClock()), SshProvider([], SystemClock())
        made = await asyncio.gather(provider.create(first), provider.create(second), return_exceptions=True)
        (refused,) = [answer for answer in made if isinstance(answer, BaseException)]
        assert isinstance(refused, MachineInUse)
        assert "for which it has another name" in refused.message
        dead = next(answer for answer in made if not isinstance(answer, BaseException))
        other = second if dead.key == first.key else first
        taken = await successor.create(other)  # what a dead controller left is taken over
        await provider.delete(dead.key)
        await successor.delete(taken.key)

    asyncio.run(scenario())


def test_two_studies_that_find_the_same_expired_lease_do_not_both_take_it(server: Server, tmp_path: Path) -> None:
    names = [f"study-{number}" for number in range(8)]
    requests = [request_of(server, tmp_path, name) for name in names]

    async def scenario() -> None:
        for _ in range(3):
            lease = tmp_path / "there/lease"
            lease.mkdir(parents=True, exist_ok=True)
            (lease / "owner").write_text("dead")
            expire(lease / "owner")
            providers = [SshProvider([], SystemClock()) for _ in requests]
            pairs = zip(providers, requests, strict=True)
            found = await asyncio.gather(*(one.create(it) for one, it in pairs), return_exceptions=True)
            (taken,) = [one for one in found if not isinstance(one, BaseException)]
            assert {type(one) for one in found if one is not taken} == {MachineInUse}
            assert taken.key == f"{(lease / 'owner').read_text()}/mine"
            for one in providers:
                await one.delete(taken.key)

    asyncio.run(scenario())


def test_who_lost_a_lease_is_told_so_and_starts_nothing_more(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, yours = request_of(server, tmp_path, "mine"), request_of(server, tmp_path, "yours")
    owner = tmp_path / "there/lease/owner"

    async def scenario() -> None:
        first, second = (SshProvider([], SystemClock()) for _ in range(2))
        cluster = await first.create(mine)
        remote = cluster.load.remote
        assert isinstance(remote, SshRemote)
        assert await first.why_lost(mine) is None
        expire(owner)
        taken = await second.create(yours)
        with pytest.raises(MachineInUse, match="another study took db1"):
            await first.create(mine)
        assert isinstance(await first.why_lost(mine), MachineInUse)
        theirs = asyncio.create_task(taken.load.remote.execute(Command(["sleep", "2"], timeout_s=60)))
        ours = asyncio.create_task(remote.execute(Command(["sleep", "60"], timeout_s=60)))
        await asyncio.sleep(0.5)
        monkeypatch.setattr(ssh, "RENEW_S", 0)
        renewing = asyncio.create_task(ssh._renew([remote], str(tmp_path / "there"), "mine", SystemClock()))
        with pytest.raises(MachineInUse, match="another study took db1"):
            await ours
        with pytest.raises(MachineInUse, match="another study took db1"):
            await remote.execute(Command(["true"], timeout_s=60))
        renewing.cancel()
        assert (await theirs).exit_code == 0
        await first.delete(cluster.key)
        assert owner.read_text() == "yours"
        await second.delete(taken.key)

    asyncio.run(scenario())


def test_hosts_are_in_the_zones_of_the_study_in_turn(server: Server, tmp_path: Path) -> None:
    port = server.address.port
    request = request_of(server, tmp_path, "mine", dict.fromkeys(("db1", "db2", "db3", "load"), port))
    there = request.configuration.database_machine.model_copy(update={"zones": ["a", "b"]})
    changes = {"database_machine": there, "region": "berlin"}
    request = replace(request, configuration=request.configuration.model_copy(update=changes))

    async def scenario() -> None:
        provider = SshProvider([], SystemClock())
        cluster = await provider.create(request)
        assert [(one.name, one.region, one.zone) for one in cluster.machines] == [
            ("db1", "berlin", "a"),
            ("db2", "berlin", "b"),
            ("db3", "berlin", "a"),
            ("load", "berlin", ""),
        ]
        assert cluster.zones == ("a", "b")
        await provider.delete(cluster.key)

    asyncio.run(scenario())


def test_the_next_attempt_ends_what_the_last_one_left_and_the_same_one_finds_it(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        died, same, later = (
            SshProvider([], SystemClock()),
            SshProvider([], SystemClock()),
            SshProvider([], SystemClock()),
        )
        first = await died.create(request_of(server, tmp_path, "mine", trial="t", attempt=1))
        await first.load.remote.start(["sleep", "60"], log=tmp_path / "log")
        jobs = tmp_path / "there/ours/jobs"
        assert list(jobs.glob("t-1.*"))
        await same.create(request_of(server, tmp_path, "mine", trial="t", attempt=1))
        assert any(not (job / "rc").exists() for job in jobs.glob("t-1.*"))
        again = await later.create(request_of(server, tmp_path, "mine", trial="t", attempt=2))
        assert not list(jobs.glob("t-1.*"))
        await later.delete(again.key)

    asyncio.run(scenario())


def test_a_controller_finds_what_one_that_died_left_and_frees_it(server: Server, tmp_path: Path) -> None:
    """By `find`, `list` and `delete` alone: nothing of the first controller is remembered."""
    (tmp_path / "b").mkdir()
    mine = request_of(server, tmp_path, "mine", trial="t", attempt=1)
    idle = request_of(server, tmp_path / "b", "mine").configuration
    away = request_of(replace(server, address=replace(server.address, port=free_port())), tmp_path / "c", "mine")
    jobs = tmp_path / "there/ours/jobs"

    async def scenario() -> None:
        died, stranger, successor = (
            SshProvider([], SystemClock()),
            SshProvider([], SystemClock()),
            SshProvider([], SystemClock()),
        )
        first = await died.create(mine)
        await first.load.remote.start(["sleep", "60"], log=tmp_path / "log")
        assert await stranger.find("yours", [mine.configuration]) == []
        assert await stranger.list("yours") == []
        (said,) = await successor.find("mine", [mine.configuration, idle, away.configuration])
        assert "cannot be reached" in said
        assert await successor.list("mine") == ["mine/mine/t-1"]
        assert not (tmp_path / "b/there").exists()  # who only looks leaves nothing
        again = await successor.create(mine)
        assert again.key == "mine/mine/t-1"
        assert any(not (job / "rc").exists() for job in jobs.glob("t-1.log.*"))
        cleaner = SshProvider([], SystemClock())
        await cleaner.find("mine", [mine.configuration])
        await cleaner.delete("mine/mine/t-1")
        assert await cleaner.list("mine") == []
        assert not jobs.exists()
        assert not (tmp_path / "there/lease").exists()
        await successor.delete(again.key)

    asyncio.run(scenario())


def test_a_host_that_is_away_keeps_no_other_from_being_freed(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        wire = Wire(server.address)
        hosts = {"a": (await wire.open()).port, "b": server.address.port}
        provider = SshProvider([], SystemClock(), patience_s=0.2)
        request = request_of(server, tmp_path, "mine", hosts=hosts)
        cluster = await provider.create(request)
        database, load = cluster.machines  # both are this one, so freeing the second is what is seen
        await load.remote.start(["sleep", "60"], log=tmp_path / "log")
        wire.cut()
        await provider.delete(cluster.key)
        assert database.name == "a"
        assert not (tmp_path / "there/ours/jobs").exists()
        assert not (tmp_path / "there/lease").exists()
        assert await provider.list("mine") == []
        await wire.close()

    asyncio.run(scenario())


def test_what_is_refused_while_hosts_are_freed_is_told_and_tried_again(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        provider = SshProvider([], SystemClock())
        cluster = await provider.create(request_of(server, tmp_path, "mine"))
        with monkeypatch.context() as patch:
            patch.setattr(SshRemote, "end_all", refuse)
            with pytest.raises(EnvironmentProblem):
                await provider.delete(cluster.key)
        assert await provider.list("mine") == [cluster.key]
        await provider.delete(cluster.key)
        assert await provider.list("mine") == []

    async def refuse(remote: SshRemote, *, keep: str = "") -> int:
        raise EnvironmentProblem("read-only file system")

    asyncio.run(scenario())


def test_where_hosts_are() -> None:
    assert parse_destination("db1", Ssh(), None) == SshAddress("db1")
    assert parse_destination("me@10.0.0.1:2222", Ssh(), None) == SshAddress("10.0.0.1", 2222, "me")
    assert parse_destination("2001:db8::1", Ssh(), None) == SshAddress("2001:db8::1")
    assert parse_destination(r"CORP\jane.doe+x@tenant@db1", Ssh(), None).user == r"CORP\jane.doe+x@tenant"
    of_a_shell = [f"a{text}b@db1" for text in "`'\";&|<>(){}$*?![]~#\u202e\u3164"]  # CVE-2023-51385
    for wrong in ("", "me@", "host:port", "-oX@db1", "a\\@db1", *of_a_shell):
        with pytest.raises(InputError, match="is not a host"):
            parse_destination(wrong, Ssh(), None)
    with pytest.raises(InputError, match="'a' appears twice"):
        hosts_of(["a", "b", "a"], Ssh())
    with pytest.raises(InputError, match="cannot read the inventory"):
        hosts_of(["a"], Ssh(inventory="no/such/file"))
    (host,) = hosts_of(["me@db:22"], Ssh(jump="gate", host_keys={"me@db:22": "ssh-ed25519 AAAA"}))
    assert host.name == "db-22"
    assert host.ssh.jump == SshAddress("gate")
    assert host.ssh.host_key == "ssh-ed25519 AAAA"


def test_a_host_by_the_alias_of_the_users_config_is_measured_alone_and_found_by_its_hostname(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    place = f"Host db_1 db_2\r\n  HostName 127.0.0.1\r\n  Port {server.address.port}\r\n"
    gate = "Host db_2\r\n  HostName only-the-gate-knows-it\r\n"
    settings = f"  User {server.address.user}\r\n  SetEnv A=1\r\n  LocalForward 45871 localhost:22\r\n"
    proxy = f"  ProxyCommand {proxy_command(tmp_path)} 127.0.0.1 {server.address.port}\r\n"
    (tmp_path / ".ssh/config").write_text(f"{gate}{place}{settings}Match host only-the-gate-knows-it\r\n{proxy}")

    def configured(host: str) -> Configuration:
        table = {"key_file": str(server.address.key_file), "host_keys": {host: server.host_key}}
        table["folder"] = str(tmp_path / "there")
        return Configuration.model_validate(
            {"name": "mine", "provider": "ssh", "database_machine": {"hosts": [host]}, "ssh": table}
        )

    async def address_of(host: str) -> str:
        provider = SshProvider([], SystemClock())
        cluster = await provider.create(ClusterRequest("mine", configured(host), tmp_path))
        await provider.delete(cluster.key)
        return cluster.load.address

    assert asyncio.run(address_of("db_1")) == "127.0.0.1"
    assert asyncio.run(address_of("db_2")) == "127.0.0.1", "nobody but itself must reach it"
