"""MariaDB or MySQL: nephoscope's own server on the database machine, or the user's by its DSN.

Nephoscope's own server lives in `<data folder>/mariadb` (or `mysql`), is started for each trial with the machine's CPU
affinity, keeps full durability, and is stopped after the trial. Loaded data sets are kept as copies of the stopped
server's files; every trial gets a copy of its set, so that each starts from the same state. On a user's own server a
data set is a database, and a trial's copy another one, made by INSERT … SELECT.
"""

import secrets
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from typing_extensions import override

from nephoscope.databases import upkeep
from nephoscope.databases.asking import (
    COPY_TIMEOUT_S,
    STATEMENT_TIMEOUT_S,
    Answer,
    Client,
    Count,
    Rows,
    hint_for,
    typed,
    wire_of,
)
from nephoscope.databases.base import (
    Database,
    Endpoint,
    HasCounters,
    HasFixtures,
    HasFootprint,
    HasLoadedBytes,
    HasPrograms,
    HasServer,
    HasSettings,
    HasUpkeep,
    Upkeep,
)
from nephoscope.databases.made import DATA_SET
from nephoscope.databases.mysql import counters, users
from nephoscope.databases.mysql.folder import DataFolder
from nephoscope.databases.mysql.programs import NAMES, Product, programs_on, server_of_this_machine
from nephoscope.databases.mysql.settings import (
    DEFAULT_SETTINGS,
    require_known,
    require_product,
    statement,
    stored_settings,
)
from nephoscope.databases.programs import end_of, until_up, write_secret
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.loopback import free_port, in_url
from nephoscope.machines.remote import Background
from nephoscope.model.errors import DatabaseFailed, InputError, TargetUnreachable, ToolFailed, ToolTimedOut
from nephoscope.model.units import MIB
from nephoscope.providers.base import Cluster
from nephoscope.study.address import without_password
from nephoscope.study.model import Database as DatabaseSettings
from nephoscope.study.server_settings import require_settings

PORT = 23_306
"""On other machines: not 3306, as their own server must not be disturbed or measured."""
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 600.0
"""Limit for an orderly stop: it writes every dirty page of the buffer pool."""
_USER = "nephoscope"
_PASSWORD_VARIABLE = "MYSQL_PWD"  # noqa: S105 - the name of a variable
_SPARE_CONNECTIONS = 20
_FILES_BYTES = 256 * MIB
"""Of a server without data: its log, system tables, undo and temporary tables, as its defaults size them."""
_ITSELF = "SELECT VERSION(), @@version_comment"
_USERS = """\
CREATE USER IF NOT EXISTS {user}@'%' IDENTIFIED BY '{password}';
ALTER USER {user}@'%' IDENTIFIED BY '{password}';
GRANT ALL ON *.* TO {user}@'%' WITH GRANT OPTION;
DROP USER IF EXISTS root@localhost;
"""
"""Executed by each start, before the first login. A kept data set knows an earlier start's password."""
_IDENTITY = """
SELECT UNIX_TIMESTAMP() - variable_value, VERSION(), IF(@@global.read_only, 'takes no writes', 'takes writes')
FROM {schema}.global_status WHERE variable_name = 'Uptime'
"""
_SET_SINCE_START = """
SELECT coalesce(group_concat(lower(variable_name) ORDER BY variable_name SEPARATOR ', '), 'none')
FROM information_schema.system_variables WHERE global_value_origin = 'SQL'
"""
"""MariaDB's. A setting stays in this list whatever becomes of its value."""
_STATUS_IN = {"mariadb": "information_schema", "mysql": "performance_schema"}


class MysqlDatabase(
    Database,
    HasFixtures,
    HasUpkeep,
    HasPrograms,
    HasCounters,
    HasFootprint,
    HasLoadedBytes,
    HasServer,
    HasSettings,
):
    """See the module's text. One instance serves one study."""

    server_programs = ("mariadbd", "mysqld")

    def __init__(self, product: Product, environment: Mapping[str, str], load_program: str) -> None:
        self.name = product
        self._product: Product = product
        self._environment = environment
        self._load_program = load_program
        self._running: dict[str, _Server] = {}
        self._given: dict[str, Mapping[str, str]] = {}
        """By cluster: the settings that its study names."""
        self._copies: dict[str, Endpoint] = {}
        """By cluster: a user's own server on which a trial's copy must be dropped."""

    # Database

    @override
    async def start(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        self._given[cluster.key] = settings.settings
        if settings.dsn is not None:
            return await self._reach_users_server(cluster, settings)
        if len(cluster.database) > 1:
            raise InputError(
                f"configuration {cluster.key} has {len(cluster.database)} database machines, but nephoscope starts "
                f"{NAMES[self._product]} on one",
                hint="set `count = 1` of `database_machine`",
            )
        require_settings(self.name, settings.settings)
        machine = cluster.database[0]
        programs = await programs_on(machine, self._product)
        await require_known(machine, programs, settings.settings)
        port = free_port(machine.address) if isinstance(machine.remote, LocalRemote) else PORT
        folder = DataFolder(machine, programs, settings.settings)
        await folder.use_new()
        password = secrets.token_urlsafe(24)
        users_file = f"{folder.root}/users.sql"
        await write_secret(machine, users_file, _USERS.format(user=_USER, password=password))
        forced = {
            "datadir": folder.data,
            "socket": "socket",  # in the data folder: no path is too long
            "port": str(port),
            "bind_address": machine.address,
            "init_file": users_file,
            "skip_name_resolve": "ON",
            "local_infile": "ON",
            "loose_mysqlx": "OFF",  # another port, of MySQL alone
            "max_connections": str(settings.connections + _SPARE_CONNECTIONS),
        }
        options = {**DEFAULT_SETTINGS, **settings.settings, **forced}
        argv = [programs.server, "--no-defaults", *(f"--{name}={value}" for name, value in options.items())]
        dsn = f"mysql://{_USER}@{in_url(machine.address)}:{port}/mysql"
        endpoint = Endpoint(dsn, {_PASSWORD_VARIABLE: password}, "", "system")
        server = _Server(folder, tuple(programs.as_user(*argv)), endpoint, settings.version, log, None)
        return await self._launch(cluster, server)

    @override
    def server_here(self, settings: DatabaseSettings) -> str:
        return server_of_this_machine(self._product).server

    @override
    async def stop(self, cluster: Cluster) -> None:
        """Stops our server; on a user's server, drops the last trial's copy.

        Raises:
            DatabaseFailed: the server had to be killed.
        """
        copied_on = self._copies.pop(cluster.key, None)
        if copied_on is not None:
            await self._rows(cluster, copied_on, users.drop(users.copy_name(cluster)), timeout_s=COPY_TIMEOUT_S)
        server = self._running.pop(cluster.key, None)
        if server is None or server.process is None:
            return
        if await server.process.stop(signal=signal.SIGTERM, timeout_s=STOP_TIMEOUT_S) is None:
            raise DatabaseFailed(
                f"{NAMES[self._product]} did not stop within {STOP_TIMEOUT_S:.0f} s and was killed",
                hint="the disk may be far too slow for innodb_buffer_pool_size; its log is next to the raw output",
            )

    # HasFootprint

    @override
    def disk_bytes(self, settings: DatabaseSettings, data_bytes: int, machines: int) -> int:
        """The files of three servers besides: new, with a data set, and at work."""
        return data_bytes if settings.dsn is not None else data_bytes + 3 * _FILES_BYTES

    # HasFixtures

    @override
    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:
        if endpoint.origin == "user":
            return bool(await self._rows(cluster, endpoint, users.sealed(fixture)))
        return await self._running[cluster.key].folder.has(fixture)

    @override
    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        recorded = users.record(fixture, users.LOADING) if endpoint.origin == "user" else []
        await self._rows(cluster, endpoint, users.drop(fixture), users.create(fixture), *recorded)
        return _with_database(endpoint, fixture)

    @override
    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        """Of our server, after everything was written and purged; a record on a user's."""
        if endpoint.origin == "user":
            await self._rows(cluster, endpoint, *users.record(fixture, DATA_SET))
            return
        await self._rows(cluster, endpoint, "SET GLOBAL innodb_fast_shutdown = 0")
        server = self._running[cluster.key]
        await self.stop(cluster)
        await server.folder.keep(fixture)
        await self._launch(cluster, server)

    @override
    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """Restarts our server with its copy; see the module's text for a user's."""
        if endpoint.origin == "user":
            copy = users.copy_name(cluster)
            self._copies[cluster.key] = endpoint
            tables = typed(list[tuple[str]], await self._rows(cluster, endpoint, users.tables(fixture)))
            statements = users.copying(fixture, copy, [name for (name,) in tables])
            await self._rows(cluster, endpoint, *statements, timeout_s=COPY_TIMEOUT_S)
            return _with_database(endpoint, copy)
        server = self._running[cluster.key]
        await self.stop(cluster)
        await server.folder.use(fixture)
        return _with_database(await self._launch(cluster, server), fixture)

    # HasLoadedBytes

    @override
    async def loaded_bytes(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> int:
        ((size_bytes,),) = typed(tuple[tuple[Count]], await self._rows(cluster, endpoint, users.size(fixture)))
        return size_bytes

    # HasSettings

    @override
    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Those of `STORED`, and those that the study names."""
        answer = await self._answer(cluster, endpoint, statement(self._given.get(cluster.key, {})))
        encryption = answer.encryption if endpoint.origin == "user" else {}
        return {**stored_settings(answer.rows), **encryption}

    @override
    async def identity(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Its start in seconds since 1970, by its own clock."""
        question = _IDENTITY.format(schema=_STATUS_IN[self._product])
        said = typed(tuple[tuple[str, str, str]], await self._rows(cluster, endpoint, question))
        found = dict(zip(("started", "version", "role"), said[0], strict=True))
        if self._product == "mariadb":
            ((since_start,),) = typed(tuple[tuple[str]], await self._rows(cluster, endpoint, _SET_SINCE_START))
            found["settings set since its start"] = since_start
        return found

    # HasUpkeep

    @override
    async def upkeep(self, cluster: Cluster, endpoint: Endpoint) -> Upkeep:
        """The disk of a user's server is not looked at."""
        free = await upkeep.free_bytes(cluster) if endpoint.origin != "user" else None
        return counters.upkeep(await self._rows(cluster, endpoint, counters.STATEMENT), free)

    # HasCounters

    @override
    async def counters(self, cluster: Cluster, endpoint: Endpoint) -> Mapping[str, float]:
        return counters.costs(await self._rows(cluster, endpoint, counters.STATEMENT))

    # how

    async def _launch(self, cluster: Cluster, server: "_Server") -> Endpoint:
        """Starts it on the files that are there, and waits until it answers."""
        number = f"-{server.starts}" if server.starts else ""
        log = server.log.with_name(f"{server.log.stem}{number}{server.log.suffix}")
        process = await server.folder.machine.remote.start(server.argv, log=log)
        self._running[cluster.key] = server = replace(server, process=process, starts=server.starts + 1)
        said, comment = await self._wait_until_up(cluster, server, process, log)
        version = require_product(said, comment, self._product, server.version)
        # A login over TLS, which came first, lets MySQL know the password's hash: those without TLS need that.
        return replace(server.endpoint, dsn=f"{server.endpoint.dsn}?ssl-mode=DISABLED", version=version)

    async def _wait_until_up(
        self, cluster: Cluster, server: "_Server", process: Background, log: Path
    ) -> tuple[str, str]:
        endpoint, machine = server.endpoint, server.folder.machine
        try:
            return await until_up(
                lambda: self._itself(cluster, endpoint), machine, endpoint.dsn, process, lambda _: START_TIMEOUT_S
            )
        except (ToolFailed, ToolTimedOut) as error:
            await self.stop(cluster)
            said = end_of(log) or error.message
            raise DatabaseFailed(f"{NAMES[self._product]} did not start: {said}", hint=f"its log is {log}") from error

    async def _itself(self, cluster: Cluster, endpoint: Endpoint) -> tuple[str, str]:
        """Its version, and what it says of that."""
        return typed(tuple[tuple[str, str]], await self._rows(cluster, endpoint, _ITSELF))[0]

    async def _reach_users_server(self, cluster: Cluster, settings: DatabaseSettings) -> Endpoint:
        dsn = str(settings.dsn)
        endpoint = Endpoint(dsn, wire_of(dsn).of(self._environment), "", "user")
        where = f"of configuration {cluster.key} at {without_password(dsn)}"
        try:
            version, comment = await self._itself(cluster, endpoint)
        except (ToolFailed, ToolTimedOut) as error:
            raise TargetUnreachable(
                f"the database {where} does not answer: {error.message}", hint=hint_for(error)
            ) from error
        found = replace(endpoint, version=require_product(version, comment, self._product, settings.version))
        await users.require_fit(
            lambda *statements: self._rows(cluster, found, *statements), where, cluster, settings.connections
        )
        return found

    async def _rows(
        self, cluster: Cluster, endpoint: Endpoint, *statements: str, timeout_s: float = STATEMENT_TIMEOUT_S
    ) -> Rows:
        """Runs statements one after the other; the rows of the last."""
        return (await self._answer(cluster, endpoint, *statements, timeout_s=timeout_s)).rows

    async def _answer(
        self, cluster: Cluster, endpoint: Endpoint, *statements: str, timeout_s: float = STATEMENT_TIMEOUT_S
    ) -> Answer:
        client = Client(cluster.load.remote, self._load_program)
        return await client.ask(endpoint.dsn, *statements, environment=endpoint.environment, timeout_s=timeout_s)


@dataclass(frozen=True)
class _Server:
    """A server that nephoscope started."""

    folder: DataFolder
    argv: tuple[str, ...]
    endpoint: Endpoint
    version: str | None
    """That the study names."""
    log: Path
    """Of its first start."""
    process: Background | None
    starts: int = 0


def _with_database(endpoint: Endpoint, database: str) -> Endpoint:
    return replace(endpoint, dsn=urlunsplit(urlsplit(endpoint.dsn)._replace(path=f"/{database}")))
