"""PostgreSQL: a server of ours (embedded or the system's) on the database machine, or one of the user's by its DSN.

A server of ours lives in `<data folder>/postgres`, is started for each trial with the machine's CPU affinity, keeps
fsync and full durability on, and is stopped after the trial. Loaded data sets are template databases; every trial gets
a copy of its template, so that each starts from the same state.
"""

import asyncio
import secrets
import shutil
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from nephoscope.databases.base import Endpoint
from nephoscope.databases.postgres_binaries import Binaries, as_server_user, major_version
from nephoscope.errors import DatabaseFailed, TargetUnreachable, ToolFailed
from nephoscope.machines.remote import Background, MachineHandle
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings

USER = "nephoscope"
TRIAL_DATABASE = "nephoscope_trial"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0

_SPARE_CONNECTIONS = 20
_PRIVATE_SETTINGS = frozenset({"config_file", "data_directory", "hba_file", "ident_file"})
"""Paths of the machine: not the reader's business."""
_LIBPQ_VARIABLES = ("PGPASSWORD", "PGPASSFILE", "PGSSLMODE", "PGSSLROOTCERT")

DEFAULT_SETTINGS: Mapping[str, str] = {
    # Sized for the smallest machine that can hold a study; a study sets its own. Durability is never turned off.
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] %q%d ",
}


class PostgresDatabase:
    """See the module's text. One instance serves one study."""

    name = "postgres"

    def __init__(self, find: Callable[[], Binaries], environment: Mapping[str, str]) -> None:
        self._find = find
        self._environment = environment
        self._running: dict[str, Background] = {}

    # Database

    async def start(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """See `Database.start`."""
        if settings.dsn is not None:
            return await self._reach_users_server(cluster, settings)
        machine = cluster.database[0]
        binaries = self._find()
        folder = _Folder(machine.data_dir)
        if not folder.marker.exists():
            await _create_cluster(machine, binaries, folder)
        await _wait_for_predecessor(folder)
        port = _free_port(machine.address)
        argv = [binaries.path("postgres"), "-D", str(folder.data), "-c", f"port={port}"]
        forced = {
            "listen_addresses": machine.address,
            "unix_socket_directories": "",
            "max_connections": str(settings.connections + _SPARE_CONNECTIONS),
        }
        for name, value in {**DEFAULT_SETTINGS, **settings.settings, **forced}.items():
            argv += ["-c", f"{name}={value}"]
        self._running[cluster.key] = server = await machine.remote.start(as_server_user(argv), log=log)
        environment = {"PGPASSWORD": folder.password.read_text(encoding="utf-8").strip()}
        dsn = f"postgresql://{USER}@{machine.address}:{port}/postgres"
        endpoint = Endpoint(dsn, environment, "", binaries.origin)
        version = await self._wait_until_up(cluster, endpoint, server, log)
        return _checked(replace(endpoint, version=version), settings)

    async def stop(self, cluster: Cluster) -> None:
        """See `Database.stop`."""
        server = self._running.pop(cluster.key, None)
        if server is not None and server.running():
            await server.stop(signal=signal.SIGINT, timeout_s=STOP_TIMEOUT_S)  # "fast": rolls back, then checkpoints

    # HasFixtures

    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:
        """See `HasFixtures.has_fixture`."""
        templates = await self._sql(cluster, endpoint, "SELECT datname FROM pg_database WHERE datistemplate")
        return fixture in templates.splitlines()

    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """See `HasFixtures.create_fixture`."""
        await self._sql(cluster, endpoint, f"DROP DATABASE IF EXISTS {fixture} WITH (FORCE)")
        await self._sql(cluster, endpoint, f"CREATE DATABASE {fixture} TEMPLATE template0")
        return _with_database(endpoint, fixture)

    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        """See `HasFixtures.seal_fixture`."""
        await self._sql(cluster, endpoint, "CHECKPOINT")
        await self._sql(cluster, endpoint, f"ALTER DATABASE {fixture} IS_TEMPLATE true ALLOW_CONNECTIONS false")

    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        """See `HasFixtures.clone_fixture`."""
        await self._sql(cluster, endpoint, f"DROP DATABASE IF EXISTS {TRIAL_DATABASE} WITH (FORCE)")
        # FILE_COPY copies files without writing each page to the log, and ends in a checkpoint: a trial begins
        # with nothing of its set-up left to write.
        await self._sql(cluster, endpoint, f"CREATE DATABASE {TRIAL_DATABASE} TEMPLATE {fixture} STRATEGY file_copy")
        return _with_database(endpoint, TRIAL_DATABASE)

    # HasSettings

    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        """See `HasSettings.settings`: everything that is not at its default, and what durability depends on."""
        rows = await self._sql(
            cluster,
            endpoint,
            "SELECT name || E'\\t' || current_setting(name) FROM pg_settings WHERE source <> 'default' OR name IN "
            "('fsync','synchronous_commit','full_page_writes','wal_level','wal_sync_method','server_version',"
            "'default_transaction_isolation','shared_buffers','jit','io_method','data_checksums') ORDER BY name",
        )
        pairs = (line.partition("\t") for line in rows.splitlines())
        return {name: value for name, _, value in pairs if name not in _PRIVATE_SETTINGS}

    # how

    async def _reach_users_server(self, cluster: Cluster, settings: DatabaseSettings) -> Endpoint:
        environment = {name: self._environment[name] for name in _LIBPQ_VARIABLES if name in self._environment}
        dsn = str(settings.dsn)
        endpoint = Endpoint(dsn, environment, "", "user")
        try:
            version = await self._sql(cluster, endpoint, "SHOW server_version")
        except ToolFailed as error:
            raise TargetUnreachable(
                f"the database of configuration {cluster.key} at {_without_password(dsn)} does not answer: "
                f"{error.message}",
                hint="start it, correct `dsn` in the study, or set PGPASSWORD",
            ) from error
        return _checked(replace(endpoint, version=version), settings)

    async def _wait_until_up(self, cluster: Cluster, endpoint: Endpoint, server: Background, log: Path) -> str:
        deadline = asyncio.get_running_loop().time() + START_TIMEOUT_S
        while True:
            try:
                return await self._sql(cluster, endpoint, "SHOW server_version")
            except ToolFailed as error:
                late = asyncio.get_running_loop().time() > deadline
                if late or not server.running():
                    await self.stop(cluster)
                    said = log.read_text(encoding="utf-8", errors="replace").strip()[-600:]
                    raise DatabaseFailed(
                        f"PostgreSQL did not come up: {said or error.message}", hint=f"its log is {log}"
                    ) from error
            await asyncio.sleep(0.05)

    async def _sql(self, cluster: Cluster, endpoint: Endpoint, statement: str) -> str:
        """Runs one statement and returns the rows as text, one a line."""
        completed = await cluster.load.remote.execute(
            [self._psql(), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1",
             "--no-password", "--command", statement, endpoint.dsn],
            timeout_s=120,
            environment={"PGCONNECT_TIMEOUT": "10", **endpoint.environment},
            pinned=False,
        )  # fmt: skip
        return completed.require().stdout.decode().strip()

    def _psql(self) -> str:
        return self._find().path("psql")


class _Folder:
    """Where a server of ours lives on the database machine."""

    def __init__(self, data_dir: str) -> None:
        self.root = Path(data_dir) / "postgres"
        self.data = self.root / "data"
        self.password = self.root / "password"
        self.marker = self.root / "initialised"


async def _create_cluster(machine: MachineHandle, binaries: Binaries, folder: _Folder) -> None:
    """initdb, from nothing, whatever an interrupted one left behind; the marker commits it."""
    shutil.rmtree(folder.root, ignore_errors=True)
    folder.root.mkdir(parents=True, mode=0o700)
    folder.password.touch(mode=0o600)
    folder.password.write_text(secrets.token_urlsafe(24), encoding="utf-8")
    completed = await machine.remote.execute(
        as_server_user(
            [binaries.path("initdb"), "-D", str(folder.data), "-U", USER, "-E", "UTF8", "--locale=C",
             "--auth=scram-sha-256", f"--pwfile={folder.password}", "--no-instructions"]
        ),
        timeout_s=120,
    )  # fmt: skip
    if completed.exit_code != 0:
        said = completed.stderr.decode(errors="replace").strip()[-600:]
        raise DatabaseFailed(f"initdb ended with exit code {completed.exit_code}: {said}", hint=_INITDB_HINT)
    folder.marker.touch()


_INITDB_HINT = (
    "run as an ordinary user, or allow user namespaces (sysctl user.max_user_namespaces), "
    "or give `dsn` of a server of your own in the study"
)


async def _wait_for_predecessor(folder: _Folder) -> None:
    """Waits until the server of a killed controller is gone, then removes the pid file that it left.

    A zombie counts as gone; PostgreSQL itself would take it for alive and refuse to start.
    """
    pid_file = folder.data / "postmaster.pid"
    if not pid_file.exists():
        return
    pid = pid_file.read_text(encoding="utf-8").split("\n", 1)[0].strip()
    for _ in range(100):
        if not _alive(pid):
            pid_file.unlink(missing_ok=True)
            return
        await asyncio.sleep(0.05)
    raise DatabaseFailed(
        f"process {pid} still runs a PostgreSQL server on {folder.data}", hint=f"stop it: kill {pid}, then run again"
    )


def _alive(pid: str) -> bool:
    try:
        stat = Path("/proc", pid, "stat").read_text(encoding="utf-8")
    except OSError:
        return False
    name, _, rest = stat.partition(")")
    return "postgres" in name and rest.split()[0] != "Z"


def _free_port(address: str) -> int:
    with socket.create_server((address, 0)) as listener:
        return int(listener.getsockname()[1])


def _with_database(endpoint: Endpoint, database: str) -> Endpoint:
    return replace(endpoint, dsn=urlunsplit(urlsplit(endpoint.dsn)._replace(path=f"/{database}")))


def _without_password(dsn: str) -> str:
    parts = urlsplit(dsn)
    if parts.password is None:
        return dsn
    return urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", ":***@")))


def _checked(endpoint: Endpoint, settings: DatabaseSettings) -> Endpoint:
    """The endpoint, when it has the major version the study asks for."""
    found = major_version(endpoint.version)
    if settings.version is not None and found != settings.version.split(".", maxsplit=1)[0]:
        raise DatabaseFailed(
            f"the study asks for PostgreSQL {settings.version}, and the {endpoint.origin} server is {endpoint.version}",
            hint="change `version` in the study, or give `dsn` of such a server",
        )
    return endpoint
