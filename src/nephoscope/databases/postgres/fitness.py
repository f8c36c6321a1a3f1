"""Whether a user's own server, and the role that logs in there, can serve trials: one question before the first.

It looks for what otherwise fails trial by trial, after a data set was loaded. Pure but for the SQL's text.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from nephoscope.databases.asking import Rows, document, text, value_of
from nephoscope.databases.made import PREFIX
from nephoscope.model.frozen import Frozen

_OTHER_SESSIONS = 2
"""Besides those of the load: the one that prepares and checks, and one that tries or compares."""

QUESTION = """
SELECT json_build_object(
    'role', current_user,
    'login', session_user,
    'superuser', r.rolsuper,
    'creates_databases', r.rolsuper OR r.rolcreatedb,
    'checkpoints', r.rolsuper OR coalesce(pg_has_role(to_regrole('pg_checkpoint'), 'USAGE'), false),
    'member_of_checkpoint', coalesce(pg_has_role(to_regrole('pg_checkpoint'), 'MEMBER'), false),
    'standby', pg_is_in_recovery(),
    'read_only', current_setting('default_transaction_read_only') = 'on',
    'timeouts', (SELECT coalesce(json_object_agg(name, current_setting(name)), '{}') FROM pg_settings
        WHERE name IN ('statement_timeout', 'transaction_timeout') AND setting <> '0' AND source <> 'database'),
    'role_connections', (SELECT CASE WHEN rolsuper OR rolconnlimit < 0 THEN NULL ELSE rolconnlimit END
        FROM pg_roles WHERE rolname = session_user),
    'role_sessions', (SELECT count(*) FROM pg_stat_activity WHERE usename = session_user AND pid <> pg_backend_pid()),
    'server_connections', current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0),
    'server_sessions', (SELECT count(*) FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()),
    'backend', pg_backend_pid(),
    'strangers', (SELECT coalesce(json_object_agg(datname, usename), '{}') FROM (
        SELECT datname, min(o.rolname::text) AS usename FROM pg_stat_activity JOIN pg_roles o ON o.oid = usesysid
        WHERE datname LIKE {ours} AND NOT r.rolsuper AND NOT pg_has_role(usesysid, 'USAGE')
            AND (o.rolsuper OR NOT pg_has_role('pg_signal_backend', 'USAGE')) GROUP BY datname) AS of_others),
    'not_ours', (SELECT coalesce(json_agg(datname ORDER BY datname), '[]') FROM pg_database
        WHERE datname = {copy} AND NOT pg_has_role(datdba, 'USAGE'))
) FROM pg_roles r WHERE r.rolname = current_user
"""
"""One row of JSON. A timeout that belongs to the DSN's database does not hold in the databases of trials.

A database is dropped only without sessions: one's own and those of roles whose rights one has may be ended, with
pg_signal_backend also others, but no superuser's (`TerminateOtherDBBackends` in procarray.c).
"""


def question(copy: str) -> str:
    """The statement; `copy` is the database that trials will make and drop."""
    return QUESTION.replace("{copy}", text(copy)).replace("{ours}", text(f"{PREFIX}%".replace("_", r"\_")))


class Server(Frozen):
    """What a server says of itself and of the role that asked."""

    role: str
    """Whose rights count: another one than `login` after SET role."""
    login: str
    superuser: bool
    creates_databases: bool
    checkpoints: bool
    member_of_checkpoint: bool
    """Of the role pg_checkpoint, though its rights may not be inherited."""
    standby: bool
    read_only: bool
    timeouts: dict[str, str]
    """Of statements and transactions, where they end any: name -> value."""
    role_connections: int | None
    """None: the role may have any number."""
    role_sessions: int
    server_connections: int
    """For roles without privileges."""
    server_sessions: int
    backend: int
    """The process that answered."""
    strangers: dict[str, str]
    """Sessions in databases of trials that the role may not end: database -> a role."""
    not_ours: list[str]
    """Databases that a trial must drop and this role may not."""


@dataclass(frozen=True)
class Unfit:
    """One thing that keeps a server from serving trials."""

    what: str
    """Continues 'the server at … '."""
    hint: str


def read(rows: Rows) -> Server:
    """The answer to `question`."""
    return document(Server, value_of(rows))


def unfit(server: Server, connections: int, *, pooled: bool) -> Iterator[Unfit]:
    """What keeps trials with this many connections from running, the most fundamental first.

    With a connection pooler in between the number of connections is the pooler's.
    """
    role = server.role
    if server.standby:
        yield Unfit(
            "is a standby, which takes no writes",
            "name the primary in `dsn`; with several addresses add ?target_session_attrs=primary",
        )
        return
    if server.read_only:
        yield Unfit(
            f"starts sessions of {server.login} as read-only (default_transaction_read_only)",
            f"ALTER ROLE {server.login} SET default_transaction_read_only = off",
        )
    if not server.creates_databases:
        yield Unfit(f"does not let {role} create databases", f"as a superuser: ALTER ROLE {role} CREATEDB")
    if not server.checkpoints and server.member_of_checkpoint:
        yield Unfit(
            f"does not let {role} write checkpoints: it is a member of pg_checkpoint, but does not inherit its rights",
            f"as a superuser: GRANT pg_checkpoint TO {role} WITH INHERIT TRUE (before PostgreSQL 16: ALTER ROLE {role} "
            "INHERIT)",
        )
    elif not server.checkpoints:
        yield Unfit(
            f"does not let {role} write checkpoints",
            f"as a superuser: GRANT pg_checkpoint TO {role} (PostgreSQL 14: ALTER ROLE {role} SUPERUSER)",
        )
    for name in server.not_ours:
        yield Unfit(
            f"has the database {name} of an earlier trial, which belongs to a role whose rights {role} does not have",
            "log in as that role, or let it run `nephoscope clean --dsn … --yes`",
        )
    for name, stranger in server.strangers.items():
        yield Unfit(
            f"has a session of {stranger} in the database {name}, which {role} may not end, and so not drop it",
            f"end it, and let {stranger} connect to no database {PREFIX}…; or, unless it is a superuser: GRANT "
            f"pg_signal_backend TO {role}",
        )
    for name, value in server.timeouts.items():
        yield Unfit(
            f"ends every statement of {server.login} that takes longer than {name} = {value}; loading takes longer",
            f"ALTER ROLE {server.login} SET {name} = 0",
        )
    if not pooled:
        yield from _connections(server, connections)


def _connections(server: Server, connections: int) -> Iterator[Unfit]:
    needed = connections + _OTHER_SESSIONS
    if server.role_connections is not None and server.role_connections - server.role_sessions < needed:
        yield Unfit(
            f"allows {server.login} {server.role_connections} connections, of which {server.role_sessions} are in use, "
            f"and a trial needs {needed}",
            f"lower `connections`, or as a superuser: ALTER ROLE {server.login} CONNECTION LIMIT "
            f"{needed + server.role_sessions}",
        )
    if server.server_connections - server.server_sessions < needed:
        yield Unfit(
            f"has {server.server_connections} connections for all roles, of which {server.server_sessions} are in use, "
            f"and a trial needs {needed}",
            "lower `connections`, end other sessions, or raise max_connections",
        )
