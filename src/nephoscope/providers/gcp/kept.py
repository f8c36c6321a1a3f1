"""Data sets that Google keeps between studies: snapshots of disks, and objects in Cloud Storage, by its JSON API.

A disk of any kind and any zone can be created from a snapshot. Credentials are those of your environment.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from typing_extensions import override

from nephoscope.machines.waiting import Clock
from nephoscope.model.errors import EnvironmentProblem, NephoscopeError, ToolMissing
from nephoscope.model.units import GIB
from nephoscope.providers.cloud.data_sets import ObjectStorage, StoredObject
from nephoscope.providers.cloud.order import CLUSTER, STUDY, ClusterOrder, short_id
from nephoscope.providers.cloud.provider import patiently
from nephoscope.providers.cloud.snapshots import DATA_SET, REGION, DataVolume, Snapshot, Snapshots
from nephoscope.providers.gcp.cloud import INSTALL, LOGIN, GcpCloud, typed
from nephoscope.providers.gcp.errors import GONE, of_reason
from nephoscope.providers.gcp.plan import Call, data_disk_name, delete_call, label_filter, labels_of, tags_of
from nephoscope.study.address import Bucket


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


GOOGLE = "https://storage.googleapis.com"
_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_TIMEOUT_S = 60.0
_GONE = 404
_REFUSED = 400


class _RefusedError(Exception):
    """A request failed; `patiently` decides by its meaning whether to make it again."""

    def __init__(self, meaning: NephoscopeError) -> None:
        super().__init__(meaning.message)
        self.meaning = meaning


class CloudStorage(ObjectStorage):
    """See `ObjectStorage`."""

    def __init__(self, clock: Clock, make_session: Callable[[], Any] | None = None, url: str = GOOGLE) -> None:
        """`make_session` makes a session of `requests` that is logged in; default: as your environment is."""
        self._clock = clock
        self._make_session = make_session or google_session
        self._url = url

    @override
    async def objects(self, bucket: Bucket) -> list[StoredObject]:
        def read() -> list[StoredObject]:
            session = self._make_session()
            return [_object_of(one) for page in self._pages(session, bucket) for one in page.get("items", ())]

        return await patiently(read, _typed, self._clock)

    def _pages(self, session: Any, bucket: Bucket) -> Iterator[Mapping[str, Any]]:
        query = {"prefix": f"{bucket.folder}/" if bucket.folder else ""}
        while True:
            page = _answer(session.get(self._objects_url(bucket), params=query, timeout=_TIMEOUT_S)).json()
            yield page
            if not page.get("nextPageToken"):
                return
            query["pageToken"] = page["nextPageToken"]

    @override
    async def delete(self, bucket: Bucket, names: Sequence[str]) -> None:
        def delete() -> None:
            session = self._make_session()
            for name in names:
                url = f"{self._objects_url(bucket)}/{quote(name, safe='')}"
                _answer(session.delete(url, timeout=_TIMEOUT_S), fine=_GONE)

        await patiently(delete, _typed, self._clock)

    def _objects_url(self, bucket: Bucket) -> str:
        return f"{self._url}/storage/v1/b/{quote(bucket.name, safe='')}/o"


def _typed(error: Exception) -> NephoscopeError | None:
    return error.meaning if isinstance(error, _RefusedError) else typed(error)


def google_session() -> Any:
    """A session that is logged in as your environment is.

    Raises:
        ToolMissing: the SDK is not installed.
        EnvironmentProblem: there are no credentials.
    """
    try:
        import google.auth
        from google.auth.exceptions import GoogleAuthError
        from google.auth.transport.requests import AuthorizedSession
    except ImportError as error:
        raise ToolMissing("Google's SDK is not installed, but data sets in gs:// need it", hint=INSTALL) from error
    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
    except GoogleAuthError as error:
        raise EnvironmentProblem(f"no access to GCP: {error}", hint=LOGIN) from error
    return AuthorizedSession(credentials)


def _object_of(one: Mapping[str, Any]) -> StoredObject:
    changed = datetime.fromisoformat(one["updated"])
    return StoredObject(one["name"], int(one["size"]), round(changed.timestamp() * 1000))


def _answer(answer: Any, fine: int | None = None) -> Any:
    """The answer, unless the request failed.

    Raises:
        _RefusedError: it did.
    """
    if answer.status_code >= _REFUSED and answer.status_code != fine:
        try:
            said = answer.json()["error"]
        except (ValueError, KeyError, TypeError):
            said = {}
        reasons = said.get("errors") or [{}]
        message = said.get("message") or answer.reason or ""
        raise _RefusedError(of_reason(reasons[0].get("reason", ""), answer.status_code, message))
    return answer
