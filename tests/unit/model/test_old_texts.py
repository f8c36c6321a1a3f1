"""What earlier versions stored in other words is read as it is written now."""

import pytest

from nephoscope.model.records import Direction, Measurement, Metric


@pytest.mark.parametrize(("name", "unit"), [("lost_share", "share"), ("retries_per_operation", "1")])
def test_a_share_that_was_stored_as_a_plain_number_is_read_as_a_share(name: str, unit: str) -> None:
    assert Measurement(metric=name, unit="1", value=0.5).unit == unit
    assert Metric(name=name, unit="1", direction=Direction.LOWER, title=name).unit == unit
