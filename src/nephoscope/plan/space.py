"""Rejects a plan whose data cannot fit on the disks its study describes, before anything starts."""

from collections.abc import Callable, Mapping
from typing import Any

from nephoscope.benchmarks.base import Benchmark
from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan, TrialIntent
from nephoscope.model.subjects import Subject
from nephoscope.model.units import GIB
from nephoscope.plan.expand import ParametersOnce
from nephoscope.study.machines import volumes_of
from nephoscope.study.managed import MANAGED, ProvidedOnce
from nephoscope.study.model import Configuration, Database, Machine

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
