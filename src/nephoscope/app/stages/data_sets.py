"""Data sets that clouds keep between studies: which there are, what they cost, and their end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nephoscope.app.stages.planning import read_study
from nephoscope.model.errors import InputError, NephoscopeError
from nephoscope.model.units import GIB, SECONDS_PER_DAY
from nephoscope.model.words import counted
from nephoscope.prices.book import shipped
from nephoscope.prices.kept import objects_usd, snapshots_usd
from nephoscope.providers.cloud.data_sets import ObjectStorage, data_sets_of
from nephoscope.providers.cloud.snapshots import Snapshot, Snapshots, SnapshotSet, sets_of
from nephoscope.study.address import Bucket, bucket_of
from nephoscope.study.model import Study
from nephoscope.study.snapshots import SnapshotPlace, place_at, place_of

HEADERS = ("where", "data set", "GiB", "age in days", "USD per month")
_FORMS = (
    "s3://bucket/folder, gs://bucket/folder, azure-stores://account/container/folder or "
    "azure-blob://container/folder?AZURE_ACCOUNT_NAME=account"
)
_UNKNOWN = "-"

Place = Bucket | SnapshotPlace


@dataclass(frozen=True)
class Stores:
    """What clouds keep data in, by provider."""

    objects: Mapping[str, ObjectStorage]
    snapshots: Mapping[str, Snapshots]


@dataclass(frozen=True)
class KeptSet:
    """A data set in one place."""

    name: str
    """With its digest: equal names are equal data."""
    place: Place
    size_bytes: int
    stored_unix_ms: int
    """When the last of it was written."""
    objects: tuple[str, ...] = ()
    """Of object storage."""
    snapshots: tuple[Snapshot, ...] = ()
    whole: bool = True
    """False: snapshots of it are missing or incomplete, so no cluster can use them."""

    @property
    def where(self) -> str:
        """'aws bucket/folder', '3 snapshots of aws us-east-1'."""
        if not self.snapshots:
            return str(self.place)
        state = "" if self.whole else ", unfinished"
        return f"{len(self.snapshots)} {self.place}{state}"


@dataclass(frozen=True)
class Kept:
    """What was found."""

    sets: list[KeptSet]
    unread: dict[str, str]
    """Place -> why it could not be read."""


@dataclass(frozen=True)
class Row:
    """A data set as it is printed."""

    where: str
    name: str
    size_bytes: int
    stored_unix_ms: int
    age_days: float
    usd_per_month: float | None
    """By list prices, of object storage those in the USA; None: there is no price."""


def places_of(where: str) -> list[Place]:
    """The places of a study file, of a results folder's study, or of an address, each once.

    Raises:
        InputError: there is no such file, or nothing in it names a place.
    """
    if "://" in where:
        found = bucket_of(where) or place_at(where)
        if found is None:
            raise InputError(
                f"{where} is not an address of object storage or snapshots",
                hint=f"name {_FORMS}, or snapshots://aws/region",
            )
        return [found]
    path = Path(where)
    places = used_by(read_study(path / "study.toml" if path.is_dir() else path))
    if not places:
        raise InputError(
            f"no configuration of {where} keeps data sets in object storage or snapshots",
            hint=f"set `database.fixtures` to snapshots, or to {_FORMS}",
        )
    return places


def used_by(study: Study) -> list[Place]:
    """The places in which a study keeps data sets, each once."""
    places = [bucket_of(one.database.fixtures or "") or place_of(one) for one in study.configurations]
    return list(dict.fromkeys(filter(None, places)))


def reminder(study: Study, where: str) -> str:
    """What a study leaves at its clouds on purpose; empty: nothing. `where`: its folder."""
    places = ", ".join(map(str, used_by(study)))
    return f"data sets stay in {places}; to list and delete them: nephoscope fixtures {where}" if places else ""


async def kept(places: Sequence[Place], stores: Stores) -> Kept:
    """All data sets in these places. One that cannot be read does not hide the others."""
    sets: list[KeptSet] = []
    unread: dict[str, str] = {}
    for place in places:
        try:
            sets += await _kept_in(place, stores)
        except NephoscopeError as error:
            unread[str(place)] = error.message
    return Kept(sets, unread)


async def _kept_in(place: Place, stores: Stores) -> list[KeptSet]:
    if isinstance(place, Bucket):
        return [
            KeptSet(one.name, place, one.size_bytes, one.stored_unix_ms, objects=one.objects)
            for one in data_sets_of(place, await stores.objects[place.provider].objects(place))
        ]
    return [_kept_set(place, one) for one in sets_of(await stores.snapshots[place.provider].found(place.region))]


def _kept_set(place: SnapshotPlace, found: SnapshotSet) -> KeptSet:
    return KeptSet(
        found.data_set,
        place,
        found.size_bytes,
        found.made_unix_ms,
        snapshots=found.snapshots,
        whole=found.whole,
    )


def chosen(found: Kept, names: Sequence[str]) -> list[KeptSet]:
    """The data sets of these names, in every place.

    Raises:
        InputError: there is none of one of the names, so that nothing is deleted.
    """
    missing = sorted({*names} - {one.name for one in found.sets})
    if missing:
        unread = "".join(f"; {place} could not be read: {why}" for place, why in found.unread.items())
        raise InputError(
            f"there is no data set {', '.join(missing)}; nothing was deleted{unread}",
            hint="without --delete, `nephoscope fixtures` lists the names",
        )
    return [one for one in found.sets if one.name in names]


async def delete(sets: Sequence[KeptSet], stores: Stores) -> list[KeptSet]:
    """Deletes data sets and looks again. Returns what is still there.

    Raises:
        NephoscopeError: a cloud refuses.
    """
    for one in sets:
        if isinstance(one.place, Bucket):
            await stores.objects[one.place.provider].delete(one.place, one.objects)
        else:
            await stores.snapshots[one.place.provider].delete(one.snapshots)
    gone = {(one.place, one.name) for one in sets}
    found = [one for place in dict.fromkeys(one.place for one in sets) for one in await _kept_in(place, stores)]
    return [one for one in found if (one.place, one.name) in gone]


def rows_of(sets: Sequence[KeptSet], now_unix_ms: int) -> list[Row]:
    """One for each data set."""
    return [
        Row(
            where=one.where,
            name=one.name,
            size_bytes=one.size_bytes,
            stored_unix_ms=one.stored_unix_ms,
            age_days=max(0.0, (now_unix_ms - one.stored_unix_ms) / 1000 / SECONDS_PER_DAY),
            usd_per_month=_month_usd(one.place, one.size_bytes),
        )
        for one in sets
    ]


def _month_usd(place: Place, size_bytes: int) -> float | None:
    if isinstance(place, Bucket):
        return objects_usd(place.provider, size_bytes)
    return snapshots_usd(shipped(), place.provider, place.region, size_bytes)


def cells(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """A row for each data set; see `HEADERS`."""
    for row in rows:
        usd = _UNKNOWN if row.usd_per_month is None else f"{row.usd_per_month:,.2f}"
        yield row.where, row.name, f"{row.size_bytes / GIB:,.1f}", f"{row.age_days:,.1f}", usd


def total(rows: Sequence[Row]) -> str:
    """'2 data sets, 151.0 GiB, at most $3.10 a month by list prices'."""
    if not rows:
        return "no data sets"
    prices_usd = [row.usd_per_month for row in rows if row.usd_per_month is not None]
    unpriced = f", without {len(rows) - len(prices_usd)} that have no price" if len(prices_usd) < len(rows) else ""
    size_bytes = sum(row.size_bytes for row in rows)
    return (
        f"{counted(len(rows), 'data set')}, {size_bytes / GIB:,.1f} GiB, about ${sum(prices_usd):,.2f} a month by list "
        f"prices{unpriced}"
    )
