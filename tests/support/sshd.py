"""A real OpenSSH server on a loopback port, as the user who runs the tests; and a wire that can be cut."""

import asyncio
import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import pytest

from nephoscope.machines.ssh.address import SshAddress

PROGRAM = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def require_sshd() -> str:
    if PROGRAM is None:
        if os.environ.get("CI"):
            pytest.fail("no sshd here: apt-get install openssh-server")
        pytest.skip("no sshd here: apt-get install openssh-server")
    return PROGRAM


def make_key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass(frozen=True)
class Server:
    """A running sshd."""

    folder: Path
    address: SshAddress
    process: int

    @property
    def host_key(self) -> str:
        """As a study writes it in `host_keys`."""
        return " ".join((self.folder / "host_key.pub").read_text().split()[:2])


@contextmanager
def sshd(folder: Path, more: Mapping[str, str] = MappingProxyType({})) -> Iterator[Server]:
    """Everything it needs is in `folder`; it ends with the block. Limits are sshd's own unless `more` settings say."""
    program = require_sshd()
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    host_key, user_key = make_key(folder / "host_key"), make_key(folder / "user_key")
    (folder / "authorized_keys").write_text((folder / "user_key.pub").read_text())
    settings = {
        "ListenAddress": "127.0.0.1",
        "HostKey": str(host_key),
        "AuthorizedKeysFile": str(folder / "authorized_keys"),
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "Subsystem": "sftp internal-sftp",
        "SetEnv": "SHLVL=1",  # bash then does not read the ~/.bashrc of whoever runs the tests
        **more,
    }
    config = folder / "sshd_config"
    config.write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen([program, "-D", "-e", "-f", str(config), "-p", str(port)], stderr=log)
    try:
        _wait_for(port, process, folder / "sshd.log")
        address = SshAddress("127.0.0.1", port, getpass.getuser(), user_key, user_config=False)
        yield Server(folder, address, process.pid)
    finally:
        process.kill()
        process.wait()


def proxy_command(folder: Path) -> str:
    """A program that passes bytes between its streams and a host and port, as `nc` does."""
    script = folder / "proxy.py"
    script.write_text(
        """
import os, socket, sys, threading

there = socket.create_connection((sys.argv[1], int(sys.argv[2])))

def back():
    while chunk := there.recv(65536):
        os.write(1, chunk)

threading.Thread(target=back, daemon=True).start()
while chunk := os.read(0, 65536):
    there.sendall(chunk)
"""
    )
    return f"{sys.executable} {script}"


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """By its log: a connection would count as one that has not logged in, for as long as its process is there."""
    while f" port {port}." not in log.read_text() and process.poll() is None:
        time.sleep(0.02)
    if process.poll() is not None:
        pytest.fail(f"sshd did not come up: {log.read_text()}")


class Wire:
    """Passes bytes on to a server until it is cut; `mend` lets new connections through again."""

    def __init__(self, address: SshAddress) -> None:
        self._to = address
        self._whole = True
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> SshAddress:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        return replace(self._to, port=self._server.sockets[0].getsockname()[1])

    def cut(self) -> None:
        self._whole = False
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def mend(self) -> None:
        self._whole = True

    def lead_to(self, address: SshAddress) -> None:
        self._to = address

    async def close(self) -> None:
        self.cut()
        assert self._server is not None
        self._server.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._whole:
            writer.transport.abort()
            return
        there_reader, there_writer = await asyncio.open_connection(self._to.host, self._to.port)
        self._writers |= {writer, there_writer}
        await asyncio.gather(_pump(reader, there_writer), _pump(there_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
