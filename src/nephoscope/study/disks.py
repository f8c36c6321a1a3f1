"""Disks of a cloud's machine: those with a filesystem for the data folder, and raw ones, which carry none."""

from collections.abc import Iterator

from nephoscope.study.model import Configuration, Machine, Volume

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
