"""How nephoscope asks a PostgreSQL server: by `psql`, with the same few variables as the load generator."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from nephoscope.databases.postgres.binaries import server_of_this_machine
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import Command
from nephoscope.model.errors import DatabaseFailed, NephoscopeError, TargetUnreachable, ToolFailed, ToolTimedOut
from nephoscope.study.address import without_password

_VARIABLES = ("PGPASSWORD", "PGPASSFILE", "PGSSLMODE", "PGSSLROOTCERT", "PGCHANNELBINDING", "PGREQUIREAUTH")
"""Of the environment: what `psql` may read. No other `PG…` variable of a shell has any effect."""
_CONNECT_TIMEOUT_S = "10"
STATEMENT_TIMEOUT_S = 120.0
COPY_TIMEOUT_S = 7200.0
"""Limit for statements that read, write or delete a whole data set."""


def argv_of(psql: str, dsn: str, *statements: str) -> list[str]:
    """A command that runs statements one after the other and prints rows as text, one per line."""
    options = ("--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--no-password")
    return [psql, *options, *(part for one in statements for part in ("--command", one)), dsn]


def environment_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment by which `psql` reaches a user's own server."""
    return {name: environment[name] for name in _VARIABLES if name in environment}


def with_limits(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which `psql` does not wait for ever."""
    return {"PGCONNECT_TIMEOUT": _CONNECT_TIMEOUT_S, **environment}


def session_options(settings: Mapping[str, str]) -> dict[str, str]:
    """The variable by which a session of `psql` gets settings; empty if there are none."""
    escaped = ((name, value.replace("\\", "\\\\").replace(" ", "\\ ")) for name, value in settings.items())
    options = " ".join(f"-c {name}={value}" for name, value in escaped)
    return {"PGOPTIONS": options} if options else {}


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text as SQL writes it, with `standard_conforming_strings`."""
    return "'" + value.replace("'", "''") + "'"


_SAID = re.compile(r"(?:psql: error: |FATAL:\s+|ERROR:\s+)")


@dataclass(frozen=True)
class UsersServer:
    """A server of the user's, asked from this machine."""

    dsn: str
    environment: Mapping[str, str] = field(repr=False)

    async def ask(self, *statements: str, timeout_s: float = STATEMENT_TIMEOUT_S) -> str:
        """The rows of the statements as text.

        Raises:
            ToolFailed: the server rejects a statement, or does not answer.
            ToolTimedOut: it does not finish in time.
        """
        argv = argv_of(psql_here(), self.dsn, *statements)
        environment = with_limits(environment_of(self.environment))
        command = Command(argv, timeout_s=timeout_s, environment=environment, pinned=False)
        return (await LocalRemote(()).execute(command)).require().stdout.decode(errors="replace").strip()

    async def reached(self) -> str:
        """The server's version.

        Raises:
            TargetUnreachable: it does not answer.
        """
        try:
            return await self.ask("SHOW server_version")
        except (ToolFailed, ToolTimedOut) as error:
            raise TargetUnreachable(
                f"the server at {without_password(self.dsn)} does not answer: {reason(error)}",
                hint="start it, correct the address, or set PGPASSWORD",
            ) from error


def reason(error: NephoscopeError) -> str:
    """What the server said, in one line without the command that asked it."""
    said = _SAID.split(error.message)[-1].strip()
    return said.splitlines()[0] if said else error.message


def psql_here() -> str:
    """The psql of the server's package; a user's own server needs no other program, so PATH is enough."""
    try:
        return server_of_this_machine().path("psql")
    except DatabaseFailed:
        return "psql"
