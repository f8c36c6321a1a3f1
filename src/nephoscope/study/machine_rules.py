"""Rules about the machines of a configuration. They read raw values, because other keys may be wrong too."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nephoscope.study.explain import Problem
from nephoscope.study.managed import provider_of_machines
from nephoscope.study.provisioning import CLOUDS
from nephoscope.study.suggest import nearest, shown
from nephoscope.study.toml_text import Path

_IN_ZONES = (*sorted(CLOUDS), "emulated", "ssh")
_AZURE_ZONES = ("1", "2", "3")
_ROLES = ("database_machine", "load_machine")
_FIRST_ZONE: Mapping[str, str] = {"aws": "{region}a", "azure": "1", "gcp": "{region}-a"}
_REGION_IN_ZONE: Mapping[str, re.Pattern[str]] = {
    "aws": re.compile(r"(?P<region>[a-z]+(?:-[a-z]+)+-\d+)(?:-[a-z]+-\d+)?[a-z]"),
    "gcp": re.compile(r"(?P<region>[a-z]+-[a-z]+\d+)-[a-z]"),
}
"""Zones that begin with the name of their region; Azure numbers its zones."""


def with_regions(data: dict[str, Any]) -> dict[str, Any]:
    """A study's data in which each configuration that names its zone alone has the zone's region; pure."""
    configurations = data.get("configurations")
    if not isinstance(configurations, list):
        return data
    return {**data, "configurations": [_with_region(one) if isinstance(one, dict) else one for one in configurations]}


def _with_region(configuration: dict[str, Any]) -> dict[str, Any]:
    pattern, zone = _REGION_IN_ZONE.get(provider_of_machines(configuration)), configuration.get("zone")
    if pattern is None or not isinstance(zone, str) or "region" in configuration:
        return configuration
    found = pattern.fullmatch(zone)
    return {**configuration, "region": found["region"]} if found else configuration


def place_problems(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """Problems of one configuration at `path`."""
    provider = str(configuration.get("provider", "local"))
    database, here = configuration.get("database_machine"), configuration.get("region")
    if isinstance(database, Mapping) and database.get("region", here) != here:
        text = "the database's region is that of the configuration; set `region` there, and remove this one"
        yield Problem((*path, "database_machine", "region"), text)
    for role in _ROLES:
        machine = configuration.get(role)
        if isinstance(machine, Mapping):
            yield from _of_machine((*path, role), configuration, machine, provider)
    if provider == "azure" and "cloud" in configuration:
        yield from _azure_zones(path, [configuration.get("zone")], ("zone",))
        yield from _azure_zones(path, configuration.get("other_zones"), ("other_zones", None))
    if provider in CLOUDS and "other_zones" in configuration and _names_zones(database):
        text = "the database machines name their own `zones`, so no other zone is tried; remove it"
        yield Problem((*path, "other_zones"), text)


def region_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """A region that no configuration names, but almost, is a slip; others may be there for later."""
    configurations = data.get("configurations")
    there = {
        str(place.get("region"))
        for one in (configurations if isinstance(configurations, list) else [])
        if isinstance(one, Mapping)
        for place in (one, one.get("load_machine"))
        if isinstance(place, Mapping)
    }
    regions = data.get("regions")
    for index, region in enumerate(regions if isinstance(regions, list) else []):
        name = region.get("name") if isinstance(region, Mapping) else None
        if isinstance(name, str) and name not in there:
            near = nearest(name, sorted(there))
            if near:
                text = f'no configuration is in region {shown(name)}; did you mean "{near}"?'
                yield Problem(("regions", index, "name"), text)


def _of_machine(
    path: Path, configuration: Mapping[str, Any], machine: Mapping[str, Any], provider: str
) -> Iterator[Problem]:
    zones = machine.get("zones")
    if zones is not None and provider not in _IN_ZONES:
        yield Problem((*path, "zones"), f"only providers {', '.join(_IN_ZONES)} support this; remove it")
        return
    if provider not in CLOUDS:
        return
    here = configuration.get("region")
    region = machine.get("region") or here
    if region != here and zones is None and path[-1] == "load_machine":
        first = _FIRST_ZONE[provider].format(region=region)
        text = f'name the zone there as well, in the same table: zones = ["{first}"]'
        yield Problem((*path, "region"), text)
    if provider == "azure":
        yield from _azure_zones(path, zones, ("zones", None))
    elif isinstance(region, str) and isinstance(zones, list):
        for index, zone in enumerate(zones):
            if isinstance(zone, str) and not zone.startswith(region):
                example = _FIRST_ZONE[provider].format(region=region)
                text = f'{shown(zone)} is not a zone of {region}; its zones are named like "{example}"'
                yield Problem((*path, "zones", index), text)


def _azure_zones(path: Path, zones: Any, keys: tuple[str | None, ...]) -> Iterator[Problem]:
    """Azure numbers the zones of a region; other clouds name them after it. None among `keys`: the zone's index."""
    for index, zone in enumerate(zones if isinstance(zones, list) else []):
        if isinstance(zone, str) and zone not in _AZURE_ZONES:
            place = (*path, *(index if key is None else key for key in keys))
            yield Problem(place, f'{shown(zone)} is not a zone of azure; zones are "1", "2" and "3"')


def _names_zones(machine: Any) -> bool:
    return isinstance(machine, Mapping) and bool(machine.get("zones"))
