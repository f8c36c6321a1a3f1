"""Aerospike: nephoscope's own server on every database machine, from a program or package given by the user.

The servers make one cluster, a mesh of their private addresses, in AP mode; nobody has to authenticate, as in the
Community Edition. A loaded data set is kept as copies of the servers' files, and every trial begins with them. On a
raw device nothing can be kept: it is loaded for every trial.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from typing_extensions import override

from nephoscope.databases import upkeep
from nephoscope.databases.aerospike import config, info, machines
from nephoscope.databases.aerospike.config import Build, ServerLayout
from nephoscope.databases.base import (
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
from nephoscope.databases.programs import find_program
from nephoscope.machines.remote import Background, MachineHandle
from nephoscope.model.errors import (
    DatabaseFailed,
    InputError,
    NephoscopeError,
    OutputUnreadable,
    ToolFailed,
    ToolTimedOut,
)
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings

START_TIMEOUT_S = 180.0
"""Limit for an empty server to answer."""
LOADING_TIMEOUT_S = 4 * 3600.0
"""Limit for a server to answer that first reads all of its data to build the index."""
MIGRATION_TIMEOUT_S = 3600.0
"""Limit for them to form one cluster with no partition left to move."""
STOP_TIMEOUT_S = 600.0
_LOOK_EVERY_S = 1.0
_START_KNOWN_TO_S = 2.0
"""A server counts whole seconds of its life, and the machine's clock is read a moment later."""
_GONE = (ToolFailed, ToolTimedOut, OutputUnreadable)
"""Errors of a query that a server does not answer."""
_CAUSES = ("CRITICAL", "FATAL", "FAILED ASSERTION")
"""Words of the line in which a server says why it exits."""
_MORE_ROOM = "give it more memory or disk, or load fewer records; its limits are in the recorded settings"

Found = TypeVar("Found")


@dataclass(frozen=True)
class _Server:
    """A server started by nephoscope, with its start parameters."""

    machine: MachineHandle
    layout: ServerLayout
    program: str
    process: Background | None = None
    log: Path | None = None

    @property
    def alive(self) -> bool:
        """It was started and has not ended."""
        return self.process is not None and self.process.running()


@dataclass(frozen=True)
class _Servers:
    """Those of a cluster, in the order of its machines."""

    build: Build
    settings: DatabaseSettings
    identity: str
    log: Path
    each: tuple[_Server, ...]
    starts: int = 0

    @property
    def namespace(self) -> str:
        """Name of the one that is measured."""
        return config.own_of(self.settings).namespace

    @property
    def keeps_data(self) -> bool:
        """True if the data are in files, which can be copied."""
        return config.own_of(self.settings).device is None

    def fixture(self, server: _Server, name: str) -> str:
        """A server's part of a sealed data set."""
        return f"{server.layout.fixtures}/{self.identity}/{name}.dat"


class AerospikeDatabase(Database, HasFixtures, HasUpkeep, HasPrograms, HasReplication, HasFootprint, HasSettings):
    """See the module's text. One instance serves one study."""

    name = "aerospike"
    server_programs = ("asd",)

    def __init__(self, raw_device_of: machines.RawDeviceOf) -> None:
        self._raw_device_of = raw_device_of
        self._running: dict[str, _Servers] = {}
        self._starts: dict[str, dict[str, float]] = {}
        """Of each cluster's machines, in seconds after the machine's, as they were seen last."""

    # Database

    @override
    async def start(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """Starts empty servers and waits until they are one cluster with nothing to migrate.

        Raises:
            InputError: `binary` is no file, something uses the device, or the edition cannot do what is asked.
        """
        if settings.dsn is not None:
            raise InputError(
                f"configuration {cluster.key} names your own server, but a trial would empty it",
                hint="remove `dsn`: nephoscope then starts its own Aerospike",
            )
        hosts = cluster.database
        found = await asyncio.gather(*(machines.installed(machine, settings) for machine in hosts))
        builds = {build for _, build in found}
        if len(builds) > 1:
            said = (f"{machine.name} {build.text}" for machine, (_, build) in zip(hosts, found, strict=True))
            raise DatabaseFailed(f"Aerospike differs between the machines: {', '.join(said)}")
        (build,) = builds
        config.require_fit(build, config.own_of(settings), len(hosts))
        layouts = await asyncio.gather(
            *(machines.place_of(one, number, settings, self._raw_device_of) for number, one in enumerate(hosts, 1))
        )
        if cluster.zones:
            racks = [cluster.zones.index(one.zone) + 1 for one in hosts]
            layouts = [replace(layout, rack=rack) for layout, rack in zip(layouts, racks, strict=True)]
        servers = _Servers(
            build,
            settings,
            config.identity(build, layouts, settings),
            log,
            tuple(
                _Server(machine, layout, program)
                for machine, layout, (program, _) in zip(hosts, layouts, found, strict=True)
            ),
        )
        addresses = [machine.address for machine in hosts]
        for server in servers.each:
            text = config.configuration(build, server.layout, addresses, settings)
            await machines.write_config(server.machine, server.layout, text, servers.identity)
        self._running[cluster.key] = servers
        await self._begin_anew(cluster, START_TIMEOUT_S)
        origin = "user" if settings.binary else "system"
        return Endpoint(config.dsn(addresses, servers.namespace), {}, str(build), origin)

    def server_here(self, settings: DatabaseSettings) -> str:
        """See `HasServer.server_here`."""
        found = find_program(settings.binary, "asd")
        if found is None:
            raise DatabaseFailed(
                "no Aerospike was found on PATH",
                hint="set `database.binary` to the program `asd`, or to a Debian package of the server",
            )
        return found

    @override
    async def stop(self, cluster: Cluster) -> None:
        """Takes every server down.

        Raises:
            DatabaseFailed: a server had to be killed.
            MachineLost: the machine of one went away.
        """
        servers = self._running.pop(cluster.key, None)
        if servers is not None:
            await _end(servers)

    # HasFixtures

    @override
    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:
        """Always false on a raw device."""
        servers = self._running[cluster.key]
        if not servers.keeps_data:
            return False
        there = [await machines.exists(one.machine, servers.fixture(one, fixture)) for one in servers.each]
        return all(there)

    @override
    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """Restarts the servers with no data."""
        await self._pause(cluster)
        await self._begin_anew(cluster, START_TIMEOUT_S)
        return endpoint

    @override
    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        """Stops the servers and copies their files; `clone_fixture` starts them again."""
        await self._until_whole(cluster)
        servers = self._running[cluster.key]
        if servers.keeps_data:
            await self._pause(cluster)
            await _of_each(
                servers, lambda one: machines.copy(one.machine, one.layout.file, servers.fixture(one, fixture))
            )

    @override
    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """Restarts each server with its copy; a raw device stays as it was loaded."""
        servers = self._running[cluster.key]
        if servers.keeps_data:
            await self._pause(cluster)
            await self._begin_anew(cluster, LOADING_TIMEOUT_S, fixture)
        return endpoint

    # HasFootprint

    @override
    def disk_bytes(self, settings: DatabaseSettings, data_bytes: int, machines: int) -> int:
        """Nothing in the data folder when it has a raw device."""
        return data_bytes if config.own_of(settings).device is None else 0

    # HasSettings

    @override
    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Those of the first server, without secrets and paths, and in what the others differ from it.

        Also servers, copies and durability.
        """
        servers = self._running[cluster.key]
        asked = info.config_commands(servers.namespace, servers.build.version)
        first, *others = await _of_each(servers, lambda one: machines.ask(one.machine, asked))
        found = info.settings(first)
        for server, answered in zip(servers.each[1:], others, strict=True):
            differing = info.settings(answered).items() - found.items()
            found |= {f"{name} of {server.machine.name}": value for name, value in sorted(differing)}
        count = len(servers.each)
        durability = config.durability(servers.settings, count)
        stated = {"servers": str(count), "durability": durability, **_racks(cluster, servers.build)}
        return found | stated

    @override
    async def identity(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Of each server. None has a role: each has some of the partitions."""
        servers = self._running[cluster.key]
        known = self._starts.setdefault(cluster.key, {})
        found: dict[str, str] = {}
        for server, (node, build, started_s) in zip(servers.each, await _of_each(servers, _identity), strict=True):
            name = server.machine.name
            if abs(started_s - known.get(name, started_s)) > _START_KNOWN_TO_S:
                del known[name]
            start = f"{known.setdefault(name, started_s):.0f} s after the machine's"
            found |= {f"node of {name}": node, f"version of {name}": build, f"start of {name}": start}
        return found

    # HasReplication

    @override
    async def replication(self, cluster: Cluster) -> dict[str, str]:
        """Of each server, what would invalidate a trial if it changed."""
        servers = self._running.get(cluster.key)
        if servers is None:
            return {}
        said = await _of_each(servers, lambda one: best_effort(_state(one, servers.namespace)))
        pairs = zip(servers.each, said, strict=True)
        return {one.machine.name: str(found) if found else "does not answer" for one, found in pairs}

    # HasUpkeep

    @override
    async def upkeep(self, cluster: Cluster, endpoint: Endpoint) -> Upkeep:
        """Sums over all servers; free space of the one that has least."""
        servers = self._running[cluster.key]
        commands = info.upkeep_commands(servers.namespace, servers.build.version)
        found = await _of_each(servers, lambda one: machines.ask(one.machine, commands))
        return upkeep.together([info.upkeep(answered) for answered in found])

    # how

    async def _begin_anew(self, cluster: Cluster, allowed_s: float, fixture: str | None = None) -> None:
        """Starts stopped servers with a sealed data set or empty; a failure stops all of them."""
        servers = self._running[cluster.key]
        try:
            await _of_each(servers, lambda one: machines.empty(one.machine, one.layout))
            if fixture is not None:
                await _of_each(
                    servers, lambda one: machines.copy(one.machine, servers.fixture(one, fixture), one.layout.file)
                )
            servers = replace(servers, starts=servers.starts + 1)
            for index, one in enumerate(servers.each):
                log = servers.log.with_name(f"{servers.log.stem}-{one.machine.name}-{servers.starts}.log")
                process = await machines.launch(one.machine, one.layout, one.program, log)
                started = replace(one, process=process, log=log)
                servers = replace(servers, each=(*servers.each[:index], started, *servers.each[index + 1 :]))
                self._running[cluster.key] = servers
            await self._until_answering(cluster, allowed_s)
            await self._until_whole(cluster)
        except BaseException:
            with suppress(NephoscopeError):
                await self.stop(cluster)
            raise

    async def _until_answering(self, cluster: Cluster, allowed_s: float) -> None:
        """Until every server answers.

        Raises:
            DatabaseFailed: one ended, or does not.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + allowed_s
        for one in self._running[cluster.key].each:
            while await best_effort(machines.ask(one.machine, ["status"])) != ["ok"]:
                _require_alive(one)
                if clock() > until:
                    raise DatabaseFailed(
                        f"Aerospike on {one.machine.name} did not answer within {allowed_s:.0f} s",
                        hint=f"its log is {one.log}",
                    )
                await asyncio.sleep(_LOOK_EVERY_S)

    async def _until_whole(self, cluster: Cluster) -> None:
        """Waits until all form one cluster with nothing to migrate.

        Raises:
            DatabaseFailed: one stopped, the cluster does not form, or a server rejects writes.
        """
        servers = self._running[cluster.key]
        clock = asyncio.get_running_loop().time
        until, count = clock() + MIGRATION_TIMEOUT_S, len(servers.each)
        commands = (*info.state_commands(servers.namespace), info.stable_command(count, servers.namespace))
        while True:
            for one in servers.each:
                _require_alive(one)
            answered = await _of_each(servers, lambda one: best_effort(machines.ask(one.machine, commands)))
            states = [info.state(found[:-1]) if found else None for found in answered]
            stable = {found[-1] if found else "" for found in answered}
            for one, said in zip(servers.each, states, strict=True):
                if said and said.trouble:
                    raise DatabaseFailed(f"Aerospike on {one.machine.name}: {said.trouble}", hint=_MORE_ROOM)
            if len(stable) == 1 and not info.refused(*stable) and all(said and said.whole(count) for said in states):
                return
            if clock() > until:
                told = (
                    f"{one.machine.name}: {said or 'no answer'}" for one, said in zip(servers.each, states, strict=True)
                )
                asked = "server" if count == 1 else f"{count} servers"
                raise DatabaseFailed(
                    f"the {asked} of Aerospike did not form a stable cluster within {MIGRATION_TIMEOUT_S:.0f} s: "
                    + "; ".join(told),
                    hint=f"open ports {config.PORT} to {config.HEARTBEAT_PORT} between the machines; its logs are "
                    f"next to {servers.log}",
                )
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _pause(self, cluster: Cluster) -> None:
        """Stops the servers, and remembers their start parameters."""
        servers = self._running[cluster.key]
        await _end(servers)
        self._running[cluster.key] = replace(
            servers, each=tuple(replace(one, process=None, log=None) for one in servers.each)
        )


def _racks(cluster: Cluster, build: Build) -> dict[str, str]:
    """Whether copies are spread over the zones, if there are several."""
    if not cluster.zones:
        return {}
    if build.community:
        return {"racks": f"none ({build.edition} Edition): copies of a record may share a zone"}
    return {"racks": ", ".join(f"{number} in {zone}" for number, zone in enumerate(cluster.zones, 1))}


async def _end(servers: _Servers) -> None:
    """Stops all at once; each first writes its data to its storage."""
    processes = [one.process for one in servers.each if one.process is not None]
    stops = (process.stop(signal=signal.SIGTERM, timeout_s=STOP_TIMEOUT_S) for process in processes)
    ended = await asyncio.gather(*stops, return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, BaseException):
            raise outcome
    if None in ended:
        raise DatabaseFailed(f"Aerospike did not stop within {STOP_TIMEOUT_S:.0f} s and was killed")


async def _identity(server: _Server) -> tuple[str, str, float]:
    """Its node, version and start, in seconds after its machine's, of which it only tells whole ones."""
    node, build, statistics = await machines.ask(server.machine, ("node", "build", "statistics"))
    return node, build, await machines.uptime_s(server.machine) - info.uptime_s(statistics)


async def _state(server: _Server, namespace: str) -> info.ServerState:
    return info.state(await machines.ask(server.machine, info.state_commands(namespace)))


async def _of_each(servers: _Servers, act: Callable[[_Server], Awaitable[Found]]) -> Sequence[Found]:
    """On all machines at the same time."""
    return await asyncio.gather(*(act(server) for server in servers.each))


async def best_effort(asked: Awaitable[Found]) -> Found | None:
    """None if the server does not answer."""
    try:
        return await asked
    except _GONE:
        return None


def _require_alive(server: _Server) -> None:
    """Detects a server that stopped unexpectedly.

    Raises:
        DatabaseFailed: with its last word.
    """
    if not server.alive:
        raise DatabaseFailed(
            f"Aerospike on {server.machine.name} stopped: {_last_word(server.log)}", hint=f"its log is {server.log}"
        )


def _last_word(log: Path | None) -> str:
    """The line that gives the reason, else the last one."""
    lines: list[str] = []
    with suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log is not None else []
    told = [line.strip() for line in lines if line.strip()]
    causes = [line for line in told if any(word in line for word in _CAUSES)]
    return (causes or told[-1:] or ["it logged nothing"])[0][:300]
