"""What clouds charge for keeping data in object storage. Pure."""

from collections.abc import Mapping

from nephoscope.model.units import GIB

USD_PER_GIB_MONTH: Mapping[str, float] = {"aws": 0.023, "azure": 0.018, "gcp": 0.020}
"""List prices of standard storage (S3 Standard, hot blobs with local redundancy, Standard in one region) in regions of
the USA, first tier, as published in 2026. Other regions cost up to twice as much; requests and transfer are extra."""


def month_usd(provider: str, size_bytes: float) -> float:
    """A month's storage."""
    return USD_PER_GIB_MONTH[provider] * size_bytes / GIB
