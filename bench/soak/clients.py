"""Kills load generators of TPC-C on MariaDB for some hours, and checks what they leave: `python -m bench.soak.clients`.

A server of its own with the defaults of durability; with `--servers 3`, a cluster of Galera. Each round runs the mix at
the next isolation level and profile. Six of seven are killed by SIGKILL at a random moment. The seventh ends by itself,
compares the server's counters with its own, and then all conditions are checked at each server; at the end
`mariadb-check --extended` reads every table of each. A round's number is its seed. Exit code 1: something was found.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nephoscope.app.wiring import load_program
from nephoscope.databases.mysql.database import MysqlDatabase
from nephoscope.databases.mysql.programs import server_of_this_machine
from nephoscope.databases.programs import as_server_user
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database

PROFILES = ("chatty", "proc")
ISOLATIONS = ("read-committed", "repeatable-read", "serializable")
_ENDS_BY_ITSELF = 7
_USER = "bench"


@dataclass(frozen=True)
class MariaDb:
    """A running server."""

    folder: Path
    pid: int

    @property
    def socket(self) -> str:
        """The path of its socket."""
        return f"{self.folder}/data/socket"

    @property
    def login(self) -> list[str]:
        """How its own programs reach it."""
        return ["--no-defaults", f"--socket={self.socket}", f"--user={_USER}"]

    @property
    def dsn(self) -> str:
        """How the load generator does."""
        return f"mariadb://{_USER}@/bench?socket={self.socket}"

    def client(self, sql: str, database: str = "bench") -> list[str]:
        """The command that executes statements."""
        return ["mariadb", *self.login, "--local-infile=1", "--skip-column-names", f"--execute={sql}", database]


@contextlib.contextmanager
def server(*options: str) -> Iterator[MariaDb]:
    """A MariaDB of its own, with these options."""
    folder = Path(tempfile.mkdtemp(prefix="mariadb-"))
    programs, data, users = server_of_this_machine("mariadb"), folder / "data", folder / "users.sql"
    users.write_text(
        f"CREATE DATABASE bench;\nCREATE USER {_USER}@localhost;\nGRANT ALL ON *.* TO {_USER}@localhost;\n"
    )
    folder.chmod(0o755)
    data.mkdir()
    data.chmod(0o777)
    subprocess.run(programs.make(str(data), ()), check=True, stdout=subprocess.DEVNULL)
    argv = [programs.server, "--no-defaults", "--skip-networking", f"--datadir={data}", "--socket=socket"]
    argv += [f"--init-file={users}", "--local-infile=ON", *options]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(as_server_user(argv), stderr=log)
    try:
        found = MariaDb(folder, process.pid)
        while subprocess.run(found.client("SELECT 1"), check=False, capture_output=True).returncode != 0:
            if process.poll() is not None:
                raise RuntimeError(f"the server does not start: {(folder / 'log').read_text()[-2000:]}")
            time.sleep(0.1)
        yield found
    finally:
        process.terminate()
        process.wait(300)
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Servers:
    """Where the load goes, and each server for itself."""

    dsn: str
    each: Sequence[str]
    logins: Sequence[Sequence[str]]
    """How MariaDB's own programs reach each."""


@contextlib.contextmanager
def alone() -> Iterator[Servers]:
    """A server of its own."""
    with server() as maria:
        yield Servers(maria.dsn, [maria.dsn], [maria.login])


@contextlib.contextmanager
def galera(count: int) -> Iterator[Servers]:
    """As nephoscope starts them, each at an address of loopback of its own."""
    folder = Path(tempfile.mkdtemp(prefix="galera-"))
    folder.chmod(0o755)

    cpus = tuple(os.sched_getaffinity(0))

    def machine(name: str, number: int) -> MachineHandle:
        (folder / name).mkdir()
        return MachineHandle(name, LocalRemote(cpus), f"127.0.1.{number}", cpus, str(folder / name))

    machines = tuple(machine(f"database-{number}", number) for number in range(1, count + 1))
    cluster, database = Cluster("soak", machines, machines[0]), MysqlDatabase("mariadb", {}, load_program())
    loop = asyncio.new_event_loop()
    try:
        endpoint = loop.run_until_complete(database.start(cluster, Database(connections=64), folder / "log"))
        endpoint = loop.run_until_complete(database.create_fixture(cluster, endpoint, "bench"))
        os.environ |= endpoint.environment
        address = urlsplit(endpoint.dsn)
        user, _, hosts = address.netloc.rpartition("@")
        each = [address._replace(netloc=f"{user}@{host}").geturl() for host in hosts.split(",")]
        pairs = [host.split(":") for host in hosts.split(",")]
        logins = [["--no-defaults", f"--host={host}", f"--port={port}", f"--user={user}"] for host, port in pairs]
        yield Servers(endpoint.dsn, each, logins)
        if (
            "Synced" not in str(states := loop.run_until_complete(database.replication(cluster)))
            or len(states) != count
        ):
            raise RuntimeError(f"the cluster is not whole: {states}")
    finally:
        loop.run_until_complete(database.stop(cluster))
        loop.close()
        shutil.rmtree(folder, ignore_errors=True)


class Soak:
    """Rounds on one server, or on one cluster."""

    def __init__(self, program: str, servers: Servers, warehouses: int, connections: int) -> None:
        self._program, self._servers, self._warehouses = program, servers, str(warehouses)
        self._connections = str(connections)
        self.counts = Counter[str]()
        self.load_s = 0.0

    def call(self, action: str, *options: str, dsn: str = "", profile: str = "chatty") -> subprocess.Popen[bytes]:
        """Starts the load generator."""
        of_data = ["--dsn", dsn or self._servers.dsn, "--warehouses", self._warehouses]
        argv = [self._program, "tpcc", action, *of_data, "--profile", profile, *options]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def load(self) -> None:
        """Makes the data set."""
        if self._ended(self.call("load", "--connections", self._connections))["exit_code"] != 0:
            raise RuntimeError("the data set cannot be loaded")

    def round(self, seed: int) -> str:
        """One run, killed or not, and a check; what happened."""
        chance = random.Random(seed)
        isolation, kills = ISOLATIONS[seed % len(ISOLATIONS)], seed % _ENDS_BY_ITSELF != 0
        profile = PROFILES[seed // len(ISOLATIONS) % len(PROFILES)]
        lasts_s = chance.uniform(2, 20)
        began_s = time.monotonic()
        seconds = 3600 if kills else round(lasts_s) + 1
        options = ["--connections", self._connections, "--isolation", isolation, "--seed", str(seed)]
        options += ["--duration-s", str(seconds), "--max-retries", "1000"]
        running = self.call("run", *options, profile=profile)
        if kills:
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.communicate(timeout=lasts_s)
            if running.returncode is not None:
                raise RuntimeError(f"the load ended before its kill: {running.returncode}")
            running.kill()
            running.communicate()
            self.counts["kills"] += 1
        else:
            ended = self._ended(running)
        self.load_s += time.monotonic() - began_s
        happened = f"killed after {lasts_s:.1f} s" if kills else self._judged(ended)
        return f"seed {seed}, {profile}, {isolation}: {happened}"

    def _judged(self, ended: dict[str, Any]) -> str:
        checked = [self._ended(self.call("check", dsn=dsn)) for dsn in self._servers.each]
        self.counts["ended"] += 1
        self.counts["failed"] += ended["exit_code"] != 0
        self.counts["broken"] += any(one["exit_code"] != 0 for one in checked)
        self.counts["retried"] += sum(row["count"] for row in ended["errors"] if row["kind"] == "retried")
        counters = [f"{one['name']} {one['server']} of {one['client']}" for one in ended["counters"]]
        held = ", ".join(str(len(one["conditions"])) for one in checked)
        return f"ended {ended.get('message')} {', '.join(counters)}; {held} conditions checked"

    @staticmethod
    def _ended(running: subprocess.Popen[bytes]) -> dict[str, Any]:
        lines, _ = running.communicate()
        if not lines:
            raise RuntimeError(f"a load ended with exit code {running.returncode} and no result")
        last: dict[str, Any] = json.loads(lines.splitlines()[-1])
        return last


def checked_tables(login: Sequence[str]) -> Sequence[str]:
    """What `mariadb-check --extended` finds wrong."""
    argv = ["mariadb-check", *login, "--extended", "bench"]
    lines = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()
    if len(lines) < 9:
        raise RuntimeError(f"tables are missing: {lines}")
    return [line for line in lines if not line.endswith(" OK")]


def main() -> int:
    """Runs for some hours."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0, help="of running the mix; checks come on top")
    parser.add_argument("--warehouses", type=int, default=2)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--servers", type=int, default=1, help="3: a cluster of Galera")
    parser.add_argument("--program", default="nephoscope-load")
    asked = parser.parse_args()
    os.nice(19)
    with alone() if asked.servers == 1 else galera(asked.servers) as servers:
        soak = Soak(asked.program, servers, asked.warehouses, asked.connections)
        soak.load()
        seed = 0
        while soak.load_s < 3600 * asked.hours or seed % _ENDS_BY_ITSELF:
            seed += 1
            sys.stdout.write(f"{soak.round(seed)}\n")
            sys.stdout.flush()
        wrong = [line for login in servers.logins for line in checked_tables(login)]
    sys.stdout.write(f"{soak.load_s:.0f} s of the mix: {dict(soak.counts)}; mariadb-check finds {wrong or 'nothing'}\n")
    return 1 if wrong or any(soak.counts[what] for what in ("broken", "failed")) else 0


if __name__ == "__main__":
    sys.exit(main())
