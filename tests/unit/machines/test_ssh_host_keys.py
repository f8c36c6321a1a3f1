"""Which host keys are trusted, against a real sshd: what known_hosts and ~/.ssh/config say holds as it does for ssh."""

import asyncio
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.machines.remote import Command
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.host_keys import HostKeyCheck
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.model.errors import EnvironmentProblem, HostKeyRefused
from nephoscope.run.clock import SystemClock
from tests.support.sshd import Server, make_key, sshd


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def ssh_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`~/.ssh` of a user who has no other home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".ssh"
    folder.mkdir(mode=0o700)
    return folder


def as_ssh(server: Server) -> SshAddress:
    return replace(server.address, user_config=True)


def place(server: Server) -> str:
    """How known_hosts names it."""
    return f"[127.0.0.1]:{server.address.port}"


def public(file: Path) -> str:
    return " ".join(file.read_text().split()[:2])


def enter(address: SshAddress, folder: Path) -> bytes:
    async def scenario() -> bytes:
        remote = SshRemote("db1", address, SystemClock(), cpus=[0], folder=str(folder / "there"), patience_s=0)
        try:
            given = Command(["printenv", "PGPASSWORD"], timeout_s=20, environment={"PGPASSWORD": "hush"})
            return (await remote.execute(given)).stdout
        finally:
            await remote.close()

    return asyncio.run(scenario())


def logins(server: Server) -> int:
    return (server.folder / "sshd.log").read_text().count("Accepted")


def test_a_key_in_known_hosts_is_trusted_also_where_its_name_is_hashed(
    server: Server, tmp_path: Path, ssh_folder: Path
) -> None:
    known = ssh_folder / "known_hosts"
    known.write_text(f"{place(server)} {server.host_key}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known)], check=True, capture_output=True)
    assert place(server) not in known.read_text()
    assert enter(as_ssh(server), tmp_path) == b"hush\n"


def test_another_key_than_that_of_known_hosts_is_refused_before_anything_is_sent(
    server: Server, tmp_path: Path, ssh_folder: Path
) -> None:
    make_key(tmp_path / "other")
    (ssh_folder / "known_hosts").write_text(f"{place(server)} {public(tmp_path / 'other.pub')}\n")
    for strict in ("yes", "no"):
        (ssh_folder / "config").write_text(f"Host *\n  StrictHostKeyChecking {strict}\n")
        before = logins(server)
        with pytest.raises(HostKeyRefused, match="is not the one in") as told:
            enter(as_ssh(server), tmp_path)
        assert f"ssh-keygen -R '{place(server)}'" in told.value.hint
        assert logins(server) == before
    assert not (tmp_path / "there").exists()


def test_an_unknown_host_is_refused_with_its_fingerprint_and_what_to_do(
    server: Server, tmp_path: Path, ssh_folder: Path
) -> None:
    shown = subprocess.run(
        ["ssh-keygen", "-lf", str(server.folder / "host_key.pub")], check=True, capture_output=True, text=True
    ).stdout.split()[1]
    before = logins(server)
    with pytest.raises(HostKeyRefused, match=r"is not known: it is not in known_hosts, which does not exist") as told:
        enter(as_ssh(server), tmp_path)
    assert shown in told.value.message
    assert "`host_keys`" in told.value.hint
    assert logins(server) == before


def test_the_users_config_decides_as_it_does_for_ssh(server: Server, tmp_path: Path, ssh_folder: Path) -> None:
    config = ssh_folder / "config"
    accept = f"Host db1\n  HostName 127.0.0.1\n  Port {server.address.port}\n"
    by_name = replace(as_ssh(server), host="db1", port=None)
    config.write_text(f"{accept}  StrictHostKeyChecking accept-new\n")
    assert enter(by_name, tmp_path) == b"hush\n"
    (tmp_path / "lab_hosts").write_text(f"the-lab {server.host_key}\n")
    config.write_text(
        f"{accept}  UserKnownHostsFile ~/lab_hosts\n  HostKeyAlias the-lab\n  StrictHostKeyChecking yes\n"
    )
    assert enter(by_name, tmp_path) == b"hush\n"
    config.write_text("Match \n")
    with pytest.raises(EnvironmentProblem, match=r"cannot be reached: .*config line 1"):
        enter(by_name, tmp_path)


def test_of_the_systems_config_what_it_says_about_host_keys_holds_behind_the_users(
    server: Server, tmp_path: Path, ssh_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, hosts = tmp_path / "ssh_config", tmp_path / "all_hosts"
    hosts.write_text(f"{place(server)} {server.host_key}\n")
    system.write_text(f"Host *\n  GlobalKnownHostsFile {hosts}\n  Ciphers nobody-knows-it@example\n")
    defaults = HostKeyCheck.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "system_config", system)
    assert enter(as_ssh(server), tmp_path) == b"hush\n"
    (ssh_folder / "config").write_text(f"Host *\n  GlobalKnownHostsFile {tmp_path}/none\n")
    with pytest.raises(HostKeyRefused, match="is not known"):
        enter(as_ssh(server), tmp_path)
    (ssh_folder / "config").unlink()
    system.write_text(f"Match \nHost *\n  GlobalKnownHostsFile {hosts}\n")
    with pytest.raises(HostKeyRefused, match="is not known"):
        enter(as_ssh(server), tmp_path)


def test_a_revoked_key_of_known_hosts_is_refused(server: Server, tmp_path: Path, ssh_folder: Path) -> None:
    known = ssh_folder / "known_hosts"
    known.write_text(f"{place(server)} {server.host_key}\n@revoked * {server.host_key}\n")
    with pytest.raises(HostKeyRefused, match="revoked"):
        enter(as_ssh(server), tmp_path)
