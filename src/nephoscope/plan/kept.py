"""What stays in object storage and in snapshots after a plan, and what a month of it costs. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from nephoscope.prices import object_storage, snapshots
from nephoscope.prices.book import PriceBook
from nephoscope.study.address import Bucket, bucket_of
from nephoscope.study.model import Configuration
from nephoscope.study.snapshots import COPIES, SnapshotPlace, layout_of, place_of, stored_bytes


@dataclass(frozen=True)
class KeptData:
    """Data sets in one place, until somebody deletes them."""

    where: str
    """'aws bucket/folder', or 'snapshots of aws us-east-1'."""
    data_sets: int
    """One for each kind of machines that it fits."""
    size_bytes: float
    """At most: a backup is compressed, and holds one copy of the data; a snapshot all copies, as they are stored."""
    usd_per_month: float | None
    """By list prices in the USA; None: there is no price."""


def kept_data(used: Iterable[tuple[Configuration, int]], book: PriceBook) -> list[KeptData]:
    """By place, in the order of the plan; data sets of one size count as one, as they do for the hours of loads.

    Args:
        used: configuration and size in bytes of the data set of each trial; 0: it has none.
        book: of prices.
    """
    sizes: dict[Bucket | SnapshotPlace, dict[tuple[object, ...], float]] = {}
    for configuration, size_bytes in used:
        bucket, place = bucket_of(configuration.database.fixtures or ""), place_of(configuration)
        machines = configuration.database_machine.count
        if not size_bytes:
            continue
        if place is not None:
            fits = (size_bytes, layout_of(configuration))
            sizes.setdefault(place, {})[fits] = machines * stored_bytes(size_bytes, machines)
        elif bucket is not None:
            machines = machines if bucket.holds_stores else 1
            # stores fit clusters of as many machines only; a backup fits all
            sizes.setdefault(bucket, {})[size_bytes, machines] = size_bytes * min(COPIES, machines)
    return [
        KeptData(str(where), len(found), sum(found.values()), _month_usd(where, sum(found.values()), book))
        for where, found in sizes.items()
    ]


def _month_usd(where: Bucket | SnapshotPlace, size_bytes: float, book: PriceBook) -> float | None:
    if isinstance(where, Bucket):
        return object_storage.month_usd(where.provider, size_bytes)
    return snapshots.month_usd(book, where.provider, where.region, size_bytes)
