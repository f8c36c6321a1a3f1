"""Kills load generators of TPC-C on MariaDB for some hours, and checks what they leave: `python -m bench.soak.clients`.

A server of its own with the defaults of durability. Each round runs the mix at the next isolation level and profile.
Six of seven are killed by SIGKILL at a random moment. The seventh ends by itself, compares the server's counters with
its own, and then all conditions are checked; at the end `mariadb-check --extended` reads every table. A round's number
is its seed. Exit code 1: something was found.
"""

import argparse
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

from nephoscope.databases.mysql.programs import server_of_this_machine
from nephoscope.databases.programs import as_server_user

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


class Soak:
    """Rounds on one server."""

    def __init__(self, program: str, maria: MariaDb, warehouses: int, connections: int) -> None:
        self._program, self._of_data = program, ["--dsn", maria.dsn, "--warehouses", str(warehouses)]
        self._connections = str(connections)
        self.counts = Counter[str]()
        self.load_s = 0.0

    def call(self, action: str, *options: str, profile: str = "chatty") -> subprocess.Popen[bytes]:
        """Starts the load generator."""
        argv = [self._program, "tpcc", action, *self._of_data, "--profile", profile, *options]
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
        checked = self._ended(self.call("check"))
        self.counts["ended"] += 1
        self.counts["failed"] += ended["exit_code"] != 0
        self.counts["broken"] += checked["exit_code"] != 0
        counters = [f"{one['name']} {one['server']} of {one['client']}" for one in ended["counters"]]
        return f"ended {ended.get('message')} {', '.join(counters)}; {len(checked['conditions'])} conditions checked"

    @staticmethod
    def _ended(running: subprocess.Popen[bytes]) -> dict[str, Any]:
        lines, _ = running.communicate()
        if not lines:
            raise RuntimeError(f"a load ended with exit code {running.returncode} and no result")
        last: dict[str, Any] = json.loads(lines.splitlines()[-1])
        return last


def checked_tables(maria: MariaDb) -> Sequence[str]:
    """What `mariadb-check --extended` finds wrong."""
    argv = ["mariadb-check", *maria.login, "--extended", "bench"]
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
    parser.add_argument("--program", default="nephoscope-load")
    asked = parser.parse_args()
    os.nice(19)
    with server() as maria:
        soak = Soak(asked.program, maria, asked.warehouses, asked.connections)
        soak.load()
        seed = 0
        while soak.load_s < 3600 * asked.hours or seed % _ENDS_BY_ITSELF:
            seed += 1
            sys.stdout.write(f"{soak.round(seed)}\n")
            sys.stdout.flush()
        wrong = checked_tables(maria)
    sys.stdout.write(f"{soak.load_s:.0f} s of the mix: {dict(soak.counts)}; mariadb-check finds {wrong or 'nothing'}\n")
    return 1 if wrong or any(soak.counts[what] for what in ("broken", "failed")) else 0


if __name__ == "__main__":
    sys.exit(main())
