import asyncio
import itertools
import os
import signal
import socketserver
import struct
import subprocess
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nephoscope.databases.asking import Failure, StatementFailed
from nephoscope.databases.base import Endpoint, HasFixtures, HasSettings
from nephoscope.databases.postgres.binaries import find_binaries, major_version
from nephoscope.databases.postgres.database import PostgresDatabase
from nephoscope.databases.postgres.folder import ServerFolder
from nephoscope.model.errors import DatabaseFailed, EnvironmentProblem, TargetUnreachable, ToolFailed, ToolTimedOut
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.command_line import processes_naming
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs
from tests.support.server import postgres

SETTINGS = DatabaseSettings(connections=4)
Scenario = Callable[[PostgresDatabase, Cluster, Endpoint], Awaitable[None]]

pytestmark = needs("postgres")


def cluster_in(folder: Path) -> Cluster:
    machine = this_machine(folder)
    return Cluster("study/configuration", (machine,), machine)


def with_server(folder: Path, scenario: Scenario, settings: DatabaseSettings = SETTINGS) -> None:
    async def run() -> None:
        database, cluster = postgres({}), cluster_in(folder)
        try:
            await scenario(database, cluster, await database.start(cluster, settings, folder / "log"))
        finally:
            await database.stop(cluster)

    asyncio.run(run())
    assert processes_naming(str(folder)) == []


async def sql(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint, statement: str) -> str:
    return await database._sql(cluster, endpoint, statement)


def test_a_server_of_ours_is_durable_pinned_and_tells_its_settings(tmp_path: Path) -> None:
    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert isinstance(database, HasFixtures)
        assert isinstance(database, HasSettings)
        assert endpoint.origin == "embedded"
        assert endpoint.version.startswith("18.")
        settings = await database.settings(cluster, endpoint)
        assert settings["fsync"] == settings["synchronous_commit"] == settings["full_page_writes"] == "on"
        assert settings["work_mem"] == "7MB"
        assert settings["max_connections"] == "24"
        assert str(tmp_path) not in repr(settings)
        password = endpoint.environment["PGPASSWORD"]
        assert password not in endpoint.dsn
        assert password not in repr(endpoint)
        pid = (tmp_path / "postgres" / "data" / "postmaster.pid").read_text().split()[0]
        assert os.sched_getaffinity(int(pid)) == {0}

    with_server(tmp_path, scenario, DatabaseSettings(connections=4, settings={"work_mem": "7MB"}))


def test_nobody_enters_without_the_password(tmp_path: Path) -> None:
    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        stranger = replace(endpoint, environment={"PGPASSWORD": "wrong"})
        with pytest.raises(Exception, match="password authentication failed"):
            await sql(database, cluster, stranger, "SELECT 1")

    with_server(tmp_path, scenario)


class Impostor(socketserver.StreamRequestHandler):
    """Refuses TLS, and asks for the password."""

    def handle(self) -> None:
        length, request = struct.unpack(">II", self.rfile.read(8))
        if request == SSL_REQUEST:
            self.wfile.write(b"N")
            (length,) = struct.unpack(">I", self.rfile.read(8)[:4])
        self.rfile.read(length - 8)
        self.wfile.write(b"R" + struct.pack(">II", 8, CLEARTEXT_PASSWORD))
        with suppress(OSError):
            HEARD.append(self.rfile.read())


SSL_REQUEST, CLEARTEXT_PASSWORD = 80_877_103, 3
HEARD: list[bytes] = []


def test_who_takes_a_servers_port_first_is_not_sent_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every user sees the port in the list of processes before the server has it."""
    HEARD.clear()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Impostor) as impostor:
        threading.Thread(target=impostor.serve_forever).start()
        monkeypatch.setattr("nephoscope.databases.postgres.database.free_port", lambda _: impostor.server_address[1])
        try:
            with pytest.raises(DatabaseFailed, match="did not start"):
                with_server(tmp_path, lambda *_: pytest.fail("the impostor was believed"))
        finally:
            impostor.shutdown()
    assert HEARD
    assert set(HEARD) == {b""}


def test_every_trial_starts_from_the_same_state(tmp_path: Path) -> None:
    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert not await database.has_fixture(cluster, endpoint, "fixture_a")
        empty = await database.create_fixture(cluster, endpoint, "fixture_a")
        await sql(database, cluster, empty, "CREATE TABLE t AS SELECT 1 AS v")
        assert not await database.has_fixture(cluster, endpoint, "fixture_a")
        empty = await database.create_fixture(cluster, endpoint, "fixture_a")  # the load was interrupted: from nothing
        await sql(database, cluster, empty, "CREATE TABLE t AS SELECT 2 AS v")
        await database.seal_fixture(cluster, endpoint, "fixture_a")
        assert await database.has_fixture(cluster, endpoint, "fixture_a")
        for _ in range(2):
            trial = await database.clone_fixture(cluster, endpoint, "fixture_a")
            assert await sql(database, cluster, trial, "SELECT sum(v) FROM t") == "2"
            await sql(database, cluster, trial, "INSERT INTO t VALUES (40)")

    with_server(tmp_path, scenario)


def test_a_server_killed_with_its_controller_comes_up_again_with_its_fixtures(tmp_path: Path) -> None:
    async def before(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        await database.create_fixture(cluster, endpoint, "fixture_a")
        await database.seal_fixture(cluster, endpoint, "fixture_a")
        # A parallel query has a segment of its own, which its leader leaves when it is killed.
        force = "SET debug_parallel_query = on; SET min_parallel_table_scan_size = 0; SET statement_timeout = 0"
        query = asyncio.create_task(sql(database, cluster, endpoint, f"{force}; SELECT pg_sleep(60)"))
        folder = ServerFolder(str(tmp_path))
        for _ in range(100):
            if len(folder.processes()) > 7:
                break
            await asyncio.sleep(0.05)
        lines = folder.pid_file.read_text().splitlines()
        segments.append(lines[6].split()[1])
        files.update(entry for pid in folder.processes() for entry in mapped(pid))
        assert files
        assert segments[0] in system_v_segments()
        for pid in folder.processes():
            with suppress(ProcessLookupError):  # the others end when the first of them is killed
                os.kill(pid, signal.SIGKILL)
        with pytest.raises(ToolFailed):
            await query

    async def after(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert await database.has_fixture(cluster, endpoint, "fixture_a")

    segments: list[str] = []
    files: set[Path] = set()
    with_server(tmp_path, before)
    assert not [file for file in files if file.exists()]
    assert segments[0] not in system_v_segments()
    with_server(tmp_path, after)


def mapped(pid: int) -> list[Path]:
    """Files in /dev/shm that a process has mapped."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return []
    return [Path(line.split()[5]) for line in lines if "/dev/shm/PostgreSQL." in line]


def system_v_segments() -> set[str]:
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


def test_a_busy_child_that_outlives_a_killed_server_is_ended_before_the_next_one_starts(tmp_path: Path) -> None:
    folder = ServerFolder(str(tmp_path))

    async def before(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        statement = "SET statement_timeout = 0; SELECT count(*) FROM generate_series(1, 1e10)"
        query = asyncio.create_task(sql(database, cluster, endpoint, statement))
        await asyncio.sleep(1)
        pid = folder.postmaster()
        assert pid in folder.processes()
        os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(1)
        assert folder.processes(), "no child outlived the server: this test shows nothing"
        database._running.clear()  # as the controller that is gone
        after = postgres({})
        orphans = folder.processes()
        try:
            again = await after.start(cluster, SETTINGS, tmp_path / "log-2")
            assert not orphans & folder.processes()
            assert await sql(after, cluster, again, "SELECT 1") == "1"
        finally:
            await after.stop(cluster)
        with pytest.raises(ToolFailed):
            await query

    with_server(tmp_path, before)
    assert folder.processes() == set()


@pytest.mark.root
@pytest.mark.parametrize(("user", "is_ours"), [(0, True), (65534, False)])
def test_a_process_of_another_user_is_not_taken_for_a_server_of_ours(tmp_path: Path, user: int, is_ours: bool) -> None:
    folder = ServerFolder(str(tmp_path))
    folder.data.mkdir(parents=True)
    argv = ["sh", "-c", "echo postgres >/proc/$$/comm; echo; read _"]
    with subprocess.Popen(argv, cwd=folder.data, user=user, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert folder.processes() == ({process.pid} if is_ours else set())


def test_a_server_that_must_be_killed_says_so_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        pid = ServerFolder(str(tmp_path)).postmaster()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(DatabaseFailed, match="did not stop within"):
            await database.stop(cluster)
        await database.stop(cluster)

    monkeypatch.setattr("nephoscope.databases.postgres.database.STOP_TIMEOUT_S", 0.3)
    with_server(tmp_path, scenario)


def test_a_server_that_recovers_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, answers = PostgresDatabase._sql, itertools.count()

    async def recovers(self: PostgresDatabase, *arguments: Any, **more: Any) -> str:
        said = "the database system is starting up"
        recovering = StatementFailed(Failure(stage="login", cause="server", sqlstate="57P03", message=said))
        try:
            answer = await real(self, *arguments, **more)
        except ToolFailed as error:  # a busy machine takes its time
            raise recovering from error
        monkeypatch.setattr("nephoscope.databases.postgres.database.START_TIMEOUT_S", 0.1)
        if next(answers) < 5:
            raise recovering
        return answer

    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert endpoint.version

    monkeypatch.setattr(PostgresDatabase, "_sql", recovers)
    with_server(tmp_path, scenario)


def test_a_question_that_hangs_is_a_database_that_did_not_come_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs(*_: object, **__: object) -> str:
        raise ToolTimedOut("nephoscope-load did not end")

    async def nothing(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        raise AssertionError("it came up")

    monkeypatch.setattr("nephoscope.databases.postgres.database.START_TIMEOUT_S", 0.2)
    monkeypatch.setattr(PostgresDatabase, "_sql", hangs)
    with pytest.raises(DatabaseFailed, match="did not start"):
        with_server(tmp_path, nothing)


def test_the_shells_libpq_variables_do_not_reach_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOSTADDR", "192.0.2.1")
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=3MB")

    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        assert await sql(database, cluster, endpoint, "SHOW work_mem") == "4MB"
        assert await sql(database, cluster, endpoint, "SELECT E'a\\tb'") == "a\tb"

    with_server(tmp_path, scenario)


@pytest.mark.parametrize(("name", "value"), [("PGREQUIREAUTH", "md5"), ("PGCHANNELBINDING", "require")])
def test_what_the_shell_demands_of_a_users_servers_logins_is_demanded(tmp_path: Path, name: str, value: str) -> None:
    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        users = postgres({**endpoint.environment, name: value})
        with pytest.raises(TargetUnreachable, match=value):
            await users.start(cluster, DatabaseSettings(dsn=endpoint.dsn), tmp_path / "other-log")

    with_server(tmp_path, scenario)


def test_a_role_without_the_rights_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        password = endpoint.environment["PGPASSWORD"]
        settings = DatabaseSettings(dsn=endpoint.dsn.replace("nephoscope@", "bench@"))
        users = postgres({"PGPASSWORD": password})
        await sql(database, cluster, endpoint, f"CREATE ROLE bench LOGIN PASSWORD '{password}'")
        with pytest.raises(EnvironmentProblem, match="let bench create databases") as caught:
            await users.start(cluster, settings, tmp_path / "other-log")
        assert "CREATEDB" in caught.value.hint
        await sql(database, cluster, endpoint, "ALTER ROLE bench CREATEDB")
        with pytest.raises(EnvironmentProblem, match="let bench write checkpoints"):
            await users.start(cluster, settings, tmp_path / "other-log")
        await sql(database, cluster, endpoint, "GRANT pg_checkpoint TO bench")
        reached = await users.start(cluster, settings, tmp_path / "other-log")
        await users.create_fixture(cluster, reached, "nephoscope_a")
        await users.seal_fixture(cluster, reached, "nephoscope_a")
        copy = await users.clone_fixture(cluster, reached, "nephoscope_a")
        neighbour = replace(cluster, key="another-study/configuration")
        other = await users.clone_fixture(neighbour, reached, "nephoscope_a")
        assert copy.dsn != other.dsn
        await users.stop(cluster)
        await users.stop(neighbour)
        names = await sql(database, cluster, endpoint, "SELECT datname FROM pg_database WHERE datname LIKE 'neph%'")
        assert names == "nephoscope_a"

    with_server(tmp_path, scenario)


def test_settings_that_may_be_secrets_are_not_stored(tmp_path: Path) -> None:
    secret = "host=x password=hunter2"

    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        ours = await database.settings(cluster, endpoint)
        assert "primary_conninfo" not in ours
        assert ours["application_name"] == "nephoscope-load"
        users = await database.settings(cluster, replace(endpoint, origin="user"))
        assert users["shared_buffers"] == ours["shared_buffers"]
        assert "application_name" not in users
        assert "hunter2" not in repr((ours, users))

    with_server(tmp_path, scenario, DatabaseSettings(connections=4, settings={"primary_conninfo": secret}))


def test_a_setting_that_it_refuses_is_told_with_its_log(tmp_path: Path) -> None:
    async def nothing(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        raise AssertionError("it came up")

    settings = DatabaseSettings(settings={"shared_buffers": "many"})
    with pytest.raises(DatabaseFailed, match="shared_buffers") as caught:
        with_server(tmp_path, nothing, settings)
    assert "its log is" in caught.value.hint


def test_another_major_version_than_asked_for_is_refused(tmp_path: Path) -> None:
    async def nothing(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        raise AssertionError("it came up")

    with pytest.raises(DatabaseFailed, match=r"PostgreSQL 9\.6 is not installed on this machine, which has.* 18"):
        with_server(tmp_path, nothing, DatabaseSettings(version="9.6"))


def test_a_server_of_the_users_is_reached_and_left_alone(tmp_path: Path) -> None:
    async def scenario(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> None:
        users = postgres(endpoint.environment)
        settings = DatabaseSettings(dsn=endpoint.dsn)
        reached = await users.start(cluster, settings, tmp_path / "other-log")
        assert (reached.origin, reached.dsn) == ("user", endpoint.dsn)
        await users.stop(cluster)
        assert await sql(database, cluster, endpoint, "SELECT 1") == "1"
        stranger = postgres({"PGPASSWORD": "wrong"})
        with pytest.raises(TargetUnreachable, match="password authentication failed"):
            await stranger.start(cluster, settings, tmp_path / "other-log")

    with_server(tmp_path, scenario)


def test_where_a_server_comes_from(tmp_path: Path) -> None:
    for version in ("9.6", "15", "17", "17-custom", "pgbouncer"):
        (tmp_path / "system" / version / "bin").mkdir(parents=True)
        (tmp_path / "system" / version / "bin" / "postgres").touch()
    (tmp_path / "embedded").mkdir()
    (tmp_path / "embedded" / "postgres").touch()
    assert find_binaries(tmp_path / "embedded", tmp_path / "system").origin == "embedded"
    system = find_binaries(None, tmp_path / "system")
    assert (system.origin, system.folder.parent.name) == ("system", "17")
    with pytest.raises(DatabaseFailed, match="no PostgreSQL server was found") as caught:
        find_binaries(None, tmp_path / "nowhere")
    assert caught.value.hint


def test_a_version_is_found_or_the_installed_ones_are_listed(tmp_path: Path) -> None:
    for version in ("15", "17"):
        program = tmp_path / version / "bin" / "postgres"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}.4 (Debian)'\n")
        program.chmod(0o755)
    assert find_binaries(None, tmp_path, version="15.2").folder == tmp_path / "15" / "bin"
    with pytest.raises(DatabaseFailed, match=r"PostgreSQL 16 is not installed .* has PostgreSQL 17 and 15") as caught:
        find_binaries(None, tmp_path, version="16")
    assert "apt-get install postgresql-16" in caught.value.hint


@pytest.mark.skipif(not Path("/usr/lib/postgresql/15/bin/postgres").exists(), reason="PostgreSQL 15 is not installed")
def test_two_versions_run_in_one_data_folder_one_after_the_other(tmp_path: Path) -> None:
    for version in ("15", "18"):

        async def scenario(_: PostgresDatabase, __: Cluster, endpoint: Endpoint, version: str = version) -> None:
            assert endpoint.version.startswith(f"{version}.")

        with_server(tmp_path, scenario, DatabaseSettings(version=version))


@pytest.mark.parametrize(
    ("text", "major"),
    [("18.6", "18"), ("postgres (PostgreSQL) 15.18 (Debian 15.18-0)", "15"), ("17beta1", "17"), ("unknown", None)],
)
def test_major_versions(text: str, major: str | None) -> None:
    assert major_version(text) == major
