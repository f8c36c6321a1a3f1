"""A PostgreSQL of its own for the comparison: trust, TCP on loopback, the settings of the baseline."""

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.harness.measure import checked, run, tree_cpu_s
from nephoscope.databases.postgres.binaries import embedded_folder, find_binaries
from nephoscope.databases.programs import as_server_user

USER = "bench"
SETTINGS = {
    "shared_buffers": "1GB",
    "fsync": "on",
    "synchronous_commit": "off",
    "max_wal_size": "16GB",
    "checkpoint_timeout": "30min",
    "max_connections": "100",
    "listen_addresses": "127.0.0.1",
    "autovacuum": "off",
}
"""Autovacuum would strike one run and spare another; each starts from a fresh copy."""

_START_TIMEOUT_S = 60


class Server:
    """A running server; a context."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="nephoscope-bench-", dir=folder))
        self.binaries = find_binaries(embedded_folder()).folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        data = self.folder / "data"
        initdb = [self.program("initdb"), "-D", str(data), "-U", USER, "-E", "UTF8", "--locale=C", "--auth=trust"]
        checked(run(as_server_user(initdb)), "initdb")
        settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
        command = [self.program("postgres"), "-D", str(data), "-p", str(self.port), "-k", "", *settings]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(as_server_user(command), stdout=log, stderr=log)
        deadline = time.monotonic() + _START_TIMEOUT_S
        while run([self.program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]).exit_code != 0:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the server does not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.1)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None:
            self._process.terminate()  # "smart": nobody is connected any more
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.send_signal(3)
                self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def program(self, name: str) -> str:
        """Path of one of the server's programs."""
        return str(self.binaries / name)

    def dsn(self, database: str) -> str:
        """URL of a database; no TLS on loopback."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def psql(self, sql: str, database: str = "postgres") -> str:
        """What a statement answers."""
        words = [self.program("psql"), "-qAtX", "-v", "ON_ERROR_STOP=1", "-d", self.dsn(database), "-c", sql]
        return checked(run(words), sql[:60]).stdout.strip()

    def fresh(self, database: str, template: str) -> None:
        """The database as the template is, with nothing left to be written."""
        self.psql(f"DROP DATABASE IF EXISTS {database}")
        self.psql(f"CREATE DATABASE {database} TEMPLATE {template} STRATEGY file_copy")
        self.psql("CHECKPOINT")

    def cpu_s(self) -> float:
        """CPU time of all its processes so far."""
        postmaster = int((self.folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
        return tree_cpu_s(postmaster)

    def version(self) -> str:
        """Of PostgreSQL."""
        return self.psql("SHOW server_version")
