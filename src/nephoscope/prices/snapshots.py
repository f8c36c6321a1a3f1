"""What clouds charge for keeping snapshots of volumes, by the price book. Pure."""

from collections.abc import Mapping
from datetime import date

from nephoscope.model.units import GIB
from nephoscope.prices.book import PriceBook
from nephoscope.prices.rows import Basis

ITEMS: Mapping[str, str] = {"aws": "EBS snapshot", "azure": "managed disk snapshot", "gcp": "PD snapshot"}
"""Provider -> its name in the price book. Clouds bill by the GiB, whatever they call it, of what a snapshot stores."""


def month_usd(book: PriceBook, provider: str, region: str, size_bytes: float) -> float | None:
    """A month's snapshots by the newest price, of another region if this one has none; None: there is no price."""
    item = ITEMS[provider]
    here = book.price_at(date.max, provider, region, item, Basis.ON_DEMAND)
    pick = (
        here
        if here.prices or here.contradicted
        else book.price_elsewhere(date.max, provider, region, item, Basis.ON_DEMAND)
    )
    return pick.price.usd * size_bytes / GIB if pick.prices else None
