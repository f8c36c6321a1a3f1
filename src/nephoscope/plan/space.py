"""Refuses a plan whose data cannot fit on the disks that its study describes, before anything starts."""

from collections.abc import Mapping
from typing import Protocol

from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan, TrialIntent
from nephoscope.model.subjects import Subject
from nephoscope.model.units import GIB
from nephoscope.plan.expand import Plannable
from nephoscope.study.model import Configuration, Database, Machine


class Footprint(Protocol):
    """The most that a database takes on the disk of each of `machines` for `data_bytes` that a benchmark needs."""

    def __call__(self, settings: Database, data_bytes: int, machines: int) -> int:
        """In bytes."""
        ...


def check_space(plan: Plan, benchmarks: Mapping[str, Plannable], footprints: Mapping[str, Footprint]) -> None:
    """Nothing, when what each benchmark needs fits on the disks whose sizes are known; pure.

    Known are disks of emulated machines and volumes of clouds. What lies on the others only the machine can tell, and
    it is asked before a trial begins.

    Args:
        plan: with whole parameters.
        benchmarks: by the name that a study uses.
        footprints: by system, of databases that take another amount than a benchmark reckons with.

    Raises:
        InputError: a disk is too small, or settings of a database cannot be read.
    """
    problems: dict[tuple[str, str], str] = {}
    for intent in (trial.intent for trial in plan.trials):
        cell = (intent.configuration_name, intent.benchmark.name)
        if cell not in problems:
            problems[cell] = _problem(intent, benchmarks[intent.benchmark.uses], footprints)
    told = [text for text in problems.values() if text]
    if told:
        raise InputError(
            "; ".join(told),
            hint="a larger `disk_gib` or volume, less data, or for postgres a smaller `max_wal_size` in "
            "`database.settings`",
        )


def _problem(intent: TrialIntent, benchmark: Plannable, footprints: Mapping[str, Footprint]) -> str:
    """Empty when it fits, or nobody knows yet."""
    configuration = Configuration.model_validate(intent.configuration)
    machine, database = configuration.database_machine, configuration.database
    there_gib = _disk_gib(machine)
    if there_gib is None:
        return ""
    parameters = benchmark.parameters.model_validate(intent.benchmark.parameters)
    needs = benchmark.needs(parameters)
    needed_bytes, what = needs.disk_bytes, ""
    driven = benchmark.subject_of(parameters) is Subject.DATABASE
    footprint = footprints.get(database.system) if driven else None
    if footprint is not None:
        needed_bytes = footprint(database, needs.disk_bytes, machine.count)
        what = f", as {database.system} keeps it with its log" if needed_bytes > needs.disk_bytes else ""
    if needed_bytes <= there_gib * GIB:
        return ""
    return (
        f"{intent.benchmark.name} needs {needed_bytes / GIB:.2f} GiB on each database machine of {configuration.name}"
        f"{what}, and its disk has {there_gib:g} GiB"
    )


def _disk_gib(machine: Machine) -> float | None:
    """Of the data folder, before a file system takes its part; None: the study does not say."""
    if machine.emulated is not None:
        return machine.emulated.disk_gib
    if (
        machine.volumes is not None
    ):  # GB or GiB, as the provider counts: what does not fit into the larger, does not fit
        return sum(volume.size * volume.count for volume in machine.volumes)
    return None
