"""The databases that nephoscope makes on a server of the user's: recorded there, listed and dropped.

The record is each database's comment (`COMMENT ON DATABASE`), which is on the server itself: it does not depend on a
results folder that may be gone. A database without it was not made by nephoscope, whatever its name.
"""

from nephoscope.databases.asking import COPY_TIMEOUT_S, UsersServer, document, quoted, text
from nephoscope.databases.made import MARK, PREFIX, MadeDatabase
from nephoscope.model.errors import ToolFailed

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
"""  # noqa: S608 - constants


def record(database: str, what: str) -> str:
    """The statement that records on the server that nephoscope made a database."""
    return f"COMMENT ON DATABASE {database} IS {text(MARK + what)}"


async def databases_made(server: UsersServer) -> list[MadeDatabase]:
    """Every database of a server that is named as nephoscope's, recorded there or not.

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
    database.require_recorded()
    name = quoted(database.name)
    if database.in_use:
        return database.in_use
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
