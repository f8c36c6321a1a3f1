"""Who is compared: each knows how it is driven for so many seconds, and how what it did is read."""

import base64
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness import recording
from bench.harness.measure import Ran, checked, run
from bench.harness.server import Server

TRIAL = "trial"
"""The database that a run has for itself."""

FLOOR_TRANSACTIONS = 800
"""Recorded ones that the floor repeats: enough that its connections rarely meet, little enough to stay in caches."""

RECORDED_S = 2.0
SETTLE_S = 0.5

SCRIPTS = Path(__file__).parent.parent / "pgbench"


@dataclass(frozen=True)
class Setting:
    """What all are driven with."""

    warehouses: int
    rows: int
    connections: int
    seconds: float
    load: Path
    """nephoscope-load."""
    floor: Path


@dataclass(frozen=True)
class Done:
    """What one run did and cost its client."""

    transactions: int
    elapsed_s: float
    cpu_s: float
    peak_bytes: int
    server_cpu_s: float
    round_trips: int | None = None
    remark: str = ""
    lost: float | None = None
    """Share of the machine's CPU time that went to others meanwhile; None: the kernel does not tell."""


@dataclass(frozen=True)
class Contender:
    """One of the compared."""

    name: str
    template: str
    """The database that its runs begin with a copy of; a run of one that only reads uses it as it is."""
    drive: Callable[[Server, Setting, str], Done] = field(repr=False)
    reads_only: bool = False


def ours(profile: str, mix: str = "standard") -> Contender:
    """nephoscope-load with TPC-C."""

    def drive(server: Server, setting: Setting, database: str) -> Done:
        return read_ours(*costed(server, our_words(server.dsn(database), setting, tpcc_words(setting, profile, mix))))

    only = "" if mix == "standard" else ", New-Order only"
    return Contender(f"nephoscope-load {profile}{only}", "tpcc", drive)


def our_point_select() -> Contender:
    """nephoscope-load with point selects."""

    def drive(server: Server, setting: Setting, database: str) -> Done:
        return read_ours(*costed(server, our_words(server.dsn(database), setting, point_select_words(setting))))

    return Contender("nephoscope-load point-select", "points", drive, reads_only=True)


YCSB = "nephoscope-load YCSB C"
"""Reads of one record; only where a tool that does the same is there."""


def our_ycsb() -> Contender:
    """nephoscope-load with YCSB's workload C."""

    def drive(server: Server, setting: Setting, database: str) -> Done:
        words = ["ycsb", "run", "--mix", "c", "--rows", str(setting.rows)]
        return read_ours(*costed(server, our_words(server.dsn(database), setting, words)))

    return Contender(YCSB, "ycsb", drive, reads_only=True)


def load_ycsb(server: Server, setting: Setting) -> None:
    """Its data set."""
    server.psql("CREATE DATABASE ycsb")
    words = ["ycsb", "load", "--rows", str(setting.rows), "--connections", "2", "--check", "none"]
    checked(run([str(setting.load), *words, "--dsn", server.dsn("ycsb")]), "ycsb load")


def tpcc_words(setting: Setting, profile: str, mix: str) -> list[str]:
    """The options of TPC-C."""
    words = ["tpcc", "run", "--warehouses", str(setting.warehouses), "--profile", profile]
    return words if mix == "standard" else [*words, "--mix", mix]


def point_select_words(setting: Setting) -> list[str]:
    """The options of point selects."""
    return ["point-select", "run", "--rows", str(setting.rows)]


def our_words(
    dsn: str, setting: Setting, words: Sequence[str], seconds: float | None = None, connections: int | None = None
) -> list[str]:
    """The command line of nephoscope-load."""
    length = ["--duration-s", str(seconds or setting.seconds), "--check", "none"]
    sessions = ["--connections", str(connections or setting.connections)]
    return [str(setting.load), *words, "--dsn", dsn, *length, *sessions]


def costed(server: Server, argv: Sequence[str], stdin: str = "") -> tuple[Ran, float]:
    """Runs a client to its end; what it did, and the CPU seconds of the server meanwhile."""
    before_s = server.cpu_s()
    ran = checked(run(argv, stdin=stdin), Path(argv[0]).name)
    # Sessions that are just ending would be counted neither as processes nor as what the postmaster has waited for.
    time.sleep(SETTLE_S)
    return ran, server.cpu_s() - before_s


def read_ours(ran: Ran, server_cpu_s: float) -> Done:
    """Its last line tells what it did; what it cost the kernel tells."""
    last: dict[str, Any] = json.loads(ran.stdout.rstrip().rsplit("\n", 1)[-1])
    failed = sum(line["all"] for line in last["operations"] if line["outcome"] == "failed")
    return Done(
        transactions=sum(line["all"] for line in last["operations"]) - failed,
        elapsed_s=last["measured_s"],
        cpu_s=ran.cpu_s,
        peak_bytes=ran.peak_bytes,
        server_cpu_s=server_cpu_s,
        round_trips=last["round_trips"],
        remark=f"{failed} failed" if failed else "",
        lost=ran.lost,
    )


def floor(name: str, template: str, words: Callable[[Setting], list[str]], *, reads_only: bool = False) -> Contender:
    """The same bytes, by a program that does nothing but send them."""

    def drive(server: Server, setting: Setting, database: str) -> Done:
        with recording.proxy(server.port) as (port, streams):
            dsn = server.dsn(database).replace(f":{server.port}/", f":{port}/")
            checked(run(our_words(dsn, setting, words(setting), RECORDED_S, connections=1)), "nephoscope-load")
        recorded = recording.recording_of(bytes(max(streams, key=len)))
        if not reads_only:
            server.fresh(database, template)  # as it was before the recording: what it inserted is not there
        work = floor_work(server.port, recorded, setting)
        return read_floor(*costed(server, [str(setting.floor)], json.dumps(work)))

    return Contender(f"floor {name}", template, drive, reads_only)


def floor_work(port: int, recorded: recording.Recording, setting: Setting) -> dict[str, object]:
    """What the floor's program reads: the recorded transactions, dealt out to its connections."""

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    used = recorded.transactions[:FLOOR_TRANSACTIONS]
    dealt = [used[first :: setting.connections] for first in range(setting.connections)]
    return {
        "address": f"127.0.0.1:{port}",
        "startup": text(recorded.startup),
        "setup": [text(trip) for trip in recorded.setup],
        "connections": [[[text(trip) for trip in trips] for trips in mine] for mine in dealt],
        "duration_s": setting.seconds,
    }


def read_floor(ran: Ran, server_cpu_s: float) -> Done:
    """What the floor's program says."""
    done: dict[str, Any] = json.loads(ran.stdout)
    said = [f"{len(done['errors'])} errors, the first: {done['errors'][0]}"] if done["errors"] else []
    said += [f"{done['failed']} round trips of deadlocked transactions"] if done["failed"] else []
    return Done(
        transactions=done["transactions"],
        elapsed_s=done["elapsed_s"],
        cpu_s=ran.cpu_s - done["rehearsal_cpu_s"],
        peak_bytes=ran.peak_bytes,
        server_cpu_s=server_cpu_s,
        round_trips=done["round_trips"],
        remark="; ".join(said),
        lost=ran.lost,
    )


def pgbench(name: str, template: str, words: Sequence[str], round_trips: int, *, reads_only: bool = False) -> Contender:
    """pgbench of the same server, with prepared statements and one thread."""

    def drive(server: Server, setting: Setting, database: str) -> Done:
        drive_words = ["-n", "-M", "prepared", "-j", "1", "-c", str(setting.connections)]
        length = ["-T", str(max(1, round(setting.seconds))), "-D", f"scale={setting.warehouses}"]
        argv = [server.program("pgbench"), *drive_words, *length, *words, server.dsn(database)]
        return read_pgbench(*costed(server, argv), round_trips)

    return Contender(name, template, drive, reads_only)


def read_pgbench(ran: Ran, server_cpu_s: float, round_trips: int) -> Done:
    """What pgbench prints.

    Raises:
        ValueError: it printed something else.
    """
    count = re.search(r"number of transactions actually processed: (\d+)", ran.stdout)
    rate = re.search(r"tps = ([\d.]+) \(without initial connection time\)", ran.stdout)
    failed = re.search(r"number of failed transactions: ([1-9]\d*)", ran.stdout)
    if count is None or rate is None:
        raise ValueError(f"pgbench printed no rate: {ran.stdout[-500:]}")
    done = int(count[1])
    remark = f"{failed[1]} failed" if failed else ""
    trips = done * round_trips
    return Done(done, done / float(rate[1]), ran.cpu_s, ran.peak_bytes, server_cpu_s, trips, remark, ran.lost)


def read_sysbench(ran: Ran, server_cpu_s: float, round_trips: int) -> Done:
    """What sysbench prints.

    Raises:
        ValueError: it printed something else.
    """
    count = re.search(r"transactions:\s+(\d+)", ran.stdout)
    total = re.search(r"total time:\s+([\d.]+)s", ran.stdout)
    if count is None or total is None:
        raise ValueError(f"sysbench printed no count: {ran.stdout[-500:]}")
    done = int(count[1])
    trips = done * round_trips
    return Done(done, float(total[1]), ran.cpu_s, ran.peak_bytes, server_cpu_s, trips, lost=ran.lost)
