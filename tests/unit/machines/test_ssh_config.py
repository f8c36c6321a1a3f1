"""What ~/.ssh/config may decide and what it may not, against a real sshd that would accept everything it asks for."""

import asyncio
import inspect
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import asyncssh
import pytest
from asyncssh.config import SSHClientConfig
from asyncssh.stream import SSHUNIXStreamSession
from typing_extensions import override

from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.config import OPTIONS, OVERRULED, config_of, route
from nephoscope.machines.ssh.link import Link
from nephoscope.model.errors import EnvironmentProblem, MachineUnreachable
from nephoscope.run.clock import SystemClock
from tests.support.sshd import Server, free_port, proxy_command, sshd

WAYS = ("ProxyCommand none", "ProxyJump none", "ProxyCommand nc bastion 22", "ProxyJump gate")
WILLING = {
    "AcceptEnv": "*",
    "AllowAgentForwarding": "yes",
    "X11Forwarding": "yes",
    "PermitTTY": "yes",
    "AllowTcpForwarding": "yes",
    "PermitUserEnvironment": "yes",
    "LogLevel": "DEBUG1",
}
GREEDY = """
  ForwardAgent yes
  ForwardX11 yes
  ForwardX11Trusted yes
  SendEnv PG* SECRET
  SetEnv INJECTED=1
  RequestTTY force
  RemoteCommand echo hijacked
  Compression yes
  GSSAPIDelegateCredentials yes
  LocalForward 45871 localhost:22
  RemoteForward 45872 localhost:22
  DynamicForward 45873
  PermitLocalCommand yes
  LocalCommand touch local-command-ran
  ConnectTimeout 1
  ServerAliveInterval 0
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with sshd(tmp_path_factory.mktemp("sshd"), WILLING) as running:
        yield running


@pytest.fixture
def ssh_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`~/.ssh` of a user who has no other home, and secrets in the environment."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PGPASSWORD", "hush-4711")
    monkeypatch.setenv("SECRET", "hush-4712")
    folder = tmp_path / ".ssh"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def agent(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A real agent with the user's key."""
    socket = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if socket.exists():
                break
            subprocess.run(["sleep", "0.02"], check=True)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        subprocess.run(["ssh-add", "-q", str(server.folder / "user_key")], check=True)
        yield socket
    finally:
        process.kill()
        process.wait()


def entry(server: Server, alias: str, more: str = "") -> str:
    return (
        f"Host {alias}\n  HostName 127.0.0.1\n  Port {server.address.port}\n  StrictHostKeyChecking accept-new\n{more}"
    )


def answer(address: SshAddress, command: str) -> tuple[int, bytes, bytes] | None:
    async def scenario() -> tuple[int, bytes, bytes] | None:
        link = Link(address, SystemClock())
        try:
            return await link.ask(command, timeout_s=20)
        finally:
            await link.close()

    return asyncio.run(scenario())


def printed(host: str, command: str) -> bytes:
    reply = answer(SshAddress(host), command)
    assert reply is not None
    return reply[1]


def sessions_that_asked(server: Server, what: str, since: int) -> int:
    return (server.folder / "sshd.log").read_text()[since:].count(what)


def log_end(server: Server) -> int:
    return len((server.folder / "sshd.log").read_text())


@pytest.mark.usefixtures("agent")
def test_a_host_gets_neither_the_agent_nor_the_environment_nor_a_terminal_whatever_the_users_config_says(
    server: Server, ssh_folder: Path
) -> None:
    (ssh_folder / "config").write_text(entry(server, "greedy", GREEDY))
    since = log_end(server)
    reply = answer(SshAddress("greedy"), 'env; echo "agent=$SSH_AUTH_SOCK display=$DISPLAY"; tty')
    assert reply is not None
    exit_code, out, _ = reply
    assert exit_code == 1, "tty fails where there is no terminal"
    assert b"agent= display=\n" in out
    assert b"hush-471" not in out
    assert b"INJECTED" not in out
    assert b"hijacked" not in out
    for request in ("auth-agent-req", "x11-req", "pty-req", " env ", "tcpip-forward"):
        assert sessions_that_asked(server, request, since) == 0, request
    assert sessions_that_asked(server, "Enabling compression", since) == 0
    assert not list(Path.cwd().glob("local-command-ran"))


@pytest.mark.usefixtures("agent")
def test_files_are_copied_whatever_command_the_users_config_wants_to_run(
    server: Server, ssh_folder: Path, tmp_path: Path
) -> None:
    (ssh_folder / "config").write_text(entry(server, "greedy", GREEDY))
    (tmp_path / "there").write_text("content")

    async def scenario() -> bool:
        link = Link(SshAddress("greedy"), SystemClock())
        try:
            return await link.copy(
                lambda client: client.get(str(tmp_path / "there"), str(tmp_path / "here")), timeout_s=20
            )
        finally:
            await link.close()

    assert asyncio.run(scenario())
    assert (tmp_path / "here").read_text() == "content"


def test_every_option_that_asyncssh_reads_is_decided() -> None:
    known = {option for option, _ in SSHClientConfig._handlers.values()}
    assert set(OPTIONS) == known, "decide in machines/ssh/config.py what each new option may do"


def test_what_is_overruled_are_arguments_of_asyncssh() -> None:
    arguments = inspect.signature(asyncssh.SSHClientConnectionOptions.prepare).parameters
    assert set(OVERRULED) <= set(arguments)


class Nosy(asyncssh.SSHServer):
    """A jump host that reaches for the agent of whoever comes by, without having been offered it."""

    def __init__(self) -> None:
        self.reached_the_agent: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._reaching: asyncio.Task[None] | None = None
        self._connection: asyncssh.SSHServerConnection | None = None

    @override
    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn

    @override
    def begin_auth(self, username: str) -> bool:
        return False

    @override
    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        self._reaching = asyncio.create_task(self._reach())
        return True

    async def _reach(self) -> None:
        assert self._connection is not None
        try:
            await self._connection.create_agent_channel().open(SSHUNIXStreamSession)
        except asyncssh.ChannelOpenError:
            self.reached_the_agent.set_result(False)
        else:
            self.reached_the_agent.set_result(True)


@pytest.mark.usefixtures("agent")
def test_a_jump_host_of_the_users_config_cannot_reach_for_the_agent(server: Server, ssh_folder: Path) -> None:
    hops: list[Nosy] = []

    def nosy() -> Nosy:
        hops.append(Nosy())
        return hops[-1]

    async def scenario() -> tuple[bytes, bool]:
        key = asyncssh.generate_private_key("ssh-ed25519")
        hop = await asyncssh.listen("127.0.0.1", 0, server_factory=nosy, server_host_keys=[key])
        place = f"Host hop\n  HostName 127.0.0.1\n  Port {hop.get_port()}\n  StrictHostKeyChecking accept-new\n"
        jump = "  ProxyJump hop\n"
        (ssh_folder / "config").write_text(f"{place}{GREEDY}\n{entry(server, 'behind', jump)}")
        link = Link(SshAddress("behind"), SystemClock())
        try:
            reply = await link.ask("echo there", timeout_s=20)
            assert reply is not None
            return reply[1], await asyncio.wait_for(hops[0].reached_the_agent, 20)
        finally:
            await link.close()
            hop.close()

    assert asyncio.run(scenario()) == (b"there\n", False)


def test_each_hop_has_what_the_users_config_says_of_it(ssh_folder: Path) -> None:
    (ssh_folder / "config").write_text(
        """
        Host deep
          ProxyJump me@gate:2200,[::1]:2201
        Host gate
          ProxyJump ssh://outer
        Host plain
          ProxyJump none
        Match final host late
          ProxyJump gate
        """
    )
    outer, gate = SshAddress("outer"), SshAddress("gate", 2200, "me")
    deep = SshAddress("deep")
    assert route(deep) == (outer, gate, SshAddress("::1", 2201), deep)
    assert route(replace(deep, jump=SshAddress("studys"))) == (
        SshAddress("studys"),
        replace(deep, jump=SshAddress("studys")),
    )
    assert route(SshAddress("plain")) == (SshAddress("plain"),)
    assert route(SshAddress("late")) == (outer, SshAddress("gate"), SshAddress("late"))
    assert route(replace(deep, user_config=False)) == (replace(deep, user_config=False),)


@pytest.mark.parametrize("ways", list(permutations(WAYS, 2)), ids=" then ".join)
def test_the_first_way_to_a_host_counts_as_for_ssh(ssh_folder: Path, ways: tuple[str, str]) -> None:
    (ssh_folder / "config").write_text("Host db1\n  {}\nHost *\n  {}\n".format(*ways))
    asked = subprocess.run(
        ["ssh", "-F", ssh_folder / "config", "-G", "db1"], capture_output=True, text=True, check=True, timeout=60
    )
    theirs = dict(line.split(" ", 1) for line in asked.stdout.splitlines() if line.startswith("proxy"))
    address = SshAddress("db1")
    hops = ",".join(hop.host for hop in route(address)[:-1])
    assert (hops or "none", config_of(address).get("ProxyCommand") or "none") == (
        theirs.get("proxyjump", "none"),
        theirs.get("proxycommand", "none"),
    )


def test_jump_hosts_that_lead_in_a_circle_are_named(ssh_folder: Path) -> None:
    (ssh_folder / "config").write_text("Host *\n  ProxyJump gate\n")
    with pytest.raises(EnvironmentProblem, match="jump hosts of db1 lead in a circle through gate"):
        answer(SshAddress("db1"), "true")


def test_a_config_that_includes_itself_is_named(ssh_folder: Path) -> None:
    (ssh_folder / "config").write_text("Include config\n")
    with pytest.raises(EnvironmentProblem, match="config includes itself"):
        answer(SshAddress("db1"), "true")


def test_a_proxy_command_still_leads_to_the_host(server: Server, ssh_folder: Path, tmp_path: Path) -> None:
    proxy = f"  ProxyCommand {proxy_command(tmp_path)} %h %p\n"
    (ssh_folder / "config").write_text(entry(server, "behind", f"{proxy}  IdentityFile {server.folder}/user_key\n"))
    assert printed("behind", "echo there") == b"there\n"


def test_an_alias_with_an_underscore_in_a_config_as_windows_writes_it_leads_to_its_host(
    server: Server, ssh_folder: Path
) -> None:
    more = f"  IdentityFile {server.folder}/user_key\n  SetEnv A=b\n  LocalForward 1 127.0.0.1:2\n"
    (ssh_folder / "others").write_text("Host db_2\n  Port 1\n")
    text = f"Include others\nMatch host db_9\n  Port 1\n{entry(server, 'db_1', more)}"
    (ssh_folder / "config").write_bytes(text.replace("\n", "\r\n").encode())
    assert printed("db_1", "echo there") == b"there\n"


def test_a_key_of_the_users_config_that_does_not_exist_is_passed_over(server: Server, ssh_folder: Path) -> None:
    keys = f"  IdentityFile ~/.ssh/nosuch\n  IdentityFile {server.folder}/user_key\n"
    (ssh_folder / "config").write_text(entry(server, "db1", keys))
    assert printed("db1", "echo there") == b"there\n"


def test_a_key_file_that_cannot_be_used_is_called_that(server: Server, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a key")
    (tmp_path / "folder").mkdir()
    locked = tmp_path / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(locked)], check=True)
    for file, why in (
        ("nosuch", "there is no key file .*nosuch"),
        ("text", "text is not a private key"),
        ("folder", "folder cannot be read: Is a directory"),
        ("locked", "locked is protected by a passphrase"),
        ("locked.pub", "locked.pub is not a private key"),
    ):
        with pytest.raises(EnvironmentProblem, match=why):
            answer(replace(server.address, key_file=tmp_path / file), "true")


def test_the_command_of_a_hint_is_whole() -> None:
    address = SshAddress("10.0.0.1", 2222, "bench", Path("/home/me/my key"), jump=SshAddress("gate", 22, "me"))
    assert address.command == "ssh -p 2222 -i '/home/me/my key' -J me@gate:22 bench@10.0.0.1"
    assert SshAddress("db1").command == "ssh db1"
    assert SshAddress("::1", user="root", user_config=False).command == "ssh -F none root@::1"
    nobody = replace(address, port=free_port(), key_file=None, jump=None, host="127.0.0.1")
    with pytest.raises(MachineUnreachable) as unreachable:
        answer(nobody, "true")
    assert f"`ssh -p {nobody.port} bench@127.0.0.1`" in unreachable.value.hint
