"""Three masters of a Valkey cluster with a replica each, all on this machine, of which one is killed at a time.

Every write adds a key, so that the server's own program counts what is left without knowing what the load generator
wrote: the new keys must be what was acknowledged, less what the load generator calls lost, and what was in doubt and is
there.
"""

import asyncio
import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from bench.failovers.kept import RAW, Case, Counted
from bench.harness.measure import Lost
from bench.load_generator import say
from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.database.adversity import Adversity, AdversityParameters
from nephoscope.databases.base import Endpoint
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.databases.valkey.database import ValkeyDatabase
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.local_remote import cluster_on_loopback
from tests.support.site import Recorder, site_here

MASTERS, RATE_PER_S, DEAD_S = 3, 600, 4


def case(node_timeout_ms: int) -> Case:
    """A cluster that gives a silent master up after so long."""
    return Case(
        f"valkey-{node_timeout_ms}",
        f"Valkey cluster, `cluster-node-timeout` {node_timeout_ms:,}",
        12,
        partial(parameters, node_timeout_ms),
        partial(killed, node_timeout_ms),
    )


def parameters(node_timeout_ms: int, count: int) -> AdversityParameters:
    """Of so many kills."""
    return AdversityParameters(
        fault="kill", repeats=count, ramp_s=2, baseline_s=5, fault_s=DEAD_S + node_timeout_ms / 1000, recovery_s=12,
        rest="until healthy", rate_per_s=RATE_PER_S, outage_limit_s=0.5,
        parameters={"rows": 10_000, "read_percent": 50, "writes": "new"},
    )  # fmt: skip


async def killed(node_timeout_ms: int, folder: Path, asked: AdversityParameters) -> Counted:
    """See `Case.drive`."""
    settings = DatabaseSettings(
        system="valkey", replicas=1, failover="cluster", settings={"cluster-node-timeout": str(node_timeout_ms)}
    )
    with TemporaryDirectory() as data:
        cluster, database, lost = cluster_on_loopback(Path(data), 2 * MASTERS), ValkeyDatabase(find_valkey), Lost()
        site = replace(
            site_here(Path(data))[0], cluster=cluster, database=database, connections=12, load_program=load_program(),
            raw_dir=folder / RAW, execute=Recorder(folder / RAW), progress=say,
        )  # fmt: skip
        try:
            endpoint = await database.start(cluster, settings, folder / "valkey.log")
            endpoint = await Adversity().prepare(replace(site, endpoint=endpoint), asked) or endpoint
            before = await keys_of(endpoint)
            await Adversity().run(replace(site, endpoint=endpoint), asked)
            added = await keys_of(endpoint) - before
            return Counted(version=endpoint.version, added=added, lost_cpu_share=lost.share())
        finally:
            await database.stop(cluster)


async def keys_of(endpoint: Endpoint) -> int:
    """Of all masters."""
    asking = await asyncio.create_subprocess_exec(
        find_valkey().client, "--cluster", "call", urlsplit(endpoint.dsn).netloc, "DBSIZE", "--cluster-only-masters",
        env={**os.environ, **endpoint.environment}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    said, _ = await asking.communicate()
    counts = re.findall(rb"^\S+:\d+: (\d+)$", said, re.MULTILINE)
    if len(counts) != MASTERS:
        raise SystemExit(f"the masters do not tell how many keys they have: {said!r}")
    return sum(map(int, counts))
