"""A real Aerospike server, where `NEPHOSCOPE_ASD` names its program: started, loaded, driven and asked."""

import asyncio
import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from nephoscope.benchmarks.base import RawOutput
from nephoscope.benchmarks.database.ycsb import Ycsb, YcsbParameters
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import FIXTURE, RUN
from nephoscope.benchmarks.storage.raw_device import raw_device_of
from nephoscope.databases.aerospike.config import build_of
from nephoscope.databases.aerospike.database import AerospikeDatabase
from nephoscope.databases.base import Upkeep
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


@dataclass(frozen=True)
class Era:
    """What the version of the program changes."""

    memory_gib: float | None
    settings: dict[str, str]
    kept_bytes: int
    """Of each file or device, for defragmentation."""


def era() -> Era:
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    version = build_of(said).version
    cache, kept_bytes = ("post-write-cache", "8M"), 8 * 8 * MIB
    if version < (7, 1):
        cache, kept_bytes = ("post-write-queue", "8"), 8 * MIB  # blocks of 1 MiB
    stored = {"namespace.index-stage-size": "128M", f"namespace.storage-engine.{cache[0]}": cache[1]}
    return Era(None if version == (7, 0) else 0.25, stored, kept_bytes)


async def driven(folder: Path, count: int, settings: DatabaseSettings) -> tuple[RawOutput, dict[str, str], Upkeep]:
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
        return raw_of(site), await database.settings(cluster, endpoint), await database.upkeep(cluster, endpoint)
    finally:
        await database.stop(cluster)


def require_room(found: Upkeep, size_bytes: int, kept_bytes: int) -> None:
    """The header, the blocks that are written, and those kept for defragmentation are not free."""
    assert found.free_bytes is not None
    assert found.assured_bytes is not None
    assert 0 < found.assured_bytes <= found.free_bytes < size_bytes - 8 * MIB - kept_bytes


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
    now = era()
    with loop_device(tmp_path / "disk", 512 * MIB) as device:
        own = Aerospike(memory_gib=now.memory_gib, device=device, destroys_data_on=device)
        settings = DatabaseSettings(system="aerospike", binary=PROGRAM, aerospike=own, settings=now.settings)
        for _ in range(2):  # the second begins with what the first left on the device, and must not read it
            raw, told, found = asyncio.run(driven(tmp_path, 1, settings))
            require_right(raw)
            assert told["namespace.storage-engine"] == "device"
            require_room(found, 512 * MIB, now.kept_bytes)
        assert not (tmp_path / "database-1" / "aerospike" / "data" / "namespace.dat").exists()
        with Path(device).open("rb") as written:
            assert written.read(8) != bytes(8)


@pytest.mark.parametrize("count", [1, 3])
def test_servers_are_configured_loaded_driven_and_counted(tmp_path: Path, count: int) -> None:
    now = era()
    own = Aerospike(memory_gib=now.memory_gib, disk_gib=0.25)
    settings = DatabaseSettings(system="aerospike", binary=PROGRAM, aerospike=own, settings=now.settings)
    (tmp_path / "log").mkdir()
    raw, told, found = asyncio.run(driven(tmp_path, count, settings))
    require_right(raw)
    assert told["namespace.replication-factor"] == str(min(2, count))
    require_room(found, 256 * MIB, now.kept_bytes)
    logs = "".join(file.read_text(errors="replace") for file in (tmp_path / "log").iterdir())
    assert "admin section is not configured" not in logs
    assert "is deprecated" not in logs
