"""A user's server behind a real PgBouncer in transaction mode: Debian's, or the program NEPHOSCOPE_PGBOUNCER names."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nephoscope.databases.base import Endpoint
from nephoscope.databases.programs import as_server_user
from nephoscope.model.errors import EnvironmentProblem
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.real_parts import needs
from tests.support.server import Server, postgres, server

PGBOUNCER = os.environ.get("NEPHOSCOPE_PGBOUNCER") or shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")

pytestmark = [needs("postgres"), pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer not installed")]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("pooled-server")) as running:
        yield running


@pytest.fixture
def pooled(ours: Server, tmp_path: Path) -> Iterator[str]:
    """The DSN of the pooler."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = ours.endpoint.dsn.rpartition("@")[2].partition("/")[0]
    host, _, server_port = address.partition(":")
    password = ours.endpoint.environment["PGPASSWORD"]
    file = tmp_path / "pgbouncer.ini"
    file.write_text(
        f"[databases]\n* = host={host} port={server_port} user=nephoscope password={password}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
        "pool_mode = transaction\n"
    )
    assert PGBOUNCER is not None
    with (tmp_path / "pgbouncer.log").open("w") as log:
        process = subprocess.Popen(as_server_user([PGBOUNCER, str(file)]), stdout=log, stderr=log)
    try:
        _wait_for(port, process)
        yield f"postgresql://nephoscope@127.0.0.1:{port}/postgres"
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 20
    while not _answers(port):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_a_trial_gets_its_copy_although_the_pooler_keeps_the_sessions_of_the_load(
    ours: Server, pooled: str, tmp_path: Path
) -> None:
    database = postgres(ours.endpoint.environment)

    async def scenario() -> tuple[Endpoint, str]:
        reached = await database.start(ours.cluster, DatabaseSettings(dsn=pooled), tmp_path / "log")
        loaded = await database.create_fixture(ours.cluster, reached, "nephoscope_pooled")
        await database._sql(ours.cluster, loaded, "CREATE TABLE t AS SELECT 7 AS x")
        await database.seal_fixture(ours.cluster, reached, "nephoscope_pooled")
        for _ in range(2):  # the second copy replaces the first, of which the pooler has sessions
            copy = await database.clone_fixture(ours.cluster, reached, "nephoscope_pooled")
            found = await database._sql(ours.cluster, copy, "SELECT x FROM t")
        await database.stop(ours.cluster)
        return reached, found

    reached, found = ours.loop.run_until_complete(scenario())
    assert (reached.origin, found) == ("user", "7")


def test_settings_of_sessions_are_refused_with_a_way_out(ours: Server, pooled: str, tmp_path: Path) -> None:
    database = postgres(ours.endpoint.environment)
    settings = DatabaseSettings(dsn=pooled, settings={"work_mem": "77MB"})
    with pytest.raises(EnvironmentProblem, match="the connection pooler of configuration") as caught:
        ours.loop.run_until_complete(database.start(ours.cluster, settings, tmp_path / "log"))
    assert "remove `settings`" in caught.value.hint
