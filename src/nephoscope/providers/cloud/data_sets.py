"""Data sets that stay in a cloud's object storage between studies: found by their names, and deleted on request."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from nephoscope.study.address import Bucket

_NAME = re.compile(r"nephoscope_[a-z0-9_]+_[0-9a-f]{12}")
"""As benchmarks name a data set; the digits are a digest of its benchmark, version, size and seed."""
_DOTS = frozenset({".", ".."})
"""Parts of a path that HTTP clients take out of an address, so that it would name another object."""


@dataclass(frozen=True)
class StoredObject:
    """One object of a bucket."""

    name: str
    """Its whole path in the bucket."""
    size_bytes: int
    changed_unix_ms: int


class ObjectStorage(Protocol):
    """Object storage of one cloud."""

    async def objects(self, bucket: Bucket) -> list[StoredObject]:
        """Everything in its folder.

        Raises:
            NephoscopeError: it cannot be listed.
        """

    async def delete(self, bucket: Bucket, names: Sequence[str]) -> None:
        """Deletes objects; no error for one that is gone.

        Raises:
            NephoscopeError: one of them could not be deleted.
        """


@dataclass(frozen=True)
class DataSet:
    """A data set in a bucket, loaded completely or not."""

    name: str
    """With its digest: equal names are equal data."""
    bucket: Bucket
    size_bytes: int
    stored_unix_ms: int
    """When its last object was written."""
    objects: tuple[str, ...]


def data_sets_of(bucket: Bucket, objects: Iterable[StoredObject]) -> list[DataSet]:
    """The data sets among the objects of a bucket, by name. Whatever has another name is not nephoscope's."""
    folder = f"{bucket.folder}/" if bucket.folder else ""
    found: dict[str, list[StoredObject]] = defaultdict(list)
    for one in objects:
        name, slash, _ = one.name.removeprefix(folder).partition("/")
        if one.name.startswith(folder) and slash and _NAME.fullmatch(name) and _DOTS.isdisjoint(one.name.split("/")):
            found[name].append(one)
    return [
        DataSet(
            name=name,
            bucket=bucket,
            size_bytes=sum(one.size_bytes for one in many),
            stored_unix_ms=max(one.changed_unix_ms for one in many),
            objects=tuple(sorted(one.name for one in many)),
        )
        for name, many in sorted(found.items())
    ]
