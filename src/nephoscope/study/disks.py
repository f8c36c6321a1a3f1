"""Disks of a cloud's machine: those with a filesystem for the data folder, and raw ones, which carry none."""

from collections.abc import Iterator

from nephoscope.study.model import Configuration, Machine, Volume


def volumes_of(machine: Machine, *, raw: bool) -> Iterator[Volume]:
    """One for each disk that is attached, in the order of the study."""
    for volume in machine.volumes or ():
        if (volume.use == "raw") == raw:
            yield from [volume] * volume.count


def local_ssds_of(machine: Machine, *, raw: bool) -> int:
    """How many of the machine's own disks."""
    return (machine.local_ssds or 0) if (machine.local_ssd_use == "raw") == raw else 0


def disks_of(machine: Machine, *, raw: bool) -> int:
    """How many disks of both kinds."""
    return len(list(volumes_of(machine, raw=raw))) + local_ssds_of(machine, raw=raw)


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
