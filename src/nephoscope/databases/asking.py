"""How nephoscope asks a server of PostgreSQL's or MySQL's protocol: by `nephoscope-load query`, as the load reaches it.

Address, variables, files and TLS are read by the one program that also drives the load, on the machine from which it
does. So what answers here answers there.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import Command, Completed, Remote
from nephoscope.model.bounded_json import load_json
from nephoscope.model.errors import (
    MORE_SPACE,
    NephoscopeError,
    NoSpaceOnMachine,
    OutputUnreadable,
    TargetUnreachable,
    ToolFailed,
    ToolTimedOut,
)
from nephoscope.model.frozen import MOST_INTEGER, MOST_NUMBER, Frozen
from nephoscope.model.records import ENCRYPTION
from nephoscope.study.address import MYSQL_SCHEMES, without_password

STATEMENT_TIMEOUT_S = 120.0
COPY_TIMEOUT_S = 7200.0
"""Limit for statements that read, write or delete a whole data set."""

_ANSWERED = (2, 3, 6)
"""Exit codes with an answer on stdout that says what failed: the address, the login, a statement."""
COMING_UP = "57P03"
"""SQLSTATE of a server that starts, recovers or stops."""
_DISK_FULL = frozenset({"53100", "1021", "1114"})
"""1021: ER_DISK_FULL, 1114: ER_RECORD_FILE_FULL."""

Value = TypeVar("Value")
Rows = Sequence[Sequence[str | None]]
"""As text; None is NULL."""
Count = Annotated[int, Field(ge=0, le=MOST_INTEGER)]
"""Of bytes or connections."""
Number = Annotated[float, Field(ge=-MOST_NUMBER, le=MOST_NUMBER)]
"""Neither of these is far beyond what a server can have: sums and shares of them are finite."""


@dataclass(frozen=True)
class Wire:
    """What differs between the protocols."""

    password: str
    """The variable of the environment that holds it."""
    variables: tuple[str, ...]
    """Of the environment, by which a user's own server is reached; no other one of a shell has any effect."""
    version: str
    """Selects the server's version."""
    hints: Mapping[str, str]
    """What to try, by SQLSTATE of a rejected login."""

    def of(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Those variables of an environment."""
        return {name: environment[name] for name in self.variables if name in environment}


_POSTGRES = Wire(
    "PGPASSWORD",
    (
        *("PGSSLMODE", "PGPASSWORD", "PGPASSFILE", "PGSSLNEGOTIATION", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY"),
        *("PGCHANNELBINDING", "PGREQUIREAUTH", "PGTARGETSESSIONATTRS"),
        # The load generator follows none of these, and refuses one that asks for something.
        *("PGSERVICE", "PGREQUIREPEER", "PGSSLCERTMODE", "PGSSLCRL", "PGSSLCRLDIR", "PGSSLMINPROTOCOLVERSION"),
        "PGGSSENCMODE",
    ),
    "SHOW server_version",
    {
        "28P01": "set PGPASSWORD, or PGPASSFILE, to the password of that role",
        "28000": "the server's rules (pg_hba.conf) decide by user, database, client address and encryption: correct "
        "the address's user, database or sslmode, or the rules",
        "3D000": "correct the database in the address: it must exist, and nephoscope does not change it",
        "53300": "end other sessions, or raise max_connections or the role's connection limit",
        COMING_UP: "wait until it is up, and run the same command again",
    },
)
_MYSQL = Wire(
    "MYSQL_PWD",
    ("MYSQL_PWD",),
    "SELECT VERSION()",
    {
        "28000": "set MYSQL_PWD to the password of that user; the server also decides by the client's address",
        "42000": "correct the database in the address: it must exist, and the user may use it",
        "08004": "end other sessions, or raise max_connections",
    },
)


def speaks_mysql(dsn: str) -> bool:
    """Whether an address is that of a server with MySQL's protocol."""
    return dsn.startswith(MYSQL_SCHEMES)


def wire_of(dsn: str) -> Wire:
    """By the scheme of an address."""
    return _MYSQL if speaks_mysql(dsn) else _POSTGRES


class Session(Frozen):
    """The session that ran the statements."""

    server_version: str | None
    address: str
    process_id: int | None
    """Of the server's process that the login named; a pooler's number, where one answers."""
    encryption: str
    """'none', or protocol and cipher: 'TLSv1.3 TLS_AES_256_GCM_SHA384'."""


class Failure(Frozen):
    """What ended the statements."""

    stage: Literal["dsn", "login", "statement"]
    cause: Literal["server", "lost", "client"]
    """client: it did not accept what the server is or offers."""
    sqlstate: str | None
    message: str


class Answer(Frozen):
    """What `nephoscope-load query` prints."""

    session: Session | None
    rows: tuple[tuple[str | None, ...], ...]
    """Of the last statement."""
    failure: Failure | None

    @property
    def encryption(self) -> dict[str, str]:
        """Of the session, as it is stored with the settings; empty where there was none."""
        return {ENCRYPTION: self.session.encryption} if self.session is not None else {}


class StatementFailed(ToolFailed):
    """The server could not be reached, or rejected a statement."""

    def __init__(self, failure: Failure, hint: str = "") -> None:
        super().__init__(failure.message, hint=hint)
        self.failure = failure


@dataclass(frozen=True)
class Client:
    """Asks servers from one machine."""

    remote: Remote
    program: str
    """nephoscope-load, as this machine has it."""

    async def ask(
        self,
        dsn: str,
        *statements: str,
        environment: Mapping[str, str],
        settings: Mapping[str, str] = MappingProxyType({}),
        timeout_s: float = STATEMENT_TIMEOUT_S,
    ) -> Answer:
        """Runs statements one after the other, each a transaction of its own, in a session with these settings.

        Raises:
            StatementFailed: the server does not answer, or rejects a statement.
            NoSpaceOnMachine: the server's disk is full.
            ToolTimedOut: they do not finish in time.
        """
        query = {"dsn": dsn, "statements": statements, "settings": dict(settings)}
        command = Command(
            [self.program, "query"],
            timeout_s=timeout_s,
            stdin=json.dumps(query).encode(),
            environment=environment,
            pinned=False,
        )
        answer = _read((await self.remote.execute(command)).require(*_ANSWERED))
        if answer.failure is None:
            return answer
        if answer.failure.sqlstate in _DISK_FULL:
            raise NoSpaceOnMachine(answer.failure.message, hint=MORE_SPACE)
        raise StatementFailed(answer.failure, hint_of(answer.failure, wire_of(dsn)))


def _read(completed: Completed) -> Answer:
    try:
        document = load_json(completed.stdout)
        return Answer.model_validate({name: document[name] for name in Answer.model_fields})
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        said = completed.stderr.decode(errors="replace").strip()[-300:]
        raise OutputUnreadable(f"{completed.argv[0]} did not answer a query: {said or error}") from error


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text as SQL writes it, with `standard_conforming_strings`."""
    return "'" + value.replace("'", "''") + "'"


def document(kind: type[Value], answer: str | None) -> Value:
    """A value that a server gave as JSON.

    Raises:
        OutputUnreadable: it is something else, as nobody knows who answers.
    """
    try:
        return TypeAdapter(kind).validate_json(answer or "")
    except ValidationError as error:
        raise OutputUnreadable(f"the server answered what PostgreSQL does not: {(answer or '')[:200]!r}") from error


def typed(kind: type[Value], answer: object) -> Value:
    """Rows of an answer, or what was read of them, as values: '5' is a number where `kind` says so.

    Raises:
        OutputUnreadable: they are something else, as nobody knows who answers.
    """
    try:
        return TypeAdapter(kind).validate_python(answer)
    except ValidationError as error:
        raise OutputUnreadable(f"the server answered what no such server does: {str(answer)[:200]}") from error


def value_of(rows: Rows) -> str:
    """The first value of the first row; empty if there is none, or it is NULL."""
    return (rows[0][0] or "") if rows and rows[0] else ""


@dataclass(frozen=True)
class UsersServer:
    """A server of the user's, asked from this machine."""

    dsn: str
    environment: Mapping[str, str] = field(repr=False)
    program: str

    async def rows(self, *statements: str, timeout_s: float = STATEMENT_TIMEOUT_S) -> Rows:
        """The rows of the last statement; see `Client.ask`."""
        client = Client(LocalRemote(()), self.program)
        environment = wire_of(self.dsn).of(self.environment)
        return (await client.ask(self.dsn, *statements, environment=environment, timeout_s=timeout_s)).rows

    async def ask(self, *statements: str, timeout_s: float = STATEMENT_TIMEOUT_S) -> str:
        """The one value of the last statement; see `value_of` and `Client.ask`."""
        return value_of(await self.rows(*statements, timeout_s=timeout_s))

    async def reached(self) -> str:
        """The server's version.

        Raises:
            TargetUnreachable: it does not answer.
        """
        try:
            return await self.ask(wire_of(self.dsn).version)
        except (ToolFailed, ToolTimedOut) as error:
            raise TargetUnreachable(
                f"the server at {without_password(self.dsn)} does not answer: {error.message}", hint=hint_for(error)
            ) from error


def hint_of(failure: Failure, wire: Wire) -> str:
    """What to try after a failure; empty after one of a statement."""
    if failure.stage == "statement":
        return ""
    if failure.cause == "lost":
        return "start it, or correct host and port of the address; a firewall looks the same"
    if failure.cause == "client":
        return (
            f"correct the address, or {wire.variables[0]} and the like: files are those of the machine that drives the "
            "load"
        )
    return wire.hints.get(failure.sqlstate or "", "correct the address, or what the server's message names")


def hint_for(error: NephoscopeError) -> str:
    """What to try after a server did not answer."""
    return error.hint or "start it, or correct the address"
