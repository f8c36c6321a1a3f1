"""Data sets that Azure keeps between studies: snapshots of managed disks, and blobs by their REST API.

Snapshots are incremental, in one resource group that outlives all clusters. Those of Ultra Disks and of Premium SSD v2
can be used only once Azure has copied all of their data, which `completionPercent` reports; those of other disks at
once (its documentation, "Instant access snapshots"). Credentials are those of your environment.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from typing_extensions import override

from nephoscope.machines.waiting import Clock
from nephoscope.model.errors import ToolMissing
from nephoscope.model.units import GIB
from nephoscope.providers.azure.cloud import INSTALL, AzureCloud, typed
from nephoscope.providers.azure.plan import Call, Names, data_disks
from nephoscope.providers.cloud.data_sets import ObjectStorage, StoredObject
from nephoscope.providers.cloud.order import CLUSTER, STUDY, ClusterOrder, short_id
from nephoscope.providers.cloud.provider import patiently
from nephoscope.providers.cloud.snapshots import DATA_SET, REGION, DataVolume, Snapshot, Snapshots
from nephoscope.study.address import Bucket

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


_SCOPE = "https://storage.azure.com/.default"
_VERSION = "2021-12-02"
"""Version of the REST API."""
_GONE = 404


class Blobs(ObjectStorage):
    """See `ObjectStorage`."""

    def __init__(self, clock: Clock, make_client: Callable[[str], Any] | None = None) -> None:
        """`make_client` makes azure-core's client of a storage account; default: as your environment is logged in."""
        self._clock = clock
        self._make_client = make_client or azure_client

    @override
    async def objects(self, bucket: Bucket) -> list[StoredObject]:
        def read() -> list[StoredObject]:
            client = self._make_client(bucket.account)
            return [_object_of(blob) for page in _pages(client, bucket) for blob in page.iter("Blob")]

        return await patiently(read, typed, self._clock)

    @override
    async def delete(self, bucket: Bucket, names: Sequence[str]) -> None:
        def delete() -> None:
            client = self._make_client(bucket.account)
            for name in names:
                _send(client, "DELETE", f"/{bucket.name}/{quote(name)}", fine=_GONE)

        await patiently(delete, typed, self._clock)


def azure_client(account: str) -> Any:
    """A client of a storage account that is logged in as your environment is.

    Raises:
        ToolMissing: an SDK is not installed.
    """
    try:
        from azure.core import PipelineClient
        from azure.core.pipeline.policies import BearerTokenCredentialPolicy
        from azure.identity import DefaultAzureCredential
    except ImportError as error:
        raise ToolMissing("Azure's SDKs are not installed, but data sets there need them", hint=INSTALL) from error
    login = BearerTokenCredentialPolicy(DefaultAzureCredential(), _SCOPE)
    return PipelineClient(f"https://{account}.blob.core.windows.net", policies=[login])


def _pages(client: Any, bucket: Bucket) -> Iterator[ElementTree.Element]:
    marker = ""
    while True:
        prefix = f"{bucket.folder}/" if bucket.folder else ""
        query = {"restype": "container", "comp": "list", "prefix": prefix, "marker": marker}
        page = ElementTree.fromstring(_send(client, "GET", f"/{bucket.name}", query).text())  # noqa: S314  # the user's own storage
        yield page
        marker = page.findtext("NextMarker") or ""
        if not marker:
            return


def _object_of(blob: ElementTree.Element) -> StoredObject:
    changed = parsedate_to_datetime(blob.findtext("Properties/Last-Modified") or "")
    size_bytes = int(blob.findtext("Properties/Content-Length") or 0)
    return StoredObject(blob.findtext("Name") or "", size_bytes, round(changed.timestamp() * 1000))


def _send(client: Any, method: str, path: str, query: dict[str, str] | None = None, fine: int | None = None) -> Any:
    """The answer.

    Raises:
        HttpResponseError: Azure refuses.
    """
    from azure.core.exceptions import HttpResponseError
    from azure.core.rest import HttpRequest

    answer = client.send_request(
        HttpRequest(method, client.format_url(path), params=query, headers={"x-ms-version": _VERSION})
    )
    if answer.status_code != fine:
        try:
            answer.raise_for_status()
        except HttpResponseError:
            answer.read()
            raise
    return answer
