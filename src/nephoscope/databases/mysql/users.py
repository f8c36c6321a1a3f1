"""Databases on a user's own MariaDB or MySQL: data sets, and copies of them by INSERT … SELECT.

Each holds a table whose comment records that nephoscope made it, and what for: that is on the server itself, as a
results folder may be gone.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Sequence

from nephoscope.databases.asking import COPY_TIMEOUT_S, Count, Rows, StatementFailed, UsersServer, typed
from nephoscope.databases.made import COPY, DATA_SET, MARK, PREFIX, MadeDatabase
from nephoscope.model.errors import EnvironmentProblem, ToolFailed
from nephoscope.model.frozen import Frozen
from nephoscope.providers.base import Cluster

LOADING = "a data set, not loaded completely"
RECORD = "nephoscope_made"
"""The table with the record."""
_MADE = rf"""
SELECT s.schema_name, r.table_comment,
    (SELECT sum(t.data_length + t.index_length) FROM information_schema.tables t WHERE t.table_schema = s.schema_name),
    (SELECT count(*) FROM information_schema.processlist p WHERE p.db = s.schema_name)
FROM information_schema.schemata s
LEFT JOIN information_schema.tables r ON r.table_schema = s.schema_name AND r.table_name = '{RECORD}'
WHERE s.schema_name <> DATABASE() AND s.schema_name LIKE '{PREFIX.replace("_", chr(92) + "_")}%'
ORDER BY s.schema_name
"""  # noqa: S608 - constants
_RECORDS = f"SELECT table_schema, table_comment FROM information_schema.tables WHERE table_name = '{RECORD}'"  # noqa: S608
_OTHER_SESSIONS = 2
"""Besides those of the load: the one that prepares and checks, and one that tries or compares."""
_LIMITS = (
    "SHOW VARIABLES WHERE Variable_name IN ('local_infile', 'max_connections', 'max_statement_time', "
    "'max_user_connections', 'read_only', 'super_read_only')"
)
_IN_USE = "SHOW GLOBAL STATUS LIKE 'Threads_connected'"


def copy_name(cluster: Cluster) -> str:
    """The copy of one study, configuration and folder: on one server, two studies must not drop each other's."""
    place = f"{cluster.key} {cluster.database[0].data_dir}"
    return f"nephoscope_trial_{hashlib.sha256(place.encode()).hexdigest()[:10]}"


def drop(database: str) -> str:
    """Drops it, if it is there."""
    return f"DROP DATABASE IF EXISTS `{database}`"


def create(database: str) -> str:
    """Creates it, empty."""
    return f"CREATE DATABASE `{database}`"


def record(database: str, what: str) -> list[str]:
    """Statements that record what nephoscope made it for."""
    table, comment = f"`{database}`.`{RECORD}`", f"COMMENT = '{MARK}{what}'"
    return [f"CREATE TABLE IF NOT EXISTS {table} (nothing int) {comment}", f"ALTER TABLE {table} {comment}"]


def sealed(fixture: str) -> str:
    """Selects a row if a data set is recorded as loaded completely."""
    return f"{_RECORDS} AND table_schema = '{fixture}' AND table_comment = '{MARK}{DATA_SET}'"


def tables(database: str) -> str:
    """Selects the names of its tables, without the record."""
    return (
        "SELECT table_name FROM information_schema.tables "  # noqa: S608 - our own names
        f"WHERE table_schema = '{database}' AND table_type = 'BASE TABLE' AND table_name <> '{RECORD}'"
    )


def copying(fixture: str, copy: str, names: Sequence[str]) -> list[str]:
    """Statements that make a fresh copy with these tables."""
    made = [drop(copy), create(copy), *record(copy, COPY)]
    for name in names:
        there, here = f"`{fixture}`.{quoted(name)}", f"`{copy}`.{quoted(name)}"
        made += [f"CREATE TABLE {here} LIKE {there}", f"INSERT INTO {here} SELECT * FROM {there}"]  # noqa: S608
    return [*made, *(f"ANALYZE TABLE `{copy}`.{quoted(name)}" for name in names)]


def size(database: str) -> str:
    """Selects its size in bytes, as the server estimates it."""
    return (
        "SELECT coalesce(sum(data_length + index_length), 0) FROM information_schema.tables "  # noqa: S608
        f"WHERE table_schema = '{database}'"
    )


async def databases_made(server: UsersServer) -> list[MadeDatabase]:
    """Every database of a server that is named as nephoscope's, recorded there or not.

    Raises:
        ToolFailed: the server does not answer.
    """
    found = typed(list[tuple[str, str | None, Count | None, Count]], await server.rows(_MADE))
    return [
        MadeDatabase(name=name, comment=comment, size_bytes=size_bytes, template=False, connections=connections)
        for name, comment, size_bytes, connections in found
    ]


async def drop_made(server: UsersServer, database: MadeDatabase) -> str:
    """Drops a database that nephoscope recorded; returns why it is still there, or nothing.

    Raises:
        ValueError: nephoscope did not record it.
    """
    database.require_recorded()
    if not database.in_use:
        try:
            await server.ask(f"DROP DATABASE {quoted(database.name)}", timeout_s=COPY_TIMEOUT_S)
        except ToolFailed as error:
            return error.message
    return database.in_use


def quoted(name: str) -> str:
    """A name as MySQL writes it."""
    return f"`{name.replace('`', '``')}`"


Ask = Callable[..., Awaitable[Rows]]
"""Runs statements on the server one after the other; the rows of the last."""


async def require_fit(ask: Ask, where: str, cluster: Cluster, connections: int) -> None:
    """Asks before anything is loaded what would fail only afterwards, trial by trial.

    Raises:
        EnvironmentProblem: the server cannot serve trials with so many connections; `where` says which one it is.
    """
    said = {name.lower(): value for name, value in typed(list[tuple[str, str]], await ask(_LIMITS))}
    ((_, in_use),) = typed(tuple[tuple[str, Count]], await ask(_IN_USE))
    problems = list(unfit(typed(Limits, said), in_use, connections))
    if not problems:
        name = copy_name(cluster)
        try:
            await ask(drop(name), create(name), *record(name, COPY), drop(name))
        except StatementFailed as error:
            grant = "GRANT ALL ON `nephoscope\\_%`.* TO that user"
            problems = [(f"does not let this user make databases: {error.message}", f"as an administrator: {grant}")]
    if problems:
        raise EnvironmentProblem(
            [f"the server {where} {what}" for what, _ in problems], hint="; ".join(hint for _, hint in problems)
        )


class Limits(Frozen):
    """The variables of `_LIMITS`, as far as a server has them."""

    local_infile: str = ""
    max_connections: Count = 0
    max_statement_time: float = 0
    max_user_connections: Count = 0
    read_only: str = ""
    super_read_only: str = ""


def unfit(said: Limits, in_use: int, connections: int) -> Iterator[tuple[str, str]]:
    """What keeps trials from running, each with what to do; pure.

    Args:
        said: by the server.
        in_use: connections of all users now, with the one that asks.
        connections: of the load.
    """
    if "ON" in (said.read_only, said.super_read_only):
        yield "takes no writes (read_only)", "name the server that does, or SET GLOBAL read_only = OFF"
    if said.local_infile == "OFF":
        yield "takes no rows from clients (local_infile), which loading needs", "SET GLOBAL local_infile = ON"
    if said.max_statement_time:
        yield (
            f"ends statements of this user that take longer than {said.max_statement_time:g} s; loading takes more",
            "SET GLOBAL max_statement_time = 0, or ALTER USER … WITH MAX_STATEMENT_TIME 0",
        )
    needed = connections + _OTHER_SESSIONS
    most, own = said.max_connections, said.max_user_connections
    if most - (in_use - 1) < needed:
        yield (
            f"has {most} connections, of which {in_use - 1} are in use, and a trial needs {needed}",
            "lower `connections`, end other sessions, or raise max_connections",
        )
    if 0 < own < needed:
        yield (
            f"allows this user {own} connections, and a trial needs {needed}",
            "lower `connections`, or ALTER USER … WITH MAX_USER_CONNECTIONS 0",
        )
