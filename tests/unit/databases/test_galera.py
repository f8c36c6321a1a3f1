"""Galera of three servers of MariaDB on this machine: started, loaded, copied, told of, ended one by one, stopped."""

import asyncio
import json
import os
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.checks.operations import Replication
from nephoscope.databases import identity
from nephoscope.databases.base import Endpoint
from nephoscope.databases.mysql import galera
from nephoscope.databases.mysql.database import MysqlDatabase
from nephoscope.databases.mysql.settings import stored_settings
from nephoscope.model.errors import DatabaseFailed, InputError, OutputUnreadable
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.evidence import evidence
from tests.support.local_remote import cluster_on_loopback
from tests.support.real_parts import needs

REAL = needs("mariadbd", "galera", "nephoscope-load")
SMALL = {"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "16M", "wsrep_slave_threads": "2"}
SET = "nephoscope_a"
WHOLE = {f"server database-{number}": "Synced, Primary, one of 3" for number in (1, 2, 3)}
CONFLICTS = "SHOW GLOBAL STATUS LIKE 'wsrep_local_cert_failures'"
STATUS = {
    "wsrep_local_state_comment": "Synced",
    "wsrep_cluster_size": "3",
    "wsrep_cluster_state_uuid": "u",
    "wsrep_cluster_status": "Primary",
    "wsrep_incoming_addresses": "a:1,b:1,c:1",
    "wsrep_last_committed": "7",
    "wsrep_ready": "ON",
}


@dataclass(frozen=True)
class Three:
    """A cluster that is up."""

    loop: asyncio.AbstractEventLoop
    database: MysqlDatabase
    cluster: Cluster
    endpoint: Endpoint

    def sql(self, endpoint: Endpoint, *statements: str) -> list[tuple[str | None, ...]]:
        rows = self.loop.run_until_complete(self.database._rows(self.cluster, endpoint, *statements))
        return [tuple(row) for row in rows]

    def each(self) -> list[Endpoint]:
        """Each server alone, at the data set's copy."""
        servers = self.database._running[self.cluster.key]
        return [replace(one.endpoint, dsn=one.endpoint.dsn.replace("/mysql", f"/{SET}")) for one in servers]

    def replication(self) -> dict[str, str]:
        return self.loop.run_until_complete(self.database.replication(self.cluster))

    def settings(self) -> dict[str, str]:
        return self.loop.run_until_complete(self.database.settings(self.cluster, self.endpoint))

    def copy_of(self, *load: str) -> Endpoint:
        """A fresh copy of a data set that is loaded and sealed."""

        async def sealed() -> Endpoint:
            database, cluster = self.database, self.cluster
            assert not await database.has_fixture(cluster, self.endpoint, SET)
            empty = await database.create_fixture(cluster, self.endpoint, SET)
            await asyncio.to_thread(generated, empty, *load)
            await database.seal_fixture(cluster, empty, SET)
            assert await database.has_fixture(cluster, self.endpoint, SET)
            return await database.clone_fixture(cluster, self.endpoint, SET)

        return self.loop.run_until_complete(sealed())


def generated(endpoint: Endpoint, *argv: str) -> dict[str, Any]:
    """What the load generator says in the end."""
    command = [load_program(), *argv, "--dsn", endpoint.dsn]
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, **endpoint.environment})
    last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert (last["exit_code"], done.returncode) == (0, 0), last["message"]
    return last


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Three]:
    loop, cluster, database = (
        asyncio.new_event_loop(),
        cluster_on_loopback(tmp_path, 3),
        MysqlDatabase("mariadb", {}, load_program()),
    )
    try:
        endpoint = loop.run_until_complete(database.start(cluster, DatabaseSettings(settings=SMALL), tmp_path / "log"))
        yield Three(loop, database, cluster, endpoint)
    finally:
        loop.run_until_complete(database.stop(cluster))
        loop.close()
    left = subprocess.run(
        ["pgrep", "--full", "--list-full", f"^.*mariadbd .*{tmp_path}"], capture_output=True, check=False
    )
    assert left.stdout == b""


@REAL
def test_each_of_three_servers_takes_writes_and_conflicts_between_them_are_retried(three: Three) -> None:
    of = ("--scale", "1", "--profile", "chatty")
    copy = three.copy_of("tpcb", "load", *of)
    assert three.replication() == WHOLE
    ended = generated(copy, "tpcb", "run", *of, "--connections", "6", "--duration-s", "4", "--max-retries", "1000")
    retried = sum(row["count"] for row in ended["errors"] if row["kind"] == "retried")
    assert {row["sqlstate"] for row in ended["errors"]} == {"40001"}
    failures = sum(int(three.sql(one, CONFLICTS)[0][1] or 0) for one in three.each())
    assert retried >= failures > 0
    deposits = next(row["client"] for row in ended["counters"])
    for one in three.each():
        assert all(row["holds"] for row in generated(one, "tpcb", "check", *of)["conditions"])
        counted = three.sql(one, "SET SESSION wsrep_sync_wait = 1", "SELECT count(*) FROM pgbench_history")
        assert counted == [(str(deposits),)]
    assert three.replication() == WHOLE
    again = three.loop.run_until_complete(three.database.clone_fixture(three.cluster, three.endpoint, SET))
    assert three.sql(again, "SELECT count(*) FROM pgbench_history") == [("0",)]
    costs = three.loop.run_until_complete(three.database.counters(three.cluster, again))
    assert costs["received_bytes"] > 0
    assert three.loop.run_until_complete(three.database.upkeep(three.cluster, again)).cache_hits


@REAL
def test_what_galera_does_is_told_and_a_server_that_leaves_is_named(three: Three) -> None:
    before = three.settings()
    asked = {"wsrep_sync_wait": "1", "wsrep_slave_threads": "2", "wsrep_on": "ON", "gcache.size": str(128 << 20)}
    asked["socket.ssl"] = "YES"
    assert {name: before[name] for name in asked} == asked
    assert before["innodb_flush_log_at_trx_commit"] == "1"
    assert not [name for name, value in before.items() if "127.0.0" in value or "/" in value]
    identity = three.loop.run_until_complete(three.database.identity(three.cluster, three.endpoint))
    assert len({identity["started"], identity["started of database-3"]}) == 2
    states = [three.replication()]
    second = three.database._running[three.cluster.key][1].endpoint
    three.sql(second, "SET GLOBAL wsrep_desync = ON")
    states.append(three.replication())
    three.sql(second, "SET GLOBAL wsrep_desync = OFF")
    process = three.database._running[three.cluster.key][2].process
    assert process is not None
    three.loop.run_until_complete(process.stop(signal=signal.SIGTERM, timeout_s=60))
    for _ in range(100):
        if "one of 2" in (now := three.replication())["server database-1"]:
            break
    states.append(now)
    said = [str(Replication()(evidence(replication_before=states[0], replication_after=one))) for one in states]
    assert "unchanged" in said[0]
    assert "server database-2: Synced, Primary, one of 3 before the trial, Donor/Desynced" in said[1]
    assert "server database-3: Synced, Primary, one of 3 before the trial, does not answer after it" in said[2]


@REAL
@pytest.mark.slow
def test_conditions_of_tpcc_hold_at_each_server(three: Three) -> None:
    copy = three.copy_of("tpcc", "load", "--warehouses", "3", "--profile", "chatty", "--connections", "3")
    for profile in ("chatty", "proc"):
        of = ("--warehouses", "3", "--profile", profile)
        ended = generated(copy, "tpcc", "run", *of, "--connections", "6", "--duration-s", "5", "--max-retries", "1000")
        assert all(row["agrees"] for row in ended["counters"])
        for one in three.each():
            conditions = generated(one, "tpcc", "check", *of)["conditions"]
            assert len(conditions) == 15
            assert all(row["holds"] for row in conditions)


def greeting(address: str, trusted: ssl.SSLContext | None) -> bytes:
    """What a server of Galera says first to who connects where it gets messages: by it, they become members."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as plain:
        try:
            if trusted is not None:
                return trusted.wrap_socket(plain).recv(1024)
            plain.settimeout(5)  # with TLS it waits to be spoken to
            return plain.recv(1024)
        except OSError:
            return b""


def with_identity(folder: Path | None) -> ssl.SSLContext:
    """Of a client that believes every server."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if folder is not None:
        context.load_cert_chain(folder / identity.CERTIFICATE, folder / identity.KEY)
    return context


@REAL
def test_who_does_not_have_the_key_of_the_trial_is_told_nothing(three: Three, tmp_path: Path) -> None:
    """A stranger who joins gets a copy of all data, and may write."""
    servers = three.database._running[three.cluster.key]
    for name, text in identity.drawn(three.cluster.database).items():
        (tmp_path / name).write_bytes(text)
    root = Path(servers[0].folder.root)
    ours, foreign, anybody = with_identity(root), with_identity(tmp_path), with_identity(None)
    for server in servers:
        ((address,),) = three.sql(server.endpoint, "SELECT @@wsrep_node_address")
        assert address is not None
        assert greeting(address, None) == greeting(address, anybody) == greeting(address, foreign) == b""
        assert len(greeting(address, ours)) > 24
    assert three.replication() == WHOLE
    for name in (identity.CERTIFICATE, identity.KEY):
        assert (root / name).stat().st_mode & 0o777 == 0o600


@REAL
def test_a_server_whose_files_are_others_does_not_join(
    three: Three, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would need a copy of all data, for which no program is asked, also where packages bring one."""
    copies = tmp_path / "programs" / "wsrep_sst_rsync"
    copies.parent.mkdir()
    copies.write_text(f"#!/bin/sh\ntouch {tmp_path}/copied\nexit 1\n")
    copies.chmod(0o755)
    monkeypatch.setenv("PATH", f"{copies.parent}:{os.environ['PATH']}")
    running = three.database._running[three.cluster.key]
    joined = three.loop.run_until_complete(three.database._seen(three.cluster, running[0]))

    async def start_behind() -> None:
        process = running[2].process
        assert process is not None
        await process.stop(signal=signal.SIGTERM, timeout_s=60)
        other = replace(joined, cluster="01234567-89ab-cdef-0123-456789abcdef")
        await galera.write_state(running[2].folder.machine, running[2].folder.data, other)
        await three.database._launch_one(three.cluster, 2)

    with pytest.raises(DatabaseFailed, match="did not start"):
        three.loop.run_until_complete(start_behind())
    assert not (tmp_path / "copied").exists()


@pytest.mark.parametrize(
    ("changed", "has_all"),
    [
        ({}, True),
        ({"wsrep_cluster_size": "4"}, False),
        ({"wsrep_incoming_addresses": "a:1,b:1,d:1"}, False),
        ({"wsrep_local_state_comment": "Joined"}, False),
        ({"wsrep_cluster_status": "non-Primary"}, False),
        ({"wsrep_ready": "OFF"}, False),
    ],
)
def test_a_cluster_is_whole_with_its_own_servers_alone(changed: Mapping[str, str], has_all: bool) -> None:
    seen = galera.seen([*{**STATUS, **changed}.items()])
    assert seen.has_all(["a:1", "b:1", "c:1"]) is has_all


@pytest.mark.parametrize("rows", [[], [*(STATUS | {"wsrep_cluster_size": "many"}).items()]])
def test_a_server_that_reports_no_cluster_is_told(rows: list[tuple[str, str]]) -> None:
    with pytest.raises(OutputUnreadable):
        galera.seen(rows)


def test_of_its_options_no_address_is_stored() -> None:
    options = "base_host = 10.0.0.1; gcs.fc_limit = 16; socket.ssl_key = /x; "
    assert stored_settings([("version", "10.11.19-MariaDB"), ("wsrep_provider_options", options)]) == {
        "gcs.fc_limit": "16",
        "server_version": "10.11.19",
    }


@pytest.mark.parametrize(("product", "servers"), [("mariadb", 2), ("mysql", 3)])
def test_two_servers_are_no_cluster_and_mysql_has_none(tmp_path: Path, product: str, servers: int) -> None:
    database = MysqlDatabase(product, {}, load_program())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="database machines, on which nephoscope"):
        asyncio.run(database.start(cluster_on_loopback(tmp_path, servers), DatabaseSettings(), tmp_path / "log"))


def test_a_machine_without_galera_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(galera, "LIBRARIES", (str(tmp_path / "none"),))
    with pytest.raises(DatabaseFailed, match="no Galera was found on database-1"):
        asyncio.run(galera.members(cluster_on_loopback(tmp_path, 3)))
