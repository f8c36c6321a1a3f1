"""Data sets that AWS keeps between studies: snapshots of EBS volumes, and objects in S3.

A snapshot belongs to a region, and a volume of any kind can be created from one. Credentials are those of your
environment.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from typing_extensions import override

from nephoscope.machines.waiting import Clock
from nephoscope.model.units import GIB
from nephoscope.providers.aws.call import Call, tagged, tags
from nephoscope.providers.aws.cloud import SNAPSHOTS, AwsCloud, boto3_client, typed
from nephoscope.providers.aws.errors import GONE
from nephoscope.providers.aws.plan import data_volumes_of, machine_of
from nephoscope.providers.cloud.data_sets import ObjectStorage, StoredObject
from nephoscope.providers.cloud.order import CLUSTER, STUDY, ClusterOrder
from nephoscope.providers.cloud.provider import Life, patiently
from nephoscope.providers.cloud.snapshots import DATA_SET, REGION, DataVolume, Snapshot, Snapshots
from nephoscope.study.address import Bucket


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


AT_ONCE = 1000
"""Objects that one request may delete."""


class S3(ObjectStorage):
    """See `ObjectStorage`."""

    def __init__(self, clock: Clock, make_client: Callable[[], Any] = lambda: boto3_client(None, "s3")) -> None:
        """`make_client` makes boto3's client of S3."""
        self._clock = clock
        self._make_client = make_client

    @override
    async def objects(self, bucket: Bucket) -> list[StoredObject]:
        def read() -> list[StoredObject]:
            pages = self._make_client().get_paginator("list_objects_v2")
            prefix = f"{bucket.folder}/" if bucket.folder else ""
            return [
                StoredObject(one["Key"], one["Size"], round(one["LastModified"].timestamp() * 1000))
                for page in pages.paginate(Bucket=bucket.name, Prefix=prefix)
                for one in page.get("Contents", ())
            ]

        return await patiently(read, typed, self._clock)

    @override
    async def delete(self, bucket: Bucket, names: Sequence[str]) -> None:
        def delete() -> None:
            from botocore.exceptions import ClientError

            client = self._make_client()
            for begin in range(0, len(names), AT_ONCE):
                keys = [{"Key": name} for name in names[begin : begin + AT_ONCE]]
                answer = client.delete_objects(Bucket=bucket.name, Delete={"Objects": keys, "Quiet": True})
                for failed in answer.get("Errors", ()):
                    raise ClientError({"Error": failed}, "DeleteObjects")

        await patiently(delete, typed, self._clock)
