"""What clients see when Patroni's primary is killed: `python -m bench.patroni [--faults N] [--out FILE]` (root).

Three emulated hosts each run PostgreSQL, Patroni and a member of etcd; a fourth drives the load. All of the primary's
host are killed at once, and started again later. Every write adds a row, so that SQL counts what is left without
knowing what the load generator wrote: the rows must be what was acknowledged, less what the load generator calls lost,
and what was in doubt and is there.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.database.adversity import Adversity, AdversityParameters
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import RUN
from nephoscope.benchmarks.load.contract import LedgerResult
from nephoscope.databases.asking import Client, value_of
from nephoscope.databases.postgres.binaries import server_of_this_machine
from nephoscope.databases.postgres.database import PostgresDatabase
from nephoscope.machines.remote import Command, Completed, MachineHandle
from nephoscope.model.records import OF_OUTAGE, InflictedFault
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.emulated.provider import EmulatedProvider
from nephoscope.run.clock import SystemClock
from nephoscope.stats.median import median_interval
from nephoscope.study.model import Configuration

ROWS = 1_000
RATE_PER_S = 400
HEADERS = (
    *("commits", "kills seen and undone", "median outage", "its interval", "shortest to longest"),
    *("median time to complete copies", "writes acknowledged", "in doubt", "lost, by the ledger", "lost, by SQL"),
)


@dataclass(frozen=True)
class Outages:
    """What a load saw."""

    longest_s: Sequence[float]
    """Of each fault."""
    complete_s: Sequence[float]
    """Of each fault: until all copies were complete."""
    faults: Sequence[InflictedFault]
    ledger: LedgerResult
    rows_added: int
    """By SQL, at the end."""

    @property
    def lost_by_sql(self) -> int:
        """Acknowledged writes that are not among the rows."""
        return self.ledger.acknowledged + self.ledger.in_doubt_kept - self.rows_added


def configuration(*, synchronous: bool, ttl: int) -> Configuration:
    """Three database hosts and a load host."""
    machine = {"emulated": {"name": "node", "vcpus": 1, "memory_gib": 1, "disk_gib": 4}}
    patroni = {"synchronous_mode": synchronous, "ttl": ttl, "loop_wait": 10 if ttl >= 30 else 5, "retry_timeout": 5}
    return Configuration.model_validate(
        {
            "name": "synchronous" if synchronous else "asynchronous",
            "provider": "emulated",
            "database_machine": {"count": 3, **machine},
            "load_machine": machine,
            "database": {"failover": "patroni", "patroni": patroni, "connections": 8},
        }
    )


async def measured(folder: Path, of: Configuration, parameters: AdversityParameters) -> Outages:
    """One load with its faults, on machines of its own."""
    provider = EmulatedProvider(load_program(), SystemClock())
    request = ClusterRequest(f"patroni-{os.getpid()}-{of.name}", of, folder)
    database = PostgresDatabase(lambda _: server_of_this_machine(), {}, load_program())
    benchmark, raw_dir = Adversity(), folder / "raw"
    raw_dir.mkdir(parents=True)

    async def execute(machine: MachineHandle, name: str, command: Command) -> Completed:
        return await machine.remote.execute(command, save_as=raw_dir / name)

    try:
        cluster = await provider.create(request)
        endpoint = await database.start(cluster, of.database, folder / "server.log")
        site = Site(
            cluster, execute, raw_dir, 7, 7, of.database.connections, load_program(), database, endpoint, progress=print
        )
        site = replace(site, endpoint=await benchmark.prepare(site, parameters))
        await benchmark.run(site, parameters)
        rows = await _rows(site)
        await database.stop(cluster)
    finally:
        await provider.delete(request.key)
    raw = {path.name: path.read_bytes() for path in raw_dir.iterdir()}
    found, finished = benchmark.parse(raw, parameters), load_output.read(raw[f"{RUN}.stdout"]).finished
    if finished.ledger is None:
        raise SystemExit("the load generator wrote no ledger: nothing was measured")

    def each(metric: str) -> list[float]:
        return [row.value for row in found if row.metric == OF_OUTAGE + metric]

    faults = benchmark.observations(raw, parameters).faults
    return Outages(each("longest_outage"), each("time_to_complete_copies"), faults, finished.ledger, rows - ROWS)


async def _rows(site: Site) -> int:
    if site.endpoint is None:
        raise SystemExit("there is no database")
    client = Client(site.cluster.load.remote, load_program())
    answer = await client.ask(site.endpoint.dsn, "SELECT count(*) FROM kv", environment=site.endpoint.environment)
    return int(value_of(answer.rows))


def row(name: str, found: Outages) -> str:
    """Of the table."""
    outage, complete_s = median_interval(found.longest_s), median_interval(found.complete_s).median
    seen = sum(fault.confirmed and fault.undone for fault in found.faults)
    ledger = found.ledger
    return (
        f"| {name} | {seen} of {len(found.faults)} | {outage.median:.1f} s | {outage.low:.1f} to {outage.high:.1f} s "
        f"({outage.coverage:.1%}) | {min(found.longest_s):.1f} to {max(found.longest_s):.1f} s | {complete_s:.1f} s "
        f"| {ledger.acknowledged:,} | {ledger.in_doubt} | {ledger.lost} | {found.lost_by_sql} |"
    )


def page(rows: Sequence[str], of: AdversityParameters, ttl: int) -> str:
    """What is written."""
    lines, machine = "\n".join(rows), f"{os.cpu_count()} CPUs for four emulated hosts, Linux {os.uname().release}"
    return f"""# What clients see when Patroni's primary is killed

`python -m bench.patroni` wrote this: {of.repeats} kills of each kind, `ttl` {ttl} s, {RATE_PER_S} operations due per
second on 8 connections, half of them writes, each of which adds a row. PostgreSQL, Patroni and etcd of the primary's
host are killed at once, and started again {of.fault_s:g} s later.

| {" | ".join(HEADERS)} |
|---|{"--:|" * (len(HEADERS) - 1)}
{lines}

Machine: {machine}; load average at the end {os.getloadavg()[1]:.1f}.
"""


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--faults", type=int, default=12, help="kills of each kind")
    parser.add_argument("--ttl", type=int, default=30, help="of Patroni")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("PATRONI.md"))
    options = parser.parse_args(arguments)
    parameters = killing(options.faults, options.ttl)
    rows = []
    for synchronous in (True, False):
        of = configuration(synchronous=synchronous, ttl=options.ttl)
        with tempfile.TemporaryDirectory() as folder:
            rows.append(row(of.name, asyncio.run(measured(Path(folder), of, parameters))))
        options.out.write_text(page(rows, parameters, options.ttl), encoding="utf-8")
        sys.stdout.write(f"{rows[-1]}\n")
    return 0


def killing(faults: int, ttl: int) -> AdversityParameters:
    """A host stays dead for longer than the others wait for it."""
    return AdversityParameters(
        repeats=faults,
        baseline_s=5,
        fault_s=ttl + 15,
        recovery_s=45,
        rest="until healthy",
        rate_per_s=RATE_PER_S,
        parameters={"rows": ROWS, "read_percent": 50, "writes": "new"},
    )


if __name__ == "__main__":
    sys.exit(main())
