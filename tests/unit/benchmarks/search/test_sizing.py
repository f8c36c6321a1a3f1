"""The sizes of published qualifications come out again."""

import pytest

from nephoscope.benchmarks.database.highest_load import HighestLoadParameters, Sizing
from nephoscope.model.units import GIB

GB = 1e9 / GIB
"""In GiB: published sizes are decimal."""


@pytest.mark.parametrize(("disk_gb", "published"), [(320, 554), (800, 1554)])
def test_published_objects_come_out_within_three_percent(disk_gb: float, published: int) -> None:
    """240 million objects, 25 GB for the index: c3.4xlarge with 320 GB of disk, i2.xlarge with 800."""
    sizing = Sizing(memory_gib=25 * GB, disk_gib=disk_gb * GB, machines=2, copies=2)
    assert sizing.rows == pytest.approx(234_375_000, abs=1)
    assert sizing.rows == pytest.approx(240e6, rel=0.03)
    assert sizing.value_bytes == pytest.approx(published, rel=0.03)


def test_more_machines_hold_more_objects_of_the_same_size() -> None:
    two = Sizing(memory_gib=8, disk_gib=100, machines=2, copies=2)
    three = Sizing(memory_gib=8, disk_gib=100, machines=3, copies=2)
    assert three.rows == pytest.approx(1.5 * two.rows, rel=1e-6)
    assert three.value_bytes == two.value_bytes


def test_a_disk_too_small_for_its_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="leaves no space for values"):
        HighestLoadParameters(sizing=Sizing(memory_gib=100, disk_gib=100))
