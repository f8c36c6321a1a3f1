"""What clients see when masters of a Valkey cluster are killed, 12 times in turn; writes bench/FAILOVER.md.

Three masters with a replica each, all on this machine, so that times contain what others do here. Every write adds a
key, so that the server's own program counts what is left without knowing what the load generator wrote: the new keys
must be what was acknowledged, less what the load generator calls lost, and what was in doubt and is there.
"""

import argparse
import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from bench.harness.measure import Lost, machine
from bench.harness.sources import ROOT
from bench.load_generator import say
from nephoscope.analysis.faults import FaultRow, faults_of, quantities_of
from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.database.adversity import Adversity, AdversityParameters
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import RUN
from nephoscope.benchmarks.load.contract import LedgerResult
from nephoscope.databases.base import Endpoint
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.databases.valkey.database import ValkeyDatabase
from nephoscope.model.records import Direction, Measurement
from nephoscope.model.rows import MeasurementRow
from nephoscope.model.subjects import Subject
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.local_remote import cluster_on_loopback
from tests.support.site import raw_of, site_here

MASTERS, RATE_PER_S, DEAD_S = 3, 600, 4
NODE_TIMEOUTS_MS = (1_000, 5_000)
ABOUT = """\
{masters} masters with a replica each, `failover = "cluster"`; a master, drawn each time, is killed, and started again
{dead_s:g} s after the time of `cluster-node-timeout` has passed; the next one is killed once all copies are complete
and clients have their rate again. {rate:,} reads and writes a second in an open pace, half of each. Times are medians
over the faults, in seconds; the longest outage of any client has the 95 % interval of its median. A client reads and
writes keys of all masters, so it sees an outage only while no master serves it: what the keys of one master cost is the
time until the usual rate is back. Writes are those of all faults, and each adds a key: what is lost is counted by the
load generator, which reads every key that it wrote, and by `DBSIZE` of the masters at the end. A share is the most that
the faults may have which lose a write, and is given only where none did."""
COLUMNS = (
    "cluster-node-timeout, ms", "masters killed", "longest outage, s", "nothing completed, s", "to the usual rate, s",
    "copies complete, s", "acknowledged", "sent, not acknowledged", "lost, by the ledger",
    "lost, by DBSIZE", "faults that lose a write", "CPU time lost to others",
)  # fmt: skip


def parameters(count: int, node_timeout_ms: int) -> AdversityParameters:
    """Of so many kills."""
    return AdversityParameters(
        fault="kill", repeats=count, ramp_s=2, baseline_s=5, fault_s=DEAD_S + node_timeout_ms / 1000, recovery_s=8,
        rest="until healthy", rate_per_s=RATE_PER_S, outage_limit_s=0.5,
        parameters={"rows": 10_000, "read_percent": 50, "writes": "new"},
    )  # fmt: skip


async def killed(folder: Path, asked: AdversityParameters, node_timeout_ms: int) -> tuple[Site, str, int]:
    """A trial; the server's version; how many keys the load added, as its masters say."""
    settings = DatabaseSettings(
        system="valkey", replicas=1, failover="cluster", settings={"cluster-node-timeout": str(node_timeout_ms)}
    )
    cluster, database = cluster_on_loopback(folder, 2 * MASTERS), ValkeyDatabase(find_valkey)
    site = replace(
        site_here(folder)[0], cluster=cluster, database=database, connections=12, load_program=load_program()
    )
    site = replace(site, progress=say)
    try:
        endpoint = await database.start(cluster, settings, folder / "valkey.log")
        endpoint = await Adversity().prepare(replace(site, endpoint=endpoint), asked) or endpoint
        site = replace(site, endpoint=endpoint)
        before = await keys_of(endpoint)
        await Adversity().run(site, asked)
        return site, endpoint.version, await keys_of(endpoint) - before
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


def row_of(found: Sequence[Measurement]) -> FaultRow:
    """As a report has it."""
    rows = [
        MeasurementRow(
            "trial", "valkey", "kill", one.metric, one.unit, Direction.LOWER, one.value, one.role, one.at_s, 1, 1, 1,
            valid=True, subject=Subject.DATABASE,
        )
        for one in found
    ]  # fmt: skip
    bounds = [row for row, one in zip(rows, found, strict=True) if one.bound is not None]
    values = [row for row, one in zip(rows, found, strict=True) if one.bound is None]
    (row,) = faults_of(values, quantities_of(values, bounds), {"kill": ("kill", "primary")})
    return row


def line(row: FaultRow, ledger: LedgerResult, keys_added: int, lost_cpu: float | None, node_timeout_ms: int) -> str:
    """Of the table."""
    most = "" if row.losing_at_most_share is None else f"at most {row.losing_at_most_share:.0%}"
    cells = (
        f"{node_timeout_ms:,}",
        str(row.faults),
        f"{_s(row.longest_outage_s)} ({_s(row.longest_outage_low_s)} to {_s(row.longest_outage_high_s)})",
        _s(row.time_at_zero_s),
        _s(row.time_to_usual_rate_s),
        _s(row.time_to_complete_copies_s),
        f"{ledger.acknowledged:,}",
        f"{ledger.in_doubt:,}",
        str(ledger.lost),
        str(ledger.acknowledged + ledger.in_doubt_kept - keys_added),
        most,
        "not known" if lost_cpu is None else f"{lost_cpu:.0%}",
    )
    return f"| {' | '.join(cells)} |"


def _s(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f}"


def main() -> int:
    """Returns 1 if a fault was not inflicted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--node-timeouts-ms", type=int, nargs="*", default=list(NODE_TIMEOUTS_MS))
    options = parser.parse_args()
    lines, version, whole = [], "", True
    for node_timeout_ms in options.node_timeouts_ms:
        asked, lost_cpu = parameters(options.kills, node_timeout_ms), Lost()
        with tempfile.TemporaryDirectory() as folder:
            site, version, keys_added = asyncio.run(killed(Path(folder), asked, node_timeout_ms))
            raw = raw_of(site)
        row, ledger = row_of(Adversity().parse(raw, asked)), load_output.read(raw[f"{RUN}.stdout"]).finished.ledger
        if ledger is None:
            raise SystemExit("the load generator wrote no ledger: nothing was measured")
        lines.append(line(row, ledger, keys_added, lost_cpu.share(), node_timeout_ms))
        whole = whole and row.faults == options.kills
        say(lines[-1])
    about = ABOUT.format(masters=MASTERS, dead_s=DEAD_S, rate=RATE_PER_S)
    head = [
        "# Failover of a Valkey cluster",
        "",
        f"`python -m bench.failover`, {version}, on {machine()}.",
        "",
        about,
        "",
    ]
    head += [f"| {' | '.join(COLUMNS)} |", "|--:" * len(COLUMNS) + "|"]
    (ROOT / "bench" / "FAILOVER.md").write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
