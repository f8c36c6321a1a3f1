"""A real CockroachDB, where `NEPHOSCOPE_COCKROACH` names its program: started, loaded, driven and backed up."""

import asyncio
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

from nephoscope.benchmarks.base import RawOutput
from nephoscope.benchmarks.database.kv import Kv, KvParameters
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import FIXTURE, RUN
from nephoscope.databases.cockroachdb.database import CockroachDatabase
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.command_line import processes_naming
from tests.support.fake_blobs import blob_storage
from tests.support.local_remote import cluster_on_loopback
from tests.support.real_cockroach import binary
from tests.support.real_parts import needs_server_in
from tests.support.site import raw_of, site_here

pytestmark = needs_server_in("NEPHOSCOPE_COCKROACH")
ROWS = 5_000
KV95 = KvParameters(rows=ROWS, read_percent=95, dialect="cockroachdb", isolation="serializable", ramp_s=0, duration_s=2)
NO_CONSOLE = {"http-addr": "127.0.0.1:0"}
"""All servers are on this machine, where one port would be one too few."""


def cluster_in_zones(folder: Path, zones: str) -> Cluster:
    folder.mkdir()
    found = cluster_on_loopback(folder, len(zones))
    placed = [replace(one, region="eu", zone=f"eu-{zone}") for one, zone in zip(found.database, zones, strict=True)]
    return replace(found, database=tuple(placed))


async def driven(
    folder: Path, cluster: Cluster, settings: DatabaseSettings
) -> tuple[RawOutput, dict[str, str], dict[str, str]]:
    """The raw output of a trial, the settings in force, and what servers said of their replicas before it."""
    database, (site, _) = CockroachDatabase(), site_here(folder)
    try:
        endpoint = await database.start(cluster, settings, folder / "log" / "cockroachdb.log")
        site = replace(site, cluster=cluster, database=database, endpoint=endpoint, connections=3)
        fresh = await Kv().prepare(site, KV95)
        before = await database.replication(cluster)
        await Kv().run(replace(site, endpoint=fresh), KV95)
        return raw_of(site), await database.settings(cluster, endpoint), before
    finally:
        await database.stop(cluster)


def requires_sound(raw: RawOutput) -> None:
    run = load_output.read(raw[f"{RUN}.stdout"]).finished
    assert (run.exit_code, run.isolation, run.errors) == (0, "serializable", [])
    assert all(row.agrees for row in run.counters)
    assert all(row.holds for row in run.conditions)


def test_three_servers_with_certificates_know_their_zones_and_have_all_copies(tmp_path: Path) -> None:
    settings = DatabaseSettings(system="cockroachdb", binary=binary(tmp_path), start_flags=NO_CONSOLE)
    raw, told, before = asyncio.run(driven(tmp_path, cluster_in_zones(tmp_path / "here", "abc"), settings))
    requires_sound(raw)
    assert sum(row.rows for row in load_output.read(raw[f"{FIXTURE}.stdout"]).finished.tables) == ROWS
    assert told["security"] == "certificates"
    assert [*before.values()] == ["live", "live", "live", "all have 3 copies"]
    status = (tmp_path / "log" / "cockroachdb-replication-after.tsv").read_text()
    assert all(f"region=eu,zone=eu-{zone}" in status for zone in "abc")
    spec = load_output.read(raw[f"{RUN}.stdout"]).started.spec
    assert "sslmode=verify-full" in str(spec)
    assert processes_naming(str(tmp_path)) == []


def test_a_backup_of_one_cluster_is_the_data_set_of_another(tmp_path: Path) -> None:
    settings = DatabaseSettings(
        system="cockroachdb",
        binary=binary(tmp_path, f"--external-io-dir={tmp_path / 'shared'}"),
        edition="cr2022",
        start_flags=NO_CONSOLE,
        fixtures="nodelocal://1/sets",
    )
    loads = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        raw, told, _ = asyncio.run(driven(tmp_path / name, cluster_in_zones(tmp_path / name / "here", "a"), settings))
        requires_sound(raw)
        loads.append(f"{FIXTURE}.stdout" in raw)
        assert (told["security"], told["admission.kv.enabled"]) == ("insecure", "false")
    assert loads == [True, False]


def test_each_trial_on_a_shared_cluster_starts_from_the_same_data(tmp_path: Path) -> None:
    settings = DatabaseSettings(system="cockroachdb", binary=binary(tmp_path), secure=False, start_flags=NO_CONSOLE)
    cluster = replace(cluster_in_zones(tmp_path / "here", "aaa"), shared=True)

    async def trial(number: int) -> tuple[bool, str, str]:
        """Whether it loaded, and the fingerprints of its data before and after it."""
        folder = tmp_path / str(number)
        folder.mkdir()
        database, (site, _) = CockroachDatabase(), site_here(folder)
        try:
            endpoint = await database.start(cluster, settings, folder / "log" / "cockroachdb.log")
            site = replace(site, cluster=cluster, database=database, endpoint=endpoint, connections=3)
            fresh = await Kv().prepare(site, KV95)
            look = "SHOW EXPERIMENTAL_FINGERPRINTS FROM TABLE nephoscope_trial.kv"
            before = await database._sql(cluster, look)
            await Kv().run(replace(site, endpoint=fresh), KV95)
            requires_sound(raw_of(site))
            return f"{FIXTURE}.stdout" in raw_of(site), before, await database._sql(cluster, look)
        finally:
            await database.stop(cluster)

    trials = [asyncio.run(trial(number)) for number in range(3)]
    assert [loads for loads, _, _ in trials] == [True, False, False]
    assert len({before for _, before, _ in trials}) == 1
    assert all(after != before for _, before, after in trials)
    assert any(tmp_path.rglob("kept/*/*.sst"))
    assert processes_naming(str(tmp_path)) == []


def test_servers_start_at_other_addresses_on_stores_that_came_from_azures_storage(tmp_path: Path) -> None:
    fixtures = "azure-stores://account/container/sets?AUTH=implicit"
    settings = DatabaseSettings(
        system="cockroachdb", binary=binary(tmp_path), start_flags=NO_CONSOLE, secure=False, fixtures=fixtures
    )
    loads = []
    with blob_storage():
        for number, name in enumerate(("first", "second")):
            (tmp_path / name).mkdir()
            cluster = cluster_in_zones(tmp_path / name / "here", "aaa")
            moved = [replace(one, address=f"127.0.{number}.{1 + place}") for place, one in enumerate(cluster.database)]
            cluster = replace(cluster, database=tuple(moved))
            raw, _, before = asyncio.run(driven(tmp_path / name, cluster, settings))
            requires_sound(raw)
            assert [*before.values()] == ["live", "live", "live", "all have 3 copies"]
            loads.append(f"{FIXTURE}.stdout" in raw)
    assert loads == [True, False]
    assert processes_naming(str(tmp_path)) == []


def process_on(data_dir: str) -> int:
    """The id of the server whose store is there."""
    return int(subprocess.check_output(["pgrep", "-f", f"path={data_dir}/cockroach/store"]))


def test_a_server_that_stops_and_a_range_that_lost_a_copy_are_seen_at_once(tmp_path: Path) -> None:
    settings = DatabaseSettings(system="cockroachdb", binary=binary(tmp_path), secure=False, start_flags=NO_CONSOLE)
    cluster = cluster_in_zones(tmp_path / "here", "aaaa")

    async def scenario() -> list[dict[str, str]]:
        """What is told before anything happens, once a range has one copy, and once the last server is stopped."""
        database = CockroachDatabase()
        try:
            await database.start(cluster, settings, tmp_path / "log" / "cockroachdb.log")
            await database._until_whole(cluster)
            told = [await database.replication(cluster)]
            await database._sql(
                cluster,
                "CREATE TABLE one_copy (x INT PRIMARY KEY)",
                "ALTER TABLE one_copy CONFIGURE ZONE USING num_replicas = 1",
            )
            for _ in range(60):
                now = await database.replication(cluster)
                if "all have" not in now["ranges"]:
                    break
                await asyncio.sleep(1)
            told.append(now)
            stopped = process_on(cluster.database[3].data_dir)
            os.kill(stopped, signal.SIGSTOP)
            try:
                told.append(await database.replication(cluster))
            finally:
                os.kill(stopped, signal.SIGCONT)
            return told
        finally:
            await database.stop(cluster)

    whole, lost, silent = (list(told.values()) for told in asyncio.run(scenario()))
    assert whole == ["live"] * 4 + ["all have 3 copies"]
    assert lost == ["live"] * 4 + ["1 have fewer than 3 copies"]
    assert silent[3] == "does not answer", "others may seem to have gone, too, while they elect leaders"
    assert processes_naming(str(tmp_path)) == []
