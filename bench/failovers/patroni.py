"""PostgreSQL under Patroni and etcd on three emulated hosts (root), whose primary is killed; a fourth drives the load.

All of the primary's host are killed at once, and started again later. Every write adds a row, so that SQL counts what
is left without knowing what the load generator wrote: the new rows must be what was acknowledged, less what the load
generator calls lost, and what was in doubt and is there.
"""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.failovers.kept import RAW, Case, Counted
from bench.harness.measure import Lost, tree_cpu_s
from bench.load_generator import say
from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.database.adversity import Adversity, AdversityParameters
from nephoscope.databases.asking import Client, value_of
from nephoscope.databases.postgres.binaries import server_of_this_machine
from nephoscope.databases.postgres.database import PostgresDatabase
from nephoscope.model.errors import DatabaseFailed
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.emulated.provider import EmulatedProvider
from nephoscope.run.clock import SystemClock
from nephoscope.study.model import Configuration
from tests.support.site import Recorder

ROWS, RATE_PER_S = 1_000, 400
TTL_S = 20
"""The least that Patroni accepts."""


def case(*, synchronous: bool) -> Case:
    """Four kills of a load take less than ten minutes."""
    of = configuration(synchronous=synchronous)
    return Case(f"patroni-{of.name}", f"Patroni, {of.name}, `ttl` {TTL_S} s", 4, killing, partial(killed, of))


def configuration(*, synchronous: bool) -> Configuration:
    """Three database hosts and a load host."""
    machine = {"emulated": {"name": "node", "vcpus": 1, "memory_gib": 1, "disk_gib": 8}}
    patroni = {"synchronous_mode": synchronous, "ttl": TTL_S, "loop_wait": 5, "retry_timeout": 5}
    return Configuration.model_validate(
        {
            "name": "synchronous" if synchronous else "asynchronous",
            "provider": "emulated",
            "database_machine": {"count": 3, **machine},
            "load_machine": machine,
            "database": {"failover": "patroni", "patroni": patroni, "connections": 8},
        }
    )


def killing(count: int) -> AdversityParameters:
    """A host stays dead for longer than the others wait for it."""
    return AdversityParameters(
        repeats=count, baseline_s=5, fault_s=TTL_S + 15, recovery_s=60, rest="until healthy", rate_per_s=RATE_PER_S,
        parameters={"rows": ROWS, "read_percent": 50, "writes": "new"},
    )  # fmt: skip


async def killed(of: Configuration, folder: Path, asked: AdversityParameters) -> Counted:
    """See `Case.drive`."""
    with TemporaryDirectory() as disks:
        provider = EmulatedProvider(load_program(), SystemClock())
        request = ClusterRequest(f"patroni-{os.getpid()}-{of.name}", of, Path(disks))
        database = PostgresDatabase(lambda _: server_of_this_machine(), {}, load_program())
        benchmark = Adversity()
        try:
            cluster = await provider.create(request)
            lost = Lost(own_cpu_s=partial(_own_cpu_s, Path(cluster.database[0].group)))
            endpoint = await database.start(cluster, of.database, folder / "server.log")
            site = Site(
                cluster, Recorder(folder / RAW), folder / RAW, 7, 7, of.database.connections, load_program(), database,
                endpoint, progress=say,
            )  # fmt: skip
            endpoint = await benchmark.prepare(site, asked) or endpoint
            site = replace(site, endpoint=endpoint)
            try:
                await benchmark.run(site, asked)
            except DatabaseFailed as error:  # one host is not back: the load came to its end, and is counted
                say(error.message)
            rows, share = await _rows(site), lost.share()
            await database.stop(cluster)
            return Counted(version=f"PostgreSQL {endpoint.version}", added=rows - ROWS, lost_cpu_share=share)
        finally:
            await provider.delete(request.key)


async def _rows(site: Site) -> int:
    if site.endpoint is None:
        raise SystemExit("there is no database")
    client = Client(site.cluster.load.remote, load_program())
    answer = await client.ask(site.endpoint.dsn, "SELECT count(*) FROM kv", environment=site.endpoint.environment)
    return int(value_of(answer.rows))


def _own_cpu_s(hosts: Path) -> float:
    """Of this program, and of the control group of emulated hosts, which are no children of it."""
    first, second = hosts / "cpuacct.usage", hosts / "cpu.stat"  # by the version of control groups
    if first.exists():
        return tree_cpu_s(os.getpid()) + int(first.read_text(encoding="ascii")) / 1e9
    words = second.read_text(encoding="ascii").split()
    return tree_cpu_s(os.getpid()) + int(words[words.index("usage_usec") + 1]) / 1e6
