"""CockroachDB: nephoscope's own server on every database machine, from a program given by the user.

Written from its documentation, and run against an alpha of 22.1. One machine is started as a cluster of its own with
one copy; several join, are initialised once, and keep three copies, which they spread over the zones that the servers
are in. Disks that are apart have a store each. Loaded data sets are backups;
every trial gets a restored one, so that each starts from the same state.
"""

import asyncio
import hashlib
import json
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit

from typing_extensions import override

from nephoscope.databases import upkeep
from nephoscope.databases.base import (
    CanAttach,
    Database,
    Endpoint,
    HasFixtures,
    HasFootprint,
    HasPrograms,
    HasReplication,
    HasSettings,
    HasUpkeep,
    Upkeep,
)
from nephoscope.databases.cockroachdb import commands, copies
from nephoscope.databases.cockroachdb.commands import Layout, Manner, Replication
from nephoscope.databases.cockroachdb.machines import (
    certify,
    claim_folders,
    client_certificates,
    enqueue,
    found_again,
    installed,
    note_places,
    require_ours,
    root_of,
    stores_of,
)
from nephoscope.databases.programs import find_program
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import Background, Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed, NephoscopeError, TargetLost, ToolFailed, ToolTimedOut
from nephoscope.providers.base import Cluster
from nephoscope.study.model import SNAPSHOTS
from nephoscope.study.model import Database as DatabaseSettings
from nephoscope.study.snapshots import stored_bytes

TRIAL_DATABASE = "nephoscope_trial"
START_TIMEOUT_S = 120.0
REPLICATION_TIMEOUT_S = 1800.0
"""Limit for every range to have its copies: after a restore the cluster moves data."""
COPY_TIMEOUT_S = 6 * 3600.0
"""Limit for backup and restore of a whole data set."""
STOP_TIMEOUT_S = 30.0
STOP_TOGETHER_TIMEOUT_S = 5.0
"""For the servers of a cluster."""
DEFAULT_FIXTURES = "nodelocal://1/nephoscope"
"""On the first machine's store: deleted with the cluster."""
GC_TTL_S = 600
"""Time after which a dropped copy's space is free; the default takes hours, too long between trials."""
_STATEMENT_TIMEOUT_S = 120.0
_ANSWER_TIMEOUT_S = 30.0
"""For a server that may have stopped, on a machine that may be busy."""
_LOOK_EVERY_S = 0.5
_COUNT_EVERY_S = 2.0
"""Each look starts a program on a machine that is busy with its copies."""
_QUIET = {"COCKROACH_SKIP_ENABLING_DIAGNOSTIC_REPORTING": "true"}
_NO_BACKUP = ("not found", "no such file", "does not exist", "no backups")

Found = TypeVar("Found")


@dataclass(frozen=True)
class _Servers:
    """Servers that nephoscope started, the first machine's first."""

    layouts: tuple[Layout, ...]
    build_tag: str
    manner: Manner
    fixtures: str
    log: Path
    processes: tuple[Background, ...] = ()

    @property
    def layout(self) -> Layout:
        """On the first machine, from which they are queried."""
        return self.layouts[0]


class CockroachDatabase(
    Database, HasFixtures, CanAttach, HasUpkeep, HasPrograms, HasReplication, HasFootprint, HasSettings
):
    """See the module's text. One instance serves one study."""

    name = "cockroachdb"
    server_programs = ("cockroach",)

    def __init__(self) -> None:
        self._running: dict[str, _Servers] = {}

    # Database

    @override
    async def start(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """Starts the servers, waits until each answers, and applies settings.

        Raises:
            InputError: `binary` is no file.
        """
        layouts, tag = await _layouts(cluster, settings, installed)
        await claim_folders(cluster, _identity(cluster, layouts, tag), _places(cluster, layouts, tag))
        if layouts[0].secure:
            await certify(cluster, layouts[0])
        manner = commands.manner_of(settings)
        self._running[cluster.key] = _Servers(tuple(layouts), tag, manner, _fixtures(settings), log)
        try:
            await self._come_up(cluster, await self._launch(cluster))
            await self._hurry(cluster, cluster.database[0].address)
            if manner.settings:
                await self._sql(cluster, *(commands.set_statement(*setting) for setting in manner.settings.items()))
        except (ToolFailed, ToolTimedOut) as error:
            await self.stop(cluster)
            raise DatabaseFailed(
                f"CockroachDB did not start: {error.message}", hint=f"its logs are next to {log}"
            ) from error
        except BaseException:
            await self.stop(cluster)
            raise
        return _endpoint(cluster, settings, layouts[0], tag)

    # HasServer

    def server_here(self, settings: DatabaseSettings) -> str:
        """See `HasServer.server_here`."""
        found = find_program(settings.binary, "cockroach")
        if found is None and settings.version is None:
            raise DatabaseFailed(
                "no CockroachDB was found on PATH",
                hint="set `database.binary` to the program's path on this machine, or `database.version` to a "
                "complete version",
            )
        return found or f"version {settings.version} is downloaded when the study runs"

    # CanAttach

    @override
    async def attach(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """Finds servers on machines that outlived the controller."""
        if isinstance(cluster.database[0].remote, LocalRemote):
            raise TargetLost("the server on this machine stopped together with the nephoscope that started it")
        try:
            layouts, tag = await _layouts(cluster, settings, found_again)
            await require_ours(cluster, _identity(cluster, layouts, tag))
            manner = commands.manner_of(settings)
            self._running[cluster.key] = _Servers(tuple(layouts), tag, manner, _fixtures(settings), log)
            await self._launch(cluster)  # each starts only once in an attempt, so this finds the running ones
            for machine in cluster.database:
                await _ask(cluster.database[0], layouts[0].sql(machine.address, "SELECT 1"))
        except (DatabaseFailed, ToolFailed, ToolTimedOut) as error:
            raise TargetLost(f"CockroachDB of {cluster.key} is no longer running: {error.message}") from error
        return _endpoint(cluster, settings, layouts[0], tag)

    @override
    async def stop(self, cluster: Cluster) -> None:
        """Fetches logs and the state of replication, then stops the servers."""
        servers = self._running.pop(cluster.key, None)
        if servers is None:
            return
        with suppress(NephoscopeError):
            said = await _ask(cluster.database[0], servers.layout.status(cluster.database[0].address))
            _keep(_beside(servers.log, "replication-after", ".tsv"), said)
        for machine in cluster.database:
            log = _beside(servers.log, f"{machine.name}-server")
            with suppress(NephoscopeError):
                await machine.remote.download(f"{stores_of(machine)[0]}/logs/cockroach.log", log)
        await _end(servers)

    # HasFootprint

    @override
    def disk_bytes(self, settings: DatabaseSettings, data_bytes: int, machines: int) -> int:
        """Three copies, spread over all machines."""
        return int(stored_bytes(data_bytes, machines))

    # HasFixtures

    @override
    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:
        """An unfinished backup does not count."""
        place = self._running[cluster.key].fixtures
        if (cluster.shared or _keeps_files(place)) and await copies.is_kept(cluster, fixture):
            return True
        if place == SNAPSHOTS:
            return False
        if copies.is_place(place):
            return await copies.is_stored(cluster, place, fixture, self._stored_as(cluster, endpoint))
        try:
            said = await self._sql(cluster, f"SHOW BACKUPS IN {self._place(cluster, fixture)}")
        except ToolFailed as error:
            if any(words in error.message.lower() for words in _NO_BACKUP):
                return False
            raise
        return bool(commands.rows(said))

    @override
    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        await self._sql(cluster, *_dropped(fixture), f"CREATE DATABASE {fixture}")
        return _with_database(endpoint, fixture)

    @override
    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        """Turns what was loaded into a backup and drops the database.

        Where no backup is needed, the files of its stores are kept as they are, and perhaps snapshots of their volumes.
        """
        fixtures = self._running[cluster.key].fixtures
        if _keeps_files(fixtures) or (cluster.shared and fixtures == DEFAULT_FIXTURES):
            renamed = f"ALTER DATABASE {fixture} RENAME TO {TRIAL_DATABASE}"
            await self._sql(cluster, *_dropped(TRIAL_DATABASE), renamed)
            await self._until_whole(cluster)
            await self._started_again(cluster, self._keep, fixture)
            if copies.is_place(fixtures):
                await copies.store(cluster, fixtures, fixture, self._stored_as(cluster, endpoint))
            return
        place = self._place(cluster, fixture)
        backup = f"BACKUP DATABASE {fixture} INTO {place}"
        await self._sql(cluster, backup, *_dropped(fixture), timeout_s=COPY_TIMEOUT_S)

    @override
    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """Restores the backup and waits for all its copies.

        On a cluster that serves several trials this happens once. Every trial starts from the files of that moment,
        with servers that have just started.
        """
        place = self._running[cluster.key].fixtures
        if cluster.shared or _keeps_files(place):
            kept = await copies.is_kept(cluster, fixture)
            if not kept and copies.is_place(place):
                await copies.fetch(cluster, place, fixture, self._stored_as(cluster, endpoint))
                kept = True
            if kept:
                await self._started_again(cluster, copies.put_back, fixture)
                return _with_database(endpoint, TRIAL_DATABASE)
        restore = (
            f"RESTORE DATABASE {fixture} FROM LATEST IN {self._place(cluster, fixture)} "
            f"WITH new_db_name = {commands.quoted(TRIAL_DATABASE)}"
        )
        await self._sql(cluster, *_dropped(TRIAL_DATABASE), restore, timeout_s=COPY_TIMEOUT_S)
        await self._until_whole(cluster)
        if cluster.shared:
            await self._started_again(cluster, copies.keep, fixture)
        return _with_database(endpoint, TRIAL_DATABASE)

    def _stored_as(self, cluster: Cluster, endpoint: Endpoint) -> str:
        """The version, and what was set: cluster settings are among the files of a data set."""
        settings = self._running[cluster.key].manner.settings
        return f"{endpoint.version}-{_digest([sorted(settings.items())])}" if settings else endpoint.version

    # HasSettings

    @override
    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Changed settings, start flags and replication; the log has all settings."""
        servers = self._running[cluster.key]
        said = await self._sql(cluster, "SHOW ALL CLUSTER SETTINGS")
        in_force = commands.settings_in_force(said)
        _keep(
            _beside(servers.log, "cluster-settings", ".tsv"),
            "".join(f"{name}\t{value}\n" for name, value in sorted(in_force.items())),
        )
        changed = commands.internal(servers.build_tag, "SELECT name FROM system.settings")
        stored = commands.rows(await self._sql(cluster, *changed))
        made = {row.get("name", "") for row in stored} | set(servers.manner.settings)
        found = {name: value for name, value in in_force.items() if name in made}
        found |= {f"start --{name}": value for name, value in servers.manner.flags.items()}
        places = {machine.name: _locality(cluster, machine, servers.manner) for machine in cluster.database}
        found |= {f"start --locality of {name}": flags["locality"] for name, flags in places.items() if flags}
        found["security"] = "certificates" if servers.layout.secure else "insecure"
        return found | await self.replication(cluster)

    @override
    async def identity(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Of each server, as the first one knows them."""
        first = cluster.database[0]
        return commands.identities(await _ask(first, self._running[cluster.key].layout.status(first.address)))

    # HasUpkeep

    @override
    async def upkeep(self, cluster: Cluster, endpoint: Endpoint) -> Upkeep:
        """Free space only: servers do not report log and cache."""
        return Upkeep(free_bytes=await upkeep.free_bytes(cluster))

    # how

    @override
    async def replication(self, cluster: Cluster) -> dict[str, str]:
        """Whether each server answers and is live, and whether all ranges have their copies; empty for one copy.

        As of now: a server takes ten seconds to notice that another has gone, and counts its ranges every ten.

        Raises:
            DatabaseFailed: no server answers.
        """
        addresses = _addresses(cluster)
        if len(addresses) == 1:
            return {}
        answers = await asyncio.gather(*(self._answers(cluster, address) for address in addresses))
        answering = [address for address, does in zip(addresses, answers, strict=True) if does]
        if not answering:
            raise DatabaseFailed("none of the servers answers")
        live: set[str] = set()
        too_few: int | None = None
        with suppress(ToolFailed, ToolTimedOut):
            live = {row.node for row in await self._reported(cluster, answering[0]) if row.live}
            too_few = await self._too_few_copies(cluster, answering[0])
        return commands.states(addresses, answering, live, too_few)

    async def _answers(self, cluster: Cluster, address: str) -> bool:
        """Whether a server runs a statement."""
        layout = self._running[cluster.key].layout
        try:
            await _ask(cluster.database[0], layout.sql(address, "SELECT 1"), _ANSWER_TIMEOUT_S)
        except (ToolFailed, ToolTimedOut):
            return False
        return True

    async def _reported(self, cluster: Cluster, address: str) -> list[Replication]:
        """What the server at an address knows of all servers."""
        layout = self._running[cluster.key].layout
        return commands.replication(await _ask(cluster.database[0], layout.status(address)))

    async def _too_few_copies(self, cluster: Cluster, address: str) -> int:
        """How many ranges have fewer copies than they should, according to the server at an address."""
        servers = self._running[cluster.key]
        query = commands.internal(servers.build_tag, commands.ranges_with_too_few_copies(len(cluster.database)))
        return commands.count(await _ask(cluster.database[0], servers.layout.sql(address, *query)))

    async def _hurry(self, cluster: Cluster, address: str) -> None:
        """Asks for copies of ranges that have too few: by itself a server looks at one range a second.

        The console takes such requests from everybody on an insecure cluster. If it takes none, copies only come later.
        """
        servers = self._running[cluster.key]
        if servers.layout.secure or len(cluster.database) == 1:
            return
        query = commands.internal(servers.build_tag, commands.some_with_too_few_copies(len(cluster.database)))
        with suppress(ToolFailed, ToolTimedOut, DatabaseFailed):
            found = commands.rows(await _ask(cluster.database[0], servers.layout.sql(address, *query)))
            await enqueue(cluster.database[0], [row["range_id"] for row in found if "range_id" in row])

    async def _started_again(
        self, cluster: Cluster, between: Callable[[Cluster, str], Awaitable[None]], fixture: str
    ) -> None:
        """Stops the servers, does something with their files, starts the servers and waits until they have all copies.

        Raises:
            DatabaseFailed: they do not start.
        """
        servers = self._running[cluster.key]
        await _end(servers)
        self._running[cluster.key] = replace(servers, processes=())
        await between(cluster, fixture)
        try:
            await self._come_up(cluster, await self._launch(cluster))
        except (ToolFailed, ToolTimedOut) as error:
            raise DatabaseFailed(
                f"CockroachDB did not start again: {error.message}", hint=f"its logs are next to {servers.log}"
            ) from error
        await self._until_whole(cluster)

    async def _keep(self, cluster: Cluster, fixture: str) -> None:
        """Keeps a data set beside the stores of servers that stand still, and in snapshots of volumes made for it."""
        await copies.keep(cluster, fixture)
        if cluster.volumes is not None and cluster.volumes.data_set == fixture:
            servers = self._running[cluster.key]
            await note_places(cluster, _places(cluster, servers.layouts, servers.build_tag))
            await cluster.volumes.keep()

    async def _launch(self, cluster: Cluster) -> _Servers:
        """Starts every server; they do not answer yet."""
        servers, addresses = self._running[cluster.key], _addresses(cluster)
        for machine, layout in zip(cluster.database, servers.layouts, strict=True):
            argv = layout.start(
                machine.address, addresses, {**_locality(cluster, machine, servers.manner), **servers.manner.flags}
            )
            process = await machine.remote.start(argv, log=_beside(servers.log, machine.name), environment=_QUIET)
            servers = replace(servers, processes=(*servers.processes, process))
            self._running[cluster.key] = servers
        return servers

    async def _come_up(self, cluster: Cluster, servers: _Servers) -> None:
        """Forms a cluster from them unless they are one, and waits until each answers.

        Raises:
            DatabaseFailed: one ended.
            ToolFailed, ToolTimedOut: they do not.
        """
        first = cluster.database[0]

        async def initialise() -> None:
            try:
                await _ask(first, servers.layout.init(first.address))
            except ToolFailed as error:
                if "already been initialized" not in error.message:
                    raise

        if len(cluster.database) > 1:
            await self._patiently(cluster, servers, initialise)
        looks = [servers.layout.sql(machine.address, "SELECT 1") for machine in cluster.database]
        await asyncio.gather(*(self._patiently(cluster, servers, partial(_ask, first, look)) for look in looks))

    async def _patiently(self, cluster: Cluster, servers: _Servers, ask: Callable[[], Awaitable[Found]]) -> Found:
        """Asks until there is an answer, the time is over, or a server has ended.

        Raises:
            DatabaseFailed: servers ended, which are named: those that still run answer no better without them.
            ToolFailed, ToolTimedOut: the last answer.
        """
        clock = asyncio.get_running_loop().time
        started = clock()
        while True:
            try:
                return await ask()
            except (ToolFailed, ToolTimedOut) as error:
                processes = zip(cluster.database, servers.processes, strict=True)
                ended = [machine for machine, process in processes if not process.running()]
                if ended:
                    named = ", ".join(f"{machine.name} ({commands.endpoint(machine.address)})" for machine in ended)
                    raise DatabaseFailed(
                        f"CockroachDB ended on {named} while it started", hint=f"its log is next to {servers.log}"
                    ) from error
                if clock() - started > START_TIMEOUT_S:
                    raise
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _until_whole(self, cluster: Cluster) -> None:
        """Waits until every server is live and every range has all its copies.

        Raises:
            DatabaseFailed: this does not happen in time.
        """
        clock, first = asyncio.get_running_loop().time, cluster.database[0].address
        started = clock()
        while True:
            said = await self._reported(cluster, first)
            too_few = await self._too_few_copies(cluster, first)
            if commands.are_whole(len(cluster.database), said, too_few):
                return
            if too_few:
                await self._hurry(cluster, first)
            if clock() - started > REPLICATION_TIMEOUT_S:
                raise DatabaseFailed(
                    f"copies are still missing after {REPLICATION_TIMEOUT_S:.0f} s: {commands.lacking(too_few)}; "
                    + "; ".join(map(str, said)),
                    hint="check the servers' logs for a full disk or a lost machine",
                )
            await asyncio.sleep(_COUNT_EVERY_S)

    def _place(self, cluster: Cluster, fixture: str) -> str:
        """Where the backup of a data set is; what follows a question mark are the store's parameters."""
        place, mark, parameters = self._running[cluster.key].fixtures.partition("?")
        return commands.quoted(f"{place.rstrip('/')}/{fixture}{mark}{parameters}")

    async def _sql(self, cluster: Cluster, *statements: str, timeout_s: float = _STATEMENT_TIMEOUT_S) -> str:
        """Runs statements by one start of the program, which takes longer than most of them."""
        machine = cluster.database[0]
        return await _ask(machine, self._running[cluster.key].layout.sql(machine.address, *statements), timeout_s)


async def _end(servers: _Servers) -> None:
    """Stops servers.

    All at once, and not for long: the last of them wait in vain for a majority to hand their ranges to. What they
    answered to is on the disks.
    """
    timeout_s = STOP_TIMEOUT_S if len(servers.processes) == 1 else STOP_TOGETHER_TIMEOUT_S
    stops = (process.stop(signal=signal.SIGTERM, timeout_s=timeout_s) for process in servers.processes)
    ended = await asyncio.gather(*stops, return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, BaseException):
            raise outcome


async def _layouts(
    cluster: Cluster,
    settings: DatabaseSettings,
    find: Callable[[MachineHandle, DatabaseSettings], Awaitable[tuple[str, str]]],
) -> tuple[list[Layout], str]:
    """Path and build tag of the program that `find` finds on each machine.

    Raises:
        DatabaseFailed: they differ in version.
    """
    found = await asyncio.gather(*(find(machine, settings) for machine in cluster.database))
    pairs = list(zip(cluster.database, found, strict=True))
    if len({tag for _, tag in found}) > 1:
        raise DatabaseFailed(
            "CockroachDB differs between the machines: "
            + ", ".join(f"{machine.name} {tag}" for machine, (_, tag) in pairs)
        )
    secure = commands.is_secure(settings)
    layouts = [Layout(root_of(machine), program, secure, stores_of(machine)) for machine, (program, _) in pairs]
    return layouts, found[0][1]


def _dropped(database: str) -> tuple[str, ...]:
    """Statements that drop a database if there is one and, before the next hours are over, free its space."""
    return (
        f"CREATE DATABASE IF NOT EXISTS {database}",
        f"ALTER DATABASE {database} CONFIGURE ZONE USING gc.ttlseconds = {GC_TTL_S}",
        f"DROP DATABASE {database} CASCADE",
    )


def _endpoint(cluster: Cluster, settings: DatabaseSettings, layout: Layout, tag: str) -> Endpoint:
    client = client_certificates(cluster) if layout.secure else ""
    return Endpoint(layout.dsn(_addresses(cluster), client), {}, tag, "user" if settings.binary else "system")


def _addresses(cluster: Cluster) -> list[str]:
    return [machine.address for machine in cluster.database]


def _fixtures(settings: DatabaseSettings) -> str:
    return (settings.fixtures or DEFAULT_FIXTURES).rstrip("/")


def _keeps_files(fixtures: str) -> bool:
    """Whether data sets outlive a cluster as the files of its stores, and not as backups."""
    return fixtures == SNAPSHOTS or copies.is_place(fixtures)


def _identity(cluster: Cluster, layouts: Sequence[Layout], tag: str) -> str:
    """Servers of a cluster whose data can still be used."""
    return _digest([_addresses(cluster), *_kind(layouts, tag)])


def _places(cluster: Cluster, layouts: Sequence[Layout], tag: str) -> list[str]:
    """Of each machine: where its data can be used in another cluster, whatever the addresses are there."""
    return [_digest([place, *_kind(layouts, tag)]) for place in range(len(cluster.database))]


def _kind(layouts: Sequence[Layout], tag: str) -> list[object]:
    return [layouts[0].secure, tag, [len(layout.stores) for layout in layouts]]


def _digest(inputs: list[object]) -> str:
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:12]


async def _ask(machine: MachineHandle, argv: list[str], timeout_s: float = _STATEMENT_TIMEOUT_S) -> str:
    """Runs one command of `cockroach` as a client; returns its output.

    Raises:
        ToolFailed: it failed, with its output.
    """
    completed = await machine.remote.execute(Command(argv, timeout_s=timeout_s, environment=_QUIET, pinned=False))
    return completed.require().stdout.decode(errors="replace")


def _beside(log: Path, name: str, suffix: str = ".log") -> Path:
    return log.with_name(f"{log.stem}-{name}{suffix}")


def _keep(file: Path, text: str) -> None:
    """Kept for people who look for a cause; its failure does not fail a trial."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _locality(cluster: Cluster, machine: MachineHandle, manner: Manner) -> dict[str, str]:
    """A flag of `start` where the servers are in several zones and the study does not set it."""
    if not cluster.zones or "locality" in manner.flags:
        return {}
    return {"locality": commands.locality(machine.region, machine.zone)}


def _with_database(endpoint: Endpoint, database: str) -> Endpoint:
    return replace(endpoint, dsn=urlunsplit(urlsplit(endpoint.dsn)._replace(path=f"/{database}")))
