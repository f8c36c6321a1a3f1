"""PostgreSQL as a quorum of three on emulated hosts (root)."""

import asyncio
import json
from pathlib import Path

import pytest

from nephoscope.databases.base import Endpoint
from nephoscope.databases.postgres.binaries import embedded_folder, find_binaries
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.providers.base import Cluster, ClusterRequest
from nephoscope.providers.emulated.provider import EmulatedProvider
from nephoscope.run.clock import SystemClock
from nephoscope.study.model import Configuration
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.real_parts import needs
from tests.support.server import postgres

pytestmark = [pytest.mark.root, needs("postgres")]


def three_and_load() -> Configuration:
    machine = {"emulated": {"name": "node", "vcpus": 1, "memory_gib": 1, "disk_gib": 2}}
    return Configuration.model_validate(
        {"name": "quorum", "provider": "emulated", "database_machine": {"count": 3, **machine}, "load_machine": machine}
    )


def test_a_commit_waits_for_one_of_two_standbys_and_outlives_the_other(tmp_path: Path) -> None:
    request = ClusterRequest(f"s-{tmp_path.name}", three_and_load(), tmp_path)
    provider = EmulatedProvider("nephoscope-load", SystemClock())
    database = postgres({})

    async def scenario(cluster: Cluster) -> None:
        endpoint = await database.start(cluster, DatabaseSettings(connections=4), tmp_path / "postgres.log")
        settings = await database.settings(cluster, endpoint)
        assert {name: settings[name] for name in ("standby database-2", "standby database-3")} == {
            "standby database-2": "streaming quorum",
            "standby database-3": "streaming quorum",
        }
        assert settings["fsync"] == "on"
        await database._sql(cluster, endpoint, "CREATE TABLE t (x int)")
        await database._sql(cluster, endpoint, "INSERT INTO t VALUES (1)")
        assert await _rows(cluster, endpoint) == 1
        await _end_server(cluster.database[2])
        await database._sql(cluster, endpoint, "INSERT INTO t VALUES (2)", timeout_s=30)
        left = json.loads(await database._sql(cluster, endpoint, _STANDBYS))
        assert left == ["database-2"]
        await database.stop(cluster)

    async def run() -> None:
        try:
            await scenario(await provider.create(request))
        finally:
            await provider.delete(request.key)

    asyncio.run(run())


async def _rows(cluster: Cluster, endpoint: Endpoint) -> int:
    """Of t, as the first standby has them: it has the log on disk, and may not have replayed it yet."""
    primary, standby = cluster.database[:2]
    psql = find_binaries(embedded_folder()).path("psql")
    argv = [psql, "-At", "-c", "SELECT count(*) FROM t", endpoint.dsn.replace(primary.address, standby.address)]
    for _ in range(100):
        said = await standby.remote.execute(Command(argv, timeout_s=30, environment=endpoint.environment))
        if said.exit_code == 0 and said.stdout.strip() != b"0":
            break
        await asyncio.sleep(0.1)
    return int(said.require().stdout)


_STANDBYS = "SELECT json_agg(application_name) FROM pg_stat_replication"


async def _end_server(machine: MachineHandle) -> None:
    (await machine.remote.execute(Command(["pkill", "-KILL", "-x", "postgres"], timeout_s=30))).require()
