"""What happens to a real server between two looks at it, and whether the check names it."""

import asyncio
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nephoscope.checks.operations import DatabaseUnchanged
from nephoscope.databases.base import Endpoint, HasSettings
from nephoscope.databases.cockroachdb.commands import identities
from nephoscope.databases.postgres.binaries import server_of_this_machine
from nephoscope.databases.programs import as_server_user
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.databases.valkey.database import ValkeyDatabase
from nephoscope.model.records import Verdict
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.evidence import evidence
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs
from tests.support.server import Server, postgres, server


async def look(database: HasSettings, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
    return await database.settings(cluster, endpoint) | await database.identity(cluster, endpoint)


def judged(before: dict[str, str], after: dict[str, str]) -> Verdict:
    verdict = DatabaseUnchanged()(evidence(database_before=before, database_after=after))
    assert verdict is not None
    return verdict


def restarted(ours: Server) -> None:
    binaries = server_of_this_machine(None)
    folder = ours.folder / "postgres" / "data"
    argv = [binaries.path("pg_ctl"), "restart", "-w", "-m", "fast", "-D", str(folder), "-l", str(ours.folder / "again")]
    subprocess.run(as_server_user(argv), check=True, capture_output=True)


SECOND_OF_LOADING = "SELECT date_trunc('second', pg_conf_load_time())"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all statements: what an earlier one changed is the same before and after."""
    with server(tmp_path_factory.mktemp("unchanged")) as running:
        running.sql("CREATE DATABASE tried")
        yield running


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("SELECT 1", "settings read: .* UTC before the trial, .* UTC after it"),
        ("", None),
        ("ALTER SYSTEM SET synchronous_commit = off", "synchronous_commit: on before the trial, off after it"),
        ("ALTER SYSTEM SET log_statement = 'all'", "log_statement: not there before the trial, all after it"),
        (
            "ALTER DATABASE tried SET default_transaction_isolation = 'serializable'",
            "default_transaction_isolation: read committed before the trial, serializable after it",
        ),
        ("ALTER ROLE CURRENT_USER SET jit = off", "jit: on before the trial, off after it"),
        (None, r"started: .* UTC before the trial, .* UTC after it"),
    ],
)
@needs("postgres")
def test_a_server_of_the_users_that_changes_is_named(
    ours: Server, tmp_path: Path, statement: str | None, named: str | None
) -> None:
    users = postgres(ours.endpoint.environment)
    endpoint = ours.loop.run_until_complete(
        users.start(ours.cluster, DatabaseSettings(dsn=ours.dsn("tried")), tmp_path / "log")
    )
    before = ours.loop.run_until_complete(look(users, ours.cluster, endpoint))
    if statement is None:
        restarted(ours)
    elif statement:
        ours.sql(statement)
        loaded = ours.sql(SECOND_OF_LOADING)
        while ours.sql(SECOND_OF_LOADING) == loaded:
            ours.sql("SELECT pg_reload_conf()")
    verdict = judged(before, ours.loop.run_until_complete(look(users, ours.cluster, endpoint)))
    assert verdict.verdict == ("valid" if named is None else "invalid"), verdict.reason
    assert named is None or re.search(named, str(verdict.reason))


def test_restarts_of_cockroachdb_show_in_what_the_first_server_tells_of_all() -> None:
    """Columns and values as 22.1 prints them."""
    columns = "id\taddress\tsql_address\tbuild\tstarted_at\tupdated_at\tlocality\tis_available\tis_live\n"
    rows = [
        "1\t127.0.0.1:26257\t127.0.0.1:26257\tv22.1.6\t2026-11-27 21:00:01.15 +0000 UTC\tu\t\ttrue\ttrue\n",
        "2\t127.0.0.2:26257\t127.0.0.2:26257\tv22.1.6\t2026-11-27 21:00:02.2 +0000 UTC\tu\t\ttrue\ttrue\n",
    ]
    before, later = identities(columns + "".join(rows)), "".join(rows).replace("\tu\t", "\tlater\t")
    assert judged(before, identities(columns + later)).verdict == "valid"
    restarted = judged(before, identities(columns + later.replace("21:00:02.2", "21:03:07.9")))
    assert str(restarted.reason) == (
        "server 127.0.0.2:26257: node 2, v22.1.6, started 2026-11-27 21:00:02.2 +0000 UTC before the trial, "
        "node 2, v22.1.6, started 2026-11-27 21:03:07.9 +0000 UTC after it"
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), None),
        (
            ("CONFIG", "SET", "appendfsync", "everysec"),
            "CONFIG SET of here: calls=0 before the trial, calls=1 after it",
        ),
        (("CONFIG", "SET", "appendfsync", "no"), "appendfsync: everysec before the trial, no after it"),
        (("REPLICAOF", "127.0.0.1", "1"), "role of here: master before the trial, slave after it"),
        (None, "run id of here: .* before the trial"),
    ],
)
@needs("redis-server")
def test_a_server_of_valkey_that_changes_is_named(
    tmp_path: Path, words: tuple[str, ...] | None, named: str | None
) -> None:
    machine = this_machine(tmp_path)
    cluster, database = Cluster("tests", (machine,), machine), ValkeyDatabase(find_valkey)

    async def drive() -> None:
        try:
            endpoint = await database.start(cluster, DatabaseSettings(), tmp_path / "log")
            await database.seal_fixture(cluster, endpoint, "some")
            before = await look(database, cluster, endpoint)
            if words is None:
                await database.clone_fixture(cluster, endpoint, "some")
            elif words:
                await database._command(cluster, endpoint, *words)
            verdict = judged(before, await look(database, cluster, endpoint))
            assert named is None or re.search(named, str(verdict.reason))
            assert verdict.verdict == ("valid" if named is None else "invalid"), verdict.reason
        finally:
            await database.stop(cluster)

    asyncio.run(drive())
