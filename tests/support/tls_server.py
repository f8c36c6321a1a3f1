"""A real PostgreSQL that lets nobody in without TLS, from the system's packages (the embedded one has none)."""

import asyncio
import os
import secrets
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.databases.asking import Client
from nephoscope.databases.postgres.binaries import SYSTEM_ROOT, Binaries, installed
from nephoscope.databases.programs import as_server_user
from nephoscope.machines.local import LocalRemote
from nephoscope.model.errors import NephoscopeError
from tests.support.sshd import free_port

PASSWORD = "of the s3rvice"
_RULES = """
local     all all                   trust
hostssl   all bench     127.0.0.0/8 scram-sha-256
hostssl   all certified 127.0.0.0/8 cert
hostnossl all behind    127.0.0.0/8 scram-sha-256
"""
_ROLES = (
    *(f"CREATE ROLE {name} LOGIN CREATEDB PASSWORD '{PASSWORD}'" for name in ("bench", "certified", "behind")),
    "GRANT pg_checkpoint TO bench",
    # They make and use what bench owns, so that all share one data set.
    "GRANT bench TO certified, behind",
    *(f"ALTER ROLE {name} SET role = bench" for name in ("certified", "behind")),
)
_OPENSSL = "[req]\ndistinguished_name = dn\n[dn]\n"
_UP_S = 30.0


@dataclass(frozen=True)
class TlsServer:
    """One that is up. `bench` logs in by password over TLS, `certified` by certificate, `behind` only without TLS."""

    folder: Path
    port: int

    def dsn(self, query: str = "", *, user: str = "bench", host: str = "127.0.0.1", port: int | None = None) -> str:
        return f"postgresql://{user}@{host}:{port or self.port}/postgres{query and '?' + query}"

    def file(self, name: str) -> str:
        return str(self.folder / name)

    def sql(self, *statements: str) -> tuple[tuple[str | None, ...], ...]:
        """By the superuser, on the socket."""
        return asyncio.run(_asked(self.folder, self.port, *statements))


async def _asked(folder: Path, port: int, *statements: str) -> tuple[tuple[str | None, ...], ...]:
    dsn = f"postgresql:///postgres?user=postgres&host={folder}&port={port}"
    return (await Client(LocalRemote(()), load_program()).ask(dsn, *statements, environment={})).rows


def _binaries() -> Binaries:
    found = installed(None, SYSTEM_ROOT)
    if not found:
        assert not os.environ.get("CI"), "no PostgreSQL of the system is installed"
        pytest.skip("PostgreSQL of the system (Debian's package postgresql) is not installed")
    return found[0]


def certificate(folder: Path, name: str, *, signed_by: str = "", hosts: str = "") -> None:
    """Writes NAME.crt and NAME.key, whose common name is `name`; without a signer it is a root."""
    (folder / "openssl.cnf").write_text(_OPENSSL)
    kind = "basicConstraints=critical,CA:" + ("FALSE" if signed_by else "TRUE")
    signer = ("-CA", f"{signed_by}.crt", "-CAkey", f"{signed_by}.key") if signed_by else ()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9",
         "-subj", f"/CN={name}", "-config", "openssl.cnf", "-keyout", f"{name}.key", "-out", f"{name}.crt",
         "-addext", kind, *signer, *(("-addext", f"subjectAltName={hosts}") if hosts else ())],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    (folder / f"{name}.key").chmod(0o600)


@contextmanager
def tls_server() -> Iterator[TlsServer]:
    binaries = _binaries()
    folder = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp") / f"nph-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    port, data = free_port(), folder / "data"
    try:
        certificate(folder, "root")
        certificate(folder, "server", signed_by="root", hosts="DNS:localhost,IP:127.0.0.1")
        certificate(folder, "certified", signed_by="root")
        certificate(folder, "stranger")
        initdb = [binaries.path("initdb"), "-D", str(data), "-U", "postgres", "-E", "UTF8", "--locale=C"]
        subprocess.run(as_server_user(initdb), check=True, capture_output=True)
        (data / "pg_hba.conf").write_text(_RULES)
        settings = {
            "port": str(port), "listen_addresses": "127.0.0.1,127.0.0.2", "unix_socket_directories": str(folder),
            "ssl": "on", "ssl_cert_file": str(folder / "server.crt"), "ssl_key_file": str(folder / "server.key"),
            "ssl_ca_file": str(folder / "root.crt"), "fsync": "off", "shared_buffers": "32MB",
        }  # fmt: skip
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                as_server_user([binaries.path("postgres"), "-D", str(data), *options]), stdout=log, stderr=log
            )
        try:
            _wait(folder, port)
            yield TlsServer(folder, port)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(folder: Path, port: int) -> None:
    until = time.monotonic() + _UP_S
    while True:
        try:
            asyncio.run(_asked(folder, port, *_ROLES))
        except NephoscopeError:
            if time.monotonic() > until:
                raise AssertionError((folder / "log").read_text()) from None
            time.sleep(0.1)
        else:
            return


@contextmanager
def direct_tls(server: TlsServer) -> Iterator[int]:
    """The port of a front that speaks TLS from the first byte, as PostgreSQL 17 does, and plainly with the server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.file("server.crt"), server.file("server.key"))
    context.set_alpn_protocols(["postgresql"])
    loop, up = asyncio.new_event_loop(), threading.Event()
    ports: list[int] = []

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.gather(_pump(reader, behind[1]), _pump(behind[0], writer))

    async def serve() -> None:
        listener = await asyncio.start_server(meet, "127.0.0.1", 0, ssl=context)
        ports.append(listener.sockets[0].getsockname()[1])
        up.set()

    def run() -> None:
        loop.run_until_complete(serve())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert up.wait(10)
    yield ports[0]
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
