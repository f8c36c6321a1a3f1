"""What needs no rival: loading against plain COPY, memory, pacing and waiting terminals against the fake target."""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness.bars import Ratios, ratios
from bench.harness.contenders import Setting, our_words, tpcc_words
from bench.harness.measure import Lost, checked, run
from bench.harness.server import Server
from nephoscope.benchmarks.histograms import merged

STREAMS = 2
"""Of COPY and of building indexes: as many as the CPUs that the bars were made on."""

_NS_PER_US = 1000
_MIN_KEPT = 0.99


@dataclass(frozen=True)
class Loading:
    """Seconds to the same content."""

    ours_s: float
    copy_s: float
    """COPY of the same bytes from files, then the same keys and indexes; without VACUUM, which ours includes."""
    vacuum_s: float
    """VACUUM (FREEZE, ANALYZE) of what COPY made."""
    lost: float | None
    """Share of the machine's CPU time that went to others during ours; None: the kernel does not tell."""
    copy_lost: float | None


def of_copy(loads: Sequence[Loading]) -> Ratios:
    """Our loading over COPY."""
    return ratios((load.ours_s / load.copy_s, load.lost, load.copy_lost) for load in loads)


def load_tpcc(server: Server, setting: Setting, database: str) -> float:
    """Loads the data set; seconds."""
    server.psql(f"DROP DATABASE IF EXISTS {database}")
    server.psql(f"CREATE DATABASE {database}")
    words = ["tpcc", "load", "--warehouses", str(setting.warehouses), "--connections", str(STREAMS), "--check", "none"]
    began = time.monotonic()
    checked(run([str(setting.load), *words, "--dsn", server.dsn(database)]), "tpcc load")
    elapsed_s = time.monotonic() - began
    # The functions of the profile `proc` are made by its first run; its replay needs them.
    checked(run(our_words(server.dsn(database), setting, tpcc_words(setting, "proc", "standard"), 0.1, 1)), "proc")
    return elapsed_s


def loading(server: Server, setting: Setting, loaded: str) -> Loading:
    """Our loading against COPY of the same bytes from files, one after the other, each into a new database."""
    tables = server.psql("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
                         "ORDER BY relpages DESC", loaded).split()  # fmt: skip
    files = {table: server.folder / f"{table}.copy" for table in tables}
    for table, file in files.items():
        server.psql(f"COPY {table} TO '{file}' (FORMAT binary)", loaded)
    schema = {section: _dump(server, loaded, section) for section in ("pre-data", "post-data")}
    lost = Lost()
    ours_s, ours_lost = load_tpcc(server, setting, "copied"), lost.share()
    server.psql("DROP DATABASE copied")
    server.psql("CREATE DATABASE copied")
    server.psql("CHECKPOINT")
    server.psql(schema["pre-data"], "copied")
    began, lost = time.monotonic(), Lost()
    _all(server, [f"COPY {table} FROM '{file}' (FORMAT binary)" for table, file in files.items()])
    _all(server, statements_of(schema["post-data"]))
    copied_s, copy_lost = time.monotonic() - began, lost.share()
    server.psql("VACUUM (FREEZE, ANALYZE)", "copied")
    vacuum_s = time.monotonic() - began - copied_s
    server.psql("DROP DATABASE copied")
    for file in files.values():
        file.unlink()
    return Loading(ours_s, copied_s, vacuum_s, ours_lost, copy_lost)


def _dump(server: Server, database: str, section: str) -> str:
    words = [server.program("pg_dump"), f"--section={section}", "--no-owner", server.dsn(database)]
    dumped = checked(run(words), "pg_dump").stdout
    return "\n".join(line for line in dumped.splitlines() if not line.startswith("\\"))


def statements_of(dump: str) -> list[str]:
    """The statements of a dump's section that make something."""
    lines = [line for line in dump.splitlines() if line and not line.startswith("--")]
    statements = [" ".join(statement.split()) for statement in " ".join(lines).split(";")]
    return [statement for statement in statements if statement.startswith(("CREATE", "ALTER"))]


def _all(server: Server, statements: Sequence[str]) -> None:
    with ThreadPoolExecutor(STREAMS) as pool:
        for done in [pool.submit(server.psql, statement, "copied") for statement in statements]:
            done.result()


def peak_memory_bytes(server: Server, setting: Setting) -> int:
    """Of nephoscope-load with 16 connections, TPC-C."""
    words = our_words(server.dsn("tpcc_memory"), setting, tpcc_words(setting, "batched", "standard"), 3.0, 16)
    server.fresh("tpcc_memory", "tpcc")
    peak = checked(run(words), "nephoscope-load").peak_bytes
    server.psql("DROP DATABASE tpcc_memory")
    return peak


@contextmanager
def fake_target(load: Path, *options: str) -> Iterator[str]:
    """The fake target; yields a DSN of it."""
    process = subprocess.Popen([str(load), "fake-target", *options], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None  # noqa: S101  # asked for above
        address = json.loads(process.stdout.readline())["address"]
        yield f"postgresql://u@{address}/d?sslmode=disable"
    finally:
        process.terminate()
        process.communicate()


def spec(dsn: str, workload: dict[str, object], **more: object) -> str:
    """A spec of nephoscope-load that runs and checks nothing."""
    target = {"kind": "postgres", "dsn": dsn}
    common = {"schema": "nephoscope/load-spec/1", "action": "run", "target": target, "seed": 1, "check": "none"}
    return json.dumps({**common, "workload": workload, **more})


@dataclass(frozen=True)
class Pacing:
    """How a rate was kept, judged by the seconds without steal: who is not running cannot send."""

    rate_per_s: float
    """Arrivals that were asked for."""
    p99_us: float | None
    """Of how late operations were taken that had to wait for nobody. None: all had to wait, so far behind it was."""
    offered: int
    """Arrivals that were due in the measurement intervals."""
    not_sent: int
    """Arrivals that were never sent."""
    seconds: int
    """Measured, of all runs together."""
    seconds_without_steal: int
    """In which the hypervisor gave no CPU time to others."""

    @property
    def is_kept(self) -> bool:
        """Whether nearly all arrivals were sent: by the measure of nephoscope-load's exit code 4."""
        return self.not_sent <= (1 - _MIN_KEPT) * self.offered


def pacing(setting: Setting, rate_per_s: int, seconds: float, runs: int) -> Pacing:
    """Of nephoscope-load, one thread on the fake target."""
    pace = {"kind": "constant", "rate_per_s": rate_per_s}
    return read_pacing(rate_per_s, [_on_fake(setting, pace, seconds) for _ in range(runs)])


def closed_loop_per_s(setting: Setting, seconds: float) -> float:
    """Operations per second of the same thread on the same connections, each sent when the one before was answered."""
    lines, _ = _on_fake(setting, {"kind": "closed"}, seconds)
    last = lines[-1]
    done: int = sum(line["all"] for line in last["operations"] if line["outcome"] != "failed")
    return done / float(last["measured_s"])


def _on_fake(setting: Setting, pace: dict[str, object], seconds: float) -> tuple[list[dict[str, Any]], str]:
    with fake_target(setting.load) as dsn:
        asked = spec(dsn, {"kind": "null"}, connections=64, pace=pace, threads=1, ramp_s=1, duration_s=seconds)
        ran = run([str(setting.load), "exec"], stdin=asked)
    return [json.loads(line) for line in ran.stdout.splitlines()], ran.stderr


def read_pacing(rate_per_s: float, outputs: Sequence[tuple[Sequence[dict[str, Any]], str]]) -> Pacing:
    """From the lines of each run's output, and what it said to people.

    Raises:
        ValueError: a run measured no rate.
    """
    offered, not_sent, measured = 0, 0, []
    for lines, said in outputs:
        last = lines[-1] if lines else {}
        if last.get("offered") is None:
            raise ValueError(f"no rate was measured: {said[-500:]}")
        offered, not_sent = offered + last["offered"], not_sent + last["not_sent"]
        measured += [line for line in lines if line["event"] == "interval" and line["phase"] == "measure"]
    quiet = [line for line in measured if not line["client"].get("steal_s")]
    encoded = [line["client"]["pacing_error"] for line in quiet if line["client"].get("pacing_error")]
    p99_us = merged(encoded).get_value_at_percentile(99) / _NS_PER_US if encoded else None
    return Pacing(rate_per_s, p99_us, offered, not_sent, len(measured), len(quiet))


def waiting_terminals_bytes(setting: Setting, warehouses: int, seconds: float) -> int:
    """Peak memory of nephoscope-load with ten waiting terminals a warehouse."""
    workload = {"kind": "tpcc", "warehouses": warehouses, "profile": "proc", "wait": "spec"}
    with fake_target(setting.load, "--warehouses", str(warehouses)) as dsn:
        asked = spec(dsn, workload, connections=64, ramp_s=0, duration_s=seconds)
        return checked(run([str(setting.load), "exec"], stdin=asked), "nephoscope-load").peak_bytes
