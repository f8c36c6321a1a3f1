"""Aerospike as a database, against an open stand-in for its server: what it is told, and what it makes of answers."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nephoscope.checks.operations import DatabaseUnchanged, Replication
from nephoscope.databases.aerospike import database as aerospike
from nephoscope.databases.aerospike.config import PORT
from nephoscope.databases.aerospike.database import AerospikeDatabase
from nephoscope.databases.aerospike.machines import installed
from nephoscope.databases.base import Endpoint, HasFixtures, HasFootprint, HasReplication, HasSettings, HasUpkeep
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import DatabaseFailed, InputError
from nephoscope.model.units import MIB
from nephoscope.providers.base import Cluster
from nephoscope.study.aerospike import Aerospike
from nephoscope.study.model import Database as DatabaseSettings
from tests.support import fake_asd
from tests.support.command_line import processes_naming
from tests.support.evidence import evidence
from tests.support.local_remote import cluster_on_loopback

Scenario = Callable[[AerospikeDatabase, Cluster, Endpoint], Awaitable[None]]
SMALL = Aerospike(memory_gib=0.25, disk_gib=0.125)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aerospike, "_LOOK_EVERY_S", 0.02)


async def unused(machine: MachineHandle, device: str) -> tuple[str, int]:
    return device, 1 << 30


def settings_of(folder: Path, own: Aerospike = SMALL, **more: Any) -> DatabaseSettings:
    program = fake_asd.install(folder / "state", folder / "own" / "asd")
    return DatabaseSettings(system="aerospike", binary=str(program), aerospike=own, **more)


def with_servers(folder: Path, scenario: Scenario, settings: DatabaseSettings | None = None, *, count: int = 3) -> None:
    """Starts servers, and holds that none is left whatever becomes of them."""
    wanted = settings or settings_of(folder)

    async def drive() -> None:
        database, cluster = AerospikeDatabase(unused), cluster_on_loopback(folder, count)
        try:
            await scenario(database, cluster, await database.start(cluster, wanted, folder / "log" / "aerospike.log"))
        finally:
            await database.stop(cluster)

    asyncio.run(drive())
    assert processes_naming(str(folder)) == []


async def nothing(*_: object) -> None:
    pass


def store(folder: Path, number: int) -> Path:
    return folder / f"database-{number}" / "aerospike" / "data" / "namespace.dat"


def test_three_servers_are_one_cluster_and_say_how_they_are_set(tmp_path: Path) -> None:
    async def scenario(database: AerospikeDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert isinstance(database, HasSettings)
        everybody = ",".join(f"127.0.0.{number}:{PORT}" for number in (1, 2, 3))
        assert endpoint.dsn == f"aerospike://{everybody}/test"
        assert (endpoint.version, endpoint.origin, endpoint.environment) == ("Aerospike Community 8.1.2.0", "user", {})
        found = await database.settings(cluster, endpoint)
        assert found["namespace.storage-engine.flush-size"] == "1048576"
        assert found["namespace.storage-engine.filesize"] == str(128 * MIB)
        assert found["namespace.indexes-memory-budget"] == str(256 * MIB)
        assert found["namespace.nsup-period"] == "120"  # the study's own
        assert found["service.proto-fd-max"] == "1512"
        assert found["network.heartbeat.mode"] == "mesh"
        assert found["durability"].startswith("acknowledged when 2 of 2 copies are in memory")
        assert found["servers"] == "3"
        assert found["service.node-id of database-3"] == "a3"
        assert not [name for name in found if "file[" in name or "address" in name or "directory" in name]

    settings = settings_of(tmp_path, connections=1000, settings={"namespace.nsup-period": "120"})
    with_servers(tmp_path, scenario, settings)
    texts = [(tmp_path / f"database-{n}" / "aerospike" / "aerospike.conf").read_text() for n in (1, 2, 3)]
    told = [fake_asd.parse(text, (8, 1)) for text in texts]
    assert [one["service"]["node-id"] for one in told] == ["a1", "a2", "a3"]
    seeds = [f"127.0.0.{number} 22302" for number in (1, 2, 3)]
    assert all(one["network"]["heartbeat"]["mesh-seed-address-port"] == seeds for one in told)
    logs = [(tmp_path / "log" / f"aerospike-database-{number}-1.log").read_text() for number in (1, 2, 3)]
    assert all("soon there will be cake" in log for log in logs)
    assert not [log for log in logs if "deprecated" in log or "not configured" in log]


def test_every_trial_begins_with_the_files_as_they_were_loaded(tmp_path: Path) -> None:
    async def scenario(database: AerospikeDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert isinstance(database, HasFixtures)
        assert not await database.has_fixture(cluster, endpoint, "some")
        _write(store(tmp_path, 2), b"left by an interrupted load")
        assert await database.create_fixture(cluster, endpoint, "some") == endpoint
        assert not _begin(store(tmp_path, 2)).strip(b"\0"), "it did not begin empty"
        for number in (1, 2):
            _write(store(tmp_path, number), b"loaded %d" % number)
        assert not await database.has_fixture(cluster, endpoint, "some")
        await database.seal_fixture(cluster, endpoint, "some")
        assert await database.has_fixture(cluster, endpoint, "some")
        for _ in range(2):
            (tmp_path / "state" / "migrating-looks").write_text("3")
            assert await database.clone_fixture(cluster, endpoint, "some") == endpoint
            assert (tmp_path / "state" / "migrating-looks").read_text() == "0", "it did not wait for migrations"
            assert [_begin(store(tmp_path, number))[:8] for number in (1, 2)] == [b"loaded 1", b"loaded 2"]
            _write(store(tmp_path, 1), b"a trial wrote here")

    with_servers(tmp_path, scenario, count=2)

    def finds(*, wanted: bool) -> Scenario:
        async def scenario(database: AerospikeDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
            assert await database.has_fixture(cluster, endpoint, "some") is wanted

        return scenario

    with_servers(tmp_path, finds(wanted=True), settings_of(tmp_path, connections=2000), count=2)
    other = SMALL.model_copy(update={"write_block_kib": 128})
    with_servers(tmp_path, finds(wanted=False), settings_of(tmp_path, other), count=2)
    assert list((tmp_path / "database-1" / "aerospike" / "fixtures").glob("*/*")) == [], "nobody can use it any more"


def _begin(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(64)


def _write(file: Path, content: bytes) -> None:
    with file.open("r+b") as opened:
        opened.write(content)


def test_a_raw_device_is_erased_and_loaded_for_every_trial(tmp_path: Path) -> None:
    device = tmp_path / "device"
    device.write_bytes(b"of somebody else" * MIB)
    asked = []

    async def noted(machine: MachineHandle, path: str) -> tuple[str, int]:
        asked.append((machine.name, path))
        return path, 1 << 30

    async def drive() -> None:
        database, cluster = AerospikeDatabase(noted), cluster_on_loopback(tmp_path, 1)
        own = SMALL.model_copy(update={"disk_gib": None, "device": str(device), "destroys_data_on": str(device)})
        settings = settings_of(tmp_path, own)
        assert isinstance(database, HasFootprint)
        assert database.disk_bytes(settings, 1000, 1) == 0
        try:
            endpoint = await database.start(cluster, settings, tmp_path / "log" / "aerospike.log")
            assert not device.read_bytes()[: 8 * MIB].strip(b"\0")
            assert device.read_bytes()[8 * MIB :].startswith(b"of somebody"), "more than the header was erased"
            await database.create_fixture(cluster, endpoint, "some")
            await database.seal_fixture(cluster, endpoint, "some")
            assert not await database.has_fixture(cluster, endpoint, "some")
            assert await database.clone_fixture(cluster, endpoint, "some") == endpoint
            assert sorted(file.name for file in (tmp_path / "log").iterdir()) == [
                "aerospike-database-1-1.log",
                "aerospike-database-1-2.log",
            ]
        finally:
            await database.stop(cluster)

    asyncio.run(drive())
    assert asked == [("database-1", str(device))]


def test_a_server_that_restarted_during_a_trial_refuses_it(tmp_path: Path) -> None:
    async def scenario(database: AerospikeDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        uptime = tmp_path / "state" / "uptime-127.0.0.2"
        uptime.write_text("5")
        before = await database.identity(cluster, endpoint)
        assert (before["node of database-2"], before["version of database-2"]) == ("A2", "8.1.2.0")
        kept = await database.replication(cluster)  # of names that are those of the machines

        async def verdict() -> str:
            after = await database.identity(cluster, endpoint)
            seen = {"database_before": before, "database_after": after, "replication_before": kept}
            said = DatabaseUnchanged()(evidence(**seen))
            assert said is not None
            return f"{said.verdict}: {said.reason}"

        uptime.write_text("6")  # as its seconds end sooner than the machine's
        assert await verdict() == "valid: unchanged by the trial"
        uptime.write_text("0")
        assert (await verdict()).startswith("invalid: start of database-2: ")

    with_servers(tmp_path, scenario)


def test_a_server_lost_during_a_trial_refuses_it(tmp_path: Path) -> None:
    async def scenario(database: AerospikeDatabase, cluster: Cluster, _endpoint: Endpoint) -> None:
        assert isinstance(database, HasReplication)
        before = await database.replication(cluster)
        assert before["database-2"].endswith(
            "of 3, partitions 0 to migrate, 0 dead, 0 unavailable, writes taken, high-water mark kept, "
            "0 records evicted"
        )
        again = await database.replication(cluster)
        verdict = Replication()(evidence(replication_before=before, replication_after=again))
        assert verdict is not None
        assert verdict.verdict == "valid"
        _kill("database-2", tmp_path)
        after = await database.replication(cluster)
        assert after["database-2"] == "does not answer"
        verdict = Replication()(evidence(replication_before=before, replication_after=after))
        assert verdict is not None
        assert verdict.verdict == "invalid"

    with_servers(tmp_path, scenario)


def _kill(machine: str, folder: Path) -> None:
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # it ended meanwhile, and was not ours
            if entry.name.isdigit() and f"{folder}/{machine}/" in (entry / "cmdline").read_text(errors="replace"):
                os.kill(int(entry.name), signal.SIGKILL)


def test_what_sustained_writes_cost_it(tmp_path: Path) -> None:
    async def scenario(database: AerospikeDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert isinstance(database, HasUpkeep)
        found = await database.upkeep(cluster, endpoint)
        reserve = 8 * 8 * MIB  # for defragmentation: more than the 5 % at which writes stop
        assert (found.free_bytes, found.debt_bytes) == (100 * 8 * MIB - reserve, 2 * 3 * 8 * MIB)
        assert found.trouble == ""
        (tmp_path / "state" / "stop-writes").touch()
        assert "it rejects writes" in (await database.upkeep(cluster, endpoint)).trouble

    with_servers(tmp_path, scenario, count=2)


def said_when_started(folder: Path, settings: DatabaseSettings, count: int = 2) -> DatabaseFailed:
    with pytest.raises(DatabaseFailed) as failed:
        with_servers(folder, nothing, settings, count=count)
    assert processes_naming(str(folder)) == []
    return failed.value


def test_a_file_that_the_server_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    error = said_when_started(tmp_path, settings_of(tmp_path, settings={"namespace.no-such-key": "1"}))
    assert "Aerospike on database-1 stopped: " in error.message
    assert "unknown config parameter name 'no-such-key'" in error.message
    assert "aerospike-database-1-1.log" in error.hint


def test_a_server_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aerospike, "START_TIMEOUT_S", 0.3)
    settings = settings_of(tmp_path)
    (tmp_path / "state" / "mute").touch()
    assert "database-1 did not answer within" in said_when_started(tmp_path, settings).message


def test_a_migration_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aerospike, "MIGRATION_TIMEOUT_S", 0.1)
    settings = settings_of(tmp_path)
    (tmp_path / "state" / "migrating-looks").write_text("1000")
    error = said_when_started(tmp_path, settings)
    assert "did not form a stable cluster within 0 s: database-1: cluster " in error.message
    assert "open ports 22300 to 22302" in error.hint


@pytest.mark.parametrize(("flag", "words"), [("stop-writes", "rejects writes"), ("evicted", "7 records were evicted")])
def test_a_server_that_is_too_full(tmp_path: Path, flag: str, words: str) -> None:
    settings = settings_of(tmp_path)
    (tmp_path / "state" / flag).touch()
    error = said_when_started(tmp_path, settings)
    assert words in error.message
    assert error.hint.startswith("give it more memory or disk")


def test_a_server_of_the_users_is_refused(tmp_path: Path) -> None:
    settings = settings_of(tmp_path).model_copy(update={"dsn": "aerospike://somewhere:3000/test"})
    with pytest.raises(InputError, match="a trial would empty it"):
        with_servers(tmp_path, nothing, settings, count=1)


def test_sizes_are_shares_of_what_the_machine_has(tmp_path: Path) -> None:
    async def scenario(database: AerospikeDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        found = await database.settings(cluster, endpoint)
        volume = os.statvfs(tmp_path)
        of_disk = volume.f_blocks * volume.f_frsize * 0.4
        assert int(found["namespace.storage-engine.filesize"]) == pytest.approx(of_disk, abs=2 * MIB)
        assert int(found["namespace.indexes-memory-budget"]) % MIB == 0
        assert found["namespace.replication-factor"] == "1"

    with_servers(tmp_path, scenario, settings_of(tmp_path, Aerospike()), count=1)


def find(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> tuple[str, str]:
    monkeypatch.setenv("PATH", f"{folder}/bin:/usr/bin:/bin")
    program, build = asyncio.run(installed(cluster_on_loopback(folder, 1).database[0], DatabaseSettings(**settings)))
    return program, build.text


def test_where_the_program_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        DatabaseFailed, match=r"no Aerospike on database-1: it is not on PATH; hint: set `database\.bin"
    ):
        find(tmp_path, monkeypatch)
    with pytest.raises(InputError, match=r"`database.binary` .*/none cannot be read"):
        find(tmp_path, monkeypatch, binary=f"{tmp_path}/none")
    own = fake_asd.install(tmp_path / "state", tmp_path / "bin" / "asd")
    assert find(tmp_path, monkeypatch) == (str(own), "8.1.2.0")
    taken = f"{tmp_path}/database-1/aerospike/bin/asd"
    assert find(tmp_path, monkeypatch, binary=str(own), version="8.1") == (taken, "8.1.2.0")
    package = tmp_path / "server.deb"
    package.write_text("a package")
    unpack = tmp_path / "bin" / "dpkg-deb"
    unpack.write_text(f'#!/bin/sh\n[ "$1" = --extract ] && mkdir -p "$3/usr/bin" && cp {own} "$3/usr/bin/asd"\n')
    unpack.chmod(0o755)
    inside = f"{tmp_path}/database-1/aerospike/package/usr/bin/asd"
    assert find(tmp_path, monkeypatch, binary=str(package)) == (inside, "8.1.2.0")


def test_another_program_than_asked_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = str(fake_asd.install(tmp_path / "state", tmp_path / "own" / "asd"))
    with pytest.raises(DatabaseFailed, match=r"requires Aerospike 8\.0, but the one on database-1 is 8\.1\.2\.0"):
        find(tmp_path, monkeypatch, binary=program, version="8.0")
    (tmp_path / "state" / "version").write_text("Community 9.0.0.1")
    with pytest.raises(DatabaseFailed, match=r"Aerospike Community 9\.0\.0\.1 is not supported"):
        find(tmp_path, monkeypatch, binary=program)
    broken = tmp_path / "own" / "broken"
    broken.write_text("#!/bin/sh\necho 'libssl.so.3: cannot open shared object file' >&2\nexit 127\n")
    with pytest.raises(DatabaseFailed, match=r"does not start on database-1: libssl\.so\.3"):
        find(tmp_path, monkeypatch, binary=str(broken))


@pytest.mark.parametrize("version", ["Community 6.4.0.34", "Enterprise 7.0.0.26"])
def test_older_servers_take_their_files_as_well(tmp_path: Path, version: str) -> None:
    async def scenario(database: AerospikeDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert endpoint.version == f"Aerospike {version}"
        found = await database.settings(cluster, endpoint)
        sizes = {name: found.get(f"namespace.storage-engine.{name}") for name in ("write-block-size", "flush-size")}
        assert sorted(map(str, sizes.values())) == ["1048576", "None"]
        block = MIB if sizes["write-block-size"] else 8 * MIB
        assert (await database.upkeep(cluster, endpoint)).debt_bytes == 3 * block

    settings = settings_of(tmp_path, SMALL if " 7.0" not in version else SMALL.model_copy(update={"memory_gib": None}))
    (tmp_path / "state" / "version").write_text(version)
    with_servers(tmp_path, scenario, settings, count=1)
