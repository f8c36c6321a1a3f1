"""Data sets of CockroachDB as files: put back between trials on shared servers, and copied to Azure's storage."""

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from nephoscope.databases.cockroachdb import blob_copy, copies
from nephoscope.databases.cockroachdb import database as cockroachdb
from nephoscope.databases.cockroachdb.database import CockroachDatabase
from nephoscope.databases.cockroachdb.machines import stores_of
from nephoscope.model.errors import DatabaseFailed
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support import fake_cockroach
from tests.support.fake_blobs import Blobs, blob_storage
from tests.support.local_remote import cluster_on_loopback

pytestmark = pytest.mark.whole

PLACE = "azure-stores://account/container/sets?AUTH=implicit"


@pytest.fixture
def blobs() -> Iterator[Blobs]:
    with blob_storage() as found:
        yield found


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_folder_comes_back_as_it_was_and_counts_only_once_it_is_complete(blobs: Blobs, tmp_path: Path) -> None:
    source, blobs.busy = tmp_path / "set", 1
    for name, size in (("a.sst", 3_000_000), ("b.sst", 0), ("MANIFEST", 10), ("auxiliary/side loading/r1", 7)):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(bytes(size))

    def run(verb: str, folder: Path) -> int:
        return blob_copy.main(verb, f"{blobs.url}/container", f"{blobs.url}/tokens", "sets/one", str(folder))

    assert run("up", source) == 0
    assert min(blobs.held) == "sets/one.complete"
    assert run("down", tmp_path / "back") == 0
    assert files(tmp_path / "back") == files(source)
    blobs.refuses = True
    with pytest.raises(OSError, match="403"):
        run("look", source)


async def trial(cluster: Cluster, settings: DatabaseSettings, log: Path) -> bool:
    """One trial that changes its data; whether it had to load them."""
    database = CockroachDatabase()
    endpoint = await database.start(cluster, settings, log)
    try:
        has = await database.has_fixture(cluster, endpoint, "tpcc_1")
        if not has:
            await database.create_fixture(cluster, endpoint, "tpcc_1")
            await database.seal_fixture(cluster, endpoint, "tpcc_1")
        await database.clone_fixture(cluster, endpoint, "tpcc_1")
        for machine in cluster.database:
            data = Path(stores_of(machine)[0]) / "CURRENT"
            assert not data.exists(), "an earlier trial's"
            data.write_text("used")
        return not has
    finally:
        await database.stop(cluster)


def ran(folder: Path, fixtures: str | None, monkeypatch: pytest.MonkeyPatch, **settings: str) -> list[bool]:
    """Whether each of two trials on one cluster loaded its data set; `settings` are of the cluster."""
    monkeypatch.setattr(cockroachdb, "_LOOK_EVERY_S", 0.1)
    monkeypatch.setattr(cockroachdb, "_COUNT_EVERY_S", 0.1)
    folder.mkdir(exist_ok=True)
    program = fake_cockroach.install(folder / "state", folder / "own" / "cockroach")
    database = DatabaseSettings(binary=str(program), fixtures=fixtures, secure=False, settings=settings)
    cluster = replace(cluster_on_loopback(folder, 2), shared=True)

    async def trials() -> list[bool]:
        return [await trial(cluster, database, folder / f"log-{number}" / "c.log") for number in range(2)]

    return asyncio.run(trials())


def test_trials_on_shared_servers_load_once_and_find_the_files_of_that_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ran(tmp_path / "a", None, monkeypatch) == [True, False]
    told = (tmp_path / "a" / "state" / "calls.jsonl").read_text()
    assert "RESTORE" not in told
    assert "BACKUP DATABASE" not in told


@pytest.mark.slow
def test_another_cluster_finds_the_data_set_in_azures_storage(
    blobs: Blobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ran(tmp_path / "a", PLACE, monkeypatch) == [True, False]
    assert {name for name in blobs.held if name.endswith(".complete")} == {
        f"sets/tpcc_1/{fake_cockroach.TAG}/2/{number}-1.complete" for number in (1, 2)
    }
    assert ran(tmp_path / "b", PLACE, monkeypatch) == [False, False]
    with_setting = {"kv.range_merge.queue_enabled": "false"}
    assert ran(tmp_path / "d", PLACE, monkeypatch, **with_setting) == [True, False], "settings are among its files"
    blobs.refuses = True
    with pytest.raises(DatabaseFailed, match=r"could not use the storage account: .*403"):
        ran(tmp_path / "c", PLACE, monkeypatch)


@dataclass
class Disks:
    """Volumes of a cluster whose machines are folders: a snapshot is a copy of a folder."""

    cluster: Cluster
    snapshots: Path
    slow_at_first: bool = True
    data_set: str = "tpcc_1"
    kept: int = 0

    async def keep(self) -> None:
        self.kept += 1
        for machine in self.cluster.database:
            shutil.copytree(machine.data_dir, self.snapshots / machine.name)


def cluster_of(folder: Path, snapshots: Path, addresses_from: int = 1) -> Cluster:
    """Two servers; with snapshots, on copies of them, and at other addresses."""
    folder.mkdir()
    bare = cluster_on_loopback(folder, 2)
    machines = tuple(
        replace(one, address=f"127.0.0.{addresses_from + place}") for place, one in enumerate(bare.database)
    )
    for one in machines if snapshots.exists() else ():
        shutil.copytree(snapshots / one.name, one.data_dir, dirs_exist_ok=True)
    found = replace(bare, key=f"study/{folder.name}", database=machines)
    return replace(found, volumes=Disks(found, snapshots))


@pytest.mark.parametrize("shared", [True, False])
def test_another_cluster_starts_on_what_snapshots_of_volumes_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    """Whatever its addresses are; of another version it empties the folders, and loads."""
    monkeypatch.setattr(cockroachdb, "_LOOK_EVERY_S", 0.1)
    monkeypatch.setattr(cockroachdb, "_COUNT_EVERY_S", 0.1)

    def ran(cluster: Cluster, tag: str = fake_cockroach.TAG) -> bool:
        own = tmp_path / f"own-{cluster.key.rpartition('/')[2]}"
        program = fake_cockroach.install(own / "state", own / "cockroach")
        (own / "state").mkdir()
        (own / "state" / "tag").write_text(tag)
        settings = DatabaseSettings(binary=str(program), fixtures="snapshots", secure=False)
        return asyncio.run(trial(cluster, settings, own / "log" / "c.log"))

    snapshots = tmp_path / "snapshots"
    first = replace(cluster_of(tmp_path / "a", snapshots), shared=shared)
    assert ran(first) is True
    for machine in first.database:
        kept = snapshots / machine.name / "cockroach" / "kept" / "tpcc_1"
        (kept / "1.sst").write_text("table")
    assert isinstance(first.volumes, Disks)
    assert first.volumes.kept == 1

    second = replace(cluster_of(tmp_path / "b", snapshots, addresses_from=3), shared=shared)
    assert ran(second) is False
    assert isinstance(second.volumes, Disks)
    assert second.volumes.kept == 0
    for machine in second.database:
        assert (Path(stores_of(machine)[0]) / "1.sst").read_text() == "table"

    third = replace(cluster_of(tmp_path / "c", snapshots), shared=shared)
    third = replace(third, volumes=Disks(third, tmp_path / "others"))
    assert ran(third, "v22.1.7") is True


def test_a_data_set_is_kept_only_as_a_whole(tmp_path: Path) -> None:
    cluster = cluster_on_loopback(tmp_path, 2)
    for machine in cluster.database:
        store = Path(stores_of(machine)[0])
        (store / "logs").mkdir(parents=True)
        (store / "000001.sst").write_text("table")
    asyncio.run(copies.keep(cluster, "one"))
    assert asyncio.run(copies.is_kept(cluster, "one"))
    first = Path(stores_of(cluster.database[0])[0])
    kept = first.parent / "kept" / "one"
    assert (kept / "000001.sst").samefile(first / "000001.sst"), "a link"
    assert not (kept / "logs").exists()
    kept.rename(kept.with_name("other"))
    assert not asyncio.run(copies.is_kept(cluster, "one"))
