"""Snapshots of EBS volumes: they belong to a region, and a volume of any kind can be created from one."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from typing_extensions import override

from nephoscope.model.units import GIB
from nephoscope.providers.aws.call import Call, tagged, tags
from nephoscope.providers.aws.cloud import SNAPSHOTS, AwsCloud
from nephoscope.providers.aws.errors import GONE
from nephoscope.providers.aws.plan import data_volumes_of, machine_of
from nephoscope.providers.cloud.order import CLUSTER, STUDY, ClusterOrder
from nephoscope.providers.cloud.provider import Life
from nephoscope.providers.cloud.snapshots import DATA_SET, REGION, DataVolume, Snapshot, Snapshots


class EbsSnapshots(Snapshots):
    """See `Snapshots`."""

    def __init__(self, cloud: AwsCloud) -> None:
        self._cloud = cloud

    @override
    async def found(self, region: str) -> list[Snapshot]:
        """Without copies of snapshots of other regions, which have their tags."""
        found = await self._cloud.listed(region, SNAPSHOTS, {"tag-key": [DATA_SET]}, OwnerIds=["self"])
        return [one for one in map(_snapshot, found) if DATA_SET in one.tags and one.tags.get(REGION) == region]

    @override
    async def of_study(self, study: str, regions: Collection[str] = ()) -> list[Snapshot]:
        async def of(region: str) -> list[Snapshot]:
            found = await self._cloud.carrying(region, SNAPSHOTS, STUDY, study, OwnerIds=["self"])
            return [one for one in map(_snapshot, found) if one.tags.get(REGION) == region]

        return [one for found in await self._cloud.in_each(regions, of) for one in found]

    @override
    async def volumes(self, order: ClusterOrder) -> list[DataVolume]:
        role = next(role for role in order.roles if role.role == "database")
        living = {}
        for instance in await self._cloud.instances(role.region, CLUSTER, order.key):
            machine = machine_of(instance)
            if machine.life is Life.RUNNING:
                living[machine.name] = instance
        ids = [
            (name, volume)
            for name in role.names
            if name in living
            for volume in data_volumes_of(living[name], role, name)
        ]
        return [DataVolume(number, volume, role.zone_of(name)) for number, (name, volume) in enumerate(ids, start=1)]

    @override
    async def make(self, volume: DataVolume, tags: Mapping[str, str]) -> None:
        call = Call("create_snapshot", {"VolumeId": volume.id, "TagSpecifications": [tagged("snapshot", tags)]})
        await self._cloud.send(tags[REGION], call)

    @override
    async def delete(self, snapshots: Sequence[Snapshot]) -> None:
        for one in snapshots:
            await self._cloud.send(one.tags[REGION], Call("delete_snapshot", {"SnapshotId": one.id}), fine=GONE)


def _snapshot(said: Mapping[str, Any]) -> Snapshot:
    return Snapshot(
        id=said["SnapshotId"],
        tags=tags(said),
        size_bytes=said.get("FullSnapshotSizeInBytes") or int(said["VolumeSize"] * GIB),
        made_unix_ms=round(said["StartTime"].timestamp() * 1000),
        complete=said["State"] == "completed",
        failed=said["State"] == "error",
    )
