"""What MySQL's protocol costs the client beside sysbench, and loading beside LOAD DATA; writes bench/MYSQL.md.

Needs MariaDB's server and client, and sysbench. `--tpcc FOLDER` names sysbench-tpcc's checkout, which is left out
without it.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench.harness import bars, results
from bench.harness.contenders import SETTLE_S, Done, read_ours
from bench.harness.measure import Ran, checked, command_line, machine, run, tree_cpu_s
from bench.harness.sources import ROOT
from bench.load_generator import build, compare, say
from bench.soak.clients import MariaDb, server
from nephoscope.databases.mysql.programs import server_of_this_machine

OF_NULL, OF_LOAD_DATA, OF_TPCC = 1.3, 1.5, 0.5
POINTS, NULL, SYSBENCH = "nephoscope-load point-select", "null on MariaDB", "sysbench oltp_point_select"
CHATTY, PROC, SYSBENCH_TPCC = "nephoscope-load tpcc chatty", "nephoscope-load tpcc proc", "sysbench-tpcc"
LOADING, LOAD_DATA = "nephoscope-load tpcc load", "LOAD DATA of the same rows"
HALVES = (("order_line", "history", "orders", "new_order"), ("stock", "customer", "item", "district", "warehouse"))
"""Tables of TPC-C of about equal size."""
SECONDARY = (
    "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id)",
    "CREATE UNIQUE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
)
ABOUT = """\
Cells are medians (least..most) of the rounds; ratios are taken within a round. Client CPU is user + system of the
client's whole process tree, its start and login included, over the operations that it finished.

The floor is the workload `null`: the same program sends a ping, which the server answers without work. sysbench reads
the same table, uniformly. TPC-C goes on where the run before it ended: its tables grow, in turn for all.

Loading makes the rows and the secondary indexes with 2 connections. LOAD DATA LOCAL reads the same rows from files that
the server wrote, two sessions at a time, into tables with the same keys, and makes the same indexes afterwards. Of
both, a transaction is a row."""

Drive = Callable[[], Done]


class Drives:
    """Who drives the server how."""

    def __init__(self, maria: MariaDb, load: Path, seconds: float, connections: int) -> None:
        self._maria, self._load, self._seconds, self._connections = maria, load, seconds, connections

    def load(self, *words: str) -> Done:
        """Loads a data set of ours into `bench`."""
        name, *options = words
        target = ["--dsn", self._maria.dsn, "--connections", "2", "--check", "none"]
        ran, server_cpu_s = self._costed([str(self._load), name, "load", *options, *target])
        return Done(rows_of(ran.stdout), ran.elapsed_s, ran.cpu_s, ran.peak_bytes, server_cpu_s, lost=ran.lost)

    def ours(self, *words: str) -> Done:
        """nephoscope-load for some seconds."""
        name, *options = words
        target = ["--dsn", self._maria.dsn, "--connections", str(self._connections), "--check", "none"]
        argv = [str(self._load), name, "run", *options, *target, "--duration-s", f"{self._seconds:g}"]
        return read_ours(*self._costed(argv))

    def sysbench(self, script: str, *options: str, folder: Path | None = None) -> Done:
        """A script of sysbench's for some seconds; its transactions are counted."""
        ran, server_cpu_s = self._sysbench("run", script, *options, folder=folder)
        count, elapsed = (re.search(rf"{what}:\s+([\d.]+)", ran.stdout) for what in ("transactions", "total time"))
        if count is None or elapsed is None:
            raise ValueError(f"sysbench printed no count: {ran.stdout[-500:]}")
        return Done(int(count[1]), float(elapsed[1]), ran.cpu_s, ran.peak_bytes, server_cpu_s, lost=ran.lost)

    def prepare_tpcc(self, folder: Path, warehouses: int) -> None:
        """sysbench-tpcc's own tables."""
        self._sysbench("prepare", "./tpcc.lua", "--tables=1", f"--scale={warehouses}", folder=folder)

    def _sysbench(self, act: str, script: str, *options: str, folder: Path | None) -> tuple[Ran, float]:
        target = [f"--mysql-socket={self._maria.socket}", "--mysql-user=bench", "--mysql-db=bench"]
        argv = ["sysbench", script, *options, *target, f"--threads={self._connections}", f"--time={self._seconds:g}"]
        inside = ["env", f"--chdir={folder}"] if folder else []
        return self._costed([*inside, *argv, act])

    def load_data(self) -> Done:
        """The rows of the data set once more, by the server's own means."""
        files = self._maria.folder / "rows"
        files.mkdir(exist_ok=True)
        files.chmod(0o777)
        tables = [table for half in HALVES for table in half]
        for table in tables:
            (files / table).unlink(missing_ok=True)
            self._sql(f"SELECT * FROM {table} INTO OUTFILE '{files}/{table}'", "bench")  # noqa: S608 - names of ours
        same = "; ".join(f"CREATE TABLE again.{table} LIKE bench.{table}" for table in tables)
        without = "DROP INDEX customer_name ON again.customer; DROP INDEX orders_customer ON again.orders"
        self._sql(f"DROP DATABASE IF EXISTS again; CREATE DATABASE again; {same}; {without}", "bench")
        before_s, began_s = tree_cpu_s(self._maria.pid), time.monotonic()
        commands = (
            [f"LOAD DATA LOCAL INFILE '{files}/{table}' INTO TABLE {table}" for table in half] for half in HALVES
        )
        sessions = [subprocess.Popen(self._maria.client("; ".join(half), "again")) for half in commands]
        if any(session.wait() for session in sessions):
            raise RuntimeError("LOAD DATA failed")
        self._sql("; ".join(SECONDARY), "again")
        elapsed_s = time.monotonic() - began_s
        server_cpu_s = tree_cpu_s(self._maria.pid) - before_s
        counted = " + ".join(f"(SELECT count(*) FROM {table})" for table in tables)  # noqa: S608 - names of ours
        return Done(int(self._sql(f"SELECT {counted}", "again")), elapsed_s, 0.0, 0, server_cpu_s)

    def _sql(self, sql: str, database: str) -> str:
        return checked(run(self._maria.client(sql, database)), sql[:60]).stdout

    def _costed(self, argv: Sequence[str]) -> tuple[Ran, float]:
        before_s = tree_cpu_s(self._maria.pid)
        ran = checked(run(argv), argv[0])
        time.sleep(SETTLE_S)
        return ran, tree_cpu_s(self._maria.pid) - before_s


def rows_of(said: str) -> int:
    """That a load says it made."""
    return sum(table["rows"] for table in json.loads(said.splitlines()[-1])["tables"])


def contenders(drives: Drives, rows: int, warehouses: int, tpcc: Path | None) -> dict[str, Drive]:
    """Rivals beside each other, so that they meet the same machine."""
    of_tpcc = ("tpcc", "--warehouses", str(warehouses), "--profile")
    found: dict[str, Drive] = {
        NULL: partial(drives.ours, "null"),
        POINTS: partial(drives.ours, "point-select", "--rows", str(rows)),
        SYSBENCH: partial(
            drives.sysbench, "oltp_point_select", f"--table-size={rows}", "--tables=1", "--rand-type=uniform"
        ),
        CHATTY: partial(drives.ours, *of_tpcc, "chatty"),
        PROC: partial(drives.ours, *of_tpcc, "proc"),
        LOADING: partial(drives.load, *of_tpcc, "chatty"),
        LOAD_DATA: drives.load_data,
    }
    if tpcc is not None:
        scale = ("--tables=1", f"--scale={warehouses}")
        found[SYSBENCH_TPCC] = partial(drives.sysbench, "./tpcc.lua", *scale, folder=tpcc)
    return found


def bars_of(seen: results.Rounds) -> list[bars.Bar]:
    """Goals of the target."""
    rivals = [(POINTS, SYSBENCH, 1.0), *([(CHATTY, SYSBENCH_TPCC, OF_TPCC)] if SYSBENCH_TPCC in seen else [])]
    found = [
        bars.at_most(f"client CPU per {ours} / {other}", results.ratio(seen, ours, other, "client"), limit)
        for ours, other, limit in [(POINTS, NULL, OF_NULL), *rivals]
    ]
    found += [
        bars.at_least(f"throughput of {ours} / {other}", results.ratio(seen, ours, other, "rate"), 1.0)
        for ours, other, _ in rivals
    ]
    took = results.ratio(seen, LOAD_DATA, LOADING, "rate")
    return [*found, bars.at_most(f"time of {LOADING} / {LOAD_DATA}", took, OF_LOAD_DATA)]


def main(words: Sequence[str] | None = None) -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="of each run")
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table of point selects")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--quick", action="store_true", help="a smoke test: one round of 1 s with little data")
    parser.add_argument("--load", type=Path, help="a built nephoscope-load; default: build it from this checkout")
    parser.add_argument("--tpcc", type=Path, help="the folder of sysbench-tpcc's tpcc.lua")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "MYSQL.md")
    chosen = parser.parse_args(words)
    if chosen.quick:
        chosen.rounds, chosen.seconds, chosen.warehouses, chosen.rows = 1, 1.0, 1, 10_000
    load = chosen.load or build()[0]
    with server("--innodb-buffer-pool-size=2G", "--innodb-log-file-size=2G") as maria:
        drives = Drives(maria, load, chosen.seconds, chosen.connections)
        drives.load("point-select", "--rows", str(chosen.rows))
        drives.load("tpcc", "--warehouses", str(chosen.warehouses), "--profile", "chatty")
        if chosen.tpcc:
            drives.prepare_tpcc(chosen.tpcc, chosen.warehouses)
        seen = compare(contenders(drives, chosen.rows, chosen.warehouses, chosen.tpcc), chosen.rounds)
    head = [
        command_line("mysql_client", sys.argv[1:] if words is None else words),
        f"- Machine: {machine()}; client and server share it, over a socket.",
        f"- MariaDB {server_of_this_machine('mariadb').version}, commits on disk, a buffer pool of 2 GiB.",
        f"- {chosen.warehouses} warehouses, {chosen.rows:,} rows, {chosen.connections} connections.",
        f"- {chosen.rounds} rounds of {chosen.seconds:g} s in turn.",
        "",
        ABOUT,
    ]
    page = results.page(head, bars_of(seen), {"Side by side": results.table(seen)}, "a client of MariaDB")
    chosen.out.write_text(page, encoding="utf-8")
    say(f"wrote {chosen.out}")


if __name__ == "__main__":
    main()
