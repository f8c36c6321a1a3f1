"""Data sets that clouds keep between studies: which there are, what they cost, and their end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nephoscope.app.stages.planning import read_study
from nephoscope.model.errors import InputError, NephoscopeError
from nephoscope.model.units import GIB, SECONDS_PER_DAY
from nephoscope.model.words import counted
from nephoscope.prices.object_storage import month_usd
from nephoscope.providers.cloud.data_sets import DataSet, ObjectStorage, data_sets_of
from nephoscope.study.buckets import Bucket, bucket_of
from nephoscope.study.model import Study

HEADERS = ("where", "data set", "GiB", "age in days", "USD per month")
_FORMS = (
    "s3://bucket/folder, gs://bucket/folder, azure-stores://account/container/folder or "
    "azure-blob://container/folder?AZURE_ACCOUNT_NAME=account"
)


@dataclass(frozen=True)
class Kept:
    """What was found."""

    sets: list[DataSet]
    unread: dict[str, str]
    """Bucket -> why it could not be read."""


@dataclass(frozen=True)
class Row:
    """A data set as it is printed."""

    where: str
    name: str
    size_bytes: int
    stored_unix_ms: int
    age_days: float
    usd_per_month: float
    """By list prices of standard storage in the USA."""


def buckets_of(where: str) -> list[Bucket]:
    """The buckets of a study file, of a results folder's study, or of an address, each once.

    Raises:
        InputError: there is no such file, or nothing in it names a bucket.
    """
    if "://" in where:
        found = bucket_of(where)
        if found is None:
            raise InputError(f"{where} is no address of object storage", hint=f"name {_FORMS}")
        return [found]
    path = Path(where)
    buckets = used_by(read_study(path / "study.toml" if path.is_dir() else path))
    if not buckets:
        raise InputError(
            f"no configuration of {where} keeps data sets in object storage",
            hint=f"set `database.fixtures` to {_FORMS}",
        )
    return buckets


def used_by(study: Study) -> list[Bucket]:
    """The buckets in which a study keeps data sets, each once."""
    places = [one.database.fixtures for one in study.configurations if one.database.fixtures]
    return list(dict.fromkeys(filter(None, map(bucket_of, places))))


def reminder(study: Study, where: str) -> str:
    """What a study leaves in object storage on purpose; empty: it uses none. `where`: its folder."""
    buckets = ", ".join(map(str, used_by(study)))
    return f"data sets stay in {buckets}; to list and delete them: nephoscope fixtures {where}" if buckets else ""


async def kept(buckets: Sequence[Bucket], storages: Mapping[str, ObjectStorage]) -> Kept:
    """All data sets in these buckets. One that cannot be read does not hide the others."""
    sets: list[DataSet] = []
    unread: dict[str, str] = {}
    for bucket in buckets:
        try:
            sets += data_sets_of(bucket, await storages[bucket.provider].objects(bucket))
        except NephoscopeError as error:
            unread[str(bucket)] = error.message
    return Kept(sets, unread)


def chosen(found: Kept, names: Sequence[str]) -> list[DataSet]:
    """The data sets of these names, in every bucket.

    Raises:
        InputError: there is none of one of the names, so that nothing is deleted.
    """
    missing = sorted({*names} - {one.name for one in found.sets})
    if missing:
        unread = "".join(f"; {bucket} could not be read: {why}" for bucket, why in found.unread.items())
        raise InputError(
            f"there is no data set {', '.join(missing)}; nothing was deleted{unread}",
            hint="without --delete, `nephoscope fixtures` lists the names",
        )
    return [one for one in found.sets if one.name in names]


async def delete(sets: Sequence[DataSet], storages: Mapping[str, ObjectStorage]) -> list[DataSet]:
    """Deletes data sets and looks again. Returns what is still there.

    Raises:
        NephoscopeError: a cloud refuses.
    """
    for one in sets:
        await storages[one.bucket.provider].delete(one.bucket, one.objects)
    buckets = dict.fromkeys(one.bucket for one in sets)
    gone = {(one.bucket, one.name) for one in sets}
    found = [one for bucket in buckets for one in data_sets_of(bucket, await storages[bucket.provider].objects(bucket))]
    return [one for one in found if (one.bucket, one.name) in gone]


def rows_of(sets: Sequence[DataSet], now_unix_ms: int) -> list[Row]:
    """One for each data set."""
    return [
        Row(
            where=str(one.bucket),
            name=one.name,
            size_bytes=one.size_bytes,
            stored_unix_ms=one.stored_unix_ms,
            age_days=max(0.0, (now_unix_ms - one.stored_unix_ms) / 1000 / SECONDS_PER_DAY),
            usd_per_month=month_usd(one.bucket.provider, one.size_bytes),
        )
        for one in sets
    ]


def cells(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """A row for each data set; see `HEADERS`."""
    for row in rows:
        yield row.where, row.name, f"{row.size_bytes / GIB:,.1f}", f"{row.age_days:,.1f}", f"{row.usd_per_month:,.2f}"


def total(rows: Sequence[Row]) -> str:
    """'2 data sets, 151.0 GiB, about $3.10 a month by list prices of standard storage in the USA'."""
    if not rows:
        return "no data sets"
    size_bytes, usd = sum(row.size_bytes for row in rows), sum(row.usd_per_month for row in rows)
    return (
        f"{counted(len(rows), 'data set')}, {size_bytes / GIB:,.1f} GiB, about ${usd:,.2f} a month by list prices of "
        "standard storage in the USA"
    )
