"""A real Aerospike server, where `NEPHOSCOPE_ASD` names its program: started, loaded, driven and asked."""

import asyncio
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.benchmarks.base import RawOutput
from nephoscope.benchmarks.database.ycsb import Ycsb, YcsbParameters
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import FIXTURE, RUN
from nephoscope.benchmarks.storage.raw_device import raw_device_of
from nephoscope.databases.aerospike.database import AerospikeDatabase
from nephoscope.model.units import MIB
from nephoscope.study.aerospike import Aerospike
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.local_remote import cluster_on_loopback
from tests.support.loop_device import loop_device
from tests.support.real_parts import needs_server_in
from tests.support.site import raw_of, site_here

PROGRAM = os.environ.get("NEPHOSCOPE_ASD", "")
pytestmark = needs_server_in("NEPHOSCOPE_ASD")
ROWS = 20_000
ONE_FIELD = YcsbParameters(
    rows=ROWS, mix="a", distribution="uniform", fields=1, field_bytes=1424, ramp_s=0, duration_s=2
)


SMALL_STAGE = {"namespace.index-stage-size": "128M"}


async def driven(folder: Path, count: int, settings: DatabaseSettings) -> tuple[RawOutput, dict[str, str], float]:
    """The raw output of a trial, the settings in force, and how much may still be written."""
    database, cluster = AerospikeDatabase(raw_device_of), cluster_on_loopback(folder, count)
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


def require_right(raw: RawOutput) -> None:
    """All rows were loaded, every condition holds, and the server counted what the load generator counted."""
    loaded, run = (load_output.read(raw[f"{name}.stdout"]).finished for name in (FIXTURE, RUN))
    assert sum(row.rows for row in loaded.tables) == ROWS
    assert (run.exit_code, run.errors) == (0, [])
    assert [row.server for row in run.counters] == [row.client for row in run.counters]
    assert {row.name for row in run.counters} == {"read_success", "write_success"}
    assert all(row.holds for row in (*loaded.conditions, *run.conditions))


@pytest.mark.root
@pytest.mark.skipif(shutil.which("losetup") is None, reason="losetup not installed")
def test_a_raw_device_is_written_loaded_and_driven(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    with loop_device(tmp_path / "disk", 512 * MIB) as device:
        own = Aerospike(memory_gib=0.25, device=device, destroys_data_on=device)
        settings = DatabaseSettings(system="aerospike", binary=PROGRAM, aerospike=own, settings=SMALL_STAGE)
        for _ in range(2):  # the second begins with what the first left on the device, and must not read it
            raw, told, free_bytes = asyncio.run(driven(tmp_path, 1, settings))
            require_right(raw)
            assert told["namespace.storage-engine"] == "device"
            assert 0 < free_bytes < (512 - 8 - 64) * MIB
        assert not (tmp_path / "database-1" / "aerospike" / "data" / "namespace.dat").exists()
        with Path(device).open("rb") as written:
            assert written.read(8) != bytes(8)


@pytest.mark.parametrize("count", [1, 3])
def test_servers_are_configured_loaded_driven_and_counted(tmp_path: Path, count: int) -> None:
    own = Aerospike(memory_gib=0.25, disk_gib=0.25)
    settings = DatabaseSettings(system="aerospike", binary=PROGRAM, aerospike=own, settings=SMALL_STAGE)
    (tmp_path / "log").mkdir()
    raw, told, free_bytes = asyncio.run(driven(tmp_path, count, settings))
    require_right(raw)
    assert told["namespace.replication-factor"] == str(min(2, count))
    # Of a file of 256 MiB: the header's block, those that are written, and the eight of defragmentation are not free.
    assert 0 < free_bytes < (256 - 8 - 64) * MIB
    logs = "".join(file.read_text(errors="replace") for file in (tmp_path / "log").iterdir())
    assert "admin section is not configured" not in logs
    assert "is deprecated" not in logs
