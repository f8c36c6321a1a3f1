"""MariaDB or MySQL: nephoscope's own server on the database machine, or the user's by its DSN.

On several database machines MariaDB's servers are a cluster of Galera, and the load's connections are spread over them.
Nephoscope's own server lives in `<data folder>/mariadb` (or `mysql`), is started for each trial with the machine's CPU
affinity, keeps full durability, and is stopped after the trial. Loaded data sets are kept as copies of the stopped
server's files; every trial gets a copy of its set, so that each starts from the same state. On a user's own server a
data set is a database, and a trial's copy another one, made by INSERT … SELECT.
"""

import asyncio
import secrets
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from typing_extensions import override

from nephoscope.databases import identity, upkeep
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
    HasReplication,
    HasServer,
    HasSettings,
    HasUpkeep,
    Upkeep,
)
from nephoscope.databases.made import DATA_SET
from nephoscope.databases.mysql import counters, galera, users
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
_LOOK_EVERY_S = 0.1
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
    HasReplication,
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
        self._running: dict[str, list[_Server]] = {}
        """By cluster: a server of each database machine, in their order."""
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
        if 1 < len(cluster.database) < galera.LEAST or (len(cluster.database) > 1 and self._product == "mysql"):
            raise InputError(
                f"configuration {cluster.key} has {len(cluster.database)} database machines, on which nephoscope "
                f"starts no {NAMES[self._product]}",
                hint=f"set `count = 1` of `database_machine`; MariaDB is a cluster of Galera on {galera.LEAST} or more",
            )
        require_settings(self.name, settings.settings)
        members = await galera.members(cluster) if len(cluster.database) > 1 else ()
        password = secrets.token_urlsafe(24)
        numbers = range(len(cluster.database))
        servers = [await self._prepared(cluster, settings, log, password, members, number) for number in numbers]
        if len({server.folder.programs.version for server in servers}) > 1:
            found = ", ".join(f"{one.folder.machine.name} {one.folder.programs.version}" for one in servers)
            raise DatabaseFailed(f"{NAMES[self._product]} differs between the machines: {found}")
        trusted = identity.drawn(cluster.database) if members else {}
        for server in servers:
            await identity.give(server.folder.machine, server.folder.root, trusted)
        return await self._launch(cluster, servers)

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
        in_order = True
        for server in reversed(self._running.pop(cluster.key, [])):
            if server.process is not None:
                ended = await server.process.stop(signal=signal.SIGTERM, timeout_s=STOP_TIMEOUT_S)
                in_order = in_order and ended is not None
        if not in_order:
            raise DatabaseFailed(
                f"{NAMES[self._product]} did not stop within {STOP_TIMEOUT_S:.0f} s and was killed",
                hint="the disk may be far too slow for innodb_buffer_pool_size; its log is next to the raw output",
            )

    # HasFootprint

    @override
    def disk_bytes(self, settings: DatabaseSettings, data_bytes: int, machines: int) -> int:
        """The files of three servers besides: new, with a data set, and at work; and what Galera keeps."""
        if settings.dsn is not None:
            return data_bytes
        return data_bytes + 3 * _FILES_BYTES + (galera.CACHE_BYTES if machines > 1 else 0)

    # HasFixtures

    @override
    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:
        if endpoint.origin == "user":
            return bool(await self._rows(cluster, endpoint, users.sealed(fixture)))
        return all([await server.folder.has(fixture) for server in self._running[cluster.key]])

    @override
    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        recorded = users.record(fixture, users.LOADING) if endpoint.origin == "user" else []
        for server in self._running.get(cluster.key, ()):
            await server.folder.forget(fixture)
        await self._rows(cluster, endpoint, users.drop(fixture), users.create(fixture), *recorded)
        return _with_database(endpoint, fixture)

    @override
    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        """Of our server, after everything was written and purged; a record on a user's."""
        if endpoint.origin == "user":
            await self._rows(cluster, endpoint, *users.record(fixture, DATA_SET))
            return
        servers = self._running[cluster.key]
        if len(servers) > 1:
            await self._until_whole(cluster)
        for server in servers:
            await self._rows(cluster, server.endpoint, "SET GLOBAL innodb_fast_shutdown = 0")
        await self.stop(cluster)
        await asyncio.gather(*(server.folder.keep(fixture) for server in servers))
        await self._launch(cluster, servers)

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
        servers = self._running[cluster.key]
        await self.stop(cluster)
        await asyncio.gather(*(server.folder.use(fixture) for server in servers))
        return _with_database(await self._launch(cluster, servers), fixture)

    # HasLoadedBytes

    @override
    async def loaded_bytes(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> int:
        ((size_bytes,),) = typed(tuple[tuple[Count]], await self._rows(cluster, endpoint, users.size(fixture)))
        return size_bytes

    # HasReplication

    @override
    async def replication(self, cluster: Cluster) -> dict[str, str]:
        """Each server of a cluster that we started, as it sees itself."""
        servers = self._running.get(cluster.key, ())
        if len(servers) < galera.LEAST:
            return {}
        return {f"server {server.folder.machine.name}": await self._said(cluster, server) for server in servers}

    # HasSettings

    @override
    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Those of `STORED` and those that the study names; of a cluster also in what its servers differ."""
        question = statement(self._given.get(cluster.key, {}))
        answer = await self._answer(cluster, endpoint, question)
        found = stored_settings(answer.rows)
        encryption = answer.encryption if endpoint.origin == "user" else {}
        for server in self._running.get(cluster.key, ())[1:]:
            other = stored_settings(await self._rows(cluster, server.endpoint, question))
            differing = sorted(other.items() - found.items())
            found |= {f"{name} of {server.folder.machine.name}": value for name, value in differing}
        return {**found, **encryption, **await self.replication(cluster)}

    @override
    async def identity(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Its start in seconds since 1970, by its own clock; of each server of a cluster."""
        found = await self._identity_of(cluster, endpoint)
        for server in self._running.get(cluster.key, ())[1:]:
            other = await self._identity_of(cluster, server.endpoint)
            found |= {f"{name} of {server.folder.machine.name}": value for name, value in other.items()}
        return found

    async def _identity_of(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
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
        return upkeep.together([counters.upkeep(rows, free) for rows in await self._counted(cluster, endpoint)])

    # HasCounters

    @override
    async def counters(self, cluster: Cluster, endpoint: Endpoint) -> Mapping[str, float]:
        found = [counters.costs(rows) for rows in await self._counted(cluster, endpoint)]
        return {name: sum(one[name] for one in found) for name in found[0]}

    async def _counted(self, cluster: Cluster, endpoint: Endpoint) -> list[Rows]:
        """By each server of ours, or by the user's."""
        asked = [server.endpoint for server in self._running.get(cluster.key, ())] or [endpoint]
        return [await self._rows(cluster, one, counters.STATEMENT) for one in asked]

    # how

    async def _prepared(
        self,
        cluster: Cluster,
        settings: DatabaseSettings,
        log: Path,
        password: str,
        members: Sequence[galera.Member],
        number: int,
    ) -> "_Server":
        """A server with a new data folder, which is not started."""
        machine = cluster.database[number]
        programs = await programs_on(machine, self._product)
        await require_known(machine, programs, settings.settings)
        port = free_port(machine.address) if isinstance(machine.remote, LocalRemote) else PORT
        folder = DataFolder(machine, programs, settings.settings, len(cluster.database))
        await folder.use_new()
        users_file = f"{folder.root}/users.sql"
        alone = galera.ON_EACH_SERVER if members else ""
        await write_secret(machine, users_file, alone + _USERS.format(user=_USER, password=password))
        address = f"{in_url(machine.address)}:{port}"
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
            **(galera.options(members, members[number], address) if members else {}),
        }
        options = {**DEFAULT_SETTINGS, **(galera.BY_DEFAULT if members else {}), **settings.settings, **forced}
        argv = [programs.server, "--no-defaults", *(f"--{name}={value}" for name, value in options.items())]
        # A login over TLS, which comes first, lets MySQL know the password's hash: those without TLS need that.
        endpoint = Endpoint(f"mysql://{_USER}@{address}/mysql", {_PASSWORD_VARIABLE: password}, "", "system")
        beside = log.with_name(f"{log.stem}-{machine.name}{log.suffix}") if members else log
        return _Server(folder, tuple(programs.as_user(*argv)), address, endpoint, settings.version, beside, None)

    async def _launch(self, cluster: Cluster, servers: Sequence["_Server"]) -> Endpoint:
        """Starts them on the files that are there, one after the other, and waits until they answer."""
        self._running[cluster.key] = running = list(servers)
        for number in range(len(running)):
            if number:
                joined = await self._seen(cluster, running[0])
                await galera.write_state(running[number].folder.machine, running[number].folder.data, joined)
            await self._launch_one(cluster, number)
        if len(running) > 1:
            await self._until_whole(cluster)
        first = running[0].endpoint
        hosts = ",".join(server.address for server in running)
        return replace(first, dsn=first.dsn.replace(running[0].address, hosts))

    async def _launch_one(self, cluster: Cluster, number: int) -> None:
        running = self._running[cluster.key]
        server = running[number]
        again = f"-{server.starts}" if server.starts else ""
        log = server.log.with_name(f"{server.log.stem}{again}{server.log.suffix}")
        begins = [galera.BEGINS] if len(running) > 1 and not number else []
        process = await server.folder.machine.remote.start([*server.argv, *begins], log=log)
        running[number] = server = replace(server, process=process, starts=server.starts + 1)
        said, comment = await self._wait_until_up(cluster, server, process, log)
        version = require_product(said, comment, self._product, server.version)
        dsn = f"mysql://{_USER}@{server.address}/mysql?ssl-mode=DISABLED"
        running[number] = replace(server, endpoint=replace(server.endpoint, dsn=dsn, version=version))

    async def _wait_until_up(
        self, cluster: Cluster, server: "_Server", process: Background, log: Path
    ) -> tuple[str, str]:
        endpoint, machine = server.endpoint, server.folder.machine

        async def itself() -> tuple[str, str]:
            if len(cluster.database) > 1 and not (found := await self._seen(cluster, server)).is_synced:
                raise ToolFailed(f"it is not in the cluster yet: {found.said}")
            return await self._itself(cluster, endpoint)

        try:
            return await until_up(itself, machine, endpoint.dsn, process, lambda _: START_TIMEOUT_S)
        except (ToolFailed, ToolTimedOut) as error:
            await self.stop(cluster)
            said = end_of(log) or error.message
            raise DatabaseFailed(f"{NAMES[self._product]} did not start: {said}", hint=f"its log is {log}") from error

    async def _until_whole(self, cluster: Cluster) -> None:
        """Until all servers see each other, and have applied the same."""
        servers = self._running[cluster.key]
        addresses, until = [server.address for server in servers], asyncio.get_running_loop().time() + START_TIMEOUT_S
        while True:
            found = [await self._seen(cluster, server) for server in servers]
            if all(one.has_all(addresses) for one in found) and len({one.position for one in found}) == 1:
                return
            if asyncio.get_running_loop().time() > until:
                told = "; ".join(one.said for one in found)
                raise DatabaseFailed(
                    f"the servers of {cluster.key} are not one cluster after {START_TIMEOUT_S:.0f} s: {told}",
                    hint="check their logs, and that the machines reach each other",
                )
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _seen(self, cluster: Cluster, server: "_Server") -> galera.Seen:
        return galera.seen(await self._rows(cluster, server.endpoint, galera.STATUS))

    async def _said(self, cluster: Cluster, server: "_Server") -> str:
        try:
            return (await self._seen(cluster, server)).said
        except (ToolFailed, ToolTimedOut):
            return "does not answer"

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
    address: str
    """Host and port, for clients."""
    endpoint: Endpoint
    version: str | None
    """That the study names."""
    log: Path
    """Of its first start."""
    process: Background | None
    starts: int = 0


def _with_database(endpoint: Endpoint, database: str) -> Endpoint:
    return replace(endpoint, dsn=urlunsplit(urlsplit(endpoint.dsn)._replace(path=f"/{database}")))
