"""Object storage of Azure: blobs by their REST API, with the credentials of your environment."""

from collections.abc import Callable, Iterator, Sequence
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from typing_extensions import override

from nephoscope.machines.waiting import Clock
from nephoscope.model.errors import ToolMissing
from nephoscope.providers.azure.cloud import INSTALL, typed
from nephoscope.providers.cloud.data_sets import ObjectStorage, StoredObject
from nephoscope.providers.cloud.provider import patiently
from nephoscope.study.address import Bucket

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
