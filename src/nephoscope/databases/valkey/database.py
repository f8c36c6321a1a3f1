"""Valkey (or Redis): nephoscope's own server on every database machine. A user's own is rejected: a trial empties it.

Several database machines make a cluster: each is a master of its part of the keys. With `replicas`, the first machines
are the masters and the others hold their replicas, which a trial begins with connected.

A server lives in `<data folder>/valkey` and writes an append-only file that is synced each second: at most that
second is lost (`appendfsync = "always"` syncs each write). Loaded data sets are kept as snapshots; every trial begins
with one, loaded by servers that were just started.
"""

import asyncio
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from typing_extensions import override

from nephoscope.databases import identity, upkeep
from nephoscope.databases.base import (
    CanRestart,
    Database,
    Endpoint,
    HasCounters,
    HasFailover,
    HasFixtures,
    HasPrograms,
    HasReplication,
    HasSettings,
    HasUpkeep,
    Server,
    Upkeep,
)
from nephoscope.databases.programs import execute, until_up, write_secret
from nephoscope.databases.valkey import cluster as valkey_cluster
from nephoscope.databases.valkey.binaries import ValkeyBinaries, binaries_on
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.loopback import in_url, listening
from nephoscope.machines.remote import Background, Command, MachineHandle
from nephoscope.model.bounded_json import load_json
from nephoscope.model.errors import DatabaseFailed, InputError, OutputUnreadable, ToolFailed, ToolTimedOut
from nephoscope.model.records import ServerRole
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from nephoscope.study.server_settings import require_settings

PASSWORD_VARIABLE = "REDISCLI_AUTH"  # noqa: S105 - the name of a variable
DEFAULT_SETTINGS: Mapping[str, str] = {"save": "", "appendonly": "yes", "appendfsync": "everysec"}
PORT, LINKS_PORT, BUS_PORT = 22_121, 22_122, 32_121
"""On other machines: for clients, replicas and messages of the cluster; below the kernel's ephemeral ports."""
START_TIMEOUT_S = 60.0
LOADING_TIMEOUT_S = 3600.0
"""For a server that says it is loading its data."""
STOP_TIMEOUT_S = 600.0
_COMMAND_TIMEOUT_S = 120.0
_SAVE_TIMEOUT_S = 3600.0
_LOOK_EVERY_S = 0.05
_NOT_STORED = ("pass", "auth", "user", "key", "secret", "file", "dir", "tls", "socket", "bind", "announce", "cmdline")
"""Parts of names of settings that may be secret, or are places of the machine."""
_STORED = ("tls-cluster", "tls-replication")
"""All the same: servers that encrypt what they tell each other have less time for clients."""


@dataclass(frozen=True)
class _Prepared:
    """A server that can be started, now or again."""

    machine: MachineHandle
    program: str
    log: Path
    endpoint: Endpoint
    links_port: int
    """To which its replicas come, if it is in a cluster."""

    @property
    def folder(self) -> str:
        """On its machine."""
        return _folder(self.machine)


@dataclass(frozen=True)
class _Server(_Prepared):
    """A server started by nephoscope."""

    process: Background


class ValkeyDatabase(
    Database,
    HasFixtures,
    CanRestart,
    HasFailover,
    HasUpkeep,
    HasPrograms,
    HasCounters,
    HasReplication,
    HasSettings,
):
    """See the module's text. One instance serves one study."""

    name = "valkey"
    server_programs = ("valkey-server", "redis-server")

    def __init__(self, find: Callable[[], ValkeyBinaries]) -> None:
        self._find = find
        self._running: dict[str, list[_Server]] = {}
        """By cluster: a server of each database machine, in their order: first the masters."""
        self._replicas: dict[str, int] = {}
        """By cluster: the number of servers that are replicas."""
        self._clients: dict[str, str] = {}
        """By cluster: the command line of its load machine."""

    # Database

    @override
    async def start(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        if settings.dsn is not None:
            raise InputError(
                f"configuration {cluster.key} names your own server, but a trial would empty it",
                hint="remove `dsn`: nephoscope then starts its own Valkey or Redis",
            )
        self._clients[cluster.key] = (await binaries_on(cluster.load, self._find)).client
        self._running[cluster.key] = []
        each = settings.replicas or 0
        self._replicas[cluster.key] = len(cluster.database) * each // (1 + each)
        password, several = secrets.token_urlsafe(24), len(cluster.database) > 1
        trusted = identity.drawn(cluster.database) if several else {}
        for machine in cluster.database:
            beside = log.with_name(f"{log.stem}-{machine.name}{log.suffix}") if several else log
            await self._start_on(cluster, machine, settings, password, trusted, beside)
        servers = self._running[cluster.key]
        if not several:
            return servers[0].endpoint
        await valkey_cluster.join(self._members(cluster), len(self._masters(cluster)))
        return replace(servers[0].endpoint, sharded=True)

    def server_here(self, settings: DatabaseSettings) -> str:  # noqa: ARG002 - the study names none
        """See `HasServer.server_here`."""
        return self._find().server

    @override
    async def stop(self, cluster: Cluster) -> None:
        """Takes every server down.

        Raises:
            DatabaseFailed: a server had to be killed.
            MachineLost: the machine of one went away.
        """
        servers = self._running.pop(cluster.key, [])
        ended = await asyncio.gather(*(_stop(server) for server in servers), return_exceptions=True)
        for lost in ended:
            if isinstance(lost, BaseException):
                raise lost
        if not all(ended):
            raise DatabaseFailed(f"Valkey did not stop within {STOP_TIMEOUT_S:.0f} s and was killed")

    # CanRestart

    @override
    def servers(self, cluster: Cluster) -> Sequence[Server]:
        return [
            Server(one.machine, one.folder, self.server_programs, ends_on=signal.SIGTERM)
            for one in self._running[cluster.key]
        ]

    @override
    async def start_again(self, cluster: Cluster, server: Server) -> None:
        """With what its append-only file holds."""
        running = self._running[cluster.key]
        (place,) = (at for at, one in enumerate(running) if one.machine.name == server.machine.name)
        ended = running.pop(place)
        await _stop(ended)
        await self._launch(cluster, ended, again=True)
        running.insert(place, running.pop())

    # HasFailover

    @override
    async def roles(self, cluster: Cluster) -> Sequence[ServerRole]:
        members = self._members(cluster)
        return await valkey_cluster.roles(members) if len(members) > 1 else ("primary",)

    @override
    async def is_complete(self, cluster: Cluster) -> bool:
        members = self._members(cluster)
        return len(members) == 1 or await valkey_cluster.is_complete(members, len(self._masters(cluster)))

    @override
    async def put_back(self, cluster: Cluster) -> None:
        members = self._members(cluster)
        if len(members) > 1:
            await valkey_cluster.put_back(members, len(self._masters(cluster)))

    # HasReplication

    @override
    async def replication(self, cluster: Cluster) -> dict[str, str]:
        """Of each replica, whether it is connected to its master."""
        if not self._replicas.get(cluster.key):
            return {}
        masters = len(self._masters(cluster))
        states = await valkey_cluster.links(self._members(cluster), masters)
        replicas = self._running[cluster.key][masters:]
        return {f"replica {one.machine.name}": state for one, state in zip(replicas, states, strict=True)}

    # HasFixtures

    @override
    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:
        for server, path in self._parts(cluster, fixture):
            there = ["test", "-e", path]
            if (await server.machine.remote.execute(Command(there, timeout_s=30, pinned=False))).exit_code != 0:
                return False
        return True

    @override
    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        for server in self._masters(cluster):
            await self._command(cluster, server.endpoint, "FLUSHALL", "SYNC", timeout_s=_SAVE_TIMEOUT_S)
        return endpoint

    @override
    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        """Takes a snapshot of each master; the rename commits it."""
        for server, path in self._parts(cluster, fixture):
            await self._command(cluster, server.endpoint, "SAVE", timeout_s=_SAVE_TIMEOUT_S)
            await execute(server.machine, "cp", "--", f"{server.folder}/dump.rdb", f"{path}.part")
            await execute(server.machine, "mv", "--", f"{path}.part", path)

    @override
    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """Restarts each master with its snapshot, and each replica without data: it copies its master's.

        Only then may a replica take over, where the study lets it.
        """
        parts = self._parts(cluster, fixture)
        masters, replicas = len(parts), self._running[cluster.key][len(parts) :]
        await self.stop(cluster)
        self._running[cluster.key] = []
        for server, path in parts:
            await self._restart(cluster, server, path)
        for server in replicas:
            await self._restart_empty(cluster, server)
        if endpoint.sharded:
            await valkey_cluster.wait_until_whole(self._members(cluster))
            await valkey_cluster.wait_until_followed(self._members(cluster), masters)
            for replica in self._running[cluster.key][masters:]:
                await self._until_rewritten(cluster, replica.endpoint)
            for server in self._running[cluster.key]:
                asked = [word for name in valkey_cluster.STEADY for word in (name, *await _words(server, name))]
                await self._command(cluster, server.endpoint, "CONFIG", "SET", *asked)
        return replace(self._running[cluster.key][0].endpoint, sharded=endpoint.sharded)

    # HasSettings

    @override
    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Those of the first server, without secrets and paths, and in what the others differ from it.

        Also how many servers there are, and their zones.
        """
        found = await self._configured(cluster, endpoint)
        for server in self._running[cluster.key][1:]:
            other = await self._configured(cluster, server.endpoint)
            differing = other.items() - found.items()
            found |= {f"{name} of {server.machine.name}": value for name, value in sorted(differing)}
        placed = {f"zone of {machine.name}": machine.zone for machine in cluster.database} if cluster.zones else {}
        masters = {"masters": str(len(self._masters(cluster)))} if endpoint.sharded else {}
        return {**found, **masters, **await self.replication(cluster), **placed}

    async def _configured(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Of one server."""
        answer = await self._command(cluster, endpoint, "--json", "CONFIG", "GET", "*")
        try:
            said = dict(load_json(answer))
        except (ValueError, TypeError) as error:
            raise OutputUnreadable(f"the server's settings cannot be read: {answer[:200]!r}") from error
        hidden = {name for name in said if any(part in name for part in _NOT_STORED)}.difference(_STORED)
        return {name: str(said[name]) for name in sorted(said) if name not in hidden}

    @override
    async def identity(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """Of each server. Its run id is drawn when it starts; settings may be set and set back."""
        found: dict[str, str] = {}
        for server in self._running[cluster.key]:
            said = _lines(await self._command(cluster, server.endpoint, "INFO", "server"))
            said |= _lines(await self._command(cluster, server.endpoint, "INFO", "replication"))
            counts = _lines(await self._command(cluster, server.endpoint, "INFO", "commandstats"))
            times_set, _, _ = counts.get("cmdstat_config|set", "calls=0").partition(",")
            values = {
                "run id": said.get("run_id"),
                "role": said.get("role"),
                "version": _version(said),
                "CONFIG SET": times_set,
            }
            found |= {f"{name} of {server.machine.name}": value or "not reported" for name, value in values.items()}
        return found

    # HasUpkeep

    @override
    async def upkeep(self, cluster: Cluster, endpoint: Endpoint) -> Upkeep:
        """Sums over all servers. The data set is in memory, so there is no cache to miss."""
        free, found = await upkeep.free_bytes(cluster), []
        for server in self._running[cluster.key]:
            said = await self._command(cluster, server.endpoint, "INFO", "persistence")
            found.append(upkeep.of_valkey(said, free))
        return upkeep.together(found)

    # HasCounters

    @override
    async def counters(self, cluster: Cluster, endpoint: Endpoint) -> Mapping[str, float]:
        """Sums over all servers."""
        found = [
            upkeep.counters_of_valkey(await self._command(cluster, server.endpoint, "INFO", "everything"))
            for server in self._running[cluster.key]
        ]
        return {name: sum(one[name] for one in found) for name in set.intersection(*map(set, found))}

    # how

    async def _start_on(
        self,
        cluster: Cluster,
        machine: MachineHandle,
        settings: DatabaseSettings,
        password: str,
        trusted: Mapping[str, bytes],
        log: Path,
    ) -> None:
        """An empty server."""
        require_settings("valkey", settings.settings)
        binaries, folder = await binaries_on(machine, self._find), _folder(machine)
        await execute(machine, "mkdir", "-p", f"{folder}/fixtures")
        left = ("appendonlydir", "dump.rdb", valkey_cluster.NODES_FILE)
        await execute(machine, "rm", "-rf", *(f"{folder}/{name}" for name in left))
        here = isinstance(machine.remote, LocalRemote)
        port, links, bus = _free_ports(machine.address) if here else (PORT, LINKS_PORT, BUS_PORT)
        defaults = {"maxclients": str(settings.connections + 100), **DEFAULT_SETTINGS}
        forced = {"port": str(port), "bind": machine.address, "dir": folder, "requirepass": password}
        if len(cluster.database) > 1:
            failover = settings.failover is not None
            await identity.give(machine, folder, trusted)
            forced |= {
                **valkey_cluster.settings(machine.address, bus, links, folder, failover=failover),
                "masterauth": password,
            }
            defaults |= valkey_cluster.DEFAULT_SETTINGS
        given = {**defaults, **settings.settings, **forced}
        await write_secret(
            machine, f"{folder}/valkey.conf", "".join(f'{key} "{value}"\n' for key, value in given.items())
        )
        endpoint = Endpoint(
            f"redis://{in_url(machine.address)}:{port}", {PASSWORD_VARIABLE: password}, "", binaries.origin
        )
        await self._launch(cluster, _Prepared(machine, binaries.server, log, endpoint, links), _steady(cluster))

    async def _restart(self, cluster: Cluster, server: _Server, part: str) -> None:
        """A server that was stopped, with its part of a data set, a file."""
        machine = server.machine
        await execute(machine, "rm", "-rf", f"{server.folder}/appendonlydir")
        await execute(machine, "cp", "--", part, f"{server.folder}/dump.rdb")
        # A server started with append-only files reads only those, and there are none yet.
        (appends,) = (await _words(server, "appendonly")) or ("no",)
        more = ("--appendonly", "no", *_steady(cluster))
        started = await self._launch(cluster, server, more, again=True)
        if appends == "yes":
            await self._command(cluster, started.endpoint, "CONFIG", "SET", "appendonly", "yes")
            await self._until_rewritten(cluster, started.endpoint)

    async def _restart_empty(self, cluster: Cluster, server: _Server) -> None:
        """A replica that was stopped; it knows its master from the file of its nodes."""
        await execute(server.machine, "rm", "-rf", f"{server.folder}/appendonlydir", f"{server.folder}/dump.rdb")
        await self._launch(cluster, server, _steady(cluster), again=True)

    async def _launch(
        self, cluster: Cluster, prepared: _Prepared, more: Sequence[str] = (), *, again: bool = False
    ) -> _Server:
        machine, log, endpoint = prepared.machine, prepared.log, prepared.endpoint
        beside = log.with_name(f"{log.stem}-{int(again)}.log")
        process = await machine.remote.start([prepared.program, f"{prepared.folder}/valkey.conf", *more], log=beside)
        server = _Server(machine, prepared.program, log, endpoint, prepared.links_port, process)
        self._running[cluster.key].append(server)
        found = replace(server, endpoint=replace(endpoint, version=await self._wait_until_up(cluster, server)))
        self._running[cluster.key][-1] = found
        return found

    async def _wait_until_up(self, cluster: Cluster, server: _Server) -> str:
        async def version() -> str:
            await self._command(cluster, server.endpoint, "PING")  # refused while data is loaded; INFO is not
            return _version(_lines(await self._command(cluster, server.endpoint, "INFO", "server")))

        try:
            return await until_up(
                version,
                server.machine,
                server.endpoint.dsn,
                server.process,
                lambda error: LOADING_TIMEOUT_S if "LOADING" in error.message else START_TIMEOUT_S,
            )
        except (ToolFailed, ToolTimedOut) as error:
            await self.stop(cluster)
            raise DatabaseFailed(f"Valkey did not start: {error.message}", hint=f"its log is {server.log}") from error

    async def _until_rewritten(self, cluster: Cluster, endpoint: Endpoint) -> None:
        """A trial must not start during the first rewrite of its append-only file."""
        while True:
            said = await self._command(cluster, endpoint, "INFO", "persistence")
            busy = ("aof_rewrite_in_progress:1", "aof_rewrite_scheduled:1")
            if not any(word in said for word in busy):
                return
            await asyncio.sleep(_LOOK_EVERY_S)

    def _masters(self, cluster: Cluster) -> list[_Server]:
        servers = self._running[cluster.key]
        return servers[: len(servers) - self._replicas.get(cluster.key, 0)]

    def _parts(self, cluster: Cluster, fixture: str) -> list[tuple[_Server, str]]:
        """Each master with the file of its part of a sealed data set.

        Another number of masters shares the keys otherwise, and an older server may not read a newer one's snapshot.
        """
        masters = self._masters(cluster)
        return [
            (server, f"{server.folder}/fixtures/{fixture}-{number}-of-{len(masters)}-{_name(server.endpoint)}.rdb")
            for number, server in enumerate(masters, 1)
        ]

    def _members(self, cluster: Cluster) -> list[valkey_cluster.Member]:
        return [self._member(cluster, server) for server in self._running[cluster.key]]

    def _member(self, cluster: Cluster, server: _Server) -> valkey_cluster.Member:
        async def ask(*words: str) -> str:
            return await self._command(cluster, server.endpoint, *words)

        address = urlsplit(server.endpoint.dsn)
        return valkey_cluster.Member(
            server.machine.name, server.machine.address, address.port or 0, server.links_port, ask
        )

    async def _command(
        self, cluster: Cluster, endpoint: Endpoint, *words: str, timeout_s: float = _COMMAND_TIMEOUT_S
    ) -> str:
        """One command by the server's own client.

        Raises:
            ToolFailed: the server refused it, or does not answer.
        """
        address, client = urlsplit(endpoint.dsn), self._clients[cluster.key]
        argv = [client, "-h", address.hostname or "127.0.0.1", "-p", str(address.port or 6379), "-e"]
        completed = await cluster.load.remote.execute(
            Command([*argv, *words], timeout_s=timeout_s, environment=endpoint.environment, pinned=False)
        )
        said = completed.require().stdout.decode(errors="replace")
        if said.startswith(("LOADING", "NOAUTH", "ERR", "WRONGPASS")):
            raise ToolFailed(f"Valkey answered {said.strip()[:300]}")
        return said


def _steady(cluster: Cluster) -> list[str]:
    """Words of a command line with which each server keeps its role."""
    several = len(cluster.database) > 1
    return [word for name, value in valkey_cluster.STEADY.items() for word in (f"--{name}", value) if several]


async def _stop(server: _Server) -> bool:
    """False when it had to be killed."""
    return await server.process.stop(signal=signal.SIGTERM, timeout_s=STOP_TIMEOUT_S) is not None


async def _words(server: _Server, setting: str) -> tuple[str, ...]:
    """What the configuration file says of one setting."""
    said = await server.machine.remote.execute(
        Command(["cat", f"{server.folder}/valkey.conf"], timeout_s=30, pinned=False)
    )
    lines = (line.partition(" ") for line in said.require().stdout.decode().splitlines())
    return tuple(value.strip('"') for name, _, value in lines if name == setting)


def _folder(machine: MachineHandle) -> str:
    return f"{machine.data_dir}/valkey"


def _name(endpoint: Endpoint) -> str:
    """Of the server's version, for files: 'valkey-8.1.8'."""
    return endpoint.version.lower().replace(" ", "-")


def _lines(info: str) -> dict[str, str]:
    """What INFO says, by name."""
    return dict(line.strip().partition(":")[::2] for line in info.splitlines())


def _version(lines: Mapping[str, str]) -> str:
    """'Valkey 8.1.8', 'Redis 7.0.15' from INFO server. Valkey reports a version of Redis besides its own."""
    for name, key in (("Valkey", "valkey_version"), ("Redis", "redis_version")):
        if lines.get(key):
            return f"{name} {lines[key]}"
    raise ToolFailed("the server does not report its version")


def _free_ports(address: str) -> tuple[int, int, int]:
    """Three that differ."""
    with listening(address) as first, listening(address) as second, listening(address) as third:
        return int(first.getsockname()[1]), int(second.getsockname()[1]), int(third.getsockname()[1])
