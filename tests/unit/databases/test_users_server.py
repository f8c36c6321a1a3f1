"""What nephoscope makes on a real server of the user's: recorded, listed, dropped; and settings of trials there."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.databases.asking import UsersServer
from nephoscope.databases.base import Endpoint
from nephoscope.databases.made import MadeDatabase
from nephoscope.databases.postgres.binaries import server_of_this_machine
from nephoscope.databases.postgres.database import PostgresDatabase
from nephoscope.databases.postgres.made import databases_made, drop, record
from nephoscope.model.errors import DatabaseFailed, EnvironmentProblem, TargetUnreachable
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.real_parts import needs
from tests.support.server import Server, postgres, server

pytestmark = needs("postgres")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("users-server")) as running:
        yield running


def users_database(ours: Server) -> PostgresDatabase:
    return postgres(ours.endpoint.environment)


def asked(ours: Server, database: str = "postgres") -> UsersServer:
    return UsersServer(ours.dsn(database), ours.endpoint.environment, load_program())


def made_on(ours: Server) -> dict[str, MadeDatabase]:
    users = asked(ours)
    return {one.name: one for one in ours.loop.run_until_complete(databases_made(users))}


def test_a_users_own_server_is_none_that_a_fault_may_hit(ours: Server, tmp_path: Path) -> None:
    database = users_database(ours)
    settings = DatabaseSettings(dsn=ours.endpoint.dsn)
    ours.loop.run_until_complete(database.start(ours.cluster, settings, tmp_path / "log"))
    assert database.servers(ours.cluster) == ()
    assert ours.database.servers(ours.cluster) != ()


def test_what_was_made_is_recorded_and_dropped_and_nothing_else_is(ours: Server, tmp_path: Path) -> None:
    database, users = users_database(ours), asked(ours)

    async def make() -> Endpoint:
        reached = await database.start(ours.cluster, DatabaseSettings(dsn=ours.endpoint.dsn), tmp_path / "log")
        await database.create_fixture(ours.cluster, reached, "nephoscope_tpcc_0123456789ab")
        await database.seal_fixture(ours.cluster, reached, "nephoscope_tpcc_0123456789ab")
        return await database.clone_fixture(ours.cluster, reached, "nephoscope_tpcc_0123456789ab")

    copy = ours.loop.run_until_complete(make()).dsn.rpartition("/")[2]
    ours.sql("CREATE DATABASE nephoscope_of_mine")
    ours.sql("CREATE DATABASE shop")  # such as one that was renamed, which keeps its comment
    ours.sql(record("shop", "a data set, kept for later trials"))
    found = made_on(ours)
    assert {name: one.what for name, one in found.items()} == {
        "nephoscope_of_mine": "not recorded as made by nephoscope",
        "nephoscope_tpcc_0123456789ab": "a data set, kept for later trials",
        copy: "the copy that a trial works on",
    }
    assert all((one.size_bytes or 0) > 1_000_000 for one in found.values())
    with pytest.raises(ValueError, match="did not make nephoscope_of_mine"):
        ours.loop.run_until_complete(drop(users, found["nephoscope_of_mine"]))
    used = found[copy].model_copy(update={"connections": 2})
    assert ours.loop.run_until_complete(drop(users, used)) == "2 connections use it: a study may be running"
    ours.sql(f"ALTER DATABASE {copy} IS_TEMPLATE true")  # a template is not dropped as it is
    for name in (copy, "nephoscope_tpcc_0123456789ab"):
        assert ours.loop.run_until_complete(drop(users, made_on(ours)[name])) == ""
    with pytest.raises(ValueError, match="did not make shop"):
        ours.loop.run_until_complete(drop(users, found[copy].model_copy(update={"name": "shop"})))
    assert list(made_on(ours)) == ["nephoscope_of_mine"]
    for name in ("nephoscope_of_mine", "shop"):
        ours.sql(f"DROP DATABASE {name}")


def test_a_template_that_cannot_be_dropped_stays_a_template(ours: Server) -> None:
    ours.sql("CREATE DATABASE nephoscope_busy IS_TEMPLATE true")
    ours.sql("COMMENT ON DATABASE nephoscope_busy IS 'made by nephoscope: a data set, kept for later trials'")
    inside = asked(ours, "nephoscope_busy")  # a session in the database itself
    why = ours.loop.run_until_complete(drop(inside, made_on(ours)["nephoscope_busy"]))
    assert "cannot drop the currently open database" in why
    assert made_on(ours)["nephoscope_busy"].template
    ours.sql("ALTER DATABASE nephoscope_busy IS_TEMPLATE false")
    ours.sql("DROP DATABASE nephoscope_busy")


def test_a_data_set_of_a_role_without_common_rights_is_refused_before_it_is_copied(
    ours: Server, tmp_path: Path
) -> None:
    ours.sql("CREATE ROLE other LOGIN CREATEDB PASSWORD 'of-other'")
    ours.sql("GRANT pg_checkpoint TO other")
    ours.sql("CREATE DATABASE nephoscope_theirs IS_TEMPLATE true")
    others, theirs = postgres({"PGPASSWORD": "of-other"}), ours.endpoint.dsn.replace("nephoscope@", "other@")

    async def scenario() -> None:
        reached = await others.start(ours.cluster, DatabaseSettings(dsn=theirs), tmp_path / "log")
        assert not await others.has_fixture(ours.cluster, reached, "nephoscope_nobodys")
        with pytest.raises(DatabaseFailed, match="belongs to the role nephoscope"):
            await others.has_fixture(ours.cluster, reached, "nephoscope_theirs")
        assert await users_database(ours).has_fixture(ours.cluster, ours.endpoint, "nephoscope_theirs")

    ours.loop.run_until_complete(scenario())
    ours.sql("ALTER DATABASE nephoscope_theirs IS_TEMPLATE false")
    ours.sql("DROP DATABASE nephoscope_theirs")
    ours.sql("DROP ROLE other")


def test_settings_of_a_study_apply_to_the_databases_of_trials_only(ours: Server, tmp_path: Path) -> None:
    database = users_database(ours)
    settings = DatabaseSettings(dsn=ours.endpoint.dsn, settings={"work_mem": "77MB", "search_path": "a, b's"})

    async def scenario() -> None:
        reached = await database.start(ours.cluster, settings, tmp_path / "log")
        assert (await database.settings(ours.cluster, reached))["work_mem"] == "77MB"
        await database.create_fixture(ours.cluster, reached, "nephoscope_a")
        copy = await database.clone_fixture(ours.cluster, reached, "nephoscope_a")
        assert await database._sql(ours.cluster, copy, "SHOW work_mem") == "77MB"
        assert await database._sql(ours.cluster, reached, "SHOW work_mem") == "4MB"
        await database.stop(ours.cluster)
        await database._sql(ours.cluster, reached, "DROP DATABASE nephoscope_a")

    ours.loop.run_until_complete(scenario())


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("shared_buffers", "cannot be changed without restarting the server"),
        ("checkpoint_timeout", "cannot be changed now"),
        ("shared_bufers", "unrecognized configuration parameter"),
    ],
)
def test_a_setting_of_the_whole_server_is_refused_before_anything_is_made(
    ours: Server, tmp_path: Path, setting: str, said: str
) -> None:
    settings = DatabaseSettings(dsn=ours.endpoint.dsn, settings={setting: "64"})
    with pytest.raises(EnvironmentProblem, match=said) as caught:
        ours.loop.run_until_complete(users_database(ours).start(ours.cluster, settings, tmp_path / "log"))
    assert "a server and a configuration for each value" in caught.value.hint


def test_what_a_users_server_replicates_to_and_how_sessions_are_encrypted_is_stored(
    ours: Server, tmp_path: Path
) -> None:
    database = users_database(ours)
    receiver = server_of_this_machine().path("pg_receivewal")
    argv = [receiver, "-D", str(tmp_path), "-d", ours.dsn("postgres").replace("?", " ")]

    async def scenario() -> tuple[dict[str, str], dict[str, str]]:
        reached = await database.start(ours.cluster, DatabaseSettings(dsn=ours.endpoint.dsn), tmp_path / "log")
        async with asyncio.timeout(30):
            while not (before := await database.replication(ours.cluster)):  # noqa: ASYNC110 - it sends no event
                await asyncio.sleep(0.1)
        stored = await database.settings(ours.cluster, reached)
        await database.stop(ours.cluster)
        return before, stored

    standby = subprocess.Popen(argv, env={**os.environ, **ours.endpoint.environment})
    try:
        before, stored = ours.loop.run_until_complete(scenario())
    finally:
        standby.kill()
        standby.wait()
    ((name, state),) = before.items()
    assert name == "standby 1 pg_receivewal"
    assert state.endswith(" async")
    assert stored["session encryption"] == "none"


def test_a_server_that_does_not_answer_is_told_without_a_password() -> None:
    nobody = UsersServer("postgresql://me:secret@127.0.0.1:9/db", {}, load_program())
    with pytest.raises(TargetUnreachable, match=r"the server at postgresql://me:\*\*\*@127\.0\.0\.1:9/db") as caught:
        asyncio.run(nobody.reached())
    assert "secret" not in str(caught.value)
