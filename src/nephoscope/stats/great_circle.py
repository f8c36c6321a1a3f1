"""The shortest time that light in fibre takes between two locations, which no network can beat."""

import math
from dataclasses import dataclass

EARTH_RADIUS_M = 6_371_008.8
"""Mean radius of the IUGG (GRS 80); the Earth's flattening changes a distance by at most 0.6 %."""
LIGHT_M_PER_S = 299_792_458.0
FIBRE_INDEX = 1.468
"""Group index of standard single-mode fibre at 1,550 nm (data sheet of Corning SMF-28)."""


@dataclass(frozen=True)
class Location:
    """Degrees north and east."""

    latitude: float
    longitude: float


def great_circle_m(one: Location, other: Location) -> float:
    """Distance on a sphere, by the haversine formula."""
    phi_1, phi_2 = math.radians(one.latitude), math.radians(other.latitude)
    half_phi = (phi_2 - phi_1) / 2
    half_lambda = math.radians(other.longitude - one.longitude) / 2
    chord = math.sin(half_phi) ** 2 + math.cos(phi_1) * math.cos(phi_2) * math.sin(half_lambda) ** 2
    return 2 * EARTH_RADIUS_M * math.asin(min(1.0, math.sqrt(chord)))


def fibre_round_trip_s(distance_m: float) -> float:
    """The round trip through fibre along the shortest path; real cables are longer, and routers add time."""
    return 2 * distance_m * FIBRE_INDEX / LIGHT_M_PER_S
