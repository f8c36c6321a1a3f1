"""CockroachDB as a database, against an open stand-in for its program: what it is told, in which order."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.checks.operations import Replication
from nephoscope.databases.base import Endpoint, HasFixtures, HasReplication, HasSettings, HasUpkeep, Upkeep
from nephoscope.databases.cockroachdb import commands as cockroachdb_commands
from nephoscope.databases.cockroachdb import database as cockroachdb
from nephoscope.databases.cockroachdb.database import CockroachDatabase
from nephoscope.databases.cockroachdb.machines import installed
from nephoscope.model.errors import DatabaseFailed, InputError
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support import fake_cockroach
from tests.support.command_line import processes_naming
from tests.support.evidence import evidence
from tests.support.local_remote import cluster_on_loopback

pytestmark = pytest.mark.whole

Scenario = Callable[[CockroachDatabase, Cluster, Endpoint], Awaitable[None]]
PORT = cockroachdb_commands.PORT


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not sooner, as each look starts a program for each server."""
    monkeypatch.setattr(cockroachdb, "_LOOK_EVERY_S", 0.1)
    monkeypatch.setattr(cockroachdb, "_COUNT_EVERY_S", 0.1)


def cluster_in(folder: Path, count: int = 3, zones: str = "aaa") -> Cluster:
    found = cluster_on_loopback(folder, count)
    machines, load = zip(found.database, zones, strict=False), replace(found.load, region="us-east-1")
    database = tuple(replace(one, region="us-east-1", zone=f"us-east-1{zone}") for one, zone in machines)
    return replace(found, database=database, load=load if count > 1 else database[0])


def with_servers(
    folder: Path,
    scenario: Scenario,
    settings: DatabaseSettings | None = None,
    *,
    count: int = 3,
    zones: str = "aaa",
) -> list[list[str]]:
    """Every command line of `cockroach`, in order."""
    program = fake_cockroach.install(folder / "state", folder / "own" / "cockroach")
    wanted = (settings or DatabaseSettings()).model_copy(update={"binary": str(program)})

    async def run() -> None:
        database, cluster = CockroachDatabase(), cluster_in(folder, count, zones)
        try:
            await scenario(database, cluster, await database.start(cluster, wanted, folder / "log" / "cockroachdb.log"))
        finally:
            await database.stop(cluster)

    asyncio.run(run())
    assert processes_naming(str(folder)) == []
    return calls(folder)


def calls(folder: Path) -> list[list[str]]:
    return [json.loads(line) for line in (folder / "state" / "calls.jsonl").read_text().splitlines()]


async def nothing(*_: object) -> None:
    pass


def statements(told: list[list[str]]) -> list[str]:
    said = [word.removeprefix("--execute=") for argv in told for word in argv if word.startswith("--execute=")]
    return [one for one in said if one != "SELECT 1"]


def test_the_free_space_of_the_machine_that_has_least_is_told(tmp_path: Path) -> None:
    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert isinstance(database, HasUpkeep)
        found = await database.upkeep(cluster, endpoint)
        assert (found.free_bytes or 0) > 0
        assert found == Upkeep(free_bytes=found.free_bytes)

    with_servers(tmp_path, scenario, count=1)


def test_servers_in_several_zones_are_told_where_they_are(tmp_path: Path) -> None:
    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert isinstance(database, HasSettings)
        found = await database.settings(cluster, endpoint)
        assert found["start --locality of database-2"] == "region=us-east-1,zone=us-east-1b"

    told = with_servers(tmp_path, scenario, DatabaseSettings(secure=False), count=2, zones="ab")
    starts = sorted(next(word for word in argv if "locality" in word) for argv in told if argv[0] == "start")
    assert starts == [f"--locality=region=us-east-1,zone=us-east-1{zone}" for zone in "ab"]


def test_three_servers_join_are_initialised_once_and_asked_each(tmp_path: Path) -> None:
    told = [argv for argv in with_servers(tmp_path, nothing, DatabaseSettings(secure=False)) if argv[0] != "version"]
    everybody = ",".join(f"127.0.0.{number}:{PORT}" for number in (1, 2, 3))
    starts = sorted(argv for argv in told if argv[0] == "start")  # they run at once
    assert starts == [
        [
            "start",
            "--insecure",
            f"--store=path={tmp_path}/database-{number}/cockroach/store",
            f"--listen-addr=127.0.0.{number}:{PORT}",
            f"--advertise-addr=127.0.0.{number}:{PORT}",
            "--http-addr=127.0.0.1:8357",
            f"--join={everybody}",
            "--cache=.25",
            "--max-sql-memory=.25",
        ]
        for number in (1, 2, 3)
    ]
    rest = [argv for argv in told if argv[0] != "start"]
    ended_well = rest[[argv[0] for argv in rest].index("sql") :]
    assert {argv[0] for argv in rest[: len(rest) - len(ended_well)]} == {"init"}
    asked = {argv[2].removeprefix("--host=") for argv in ended_well if "--execute=SELECT 1" in argv}
    assert asked == {*everybody.split(",")}  # at once, too
    assert ended_well[-1] == ["node", "status", "--ranges", "--insecure", f"--host=127.0.0.1:{PORT}", "--format=tsv"]


def test_a_secure_cluster_gives_each_machine_its_own_certificate_and_the_client_roots(tmp_path: Path) -> None:
    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        client = f"{tmp_path}/load/cockroach/certs"
        everybody = ",".join(f"127.0.0.{number}:{PORT}" for number in (1, 2, 3))
        assert endpoint.dsn == (
            f"postgresql://root@{everybody}/defaultdb?sslmode=verify-full&sslrootcert={client}/ca.crt"
            f"&sslcert={client}/client.root.crt&sslkey={client}/client.root.key"
        )
        assert endpoint.environment == {}
        assert (await database.settings(cluster, endpoint))["security"] == "certificates"

    told = with_servers(tmp_path, scenario)
    made = [argv[1:3] if argv[1] != "create-ca" else argv[1:2] for argv in told if argv[0] == "cert"]
    nodes = [["create-node", f"127.0.0.{number}"] for number in (1, 2, 3)]
    assert made == [["create-ca"], ["create-client", "root"], *nodes]
    folders = {name: tmp_path / name / "cockroach" / "certs" for name in ("database-1", "database-2", "load")}
    there = {name: {file.name for file in folder.iterdir()} for name, folder in folders.items()}
    root = {"ca.crt", "client.root.crt", "client.root.key"}
    assert there == {
        "database-1": root | {"node.crt", "node.key"},
        "database-2": {"ca.crt", "node.crt", "node.key"},
        "load": root,
    }
    assert (folders["database-2"] / "node.key").read_text() == "key of ['127.0.0.2']\n"
    modes = {oct(file.stat().st_mode)[-3:] for folder in folders.values() for file in folder.iterdir()}
    assert modes == {"600"}


def test_an_edition_starts_and_sets_as_it_did_and_what_is_in_force_is_told(tmp_path: Path) -> None:
    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert isinstance(database, HasSettings)
        found = await database.settings(cluster, endpoint)
        assert found["admission.kv.enabled"] == "false"
        assert found["server.consistency_check.interval"] == "24h"  # the study's own wins
        assert (found["start --max-sql-memory"], found["security"]) == ("0.4", "insecure")
        assert (found[f"node 127.0.0.3:{PORT}"], found["ranges"]) == ("live", "all have 3 copies")
        assert "kv.snapshot_rebalance.max_rate" not in found  # as it comes
        assert "cluster.secret" not in found
        every = (tmp_path / "log" / "cockroachdb-cluster-settings.tsv").read_text()
        assert "kv.snapshot_rebalance.max_rate\t32MiB\n" in every
        assert "secret" not in every

    settings = DatabaseSettings(edition="cr2022", settings={"server.consistency_check.interval": "24h"})
    told = with_servers(tmp_path, scenario, settings)
    made = [one for one in statements(told) if one.startswith("SET")]
    assert made[0] == "SET CLUSTER SETTING admission.kv.enabled = false"
    assert "SET CLUSTER SETTING server.consistency_check.interval = '24h'" in made
    assert len(made) == 6
    assert all("--insecure" in argv for argv in told if argv[0] in {"start", "init", "sql", "node"})


def test_every_trial_gets_a_restored_data_set(tmp_path: Path) -> None:
    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert isinstance(database, HasFixtures)
        assert not await database.has_fixture(cluster, endpoint, "some")
        empty = await database.create_fixture(cluster, endpoint, "some")
        assert "/some?sslmode" in empty.dsn
        await database.create_fixture(cluster, endpoint, "some")  # the load was interrupted: from nothing
        assert not await database.has_fixture(cluster, endpoint, "some")
        await database.seal_fixture(cluster, endpoint, "some")
        assert await database.has_fixture(cluster, endpoint, "some")
        assert not (tmp_path / "state" / "counted").exists(), "the first look would not be the first"
        assert isinstance(database, HasSettings)
        (server, *_) = (await database.identity(cluster, endpoint)).values()
        assert server == "node 1, v22.1.6, started 2026-11-27 21:00:01.151515"
        for _ in range(2):
            (tmp_path / "state" / "under-replicated-looks").write_text("2")
            copy = await database.clone_fixture(cluster, endpoint, "some")
            assert "/nephoscope_trial?sslmode" in copy.dsn
            assert (tmp_path / "state" / "under-replicated-looks").read_text() == "0", "it did not wait for the copies"

    settings = DatabaseSettings(secure=False, fixtures="s3://bucket/sets/?AUTH=implicit")
    told = statements(with_servers(tmp_path, scenario, settings, count=2))
    place = "'s3://bucket/sets/some?AUTH=implicit'"
    restore = f"RESTORE DATABASE some FROM LATEST IN {place} WITH new_db_name = 'nephoscope_trial'"
    changing = [one for one in told if not one.startswith(("SELECT", "SHOW"))]
    soon = f"CONFIGURE ZONE USING gc.ttlseconds = {cockroachdb.GC_TTL_S}"
    forget = ["CREATE DATABASE IF NOT EXISTS {}", f"ALTER DATABASE {{}} {soon}", "DROP DATABASE {} CASCADE"]
    create = [*(line.format("some") for line in forget), "CREATE DATABASE some"]
    clone = [*(line.format("nephoscope_trial") for line in forget), restore]
    seal = [f"BACKUP DATABASE some INTO {place}", *(line.format("some") for line in forget)]
    assert changing == [*create, *create, *seal, *clone, *clone]


def test_a_kept_cluster_is_gone_on_with_and_another_one_begins_empty(tmp_path: Path) -> None:
    store = tmp_path / "database-2" / "cockroach" / "store" / "data"

    async def leaves(*_: object) -> None:
        store.write_text("rows")

    async def finds(*_: object) -> None:
        assert store.read_text() == "rows"

    async def finds_nothing(*_: object) -> None:
        assert not store.exists()

    with_servers(tmp_path, leaves, DatabaseSettings(secure=False), count=2)
    told = with_servers(tmp_path, finds, DatabaseSettings(secure=False), count=2)  # initialised: that is no failure
    assert [argv[0] for argv in told].count("init") >= 2
    with_servers(tmp_path, finds_nothing, DatabaseSettings(secure=True), count=2)


def test_disks_that_are_apart_have_a_store_each_and_are_emptied_together(tmp_path: Path) -> None:
    program = fake_cockroach.install(tmp_path / "state", tmp_path / "own" / "cockroach")
    settings = DatabaseSettings(secure=False, binary=str(program))
    second = tmp_path / "disk-2"
    machine = replace(cluster_in(tmp_path, 1).load, more_data_dirs=(str(second),))

    async def once(with_settings: DatabaseSettings) -> None:
        database, cluster = CockroachDatabase(), Cluster("study/one", (machine,), machine)
        try:
            await database.start(cluster, with_settings, tmp_path / "log" / "cockroachdb.log")
        finally:
            await database.stop(cluster)

    asyncio.run(once(settings))
    (started,) = [argv for argv in calls(tmp_path) if argv[0] == "start-single-node"]
    stores = [f"{tmp_path}/database-1/cockroach/store", f"{second}/cockroach/store"]
    assert [word for word in started if word.startswith("--store")] == [f"--store=path={store}" for store in stores]
    assert (tmp_path / "log" / "cockroachdb-database-1-server.log").exists()
    rows = [Path(store) / "data" for store in stores]
    for row in rows:
        row.write_text("rows")
    asyncio.run(once(settings))
    assert [row.exists() for row in rows] == [True, True]
    asyncio.run(once(settings.model_copy(update={"secure": True})))  # another cluster
    assert [row.exists() for row in rows] == [False, False]


def test_one_machine_is_a_cluster_of_its_own(tmp_path: Path) -> None:
    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert endpoint.dsn.count(str(PORT)) == 1
        assert endpoint.version == "v22.1.6"

    told = with_servers(tmp_path, scenario, count=1)
    kinds = [argv[0] for argv in told]
    assert kinds.count("start-single-node") == 1
    assert "init" not in kinds


def test_logs_and_the_last_word_on_replication_are_kept(tmp_path: Path) -> None:
    with_servers(tmp_path, nothing, DatabaseSettings(secure=False))
    log = tmp_path / "log"
    assert "a line of the server's log" in (log / "cockroachdb-database-3-server.log").read_text()
    assert "node starting" in (log / "cockroachdb-database-3.log").read_text()
    assert f"127.0.0.2:{PORT}" in (log / "cockroachdb-replication-after.tsv").read_text()


def test_a_cluster_that_does_not_come_up_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    settings = DatabaseSettings(secure=False, settings={"no.such.setting": "1"})
    with pytest.raises(DatabaseFailed, match=r"did not start: .*unknown cluster setting"):
        with_servers(tmp_path, nothing, settings)
    assert (tmp_path / "log" / "cockroachdb-database-1-server.log").exists()


@pytest.mark.parametrize("number", [1, 3])
def test_a_server_that_ends_while_it_starts_is_named_by_its_own_address(tmp_path: Path, number: int) -> None:
    fake_cockroach.State(tmp_path / "state")
    (tmp_path / "state" / "ends-at-start").write_text(f"127.0.0.{number}:{PORT}")
    named = rf"^CockroachDB ended on database-{number} \(127\.0\.0\.{number}:{PORT}\) while it started"
    with pytest.raises(DatabaseFailed, match=named):
        with_servers(tmp_path, nothing, DatabaseSettings(secure=False))


def test_ranges_that_lack_copies_for_too_long_fail_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cockroachdb, "REPLICATION_TIMEOUT_S", 0.2)
    fake_cockroach.State(tmp_path / "state")
    (tmp_path / "state" / "under-replicated-looks").write_text("1000")

    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        await database.create_fixture(cluster, endpoint, "some")
        await database.seal_fixture(cluster, endpoint, "some")
        await database.clone_fixture(cluster, endpoint, "some")

    with pytest.raises(DatabaseFailed, match=r"still missing after 0 s: [\d,]+ ranges have too few; .* is live, with"):
        with_servers(tmp_path, scenario, DatabaseSettings(secure=False))


def test_the_settings_of_a_trial_tell_of_its_data_once_all_copies_are_there(tmp_path: Path) -> None:
    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        await database.create_fixture(cluster, endpoint, "some")
        await database.seal_fixture(cluster, endpoint, "some")
        lacks_a_copy(tmp_path / "state")
        await database.clone_fixture(cluster, endpoint, "some")
        assert (await database.settings(cluster, endpoint))["ranges"] == "all have 3 copies"

    with_servers(tmp_path, scenario, DatabaseSettings(secure=False))


def gone(state: Path, number: int) -> None:
    (state / "up" / f"127.0.0.{number}:{PORT}").unlink()


def lacks_a_copy(state: Path) -> None:
    (state / "under-replicated-looks").write_text("7")


def is_whole_again(state: Path) -> None:
    for number in (1, 2, 3):
        (state / "up" / f"127.0.0.{number}:{PORT}").touch()
    for name in ("under-replicated-looks", "not-live"):
        (state / name).unlink(missing_ok=True)


HAPPENINGS: list[tuple[Callable[[Path], object], str, str]] = [
    (lambda _state: None, "valid", "ranges all have 3 copies"),
    (lacks_a_copy, "invalid", "ranges: all have 3 copies before the trial, 7 have fewer than 3 copies after it"),
    (lambda state: gone(state, 3), "invalid", f"127.0.0.3:{PORT}: live before the trial, does not answer after it"),
    (lambda state: gone(state, 1), "invalid", f"127.0.0.1:{PORT}: live before the trial, does not answer after it"),
    (lambda state: (state / "not-live").write_text(f"127.0.0.2:{PORT}"), "invalid", "trial, not live after it"),
]


def test_what_became_of_the_copies_during_a_trial_is_judged_as_of_its_end(tmp_path: Path) -> None:
    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert isinstance(database, HasReplication)
        for happens, verdict, said in HAPPENINGS:
            before = await database.replication(cluster)
            happens(tmp_path / "state")
            after = await database.replication(cluster)
            judged = Replication()(evidence(replication_before=before, replication_after=after))
            assert judged is not None
            assert (judged.verdict, said in str(judged.reason)) == (verdict, True), judged.reason
            is_whole_again(tmp_path / "state")

    with_servers(tmp_path, scenario, DatabaseSettings(secure=False))


def test_copies_that_no_server_can_tell_of_are_not_judged(tmp_path: Path) -> None:
    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        for number in (1, 2, 3):
            gone(tmp_path / "state", number)
        with pytest.raises(DatabaseFailed, match="none of the servers answers"):
            await database.replication(cluster)

    with_servers(tmp_path, scenario, DatabaseSettings(secure=False))


def reported(*ranges: int, live: bool = True, under_replicated: int = 0) -> list[cockroachdb_commands.Replication]:
    rows = [
        cockroachdb_commands.Replication("n", live=True, ranges=count, under_replicated=0, unavailable=0)
        for count in ranges
    ]
    return [*rows[:-1], replace(rows[-1], live=live, under_replicated=under_replicated)]


@pytest.mark.parametrize(
    ("servers", "rows", "too_few", "whole"),
    [
        (3, reported(0, 0, 0), 0, True),  # three copies are counted by SQL, as of now
        (3, reported(0, 0, 0), 1, False),
        (3, reported(9, 9, 9, live=False), 0, False),
        (3, reported(9, 9), 0, False),
        (5, reported(9, 9, 9, 0, 0), 0, True),
        (5, reported(9, 9, 0, 0, 0), 0, False),  # before they counted which ranges want five
        (5, reported(9, 9, 9, 9, 9, under_replicated=1), 0, False),
    ],
)
def test_when_a_cluster_is_whole(
    servers: int, rows: list[cockroachdb_commands.Replication], too_few: int, whole: bool
) -> None:
    assert cockroachdb_commands.are_whole(servers, rows, too_few) == whole


@pytest.mark.parametrize("tag", ["v25.3.9", "v25.4.0", "v26.1.2"])
def test_tables_that_newer_versions_close_are_opened(tmp_path: Path, tag: str) -> None:
    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert isinstance(database, HasSettings)
        found = await database.settings(cluster, endpoint)
        assert (found["kv.range_merge.queue_enabled"], found["ranges"]) == ("false", "all have 3 copies")

    (fake_cockroach.State(tmp_path / "state").folder / "tag").write_text(tag)
    with_servers(tmp_path, scenario, DatabaseSettings(edition="cr2022"))


def stand_in_for_curl(folder: Path, ends_with: int) -> None:
    curl = folder / "bin" / "curl"
    curl.parent.mkdir(exist_ok=True)
    curl.write_text(f'#!/bin/sh\necho "$@" >>{folder}/asked\nexit {ends_with}\n')
    curl.chmod(0o755)


@pytest.mark.parametrize(
    ("secure", "ends_with", "asked"),
    [(False, 0, ["11", "12"]), (False, 7, ["11", "12"]), (True, 0, [])],
)
def test_ranges_that_lack_copies_are_asked_for_where_the_console_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secure: bool, ends_with: int, asked: list[str]
) -> None:
    stand_in_for_curl(tmp_path, ends_with)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")

    async def scenario(database: CockroachDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        await database.create_fixture(cluster, endpoint, "some")
        await database.seal_fixture(cluster, endpoint, "some")
        (tmp_path / "state" / "under-replicated-looks").write_text("2")
        await database.clone_fixture(cluster, endpoint, "some")

    with_servers(tmp_path, scenario, DatabaseSettings(secure=secure))
    file = tmp_path / "asked"
    lines = file.read_text().splitlines() if file.exists() else []
    assert [re.findall(r'"range_id": (\d+)', line)[0] for line in lines] == asked
    assert all(line.endswith(" http://127.0.0.1:8357/_admin/v1/enqueue_range") for line in lines)


def find(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> tuple[str, str]:
    monkeypatch.setenv("PATH", f"{folder}/bin:/usr/bin:/bin")
    machine = cluster_in(folder, 1).load
    return asyncio.run(installed(machine, DatabaseSettings(**settings)))


def test_where_the_program_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DatabaseFailed, match="no CockroachDB at all on database-1: it is not on PATH"):
        find(tmp_path, monkeypatch)
    with pytest.raises(InputError, match=r"`database.binary` .*/none cannot be read"):
        find(tmp_path, monkeypatch, binary=f"{tmp_path}/none")
    curl = tmp_path / "bin" / "curl"
    fake_cockroach.install(tmp_path / "state", tmp_path / "archive" / "cockroach-v22.1.6.linux-any" / "cockroach")
    curl.parent.mkdir()
    curl.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/fetched\ntar -czf "$3" -C {tmp_path}/archive .\n')
    curl.chmod(0o755)
    with pytest.raises(DatabaseFailed):  # an archive of another shape than the published one
        find(tmp_path, monkeypatch, version="22.1.5")
    curl.write_text(
        f'#!/bin/sh\necho "$@" >>{tmp_path}/fetched\ntar -czf "$3" -C {tmp_path}/archive cockroach-v22.1.6.linux-any\n'
    )
    own = f"{tmp_path}/database-1/cockroach/bin/cockroach"
    assert find(tmp_path, monkeypatch, version="22.1.6") == (own, "v22.1.6")
    assert "https://binaries.cockroachdb.com/cockroach-v22.1.6.linux-" in (tmp_path / "fetched").read_text()
    times = len((tmp_path / "fetched").read_text().splitlines())
    assert find(tmp_path, monkeypatch, version="22.1") == (own, "v22.1.6")
    assert len((tmp_path / "fetched").read_text().splitlines()) == times, "it was there already"


def test_another_version_than_asked_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = str(fake_cockroach.install(tmp_path / "state", tmp_path / "own" / "cockroach"))
    with pytest.raises(DatabaseFailed, match=r"requires CockroachDB 22\.1\.60, but the one on database-1 is v22\.1\.6"):
        find(tmp_path, monkeypatch, binary=program, version="22.1.60")
    monkeypatch.setattr(cockroachdb_commands, "OLDEST_VERSION", (22, 2))
    with pytest.raises(DatabaseFailed, match="too old"):
        find(tmp_path, monkeypatch, binary=program)


@pytest.mark.parametrize(
    ("value", "said"),
    [("false", "false"), ("0.5", "0.5"), ("128MiB", "'128MiB'"), ("0s", "'0s'"), ("it's", "'it''s'"), ("-1", "-1")],
)
def test_values_of_settings(value: str, said: str) -> None:
    assert cockroachdb_commands.set_statement("a.b", value) == f"SET CLUSTER SETTING a.b = {said}"


def test_a_status_of_another_shape_is_refused() -> None:
    with pytest.raises(DatabaseFailed, match="unexpected format"):
        cockroachdb_commands.replication("id\taddress\n1\tx\n")


def test_what_is_no_table_is_told() -> None:
    with pytest.raises(DatabaseFailed, match="`cockroach sql`: new-line character"):
        cockroachdb_commands.rows("variable\tvalue\na\rb\t1\n")
