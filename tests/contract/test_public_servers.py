"""Servers set up as public bug reports describe them: the load generator works, or says what is in its way."""

import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.databases.base import HasFixtures
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.real_parts import needs
from tests.support.server import Server, postgres, server
from tests.support.sshd import free_port

pytestmark = needs("postgres", "nephoscope-load", "redis-server")


def load(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [load_program(), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)


def lost(done: subprocess.CompletedProcess[str]) -> int:
    """Connections that the server ended during a run."""
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return sum(line["client"]["connections_lost"] for line in lines if line["event"] == "interval")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("public")) as running:
        yield running


def test_of_two_hosts_in_an_address_the_next_is_tried_by_every_command(ours: Server) -> None:
    ours.sql("CREATE DATABASE two_hosts")
    dsn = re.sub(r"@([^/]+)/", f"@127.0.0.1:{free_port()},\\1/", ours.dsn("two_hosts"))
    assert "," in dsn
    environment = {**ours.endpoint.environment}
    for action, more in (("load", ()), ("run", ("--duration-s", "1")), ("check", ())):
        done = load("kv", action, "--rows", "100", "--dsn", dsn, *more, environment=environment)
        assert done.returncode == 0, (action, done.stderr)


def test_a_template_of_another_collation_version_keeps_no_data_set_from_being_made(
    ours: Server, tmp_path: Path
) -> None:
    """Data sets are made of template0, which nobody connects to; template1 has outlived an update of the system."""
    database = postgres(ours.endpoint.environment)
    assert isinstance(database, HasFixtures)
    ours.sql("UPDATE pg_database SET datcollversion = '1.0' WHERE datname = 'template1'")
    try:
        run = ours.loop.run_until_complete
        settings = DatabaseSettings(dsn=ours.endpoint.dsn, connections=2)
        endpoint = run(database.start(ours.cluster, settings, tmp_path / "log"))
        made = run(database.create_fixture(ours.cluster, endpoint, "nephoscope_data_0123456789"))
        assert load("kv", "load", "--rows", "10", "--dsn", made.dsn, environment=made.environment).returncode == 0
        run(database.seal_fixture(ours.cluster, endpoint, "nephoscope_data_0123456789"))
        run(database.clone_fixture(ours.cluster, endpoint, "nephoscope_data_0123456789"))
        run(database.stop(ours.cluster))
    finally:
        ours.sql("UPDATE pg_database SET datcollversion = NULL WHERE datname = 'template1'")


@contextmanager
def redis(folder: Path, *settings: str) -> Iterator[str]:
    """The address of a server with these words on its command line."""
    port, of_cluster = free_port(), free_port()  # by default that of its cluster is 10,000 higher, which may be taken
    command = [find_valkey().server, "--port", str(port), "--cluster-port", str(of_cluster), "--save", ""]
    command += ["--dir", str(folder), *settings]
    log = folder / "redis.log"
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written)
    try:
        deadline = time.monotonic() + 30
        while b"Ready to accept connections" not in log.read_bytes():  # a connection of ours would count as a client
            assert time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def tell(dsn: str, *words: str) -> str:
    """What a server answers to a command in one line."""
    with socket.create_connection(("127.0.0.1", int(dsn.rpartition(":")[2]))) as connection:
        connection.sendall(" ".join(words).encode() + b"\r\n")
        return connection.recv(65536).decode()


@pytest.mark.parametrize(
    ("settings", "suffix", "code", "reason"),
    [
        (("--replicaof", "127.0.0.1", "1"), "", 6, "READONLY"),
        (("--min-replicas-to-write", "1"), "", 6, "NOREPLICAS"),
        (("--cluster-enabled", "yes"), "", 6, "CLUSTERDOWN"),
        (("--cluster-enabled", "yes"), "/1", 3, "SELECT is not allowed in cluster mode"),
        (("--databases", "1"), "/1", 3, "DB index is out of range"),
    ],
    ids=["replica", "without replicas", "slots not served", "database of a cluster", "database that is not there"],
)
def test_a_redis_that_takes_no_load_is_refused_with_its_own_words(
    tmp_path: Path, settings: tuple[str, ...], suffix: str, code: int, reason: str
) -> None:
    with redis(tmp_path, *settings) as dsn:
        if "CLUSTERDOWN" in reason:
            assert "OK" in tell(dsn, "CLUSTER", "ADDSLOTSRANGE", "0", "8000")
        refused = load("kv", "load", "--rows", "100", "--dsn", f"{dsn}{suffix}")
    assert refused.returncode == code, refused.stderr
    assert reason in refused.stderr


def test_a_redis_with_fewer_clients_than_connections_and_one_behind_tls_are_refused(tmp_path: Path) -> None:
    with redis(tmp_path, "--maxclients", "3") as dsn:
        assert load("kv", "load", "--rows", "100", "--dsn", dsn).returncode == 0
        refused = load("kv", "run", "--rows", "100", "--dsn", dsn, "--connections", "8", "--duration-s", "1")
        assert refused.returncode == 3, refused.stderr
        assert "max number of clients reached" in refused.stderr
        secured = load("kv", "load", "--rows", "100", "--dsn", dsn.replace("redis:", "rediss:"))
    assert secured.returncode == 2
    assert "TLS to Redis is not supported" in secured.stderr


def test_connections_that_a_redis_ends_for_being_idle_are_counted(tmp_path: Path) -> None:
    with redis(tmp_path, "--timeout", "1") as dsn:
        assert load("kv", "load", "--rows", "100", "--dsn", dsn).returncode == 0
        pace = ("--pace", "constant", "--rate-per-s", "0.4", "--connections", "2", "--duration-s", "6")
        done = load("kv", "run", "--rows", "100", "--dsn", dsn, *pace)
    assert done.returncode == 0, done.stderr
    assert lost(done) >= 2
