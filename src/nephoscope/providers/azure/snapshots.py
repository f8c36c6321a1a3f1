"""Snapshots of Azure's managed disks: incremental ones, in one resource group that outlives all clusters.

Snapshots of Ultra Disks and of Premium SSD v2 can be used only once Azure has copied all of their data, which
`completionPercent` reports; those of other disks at once (its documentation, "Instant access snapshots").
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from typing_extensions import override

from nephoscope.model.units import GIB
from nephoscope.providers.azure.cloud import AzureCloud
from nephoscope.providers.azure.plan import Call, Names, data_disks
from nephoscope.providers.cloud.order import CLUSTER, STUDY, ClusterOrder, short_id
from nephoscope.providers.cloud.snapshots import DATA_SET, REGION, DataVolume, Snapshot, Snapshots

GROUP = "nephoscope-data-sets"
"""Of all snapshots, in any region; made with the first, and never deleted: empty, it costs nothing."""
_WHOLE = 100.0


class ManagedDiskSnapshots(Snapshots):
    """See `Snapshots`."""

    def __init__(self, cloud: AzureCloud) -> None:
        self._cloud = cloud

    @override
    async def found(self, region: str) -> list[Snapshot]:
        return [one for one in await self._all() if one.tags.get(REGION) == region]

    @override
    async def of_study(self, study: str, regions: Collection[str] = ()) -> list[Snapshot]:
        return [one for one in await self._all() if one.tags.get(STUDY) == study]

    @override
    async def volumes(self, order: ClusterOrder) -> list[DataVolume]:
        role = next(role for role in order.roles if role.role == "database")
        names = Names(order.key, self._cloud.subscription)
        disks = [
            (name, names.id("Microsoft.Compute/disks", disk))
            for name in role.names
            for disk, volume, _ in data_disks(role, name)
            if volume.use != "raw"
        ]
        return [DataVolume(number, disk, role.zone_of(name)) for number, (name, disk) in enumerate(disks, start=1)]

    @override
    async def make(self, volume: DataVolume, tags: Mapping[str, str]) -> None:
        group = Call("resource", "resource_groups", "create_or_update", (GROUP, {"location": tags[REGION]}))
        if await self._cloud.send(Call("resource", "resource_groups", "get", (GROUP,))) is None:
            await self._cloud.send(group, gone_is_fine=False)
        body = {
            "location": tags[REGION],
            "tags": dict(tags),
            "properties": {
                "creationData": {"createOption": "Copy", "sourceResourceId": volume.id},
                "incremental": True,
            },
        }
        name = f"nephoscope-{short_id(f'{tags[CLUSTER]} {tags[DATA_SET]}')}-{volume.number}"
        made = Call("compute", "snapshots", "begin_create_or_update", (GROUP, name, body))
        await self._cloud.send(made, gone_is_fine=False)

    @override
    async def delete(self, snapshots: Sequence[Snapshot]) -> None:
        for one in snapshots:
            name = one.id.rpartition("/")[2]
            await self._cloud.send(Call("compute", "snapshots", "begin_delete", (GROUP, name)))

    async def _all(self) -> list[Snapshot]:
        listed = await self._cloud.listed(Call("compute", "snapshots", "list_by_resource_group", (GROUP,)))
        return [_snapshot(one) for one in listed]


def _snapshot(said: Mapping[str, Any]) -> Snapshot:
    properties = said["properties"]
    size_bytes = properties.get("diskSizeBytes") or int(properties["diskSizeGB"]) * GIB
    state, copied = properties.get("provisioningState"), properties.get("completionPercent")
    return Snapshot(
        id=said["id"],
        tags=said.get("tags") or {},
        size_bytes=int(size_bytes),
        made_unix_ms=round(datetime.fromisoformat(properties["timeCreated"]).timestamp() * 1000),
        complete=state == "Succeeded" and (copied is None or copied >= _WHOLE),
        failed=state == "Failed",
    )
