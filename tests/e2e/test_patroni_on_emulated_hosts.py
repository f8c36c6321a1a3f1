"""PostgreSQL as Patroni keeps it on emulated hosts (root): a standby takes over, and nothing outlives its jobs."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bench.failovers import patroni
from bench.failovers.kept import driven
from nephoscope.benchmarks.faults.kinds import Victim
from nephoscope.databases.postgres.patroni import PROGRAMS
from nephoscope.databases.postgres.remote import PORT
from nephoscope.databases.programs import execute
from nephoscope.machines.loopback import in_url
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.providers.base import Cluster, ClusterRequest
from nephoscope.providers.emulated.provider import EmulatedProvider
from nephoscope.run.clock import SystemClock
from tests.support.real_parts import needs
from tests.support.server import postgres

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("postgres", "patroni", "etcd")]


@pytest.mark.parametrize("synchronous", [True, False])
def test_a_standby_takes_over_and_the_ledger_counts_what_sql_counts(tmp_path: Path, synchronous: bool) -> None:
    found = asyncio.run(driven(patroni.case(synchronous=synchronous), 1, tmp_path / "load"))
    (fault,) = found.faults
    assert (fault.confirmed, fault.undone, fault.role) == (True, True, "primary")
    assert fault.complete_unix_ms is not None, "the killed server did not come back as a standby"
    assert found.ledger.acknowledged > 0
    assert found.ledger.unsent == 0
    assert found.lost_by_count == found.ledger.lost
    if synchronous:
        assert found.ledger.lost == 0


async def _with_machines(folder: Path, scenario: Callable[[ClusterRequest, Cluster], Awaitable[None]]) -> None:
    of = patroni.configuration(synchronous=True)
    request, provider = ClusterRequest(f"s-{folder.name}", of, folder, trial="t"), _provider()
    try:
        await scenario(request, await provider.create(request))
    finally:
        await provider.delete(request.key)


def _provider() -> EmulatedProvider:
    return EmulatedProvider("nephoscope-load", SystemClock())


_STRANGER = """
import ssl, sys, urllib.request
context = ssl._create_unverified_context()
for url in sys.argv[1:]:
    try:
        said = urllib.request.urlopen(url, timeout=20, context=context).read()
    except OSError as error:
        said = str(error)
    print(said)
"""


async def _told_to_a_stranger(cluster: Cluster) -> list[str]:
    """What etcd and Patroni answer to a neighbour without the trial's key."""
    at = [in_url(machine.address) for machine in cluster.database]
    urls = [f"{how}://{own}:{port}" for own in at for port in (22379, 22380, 28008) for how in ("http", "https")]
    asking = Command(["python3", "-c", _STRANGER, *urls], timeout_s=120, pinned=False)
    return (await cluster.load.remote.execute(asking)).require().stdout.decode().splitlines()


_IMPOSTOR = """
import socket, struct, subprocess, sys, time
address, port, enough = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
subprocess.run(["pkill", "-STOP", "-x", "patroni"], check=True)
subprocess.run(["pkill", "-KILL", "-x", "postgres"], check=True)
listener = None
while listener is None:
    try:
        listener = socket.create_server((address, port), family=family)
    except OSError:
        time.sleep(0.05)
subprocess.run(["pkill", "-CONT", "-x", "patroni"], check=True)
for _ in range(enough):
    link, _ = listener.accept()
    link.settimeout(20)
    heard = b""
    try:
        heard = link.recv(1024)
        if heard[4:] == bytes.fromhex("04d2162f"): # TLS, please
            link.sendall(b"N")
            heard = link.recv(1024)
        if heard:
            link.sendall(b"R" + struct.pack(">II", 8, 3)) # the password, please
            heard += link.recv(1024)
    except OSError:
        pass
    print(heard, flush=True)
"""
"""Kills a server of PostgreSQL, and takes its port before Patroni can start it again."""


def test_who_takes_the_port_of_a_killed_primary_is_told_nothing(tmp_path: Path) -> None:
    """Patroni there comes by a socket, and everybody else wants to see the trial's certificate first."""

    async def scenario(request: ClusterRequest, cluster: Cluster) -> None:
        database = postgres({})
        endpoint = await database.start(cluster, request.configuration.database, tmp_path / "server.log")
        by_network = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'Patroni' AND client_addr"
        assert int(await database._sql(cluster, endpoint, f"{by_network} IS NULL")) > 0
        assert await database._sql(cluster, endpoint, f"{by_network} IS NOT NULL") == "0"
        of_standbys = "SELECT count(*) FROM pg_stat_replication JOIN pg_stat_ssl USING (pid) WHERE ssl"
        assert await database._sql(cluster, endpoint, of_standbys) == "2"
        primary = cluster.database[0]
        argv = ["python3", "-c", _IMPOSTOR, primary.address, str(PORT), "6"]
        heard = (await primary.remote.execute(Command(argv, timeout_s=300, pinned=False))).require()
        assert heard.stdout.decode().splitlines() == ["b''"] * 6

    asyncio.run(_with_machines(tmp_path, scenario))


async def _running(machine: MachineHandle) -> set[str]:
    """The programs of Patroni that run there."""
    said = await machine.remote.execute(Command(["ps", "-eo", "comm="], timeout_s=60, pinned=False))
    return set(said.require().stdout.decode().split()) & set(PROGRAMS)


def test_another_controller_finds_the_servers_and_stops_them_in_order(tmp_path: Path) -> None:
    log = tmp_path / "server.log"

    async def scenario(request: ClusterRequest, cluster: Cluster) -> None:
        died, settings = postgres({}), request.configuration.database
        endpoint = await died.start(cluster, settings, log)
        await died._sql(cluster, endpoint, "CREATE TABLE t AS SELECT 7 AS x")
        for machine in cluster.database:
            assert await _running(machine) == set(PROGRAMS)
        for said in await _told_to_a_stranger(cluster):
            assert not re.search("^b'|refused|timed out", said), said
        again, next_one = await _provider().create(request), postgres({})
        found = await next_one.attach(again, settings, log)
        assert found == endpoint
        assert await next_one._sql(again, found, "SELECT x FROM t") == "7"
        assert await next_one.roles(again) == ["primary", "replica", "replica"]
        assert await next_one.replication(again) == {"standby 1": "streaming sync", "standby 2": "streaming async"}
        await next_one.stop(again)
        for machine in cluster.database:
            assert await _running(machine) == set()

    asyncio.run(_with_machines(tmp_path, scenario))


def test_a_killed_primary_recovers_although_its_process_number_is_now_anothers(tmp_path: Path) -> None:
    """Numbers begin anew with Patroni: PostgreSQL would take somebody else for the killed one, and not recover."""

    async def scenario(request: ClusterRequest, cluster: Cluster) -> None:
        database = postgres({})
        await database.start(cluster, request.configuration.database, tmp_path / "server.log")
        server = database.servers(cluster)[0]
        killed = Victim(server, "primary", database, cluster)
        await killed.act("kill")
        # 1 is Patroni's, but any small number may be somebody's.
        await execute(server.machine, "sed", "-i", "1s/.*/1/", f"{server.folder}/data/postmaster.pid")
        await database.start_again(cluster, server)
        await database.put_back(cluster)
        await database.stop(cluster)
        said = (tmp_path / f"server-patroni-{server.machine.name}.log").read_text(encoding="utf-8")
        assert "doing crash recovery in a single user mode" in said
        assert "Crash recovery finished with code" not in said

    asyncio.run(_with_machines(tmp_path, scenario))


def test_ending_the_jobs_of_a_host_leaves_no_server_there(tmp_path: Path) -> None:
    """As the next user of a host does after its controller died: Patroni starts PostgreSQL in a session of its own."""

    async def scenario(request: ClusterRequest, cluster: Cluster) -> None:
        await postgres({}).start(cluster, request.configuration.database, tmp_path / "server.log")
        for machine in cluster.database:
            assert isinstance(machine.remote, SshRemote)
            await machine.remote.end_all()
            async with asyncio.timeout(60):
                while await _running(machine):  # noqa: ASYNC110 - a host sends no event
                    await asyncio.sleep(0.1)

    asyncio.run(_with_machines(tmp_path, scenario))
