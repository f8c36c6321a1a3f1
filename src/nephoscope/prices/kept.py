"""What clouds charge for keeping data sets: in object storage, and as snapshots of volumes by the price book. Pure."""

from collections.abc import Mapping
from datetime import date

from nephoscope.model.units import GIB
from nephoscope.prices.book import PriceBook
from nephoscope.prices.rows import Basis

USD_PER_GIB_MONTH: Mapping[str, float] = {"aws": 0.023, "azure": 0.018, "gcp": 0.020}
"""List prices of standard storage (S3 Standard, hot blobs with local redundancy, Standard in one region) in regions of
the USA, first tier, as published in 2026. Other regions cost up to twice as much; requests and transfer are extra."""


def objects_usd(provider: str, size_bytes: float) -> float:
    """A month's storage."""
    return USD_PER_GIB_MONTH[provider] * size_bytes / GIB


ITEMS: Mapping[str, str] = {"aws": "EBS snapshot", "azure": "managed disk snapshot", "gcp": "PD snapshot"}
"""Provider -> its name in the price book. Clouds bill by the GiB, whatever they call it, of what a snapshot stores."""


def snapshots_usd(book: PriceBook, provider: str, region: str, size_bytes: float) -> float | None:
    """A month's snapshots by the newest price, of another region if this one has none; None: there is no price."""
    item = ITEMS[provider]
    here = book.price_at(date.max, provider, region, item, Basis.ON_DEMAND)
    pick = (
        here
        if here.prices or here.contradicted
        else book.price_elsewhere(date.max, provider, region, item, Basis.ON_DEMAND)
    )
    return pick.price.usd * size_bytes / GIB if pick.prices else None
