"""The physical minimum of a round trip between two regions, for configurations whose machines are in two regions.

The study's `[[regions]]` come first, for regions of any provider. `region_places.csv` has the town named in the
provider's list of regions, with its coordinates to a hundredth of a degree; if the provider names only a state or a
large city, the usual site. The data centres may be 50 km away from it, which is 0.5 ms of a round trip.
"""

import csv
from collections.abc import Mapping
from functools import cache
from importlib import resources

from nephoscope.model.rows import WanFloor
from nephoscope.stats.great_circle import Location, fibre_round_trip_s, great_circle_m
from nephoscope.study.machine_places import two_regions
from nephoscope.study.model import Configuration, Study


def wan_floors_of(study: Study, names: Mapping[str, str]) -> list[WanFloor]:
    """A row for each configuration with a load machine in another region, sorted by name.

    Args:
        study: what was requested.
        names: configuration as analysed -> as the study names it.
    """
    asked = {one.name: one for one in study.configurations}
    own = {one.name: Location(one.latitude, one.longitude) for one in study.regions}
    found = [_floor(name, asked[original], own) for name, original in sorted(names.items()) if original in asked]
    return [floor for floor in found if floor is not None]


def _floor(name: str, asked: Configuration, own: Mapping[str, Location]) -> WanFloor | None:
    """None when there is only one region, or when the location of a region is unknown."""
    regions = two_regions(asked)
    if regions is None:
        return None
    here, there = regions
    known = _places()
    places = [own.get(region) or known.get((asked.provider, region)) for region in regions]
    if places[0] is None or places[1] is None:
        return None
    distance_m = great_circle_m(places[0], places[1])
    return WanFloor(
        configuration=name,
        database_region=here,
        load_region=there,
        distance_m=distance_m,
        round_trip_s=fibre_round_trip_s(distance_m),
    )


@cache
def _places() -> Mapping[tuple[str, str], Location]:
    text = resources.files("nephoscope.analysis").joinpath("region_places.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["provider"], row["region"]): Location(float(row["latitude"]), float(row["longitude"])) for row in rows}
