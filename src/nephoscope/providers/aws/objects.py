"""Object storage of AWS: S3, with the credentials of your environment."""

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import override

from nephoscope.machines.waiting import Clock
from nephoscope.providers.aws.cloud import boto3_client, typed
from nephoscope.providers.cloud.data_sets import ObjectStorage, StoredObject
from nephoscope.providers.cloud.provider import patiently
from nephoscope.study.address import Bucket

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
