"""Snapshots of disks of Compute Engine: a disk of any kind and any zone can be created from one."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from typing_extensions import override

from nephoscope.model.units import GIB
from nephoscope.providers.cloud.order import CLUSTER, STUDY, ClusterOrder, short_id
from nephoscope.providers.cloud.snapshots import DATA_SET, REGION, DataVolume, Snapshot, Snapshots
from nephoscope.providers.gcp.cloud import GcpCloud
from nephoscope.providers.gcp.errors import GONE
from nephoscope.providers.gcp.plan import Call, data_disk_name, delete_call, label_filter, labels_of, tags_of


class DiskSnapshots(Snapshots):
    """See `Snapshots`. Google keeps them beyond regions: a label says for which one they are meant."""

    def __init__(self, cloud: GcpCloud) -> None:
        self._cloud = cloud

    @override
    async def found(self, region: str) -> list[Snapshot]:
        found = await self._listed(f"labels.{REGION}={labels_of({REGION: region})[REGION]}")
        return [one for one in found if one.tags.get(REGION) == region]

    @override
    async def of_study(self, study: str, regions: Collection[str] = ()) -> list[Snapshot]:
        return [one for one in await self._listed(label_filter(STUDY, study)) if one.tags.get(STUDY) == study]

    @override
    async def volumes(self, order: ClusterOrder) -> list[DataVolume]:
        role = next(role for role in order.roles if role.role == "database")
        names = [
            (name, data_disk_name(order, name, index))
            for name in role.names
            for index, (volume, _) in enumerate(role.volumes_of(name))
            if volume.use != "raw"
        ]
        return [DataVolume(number, disk, role.zone_of(name)) for number, (name, disk) in enumerate(names, start=1)]

    @override
    async def make(self, volume: DataVolume, tags: Mapping[str, str]) -> None:
        project = self._cloud.project
        resource = {
            "name": f"nephoscope-{short_id(f'{tags[CLUSTER]} {tags[DATA_SET]}')}-{volume.number}",
            "sourceDisk": f"projects/{project}/zones/{volume.zone}/disks/{volume.id}",
            "labels": labels_of(tags),
            "description": json.dumps(dict(tags), sort_keys=True),
        }
        arguments = {"project": project, "snapshotResource": resource}
        await self._cloud.done([Call("SnapshotsClient", "insert_unary", "InsertSnapshotRequest", arguments)])

    @override
    async def delete(self, snapshots: Sequence[Snapshot]) -> None:
        calls = [delete_call("Snapshots", "Snapshot", self._cloud.project, snapshot=one.id) for one in snapshots]
        await self._cloud.done(calls, fine=GONE)

    async def _listed(self, matching: str) -> list[Snapshot]:
        arguments = {"project": self._cloud.project, "filter": matching}
        call = Call("SnapshotsClient", "list", "ListSnapshotsRequest", arguments)
        return [_snapshot(one) for one in await self._cloud.read(call, list)]


def _snapshot(said: Mapping[str, Any]) -> Snapshot:
    stored = said.get("storageBytes") if said["status"] == "READY" else None
    return Snapshot(
        id=said["name"],
        tags=tags_of(said),
        size_bytes=int(stored if stored is not None else int(said["diskSizeGb"]) * GIB),
        made_unix_ms=round(datetime.fromisoformat(said["creationTimestamp"]).timestamp() * 1000),
        complete=said["status"] == "READY",
        failed=said["status"] == "FAILED",
    )
