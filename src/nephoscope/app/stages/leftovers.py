"""What nephoscope left on a server of the user's: listed, and dropped on request."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence

from nephoscope.app.stages.beginning import require_addresses
from nephoscope.app.wiring import load_program
from nephoscope.databases.asking import UsersServer, quoted
from nephoscope.databases.made import MadeDatabase
from nephoscope.databases.mysql import users as on_mysql
from nephoscope.databases.postgres import made as on_postgres
from nephoscope.model.units import GIB, MIB
from nephoscope.model.words import counted
from nephoscope.study.address import MYSQL_SCHEMES

HEADERS = ("database", "size", "what it is")


async def clean_server(dsn: str, *, drop_them: bool) -> tuple[list[MadeDatabase], dict[str, str]]:
    """What nephoscope made on a server, and which of it could not be dropped: name -> why.

    Raises:
        InputError: `dsn` is no address of a server, or holds a password.
        TargetUnreachable: the server does not answer.
    """
    require_addresses([dsn])
    server = UsersServer(dsn, os.environ, load_program())
    await server.reached()
    is_mysql = dsn.startswith(MYSQL_SCHEMES)
    found = await (on_mysql.databases_made(server) if is_mysql else on_postgres.databases_made(server))
    drop = on_mysql.drop_made if is_mysql else on_postgres.drop
    left: dict[str, str] = {}
    for database in found if drop_them else ():
        if database.recorded and (why := await drop(server, database)):
            left[database.name] = why
    return found, left


def rows(found: Sequence[MadeDatabase], left: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """A row for each database; see `HEADERS`."""
    for one in found:
        why = f"; not dropped: {left[one.name]}" if one.name in left else ""
        yield one.name, _size(one.size_bytes), f"{one.what}{why}"


def lines(found: Sequence[MadeDatabase], left: Mapping[str, str], dsn: str, *, dropped: bool) -> Iterator[str]:
    """What was found and what happened to it, and what the reader may do next."""
    recorded = [one for one in found if one.recorded]
    others = [one for one in found if not one.recorded]
    gone = [one for one in recorded if one.name not in left]
    if not recorded:
        yield "nephoscope has no databases on this server"
    elif dropped:
        yield f"{counted(len(gone), 'database')} dropped, {_total(gone)}"
    else:
        yield f"{counted(len(recorded), 'database')}, {_total(recorded)}; nothing was changed"
        yield f"to drop {'it' if len(recorded) == 1 else 'them'}: nephoscope clean --dsn {shlex.quote(dsn)} --yes"
    if others:
        yield (
            f"{counted(len(others), 'database')} without nephoscope's record, not dropped. An earlier "
            "version left no record; if they are nephoscope's, drop them yourself:"
        )
        for one in others:
            write = on_mysql.quoted if dsn.startswith(MYSQL_SCHEMES) else quoted
            name = write(one.name)  # it is the server's, and the reader will copy it
            template = f"ALTER DATABASE {name} IS_TEMPLATE false; " if one.template else ""
            yield f"    {template}DROP DATABASE {name};"


def _total(databases: Sequence[MadeDatabase]) -> str:
    return _size(sum(one.size_bytes or 0 for one in databases))


def _size(size_bytes: int | None) -> str:
    """'1.5 GiB'."""
    if size_bytes is None:
        return "not known"
    return f"{size_bytes / GIB:.1f} GiB" if size_bytes >= GIB else f"{size_bytes / MIB:.0f} MiB"
