"""Sizes of disks that are billed by steps: one pays for the next size that is sold."""

import math

_ULTRA = ("azure", "Ultra Disk")
_ULTRA_GIB = (4, 8, 16, 32, 64, 128, 256, 512)
"""Above these, each TiB (Azure, "Managed disk types": offered sizes of Ultra Disks, and that others are rounded up)."""
_TIB_GIB = 1024


def billed_size(provider: str, item: str, size: float) -> float:
    """The size that is paid for a disk of so many GB or GiB. IOPS and throughput have no steps."""
    if (provider, item) != _ULTRA:
        return size
    return next((step for step in _ULTRA_GIB if size <= step), math.ceil(size / _TIB_GIB) * _TIB_GIB)
