"""A fake database whose data set is on its machines, and a fake benchmark that loads it: for clouds with snapshots.

What is on a machine is a file in its data folder; `moto_ec2.FakeConnect` puts it on machines whose volumes come from
snapshots of that data set.
"""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.fake import Fake
from nephoscope.databases.base import Endpoint
from nephoscope.databases.fake import FakeDatabase
from nephoscope.machines.remote import MachineHandle
from nephoscope.providers.base import Cluster

NAME = "nephoscope_fake_0123456789ab"
SIZE_BYTES = 1 << 30
LOADS = "loads.txt"
"""Below the folder of all machines: the cluster of each load that was begun."""


class LoadsData(Fake):
    """`fake`, on a data set."""

    def fixture_bytes(self, parameters: Any) -> int:
        return SIZE_BYTES if parameters.database else 0

    def fixture_name(self, parameters: Any, data_seed: int) -> str:
        return NAME

    @override
    async def prepare(self, site: Site, parameters: Any) -> Endpoint | None:
        database, endpoint = site.database, site.endpoint
        assert isinstance(database, OnItsMachines)
        assert endpoint is not None
        if not await database.has_fixture(site.cluster, endpoint, NAME):
            await database.create_fixture(site.cluster, endpoint, NAME)
            await database.seal_fixture(site.cluster, endpoint, NAME)
        return await database.clone_fixture(site.cluster, endpoint, NAME)


@dataclass
class OnItsMachines(FakeDatabase):
    """Keeps data sets in the data folders of its cluster, and in snapshots of their volumes."""

    machines: Path = Path()
    """Where all of them are."""
    load_s: float = 0.5

    @override
    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:
        return all(self._file(machine, fixture).exists() for machine in cluster.database)

    @override
    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        with (self.machines / LOADS).open("a", encoding="utf-8") as file:
            file.write(f"{cluster.key}\n")
        await asyncio.sleep(self.load_s)
        return replace(endpoint, dsn=f"fake://{fixture}")

    @override
    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        assert cluster.volumes is not None
        assert cluster.volumes.data_set == fixture
        await cluster.volumes.keep()
        for machine in cluster.database:
            self._file(machine, fixture).touch()

    @override
    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        assert await self.has_fixture(cluster, endpoint, fixture)
        return replace(endpoint, dsn=f"fake://trial-of-{fixture}")

    def _file(self, machine: MachineHandle, fixture: str) -> Path:
        return self.machines / Path(machine.data_dir).name / fixture
