"""Kills load generators of TPC-C on MariaDB for some hours, and checks what they leave: `python -m bench.soak.clients`.

A server of its own with the defaults of durability. Each round runs the mix at the next isolation level. Five of six are
killed by SIGKILL at a random moment, the sixth ends by itself and compares the server's counters with its own. After each
round all conditions are checked; at the end `mariadb-check --extended` reads every table. A round's number is its seed.
Exit code 1: something was found.
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
from pathlib import Path

from nephoscope.databases.mysql.programs import server_of_this_machine
from nephoscope.databases.programs import as_server_user

ISOLATIONS = ("read-committed", "repeatable-read", "serializable")
_ENDS_BY_ITSELF = 6
_USER = "bench"


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """A MariaDB of its own; the path of its socket."""
    programs, data, users = server_of_this_machine("mariadb"), folder / "data", folder / "users.sql"
    users.write_text(
        f"CREATE DATABASE bench;\nCREATE USER {_USER}@localhost;\nGRANT ALL ON *.* TO {_USER}@localhost;\n"
    )
    folder.chmod(0o755)
    data.mkdir(mode=0o777)
    data.chmod(0o777)
    subprocess.run(programs.make(str(data), ()), check=True, stdout=subprocess.DEVNULL)
    options = ("--skip-networking", f"--datadir={data}", "--socket=socket", f"--init-file={users}", "--local-infile=ON")
    with (folder / "log").open("wb") as log:
        started = as_server_user([programs.server, "--no-defaults", *options])
        process = subprocess.Popen(started, stderr=log)
    try:
        socket = f"{data}/socket"
        ask = ["mariadb", "--no-defaults", f"--socket={socket}", f"--user={_USER}", "--execute=SELECT 1", "bench"]
        while subprocess.run(ask, check=False, capture_output=True).returncode != 0:
            if process.poll() is not None:
                raise RuntimeError(f"the server does not start: {(folder / 'log').read_text()[-2000:]}")
            time.sleep(0.1)
        yield socket
    finally:
        process.terminate()
        process.wait(300)


class Soak:
    """Rounds on one server."""

    def __init__(self, program: str, socket: str, warehouses: int, connections: int) -> None:
        of_data = ["--dsn", f"mariadb://{_USER}@/bench?socket={socket}", "--warehouses", str(warehouses)]
        self._program, self._of_data = program, [*of_data, "--profile", "chatty"]
        self._connections = str(connections)
        self.counts = Counter[str]()
        self.load_s = 0.0

    def call(self, action: str, *options: str) -> subprocess.Popen[bytes]:
        """Starts the load generator."""
        argv = [self._program, "tpcc", action, *self._of_data, *options]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def load(self) -> None:
        """Makes the data set."""
        if self._ended(self.call("load", "--connections", self._connections))["exit_code"] != 0:
            raise RuntimeError("the data set cannot be loaded")

    def round(self, seed: int) -> str:
        """One run, killed or not, and a check; what happened."""
        chance = random.Random(seed)
        isolation, kills = ISOLATIONS[seed % len(ISOLATIONS)], seed % _ENDS_BY_ITSELF != 0
        lasts_s = chance.uniform(2, 20)
        began_s = time.monotonic()
        seconds = 3600 if kills else round(lasts_s) + 1
        options = ["--connections", self._connections, "--isolation", isolation, "--seed", str(seed)]
        running = self.call("run", *options, "--duration-s", str(seconds), "--max-retries", "1000")
        if kills:
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.communicate(timeout=lasts_s)
            if running.returncode is not None:
                raise RuntimeError(f"the load ended before its kill: {running.returncode}")
            running.kill()
            running.communicate()
            self.counts["kills"] += 1
            happened = f"killed after {lasts_s:.1f} s"
        else:
            ended = self._ended(running)
            self.counts["ended"] += 1
            self.counts["failed"] += ended["exit_code"] != 0
            happened = f"ended: {ended['exit_code']}, {ended.get('message')}, counters {ended['counters']}"
        self.load_s += time.monotonic() - began_s
        checked = self._ended(self.call("check"))
        self.counts["broken"] += checked["exit_code"] != 0
        return f"seed {seed}, {isolation}, {happened}; check: {checked['exit_code']}, {checked.get('message')}"

    @staticmethod
    def _ended(running: subprocess.Popen[bytes]) -> dict[str, object]:
        lines, _ = running.communicate()
        if not lines:
            raise RuntimeError(f"a load ended with exit code {running.returncode} and no result")
        last: dict[str, object] = json.loads(lines.splitlines()[-1])
        return last


def checked_tables(socket: str) -> Sequence[str]:
    """What `mariadb-check --extended` finds wrong."""
    argv = ["mariadb-check", "--no-defaults", f"--socket={socket}", f"--user={_USER}", "--extended", "bench"]
    lines = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()
    if len(lines) < 9:
        raise RuntimeError(f"tables are missing: {lines}")
    return [line for line in lines if not line.endswith(" OK")]


def main() -> int:
    """Runs for some hours."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0, help="of running the mix; checks and loading come on top")
    parser.add_argument("--warehouses", type=int, default=2)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--program", default="nephoscope-load")
    asked = parser.parse_args()
    os.nice(19)
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    try:
        with server(folder) as socket:
            soak = Soak(asked.program, socket, asked.warehouses, asked.connections)
            soak.load()
            seed = 0
            while soak.load_s < 3600 * asked.hours:
                seed += 1
                sys.stdout.write(f"{soak.round(seed)}\n")
                sys.stdout.flush()
            wrong = checked_tables(socket)
        sys.stdout.write(
            f"{soak.load_s:.0f} s of the mix: {dict(soak.counts)}; mariadb-check finds {wrong or 'nothing'}\n"
        )
        return 1 if wrong or any(soak.counts[what] for what in ("broken", "failed")) else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
