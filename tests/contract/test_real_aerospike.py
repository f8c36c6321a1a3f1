"""A real Aerospike server, where `NEPHOSCOPE_ASD` names its program: started, loaded, driven and asked."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.benchmarks.base import RawOutput
from nephoscope.benchmarks.database.ycsb import Ycsb, YcsbParameters
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import FIXTURE, RUN
from nephoscope.databases.aerospike.database import AerospikeDatabase
from nephoscope.machines.remote import MachineHandle
from nephoscope.study.aerospike import Aerospike
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.local_remote import cluster_on_loopback
from tests.support.real_parts import needs_server_in
from tests.support.site import raw_of, site_here

PROGRAM = os.environ.get("NEPHOSCOPE_ASD", "")
pytestmark = needs_server_in("NEPHOSCOPE_ASD")
ROWS = 20_000
ONE_FIELD = YcsbParameters(
    rows=ROWS, mix="a", distribution="uniform", fields=1, field_bytes=1424, ramp_s=0, duration_s=2
)


async def no_device(machine: MachineHandle, device: str) -> tuple[str, int]:
    return device, 0


async def driven(folder: Path, count: int, settings: DatabaseSettings) -> tuple[RawOutput, dict[str, str], float]:
    """The raw output of a trial, the settings in force, and how much may still be written."""
    database, cluster = AerospikeDatabase(no_device), cluster_on_loopback(folder, count)
    site, _ = site_here(folder)
    try:
        endpoint = await database.start(cluster, settings, folder / "log" / "aerospike.log")
        site = replace(site, cluster=cluster, database=database, endpoint=endpoint, connections=2 * count)
        fresh = await Ycsb().prepare(site, ONE_FIELD)
        before = await database.replication(cluster)
        await Ycsb().run(replace(site, endpoint=fresh), ONE_FIELD)
        assert await database.replication(cluster) == before
        free = (await database.upkeep(cluster, endpoint)).free_bytes
        assert free is not None
        return raw_of(site), await database.settings(cluster, endpoint), free
    finally:
        await database.stop(cluster)


@pytest.mark.parametrize("count", [1, 3])
def test_servers_are_configured_loaded_driven_and_counted(tmp_path: Path, count: int) -> None:
    own = Aerospike(memory_gib=0.25, disk_gib=0.25)
    settings = DatabaseSettings(
        system="aerospike", binary=PROGRAM, aerospike=own, settings={"namespace.index-stage-size": "128M"}
    )
    (tmp_path / "log").mkdir()
    raw, told, free_bytes = asyncio.run(driven(tmp_path, count, settings))
    loaded, run = (load_output.read(raw[f"{name}.stdout"]).finished for name in (FIXTURE, RUN))
    assert sum(row.rows for row in loaded.tables) == ROWS
    assert (run.exit_code, run.errors) == (0, [])
    assert [row.server for row in run.counters] == [row.client for row in run.counters]
    assert {row.name for row in run.counters} == {"read_success", "write_success"}
    assert all(row.holds for row in (*loaded.conditions, *run.conditions))
    assert told["namespace.replication-factor"] == str(min(2, count))
    # Of a file of 256 MiB: the header's block, those that are written, and the eight of defragmentation are not free.
    assert 0 < free_bytes < (256 - 8 - 64) * 2**20
    logs = "".join(file.read_text(errors="replace") for file in (tmp_path / "log").iterdir())
    assert "admin section is not configured" not in logs
    assert "is deprecated" not in logs
