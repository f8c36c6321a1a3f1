"""Rules about the machines of a configuration. They read raw values, because other keys may be wrong too."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nephoscope.study.explain import Problem
from nephoscope.study.managed import plain_as_provided, provider_of_machines
from nephoscope.study.provisioning import CLOUDS
from nephoscope.study.suggest import hint_among, nearest, shown
from nephoscope.study.toml_text import Path

_IN_ZONES = (*sorted(CLOUDS), "emulated", "ssh")
_AZURE_ZONES = ("1", "2", "3")
_FIRST_ZONE: Mapping[str, str] = {"aws": "{region}a", "azure": "1", "gcp": "{region}-a"}
_REGION_IN_ZONE: Mapping[str, re.Pattern[str]] = {
    "aws": re.compile(r"(?P<region>[a-z]+(?:-[a-z]+)+-\d+)(?:-[a-z]+-\d+)?[a-z]"),
    "gcp": re.compile(r"(?P<region>[a-z]+-[a-z]+\d+)-[a-z]"),
}
"""Zones that begin with the name of their region; Azure numbers its zones."""
_ONLY_ELSEWHERE = ("region", "zone", "other_zones")
_ONLY_CLOUDS = f"only providers {', '.join(sorted(CLOUDS))} support this"
_TYPE_DECIDES = 'only provider "gcp" supports this (elsewhere the machine type decides it); remove it'
_CORES_OF_AZURE = (
    "azure sets vCPUs, not cores; add `threads_per_core`: 2, or 1 to switch off the second thread of each core"
)
_ROLES = ("database_machine", "load_machine")
_ORDERED = ("image", "volumes", "local_ssds", "disks", "local_ssd_use", "local_ssd_gib", "cores", "threads_per_core")


def tables_of(data: Mapping[str, Any], key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The tables in the list at a key, each with its index; whatever else is there is left out."""
    return ((index, entry) for index, entry in enumerate(list_of(data.get(key))) if isinstance(entry, Mapping))


def list_of(value: Any) -> list[Any]:
    """A raw value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def machine_problems(path: Path, configuration: Mapping[str, Any], types: set[str]) -> Iterator[Problem]:
    """Problems of the machines of one configuration at `path`; `types` are the names in `[[machine_types]]`."""
    provided = plain_as_provided(configuration)
    if provided.get("provider", "local") == "local":
        yield from _local(path, provided)
    yield from _placed(path, provided, types, managed=provided != configuration)
    yield from _rented(path, provided)
    yield from _links(path, provided)
    yield from _place_problems(path, provided)
    yield from _mounted(path, configuration)


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


def _place_problems(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """Problems of one configuration at `path`."""
    provider = str(configuration.get("provider", "local"))
    database, here = configuration.get("database_machine"), configuration.get("region")
    if isinstance(database, Mapping) and database.get("region", here) != here:
        text = "the database's region is that of the configuration; set `region` there, and remove this one"
        yield Problem((*path, "database_machine", "region"), text)
    for role, machine in _machines(configuration):
        yield from _of_machine((*path, role), configuration, machine, provider)
    if provider == "azure" and "cloud" in configuration:
        yield from _azure_zones(path, [configuration.get("zone")], ("zone",))
        yield from _azure_zones(path, configuration.get("other_zones"), ("other_zones", None))
    if provider in CLOUDS and "other_zones" in configuration and _names_zones(database):
        text = "the database machines name their own `zones`, so no other zone is tried; remove it"
        yield Problem((*path, "other_zones"), text)


def region_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """A region that no configuration names, but almost, is a slip; others may be there for later."""
    there = {
        str(place.get("region"))
        for _, configuration in tables_of(data, "configurations")
        for place in (configuration, configuration.get("load_machine"))
        if isinstance(place, Mapping)
    }
    for index, region in tables_of(data, "regions"):
        name = region.get("name")
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
    for index, zone in enumerate(list_of(zones)):
        if isinstance(zone, str) and zone not in _AZURE_ZONES:
            place = (*path, *(index if key is None else key for key in keys))
            yield Problem(place, f'{shown(zone)} is not a zone of azure; zones are "1", "2" and "3"')


def _names_zones(machine: Any) -> bool:
    return isinstance(machine, Mapping) and bool(machine.get("zones"))


def _local(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """Keys that order something from a provider are meaningless on this machine, so they must not appear."""
    for key in _ONLY_ELSEWHERE:
        if key in configuration:
            yield Problem((*path, key), 'provider "local" is this machine and has none; remove it')
    for role, machine in _machines(configuration):
        if "type" in machine:
            text = 'provider "local" is this machine and cannot change its type; use `expect_cpu_model` to check it'
            yield Problem((*path, role, "type"), text)
        count = machine.get("count", 1)
        if isinstance(count, int) and count > 1:
            yield Problem((*path, role, "count"), f'{shown(count)} is not allowed; provider "local" is one machine')


def _machines(configuration: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The roles that are described, with what they say."""
    for role in _ROLES:
        machine = configuration.get(role)
        if isinstance(machine, Mapping):
            yield role, machine


def _placed(path: Path, configuration: Mapping[str, Any], types: set[str], *, managed: bool) -> Iterator[Problem]:
    """Keys of emulated machines and of hosts: required there, meaningless elsewhere."""
    provider = str(configuration.get("provider", "local"))
    roles = dict(_machines(configuration))
    if provider in {"emulated", "ssh"} and not managed:
        roles.setdefault("database_machine", {})
    for role, machine in roles.items():
        if provider == "emulated" and "emulated" not in machine and machine.get("type") not in types:
            there = f"there are: {', '.join(sorted(types))}" if types else "add [[machine_types]]"
            place = (*path, role, "type") if "type" in machine else (*path, role) if role in configuration else path
            yield Problem(place, f'provider "emulated" needs a known `type` of machine for `{role}`; {there}')
        if provider == "ssh" and "hosts" not in machine:
            place = (*path, role) if role in configuration else path
            yield Problem(place, f'provider "ssh" needs `hosts` for `{role}`: hosts = ["user@host"]')
        if provider == "ssh" and "count" in machine:
            yield Problem((*path, role, "count"), "`hosts` gives the number of machines; remove it")
        for key, where in (("hosts", "ssh"), ("emulated", "emulated"), ("cpu_platform", "gcp")):
            if key in machine and provider != where:
                yield Problem((*path, role, key), f'only provider "{where}" supports this; remove it')
        yield from _ordered((*path, role), machine, provider)
    if "cloud" in configuration and provider not in CLOUDS:
        yield Problem((*path, "cloud"), f"{_ONLY_CLOUDS}; remove it")
    if "ssh" in configuration and provider != "ssh":
        yield Problem((*path, "ssh"), 'only provider "ssh" supports this; remove it')


def _rented(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """All other providers say whose the machines are."""
    if "rented" in configuration and str(configuration.get("provider", "local")) not in {"local", "ssh"}:
        yield Problem((*path, "rented"), 'only providers "local" and "ssh" support this; remove it')


def _links(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """A link joins two zones that hold machines; each pair has at most one."""
    if "links" in configuration and configuration.get("provider") != "emulated":
        yield Problem((*path, "links"), 'only provider "emulated" supports this; remove it')
        return
    zones = [str(zone) for _, machine in _machines(configuration) for zone in list_of(machine.get("zones"))]
    joined: list[frozenset[str]] = []
    for index, link in enumerate(list_of(configuration.get("links"))):
        place = (*path, "links", index, "between")
        between = [str(zone) for zone in list_of(link.get("between"))] if isinstance(link, Mapping) else []
        for unknown in sorted({*between} - {*zones}):
            hint = hint_among(unknown, zones, otherwise="name it in `zones` of a machine")
            yield Problem(place, f"no machine is in zone {shown(unknown)}; {hint}")
        if len(between) == 2 and len({*between}) == 1:
            yield Problem(place, "joins a zone to itself; name two zones")
        if len(between) == 2 and frozenset(between) in joined:
            yield Problem(place, "these two zones already have a link; remove it")
        joined.append(frozenset(between))


def _ordered(path: Path, machine: Mapping[str, Any], provider: str) -> Iterator[Problem]:
    """Keys that only make sense where machines are created."""
    for key in _ORDERED:
        if key in machine and provider not in CLOUDS:
            yield Problem((*path, key), f"{_ONLY_CLOUDS}; remove it")
    if "cores" in machine and "threads_per_core" not in machine and provider == "azure":
        yield Problem((*path, "cores"), _CORES_OF_AZURE)
    yield from _disks(path, machine, provider)


def _disks(path: Path, machine: Mapping[str, Any], provider: str) -> Iterator[Problem]:
    """Volumes and local SSDs: what a provider has no choice of, and where the data folder is."""
    for index, volume in tables_of(machine, "volumes"):
        if "cache" in volume and provider != "azure":
            yield Problem((*path, "volumes", index, "cache"), 'only provider "azure" supports this; remove it')
        if "interface" in volume and provider != "gcp":
            yield Problem((*path, "volumes", index, "interface"), _TYPE_DECIDES)
    if "local_ssd_interface" in machine and provider != "gcp":
        yield Problem((*path, "local_ssd_interface"), _TYPE_DECIDES)
    elif "local_ssd_interface" in machine and "local_ssds" not in machine:
        yield Problem((*path, "local_ssd_interface"), "there are no `local_ssds`; remove it")
    for key in ("local_ssd_use", "local_ssd_gib"):
        if key in machine and "local_ssds" not in machine:
            yield Problem((*path, key), "there are no `local_ssds`; remove it")
    holding = [volume for _, volume in tables_of(machine, "volumes") if volume.get("use") != "raw"]
    if holding and "local_ssds" in machine and machine.get("local_ssd_use") != "raw":
        yield Problem(
            (*path, "local_ssds"),
            "the data folder is either on `volumes` or on local SSDs; remove one of them, or mark it raw",
        )


def _mounted(path: Path, configuration: Mapping[str, Any]) -> Iterator[Problem]:
    """XFS lost its barrier options with Linux 4.19, and a mount with them fails."""
    for role, machine in _machines(configuration):
        options = list_of(machine.get("mount_options"))
        if machine.get("filesystem") == "xfs" and any("barrier" in str(option) for option in options):
            yield Problem((*path, role, "mount_options"), "xfs has no barrier options; remove them, or use ext4")
