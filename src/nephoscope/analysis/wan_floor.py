"""The physical minimum of a round trip between two regions, for configurations whose machines are in two regions.

The study's `[[regions]]` come first, for regions of any provider. `region_places.csv` has the town named in the
provider's list of regions, with its coordinates to a hundredth of a degree; if the provider names only a state or a
large city, the usual site. The data centres may be 50 km away from it, which is 0.5 ms of a round trip.
"""

import csv
import math
from collections.abc import Mapping
from functools import cache
from importlib import resources

from nephoscope.analysis.renamed import names
from nephoscope.analysis.table import Table
from nephoscope.model.rows import WanFloor
from nephoscope.study.machines import two_regions
from nephoscope.study.model import Configuration, Study

_EARTH_RADIUS_M = 6_371_008.8
"""Mean radius of the IUGG (GRS 80); the Earth's flattening changes a distance by at most 0.6 %."""
_FIBRE_M_PER_S = 299_792_458.0 / 1.468
"""Light in standard single-mode fibre at 1,550 nm, whose group index is 1.468 (data sheet of Corning SMF-28)."""
_Place = tuple[float, float]
"""Latitude and longitude, in radians."""


def wan_floors_of(study: Study, names: Mapping[str, str]) -> list[WanFloor]:
    """A row for each configuration with a load machine in another region, sorted by name.

    Args:
        study: what was requested.
        names: configuration as analysed -> as the study names it.
    """
    asked = {one.name: one for one in study.configurations}
    own = {one.name: _place(one.latitude, one.longitude) for one in study.regions}
    found = [_floor(name, asked[original], own) for name, original in sorted(names.items()) if original in asked]
    return [floor for floor in found if floor is not None]


def _floor(name: str, asked: Configuration, own: Mapping[str, _Place]) -> WanFloor | None:
    """None when there is only one region, or when the location of a region is unknown."""
    regions = two_regions(asked)
    if regions is None:
        return None
    here, there = regions
    known = _places()
    places = [own.get(region) or known.get((asked.provider, region)) for region in regions]
    if places[0] is None or places[1] is None:
        return None
    distance_m = _distance_m(places[0], places[1])
    return WanFloor(
        configuration=name,
        database_region=here,
        load_region=there,
        distance_m=distance_m,
        round_trip_s=2 * distance_m / _FIBRE_M_PER_S,
    )


def _place(latitude: float, longitude: float) -> _Place:
    """From degrees north and east."""
    return math.radians(latitude), math.radians(longitude)


def _distance_m(here: _Place, there: _Place) -> float:
    """Along a great circle, by the haversine formula; real cables are longer."""
    north, east = (math.sin((b - a) / 2) ** 2 for a, b in zip(here, there, strict=True))
    return 2 * _EARTH_RADIUS_M * math.asin(min(1.0, math.sqrt(north + math.cos(here[0]) * math.cos(there[0]) * east)))


@cache
def _places() -> Mapping[tuple[str, str], _Place]:
    text = resources.files("nephoscope.analysis").joinpath("region_places.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["provider"], row["region"]): _place(float(row["latitude"]), float(row["longitude"])) for row in rows}


WAN_FLOORS = Table("wan_floors", WanFloor, lambda of: wan_floors_of(of.inputs.study, of(names)), has_columns=False)
