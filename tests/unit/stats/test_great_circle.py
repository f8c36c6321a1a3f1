"""Distances that an atlas tells, and the time light needs for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.stats.great_circle import EARTH_RADIUS_M, Location, fibre_round_trip_s, great_circle_m

PLACES = st.builds(Location, st.floats(-90, 90), st.floats(-180, 180))


@pytest.mark.parametrize(
    ("one", "other", "kilometres"),
    [
        (Location(51.51, -0.13), Location(48.86, 2.35), 344),  # London, Paris
        (Location(40.71, -74.01), Location(34.05, -118.24), 3936),  # New York, Los Angeles
        (Location(-33.87, 151.21), Location(1.35, 103.82), 6300),  # Sydney, Singapore
        (Location(0, 179.9), Location(0, -179.9), 22.24),  # across the date line
        (Location(90, 0), Location(-90, 0), 20015),
        (Location(10, 10), Location(10, 10), 0),
    ],
)
def test_distances(one: Location, other: Location, kilometres: float) -> None:
    assert great_circle_m(one, other) / 1000 == pytest.approx(kilometres, rel=0.003)


@given(PLACES, PLACES)
def test_there_is_as_far_as_back_and_never_beyond_the_antipode(one: Location, other: Location) -> None:
    assert great_circle_m(one, other) == pytest.approx(great_circle_m(other, one), abs=1)
    assert 0 <= great_circle_m(one, other) <= 3.14160 * EARTH_RADIUS_M


def test_light_in_fibre_takes_ten_microseconds_a_kilometre_there_and_back() -> None:
    assert fibre_round_trip_s(1_000_000) == pytest.approx(9.79e-3, rel=0.001)
