"""What stays in object storage after a plan, and what a month of it costs. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from nephoscope.prices.object_storage import month_usd
from nephoscope.study.buckets import bucket_of
from nephoscope.study.model import Configuration

_COPIES = 3
"""Of the data in the stores of a cluster of three machines or more."""


@dataclass(frozen=True)
class KeptData:
    """Data sets in one bucket, until somebody deletes them."""

    where: str
    """'aws bucket/folder'."""
    data_sets: int
    size_bytes: int
    """At most: a backup is compressed, and holds one copy of the data."""
    usd_per_month: float
    """By list prices of standard storage in the USA."""


def kept_data(used: Iterable[tuple[Configuration, int]]) -> list[KeptData]:
    """By bucket, in the order of the plan; data sets of one size count as one, as they do for the hours of loads.

    Args:
        used: configuration and size in bytes of the data set of each trial; 0: it has none.
    """
    sizes: dict[str, dict[tuple[int, int], int]] = {}
    prices: dict[str, float] = {}
    for configuration, size_bytes in used:
        bucket = bucket_of(configuration.database.fixtures or "")
        if bucket is None or not size_bytes:
            continue
        machines = configuration.database_machine.count if bucket.holds_stores else 1
        stored_bytes = size_bytes * min(_COPIES, machines)
        # stores fit clusters of as many machines only; a backup fits all
        sizes.setdefault(str(bucket), {})[size_bytes, machines] = stored_bytes
        prices[str(bucket)] = month_usd(bucket.provider, 1)
    return [
        KeptData(where, len(found), sum(found.values()), prices[where] * sum(found.values()))
        for where, found in sizes.items()
    ]
