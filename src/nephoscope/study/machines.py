"""The machines of a configuration as the study describes them: the region and zone of each, and its disks. Pure.

A disk either has a filesystem for the data folder or is raw and carries none.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from nephoscope.study.model import Configuration, Machine, Volume
from nephoscope.study.provisioning import CLOUDS


@dataclass(frozen=True)
class Place:
    """The place of one machine. None: the study does not say."""

    region: str | None
    zone: str | None


def database_places(configuration: Configuration) -> tuple[Place, ...]:
    """The place of each database machine, in order."""
    return _places(configuration, configuration.database_machine)


def load_places(configuration: Configuration) -> tuple[Place, ...]:
    """The place of each load machine, in order; none where client and server share a machine."""
    load = configuration.load_machine
    return () if load is None else _places(configuration, load)


def region_of(configuration: Configuration, machine: Machine) -> str | None:
    """The region of a role's machines: its own, else the configuration's."""
    return machine.region or configuration.region


def zones_in_turn(configuration: Configuration, machine: Machine) -> tuple[str | None, ...]:
    """The zones that are assigned to the machines of a role in turn."""
    near = machine.region in {None, configuration.region}
    if machine.zones is not None:
        return tuple(machine.zones[: machine.count])
    return (configuration.zone if near else None,)


def two_regions(configuration: Configuration) -> tuple[str, str] | None:
    """Region of the database and region of the load machine; None: there is only one."""
    load = configuration.load_machine
    here, there = configuration.region, load.region if load else None
    return (here, there) if here is not None and there is not None and here != there else None


def zone_count(configuration: Configuration) -> int:
    """Number of zones in the database's region with machines."""
    places = (*database_places(configuration), *load_places(configuration))
    return len({one.zone for one in places if one.region == configuration.region and one.zone is not None})


def _places(configuration: Configuration, machine: Machine) -> tuple[Place, ...]:
    region, zones = region_of(configuration, machine), zones_in_turn(configuration, machine)
    return tuple(Place(region, zones[index % len(zones)]) for index in range(machine.count))


GCP_LOCAL_SSD_GIB = 375.0
"""Of one local SSD of Compute Engine, of every type but z3."""


def volumes_of(machine: Machine, *, raw: bool) -> Iterator[Volume]:
    """One for each disk that is attached, in the order of the study."""
    for volume in machine.volumes or ():
        if (volume.use == "raw") == raw:
            yield from [volume] * volume.count


def local_ssds_of(machine: Machine, *, raw: bool) -> int:
    """How many of the machine's own disks."""
    return (machine.local_ssds or 0) if (machine.local_ssd_use == "raw") == raw else 0


def local_ssd_gib(configuration: Configuration) -> float | None:
    """Size of one local SSD of a database machine; None: the study does not say, and it depends on the machine type.

    GCP attaches disks of 375 GiB to all types but z3, whose disks are larger (Compute Engine, "About Local SSD disks").
    """
    machine = configuration.database_machine
    if machine.local_ssd_gib is not None:
        return machine.local_ssd_gib
    whole = configuration.provider == "gcp" and not (machine.type or "").startswith("z3-")
    return GCP_LOCAL_SSD_GIB if whole else None


def disks_of(machine: Machine, *, raw: bool) -> int:
    """How many disks of both kinds."""
    return len(list(volumes_of(machine, raw=raw))) + local_ssds_of(machine, raw=raw)


def needs_unformatted(configuration: Configuration) -> bool:
    """Whether a trial that measures a raw disk needs other machines than a trial that stores data: see `left_raw`."""
    machine = configuration.database_machine
    return not disks_of(machine, raw=True) and disks_of(machine, raw=False) > 0


def left_raw(configuration: Configuration) -> Configuration:
    """The configuration for a trial that measures a raw disk: without one of its own, no disk gets a filesystem.

    Only the database machines, which are measured, differ.
    """
    machine = configuration.database_machine
    if disks_of(machine, raw=True):
        return configuration
    volumes = [volume.model_copy(update={"use": "raw"}) for volume in machine.volumes or ()] or None
    changed = machine.model_copy(
        update={"volumes": volumes, "local_ssd_use": "raw" if machine.local_ssds else machine.local_ssd_use}
    )
    return configuration.model_copy(update={"database_machine": changed})


def first_machine(configuration: Configuration) -> Configuration:
    """The configuration with its first database machine alone, where the others would be rented for nothing.

    A cluster of hosts that are there anyway stays as it is.
    """
    machine = configuration.database_machine
    if configuration.provider not in CLOUDS or (machine.count == 1 and configuration.load_machine is None):
        return configuration
    one = machine.model_copy(update={"count": 1, "zones": machine.zones and machine.zones[:1]})
    return configuration.model_copy(update={"database_machine": one, "load_machine": None})
