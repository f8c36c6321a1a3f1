"""What keeps a user's server from serving trials is found by one question, before anything is loaded."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.databases.asking import StatementFailed, document
from nephoscope.databases.made import MadeDatabase
from nephoscope.databases.postgres import fitness
from nephoscope.databases.postgres.fitness import Server as Said
from nephoscope.model.errors import EnvironmentProblem, OutputUnreadable
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.real_parts import needs
from tests.support.server import Server, postgres, server

pytestmark = needs("postgres")
PASSWORD = "of-bench"
FIT = Said(
    role="bench",
    login="bench",
    superuser=False,
    creates_databases=True,
    checkpoints=True,
    member_of_checkpoint=True,
    standby=False,
    read_only=False,
    timeouts={},
    role_connections=None,
    role_sessions=0,
    server_connections=100,
    server_sessions=3,
    strangers={},
    not_ours=[],
    backend=7,
)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("fitness")) as running:
        running.sql(f"CREATE ROLE bench LOGIN CREATEDB PASSWORD '{PASSWORD}'")
        running.sql("GRANT pg_checkpoint TO bench")
        yield running


def refusal(ours: Server, folder: Path, connections: int = 4) -> str:
    """Why `run` does not begin; empty if it would."""
    settings = DatabaseSettings(dsn=ours.endpoint.dsn.replace("nephoscope@", "bench@"), connections=connections)
    database = postgres({"PGPASSWORD": PASSWORD})
    try:
        ours.loop.run_until_complete(database.start(ours.cluster, settings, folder / "log"))
    except EnvironmentProblem as error:
        return f"{error.message} / {error.hint}"
    return ""


@pytest.mark.parametrize(
    ("spoil", "mend", "what", "hint"),
    [
        (
            "ALTER ROLE bench SET default_transaction_read_only = on",
            "ALTER ROLE bench RESET default_transaction_read_only",
            "as read-only",
            "ALTER ROLE bench SET default_transaction_read_only = off",
        ),
        (
            "ALTER ROLE bench SET statement_timeout = '2min'",
            "ALTER ROLE bench RESET statement_timeout",
            "statement_timeout = 2min",
            "ALTER ROLE bench SET statement_timeout = 0",
        ),
        ("ALTER ROLE bench NOCREATEDB", "ALTER ROLE bench CREATEDB", "let bench create databases", "CREATEDB"),
        (
            "REVOKE pg_checkpoint FROM bench",
            "GRANT pg_checkpoint TO bench",
            "let bench write checkpoints",
            "GRANT pg_checkpoint TO bench",
        ),
        (
            "GRANT pg_checkpoint TO bench WITH INHERIT FALSE",
            "GRANT pg_checkpoint TO bench WITH INHERIT TRUE",
            "does not inherit its rights",
            "WITH INHERIT TRUE",
        ),
        (
            "REVOKE pg_checkpoint FROM bench; ALTER ROLE bench NOINHERIT; GRANT pg_checkpoint TO bench",
            "REVOKE pg_checkpoint FROM bench; ALTER ROLE bench INHERIT; GRANT pg_checkpoint TO bench",
            "does not inherit its rights",
            "WITH INHERIT TRUE",
        ),
        (
            "ALTER ROLE bench CONNECTION LIMIT 5",
            "ALTER ROLE bench CONNECTION LIMIT -1",
            "allows bench 5 connections, of which 0 are in use, and a trial needs 6",
            "CONNECTION LIMIT 6",
        ),
    ],
)
def test_what_would_fail_trial_by_trial_is_said_before_the_first(
    ours: Server, tmp_path: Path, spoil: str, mend: str, what: str, hint: str
) -> None:
    ours.sql(spoil)
    try:
        said = refusal(ours, tmp_path)
    finally:
        ours.sql(mend)
    assert what in said.partition(" / ")[0]
    assert hint in said.partition(" / ")[2]


def test_what_is_mended_is_taken_and_nothing_else_was_wrong(ours: Server, tmp_path: Path) -> None:
    assert refusal(ours, tmp_path) == ""


def test_a_server_with_too_few_connections_is_refused_and_several_problems_are_said_at_once(
    ours: Server, tmp_path: Path
) -> None:
    ours.sql("ALTER ROLE bench NOCREATEDB")
    said = refusal(ours, tmp_path, connections=900)
    ours.sql("ALTER ROLE bench CREATEDB")
    assert "let bench create databases" in said
    assert "a trial needs 902" in said
    assert "raise max_connections" in said


def test_a_copy_that_another_role_made_is_named(ours: Server, tmp_path: Path) -> None:
    copy = "nephoscope_trial_0123456789"
    ours.sql(f"CREATE DATABASE {copy}")
    rows = ours.loop.run_until_complete(
        ours.database._rows(ours.cluster, ours.endpoint, f"SET ROLE bench; {fitness.question(copy)}")
    )
    ours.sql(f"DROP DATABASE {copy}")
    said = fitness.read(rows)
    assert (said.role, said.login) == ("bench", "nephoscope")
    assert said.not_ours == [copy]
    (problem,) = fitness.unfit(said, 4, pooled=False)
    assert copy in problem.what


def test_a_session_that_would_keep_a_trials_database_from_being_dropped_is_named(ours: Server, tmp_path: Path) -> None:
    for statement in ("CREATE ROLE watcher LOGIN PASSWORD 'w'", "CREATE DATABASE nephoscope_set OWNER bench"):
        ours.sql(statement)
    dsn = ours.dsn("nephoscope_set").replace("nephoscope@", "watcher@")
    there = replace(ours.endpoint, dsn=dsn, environment={"PGPASSWORD": "w"})
    watching = ours.loop.create_task(ours.database._rows(ours.cluster, there, "SELECT pg_sleep(600)"))
    try:
        while not ours.sql("SELECT 1 FROM pg_stat_activity WHERE usename = 'watcher'"):
            assert not watching.done()
        said = refusal(ours, tmp_path)
        assert "has a session of watcher in the database nephoscope_set, which bench may not end" in said
        assert "GRANT pg_signal_backend TO bench" in said
        dropping = ("SET ROLE bench", "DROP DATABASE nephoscope_set WITH (FORCE)")
        with pytest.raises(StatementFailed, match="permission denied to terminate process"):
            ours.loop.run_until_complete(ours.database._rows(ours.cluster, ours.endpoint, *dropping))
        ours.sql("GRANT pg_signal_backend TO bench")
        assert refusal(ours, tmp_path) == ""
        ours.loop.run_until_complete(ours.database._rows(ours.cluster, ours.endpoint, *dropping))
    finally:
        ours.sql("REVOKE pg_signal_backend FROM bench")
        watching.cancel()
        ours.loop.run_until_complete(asyncio.wait([watching]))


@pytest.mark.parametrize("answer", ["", "{}", "no JSON", "[" * 9_000, '{"role": 1}', "9" * 5_000])
def test_what_no_postgresql_answers_is_called_that(answer: str) -> None:
    for kind in (Said, int, dict[str, str], list[MadeDatabase]):
        if (kind, answer) != (dict[str, str], "{}"):
            with pytest.raises(OutputUnreadable, match="answered what PostgreSQL does not"):
                document(kind, answer)


def test_a_standby_is_said_to_be_one_and_nothing_else() -> None:
    (problem,) = fitness.unfit(FIT.model_copy(update={"standby": True, "read_only": True}), 4, pooled=False)
    assert "is a standby" in problem.what
    assert "target_session_attrs=primary" in problem.hint


def test_a_pooler_has_more_clients_than_its_server_has_connections() -> None:
    few = FIT.model_copy(update={"role_connections": 2, "server_connections": 4})
    assert len(list(fitness.unfit(few, 64, pooled=False))) == 2
    assert list(fitness.unfit(few, 64, pooled=True)) == []
