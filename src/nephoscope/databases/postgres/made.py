"""The databases that nephoscope makes on a server of the user's: recorded there, listed and dropped.

The record is each database's comment (`COMMENT ON DATABASE`), which is on the server itself: it does not depend on a
results folder that may be gone. A database without it was not made by nephoscope, whatever its name.
"""

from nephoscope.databases.asking import COPY_TIMEOUT_S, UsersServer, document, quoted, text
from nephoscope.model.errors import ToolFailed
from nephoscope.model.frozen import Frozen
from nephoscope.model.words import counted

_MARK = "made by nephoscope: "
DATA_SET = "a data set, kept for later trials"
COPY = "the copy that a trial works on"
PREFIX = "nephoscope_"

_LIST = rf"""
SELECT coalesce(json_agg(json_build_object(
    'name', datname,
    'comment', shobj_description(oid, 'pg_database'),
    'size_bytes', CASE WHEN has_database_privilege(oid, 'CONNECT') THEN pg_database_size(oid) END,
    'template', datistemplate,
    'connections', (SELECT count(*) FROM pg_stat_activity WHERE datid = pg_database.oid)
) ORDER BY datname), '[]')
FROM pg_database
WHERE datname LIKE '{PREFIX.replace("_", chr(92) + "_")}%' AND datname <> current_database()
   OR shobj_description(oid, 'pg_database') LIKE '{_MARK}%'
"""  # noqa: S608 - constants


class MadeDatabase(Frozen):
    """A database that nephoscope made, or whose name looks so."""

    name: str
    comment: str | None
    size_bytes: int | None
    """None: the role may not ask."""
    template: bool
    """The server drops no template."""
    connections: int
    """Sessions that use it now."""

    @property
    def recorded(self) -> bool:
        """Only then nephoscope made it."""
        return (self.comment or "").startswith(_MARK)

    @property
    def what(self) -> str:
        """What it is for."""
        return (self.comment or "").removeprefix(_MARK) if self.recorded else "not recorded as made by nephoscope"


def record(database: str, what: str) -> str:
    """The statement that records on the server that nephoscope made a database."""
    return f"COMMENT ON DATABASE {database} IS {text(_MARK + what)}"


async def databases_made(server: UsersServer) -> list[MadeDatabase]:
    """Every database of a server that nephoscope recorded there, and those that are only named so.

    Raises:
        ToolFailed: the server does not answer.
    """
    return document(list[MadeDatabase], await server.ask(_LIST))


async def drop(server: UsersServer, database: MadeDatabase) -> str:
    """Drops a database that nephoscope recorded; returns why it is still there, or nothing.

    One that is in use stays as it is.

    Raises:
        ValueError: nephoscope did not record it.
    """
    if not database.recorded:
        raise ValueError(f"nephoscope did not make {database.name}")
    name = quoted(database.name)
    if database.connections:
        use = "uses" if database.connections == 1 else "use"
        return f"{counted(database.connections, 'connection')} {use} it: a study may be running"
    try:
        if database.template:
            await server.ask(f"ALTER DATABASE {name} IS_TEMPLATE false")
    except ToolFailed as error:
        return error.message
    try:
        await server.ask(f"DROP DATABASE {name}", timeout_s=COPY_TIMEOUT_S)
    except ToolFailed as error:
        if database.template:
            await server.ask(f"ALTER DATABASE {name} IS_TEMPLATE true")
        return error.message
    return ""
