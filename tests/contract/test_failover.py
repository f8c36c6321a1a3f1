"""Masters of a real cluster are killed under load: writes that were acknowledged and are gone, counted by two."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.database.adversity import Adversity, AdversityParameters
from nephoscope.benchmarks.faults.kinds import Victim
from nephoscope.benchmarks.load import output as load_output
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.databases.valkey.database import ValkeyDatabase
from nephoscope.model.records import ServerRole
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs
from tests.support.site import raw_of, site_here

pytestmark = [pytest.mark.slow, needs("redis-server", "nephoscope-load")]
MASTERS, ROWS = 3, 1_000
SETTINGS = DatabaseSettings(
    system="valkey",
    replicas=1,
    failover="cluster",
    settings={"cluster-node-timeout": "1000", "cluster-replica-validity-factor": "0"},
)
PARAMETERS = AdversityParameters.model_validate(
    {
        "fault": "kill", "repeats": 2, "ramp_s": 1, "baseline_s": 3, "fault_s": 5, "recovery_s": 20,
        "rest": "until healthy", "rate_per_s": 400,
        "parameters": {"rows": ROWS, "read_percent": 0, "writes": "new", "min_block_bytes": 16_384},
    }
)  # fmt: skip
UNSENT_BYTES = 16 << 20
"""More than sockets hold, so that some of it is in the master's memory alone."""


class Lagging(ValkeyDatabase):
    """Replicas stop reading before each fault, and go on once the victim is dead: what it had not sent is lost."""

    under_load = False

    async def roles(self, cluster: Cluster) -> Sequence[ServerRole]:
        found = await super().roles(cluster)
        if self.under_load:
            replicas = [
                Victim(server, role, self, cluster)
                for server, role in zip(self.servers(cluster), found, strict=True)
                if role == "replica"
            ]
            for replica in replicas:
                await replica.act("pause", "60")
            masters = [place for place, role in enumerate(found) if role == "primary"]
            while min([await self.unsent_bytes(cluster, place) for place in masters]) < UNSENT_BYTES:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            self.resuming = asyncio.create_task(self.resume(cluster, replicas))
        return found

    async def unsent_bytes(self, cluster: Cluster, place: int) -> int:
        """Of a master: what its replica has not acknowledged."""
        info = await self._command(cluster, self._running[cluster.key][place].endpoint, "INFO", "replication")
        said = dict(line.strip().partition(":")[::2] for line in info.splitlines())
        acknowledged = dict(pair.partition("=")[::2] for pair in said.get("slave0", "").split(","))
        return int(said["master_repl_offset"]) - int(acknowledged.get("offset", 0))

    async def resume(self, cluster: Cluster, replicas: Sequence[Victim]) -> None:
        """Once a server is dead."""
        while all(server.process.running() for server in self._running[cluster.key]):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        for replica in replicas:
            await replica.act("resume")


async def keys_of(database: ValkeyDatabase, cluster: Cluster) -> set[str]:
    """All that the masters hold, as another client than the load generator lists them."""
    found: set[str] = set()
    for server in database._masters(cluster):
        found |= set((await database._command(cluster, server.endpoint, "KEYS", "*")).split())
    return found


async def measured(folder: Path) -> tuple[Site, set[str], set[str]]:
    """A trial, with the keys before and after it."""
    site, _ = site_here(folder)
    machines = tuple(
        replace(this_machine(folder / f"{number}"), name=f"database-{number}") for number in range(1, 2 * MASTERS + 1)
    )
    database, cluster = Lagging(find_valkey), Cluster("tests", machines, machines[0])
    site = replace(site, cluster=cluster, database=database, connections=6, load_program=load_program())
    try:
        site = replace(site, endpoint=await database.start(cluster, SETTINGS, folder / "valkey.log"))
        site = replace(site, endpoint=await Adversity().prepare(site, PARAMETERS))
        before = await keys_of(database, cluster)
        database.under_load = True
        await Adversity().run(site, PARAMETERS)
        return site, before, await keys_of(database, cluster)
    finally:
        with suppress(AttributeError):
            database.resuming.cancel()
        await database.stop(cluster)


def test_all_acknowledged_writes_that_a_failover_lost_are_found(tmp_path: Path) -> None:
    site, before, after = asyncio.run(measured(tmp_path))
    raw = raw_of(site)
    ledger = load_output.read(raw["load-run.stdout"]).finished.ledger
    assert ledger is not None
    assert len(before) == ROWS + 1, "the rows, and what says which they are"
    new = len(after - before)
    assert before <= after
    assert ledger.acknowledged - ledger.lost + ledger.in_doubt_kept == new
    assert ledger.lost > 0, "a master was killed with writes that no replica had"
    assert ledger.unsent == 0
    values = {row.metric: row.value for row in Adversity().parse(raw, PARAMETERS) if row.at_s is None}
    assert values["writes_lost"] == ledger.lost
    faults = Adversity().observations(raw, PARAMETERS).faults
    assert all(one.confirmed and one.undone and one.role == "primary" for one in faults)
    assert len(faults) >= 1
    assert values["time_to_complete_copies"] >= PARAMETERS.fault_s
