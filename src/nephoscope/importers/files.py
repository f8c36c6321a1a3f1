"""What importers of single files share: a file is a trial, and the folders above it say what it was measured on.

PATH is a file, or a folder with `PROVIDER/TYPE/...` (aws, azure, gcp) or `CONFIGURATION/...` below it. Files of one
configuration and benchmark are its replicates, in the order of their paths; whether that is the order in which they
were measured is not known. A file that says nothing of its parameters is a benchmark of its own, called as its path
below its machine.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from nephoscope.checks.verdicts import valid
from nephoscope.importers.identity import CLOUDS, BenchmarkIdentity, readable_name
from nephoscope.importers.imported import (
    ImportedMachine,
    ImportedStudy,
    ImportedTrial,
    machine,
    named_machine,
    read_whole,
    with_first,
)
from nephoscope.importers.tree import DAMAGED, content_of, files_below, origin_of, text_of, why
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.quantities import Bounded, LowerBound
from nephoscope.model.records import Direction, Facts, Measurement, Metric, Verdict
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.parsers.remarks import remarks_on

MACHINE_UNKNOWN = "machine, CPU, kernel, region and what else ran: known only as far as the name of a folder says"
ORDER_UNKNOWN = "order and independence of the files of one configuration: they are taken as its replicates"

AROUND = (
    "around",
    "Shows what stands around a tool's output; a file in which it says that the run failed is left out.",
)
"""The check of `around`: its name, and what it does."""


class Value(Frozen):
    """One number with its metric."""

    metric: Metric
    value: Annotated[float, Field(allow_inf_nan=False)] | LowerBound


class Parsed(Frozen):
    """What a file says."""

    benchmark: BenchmarkIdentity
    described: bool = Field(default=False, description="whether the file says what the tool's parameters were")
    subject: Subject
    title: str
    values: list[Value] = Field(min_length=1)
    verdicts: list[Verdict] = []
    versions: dict[str, str] = {}
    cpus: int | None = None
    database_load: DatabaseLoad | None = Field(default=None, description="None: transactions, if it is of a database")


@dataclass(frozen=True)
class FileOrigin:
    """What the path of a file and its neighbours show about its contents."""

    machine: ImportedMachine
    facts: Facts | None = None
    beside: tuple[Path, ...] = ()
    """Files that support this, kept with the trial."""
    benchmark: BenchmarkIdentity | None = None
    """What the path adds to the description of the benchmark; None: nothing, the file has to describe it."""
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True)
class FileFormat:
    """One kind of files."""

    name: str
    title: str
    parse: Callable[[str], Sequence[Parsed]]
    """Raises OutputUnreadable: it is not the tool's output, or is damaged."""
    unknown: tuple[str, ...] = ()
    checks: tuple[tuple[str, str], ...] = ()
    suffixes: tuple[str, ...] = ()
    """Suffixes of the files to read below a folder; empty: all."""
    place: Callable[[Path, Path, Parsed], FileOrigin | None] | None = None
    """Of what was imported, one file, and what it says; none, or None: as the folders above it are called."""
    aside: Callable[[Path], bool] | None = None
    """Whether a file is read together with others instead of separately."""


def metric(
    name: str, unit: str, title: str, *, headline: bool = False, lower: bool = False, clock: str = "", counted: str = ""
) -> Metric:
    """A metric of somebody else's benchmark; `clock` is its definition: what was measured, from where to where."""
    direction = Direction.LOWER if lower else Direction.HIGHER
    return Metric(
        name=name, unit=unit, direction=direction, title=title, clock=clock, headline=headline, counted=counted
    )


def latency(name: str, title: str, seconds: Bounded, clock: str) -> Value:
    """A latency in seconds, or what it is above."""
    return Value(metric=metric(name, "s", title, lower=True, clock=clock), value=seconds)


def around(tool: str, text: str) -> list[Verdict]:
    """Shows what stands around an output."""
    remarks = remarks_on(tool, text)
    return [valid(AROUND[0], "; ".join(remarks[:5]))] if remarks else []


def read_files(path: Path, form: FileFormat) -> ImportedStudy:
    """Every file at or below a path; one that cannot be read is skipped.

    Raises:
        InputError: it cannot be read, or no file is of this kind.
    """
    trials: list[ImportedTrial] = []
    refused: list[str] = []
    for file in files_below(path, *form.suffixes):
        if form.aside is not None and form.aside(file):
            continue
        origin = origin_of(file, path)
        try:
            trials += _trials(path, file, origin, form)
        except DAMAGED as error:
            refused.append(f"{origin}: {why(error)}")
    if not trials:
        first = f": {refused[0]}" if refused else ""
        raise InputError(f"no {form.title} at {path}{first}", hint=f"see `nephoscope import {form.name} --help`")
    return ImportedStudy(
        format=form.name,
        name=form.name,
        title=f"Imported: {form.title}",
        description=f"Results of {form.title}, measured by others and imported here. nephoscope measured none of it.",
        source="files without a stated origin",
        licence="not stated",
        unknown=[*form.unknown, MACHINE_UNKNOWN, ORDER_UNKNOWN],
        checks=dict(form.checks),
        trials=trials,
        refused=refused,
    )


def _trials(root: Path, file: Path, origin: str, form: FileFormat) -> list[ImportedTrial]:
    """What one file holds; results of it that nothing tells apart are left out."""
    results = form.parse(text_of(file, root))
    several = Counter(parsed.benchmark.name for parsed in results)
    trials, copied = list[ImportedTrial](), [file]
    for index, parsed in enumerate(results):
        if several[parsed.benchmark.name] == 1:
            place = (form.place(root, file, parsed) if form.place else None) or FileOrigin(_machine(root, file))
            trials.append(_trial(parsed, root, file, f"{origin}#{index}" if index else origin, place))
            copied += place.beside
    raw = {f"{readable_name(kept.stem)}{kept.suffix.lower()}": kept for kept in copied}
    return with_first(trials, {name: content_of(kept, root) for name, kept in raw.items()})


def _folders(path: Path, file: Path) -> tuple[str, ...]:
    return file.relative_to(path).parent.parts if file != path else ()


def _of_cloud(folders: Sequence[str]) -> int | None:
    """Place of the folder PROVIDER with one for the TYPE below it; None: there is none."""
    return next((place for place, part in enumerate(folders[:-1]) if part.casefold() in CLOUDS), None)


def _machine(path: Path, file: Path) -> ImportedMachine:
    folders = _folders(path, file)
    if (place := _of_cloud(folders)) is not None:
        return machine(folders[place].casefold(), folders[place + 1])
    return named_machine(folders[0] if folders else "")


def _below_machine(path: Path, file: Path) -> str:
    """A file's path without the folders that name its machine."""
    folders = _folders(path, file)
    place = _of_cloud(folders)
    rest = folders[1:] if place is None else (*folders[:place], *folders[place + 2 :])
    return "/".join((*rest, file.stem))


def _trial(parsed: Parsed, root: Path, file: Path, origin: str, place: FileOrigin) -> ImportedTrial:
    silent = not parsed.described and place.benchmark is None
    return ImportedTrial(
        origin=origin,
        machine=place.machine,
        identity=parsed.benchmark.but(file=_below_machine(root, file))
        if silent
        else place.benchmark or parsed.benchmark,
        subject=parsed.subject,
        title=parsed.title,
        database_load=parsed.database_load or (DatabaseLoad.OLTP if parsed.subject is Subject.DATABASE else None),
        metrics=[value.metric for value in parsed.values],
        measurements=[
            Measurement.of(value.metric.name, value.metric.unit, value.value, role=None) for value in parsed.values
        ],
        verdicts=[read_whole(file.name), *parsed.verdicts, *place.verdicts],
        facts=place.facts,
        cpus=parsed.cpus,
        tool_versions=parsed.versions,
    )


def once(values: Iterable[Value]) -> list[Value]:
    """The values, none of them twice.

    Raises:
        OutputUnreadable: a metric has two values: two runs in one file cannot be told apart.
    """
    whole = list(values)
    several = [name for name, count in Counter(value.metric.name for value in whole).items() if count > 1]
    if several:
        raise OutputUnreadable(f"two values of {several[0]}: the file contains several runs; split it")
    return whole
