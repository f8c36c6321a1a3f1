"""Where the machines of a configuration are: the region and zone of each, as the study says. Pure."""

from dataclasses import dataclass

from nephoscope.study.model import Configuration, Machine


@dataclass(frozen=True)
class Place:
    """The place of one machine. None: the study does not say."""

    region: str | None
    zone: str | None


def database_places(configuration: Configuration) -> tuple[Place, ...]:
    """Of each database machine, in order."""
    return _places(configuration, configuration.database_machine)


def load_places(configuration: Configuration) -> tuple[Place, ...]:
    """Of each load machine, in order; none where client and server share a machine."""
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
