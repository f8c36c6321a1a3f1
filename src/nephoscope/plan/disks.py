"""Rejects a plan whose data do not fit on the disks of its study, or whose raw disks do not fit their use."""

from collections.abc import Callable, Mapping
from typing import Any

from nephoscope.benchmarks.base import VOLUME, Benchmark, Needs
from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan, TrialIntent
from nephoscope.model.subjects import Subject
from nephoscope.model.units import GIB
from nephoscope.plan.expand import ParametersOnce
from nephoscope.study.machines import disks_of, left_raw, local_ssd_gib, volumes_of
from nephoscope.study.managed import MANAGED, ProvidedOnce
from nephoscope.study.model import Configuration, Database, Machine
from nephoscope.study.provisioning import CLOUDS

Footprint = Callable[[Database, int, int], int]
"""The most bytes that a database uses on each of so many machines for the bytes that a benchmark needs."""


def check_space(plan: Plan, benchmarks: Mapping[str, Benchmark], footprints: Mapping[str, Footprint]) -> None:
    """Returns normally if the data of each benchmark fit on the disks whose sizes are known; pure.

    Known are disks of emulated machines and volumes of clouds. The sizes of all others only the machine knows; they are
    checked before a trial starts.

    Args:
        plan: with whole parameters.
        benchmarks: by the name that a study uses.
        footprints: by system, of databases whose disk usage differs from the benchmark's estimate.

    Raises:
        InputError: a disk is too small, or settings of a database cannot be read.
    """
    configurations, parameters = ProvidedOnce(), ParametersOnce(benchmarks)
    problems: dict[tuple[str, str], str] = {}
    for intent in (trial.intent for trial in plan.trials):
        cell = (intent.configuration_name, intent.benchmark.name)
        if cell not in problems:
            asked = parameters.of(intent.benchmark)
            problems[cell] = _problem(intent, configurations, benchmarks[intent.benchmark.uses], asked, footprints)
    told = [text for text in problems.values() if text]
    if told:
        raise InputError(
            "; ".join(told),
            hint="choose a larger `disk_gib` or volume, less data, or for postgres a smaller `max_wal_size` in "
            "`database.settings`",
        )


def _problem(
    intent: TrialIntent,
    configurations: ProvidedOnce,
    benchmark: Benchmark,
    parameters: Any,
    footprints: Mapping[str, Footprint],
) -> str:
    """Empty if it fits, or if that is not known yet."""
    if intent.configuration["provider"] == MANAGED:
        return ""
    configuration = configurations.of(intent.configuration)
    there_gib = _disk_gib(configuration.database_machine)
    if there_gib is None:
        return ""
    own_bytes, needed_bytes = data_bytes(configuration, benchmark, parameters, footprints)
    if needed_bytes <= there_gib * GIB:
        return ""
    what = f" (as {configuration.database.system} stores it, with its log)" if needed_bytes > own_bytes else ""
    return (
        f"{intent.benchmark.name} needs {needed_bytes / GIB:.2f} GiB on each database machine of {configuration.name}"
        f"{what}, but its disk has {there_gib:g} GiB"
    )


def data_bytes(
    configuration: Configuration, benchmark: Benchmark, parameters: Any, footprints: Mapping[str, Footprint]
) -> tuple[int, int]:
    """What a benchmark needs on each database machine, and what the database that it drives makes of it there."""
    needed, database = benchmark.needs(parameters).disk_bytes, configuration.database
    driven = benchmark.subject_of(parameters) is Subject.DATABASE
    footprint = footprints.get(database.system) if driven else None
    if footprint is None:
        return needed, needed
    return needed, footprint(database, needed, configuration.database_machine.count)


def _disk_gib(machine: Machine) -> float | None:
    """Size of the data folder's disk, before the file system takes its share; None: the study does not say."""
    if machine.emulated is not None:
        return machine.emulated.disk_gib
    # The provider may mean GB or GiB. Assume GiB, the larger: what does not fit then cannot fit at all.
    return sum(volume.size for volume in volumes_of(machine, raw=False)) or None


_ORDER = 'give a volume of `database_machine` `use = "raw"`, or its local SSDs `local_ssd_use = "raw"`'


def check_raw(
    plan: Plan, benchmarks: Mapping[str, Benchmark], footprints: Mapping[str, Footprint], placement: str
) -> None:
    """Returns normally if raw disks and what uses them fit; pure.

    Args:
        plan: with whole parameters.
        benchmarks: by the name that a study uses.
        footprints: see `check_space`.
        placement: of the study.

    Raises:
        InputError: a raw disk is used that is not there, that boot formats or whose size is unknown, or data would be
            on the image's disk.
    """
    configurations, parameters = ProvidedOnce(), ParametersOnce(benchmarks)
    seen: set[tuple[str, str]] = set()
    for intent in (trial.intent for trial in plan.trials):
        cell = (intent.configuration_name, intent.benchmark.name)
        if cell in seen:
            continue
        seen.add(cell)
        configuration, benchmark = configurations.of(intent.configuration), benchmarks[intent.benchmark.uses]
        asked = parameters.of(intent.benchmark)
        if configuration.provider in CLOUDS:
            _require_fit(intent, configuration, benchmark, asked, footprints, placement)
        elif _wanted(asked, configuration, benchmark)[0] == VOLUME and configuration.provider not in {"fake", "other"}:
            raise InputError(
                f"{intent.benchmark.name} on {configuration.name}: nephoscope creates raw volumes only on clouds",
                hint='name the device instead of "volume", and again in `destroys_data_on`',
            )


def _require_fit(
    intent: TrialIntent,
    configuration: Configuration,
    benchmark: Benchmark,
    parameters: Any,
    footprints: Mapping[str, Footprint],
    placement: str,
) -> None:
    machine, where = configuration.database_machine, f"{intent.benchmark.name} on {configuration.name}"
    raw, formatted = disks_of(machine, raw=True), disks_of(machine, raw=False)
    wanted, needs = _wanted(parameters, configuration, benchmark)
    if wanted == VOLUME and not raw:
        if needs.raw_device is None or not formatted:
            raise InputError(f"{where} uses a raw volume, but its machines have none", hint=_ORDER)
        if placement == "per-configuration":
            raise InputError(
                f"{where} measures a raw volume, but its machines serve several trials and get a filesystem at boot",
                hint=f'use `placement = "per-replicate"`, or {_ORDER}',
            )
    if needs.raw_device == VOLUME and local_ssd_gib(configuration) is None and not _has_volume(configuration):
        raise InputError(
            f"{where} fills a local SSD of {machine.type}, but its size, and so the time this takes, is not known",
            hint="set `database_machine.local_ssd_gib` to the size of one local SSD in the provider's list of "
            "machine types",
        )
    if wanted not in {None, VOLUME} and raw + formatted:
        raise InputError(
            f"{where} overwrites {wanted}, but on a cloud it is not known beforehand which disk has that name, and "
            f"{'boot formats and mounts its disks' if formatted else 'its disks are raw'}",
            hint=f'write "volume" instead of {wanted}' + ("" if raw else f", and {_ORDER}"),
        )
    if raw and not formatted and data_bytes(configuration, benchmark, parameters, footprints)[1]:
        raise InputError(
            f"{where} needs a filesystem for its data, but all disks of its machines are raw, so the data would be on "
            "the image's disk",
            hint="add a second volume for the data, or name the configurations that the benchmark runs on",
        )


def _has_volume(configuration: Configuration) -> bool:
    """Whether the first raw disk, which fio measures, is a volume."""
    return any(volumes_of(left_raw(configuration).database_machine, raw=True))


def _wanted(parameters: Any, configuration: Configuration, benchmark: Benchmark) -> tuple[str | None, Needs]:
    """The raw device that the benchmark measures or its database uses."""
    needs = benchmark.needs(parameters)
    own = configuration.database.aerospike
    driven = benchmark.subject_of(parameters) is Subject.DATABASE and configuration.database.system == "aerospike"
    return needs.raw_device or (own.device if own is not None and driven else None), needs
