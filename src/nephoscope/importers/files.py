"""What importers of single files share: a file is a trial, and the folders above it say what it was measured on.

PATH is a file, or a folder with `PROVIDER/TYPE/...` (aws, azure, gcp) or `CONFIGURATION/...` below it. Files of one
configuration and benchmark are its replicates, in the order of their paths; whether that is the order in which they
were measured is not known.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from nephoscope.importers.imported import (
    CLOUDS,
    ImportedMachine,
    ImportedStudy,
    ImportedTrial,
    machine,
    read_whole,
    safe_name,
)
from nephoscope.importers.tree import DAMAGED, content_of, files_below, origin_of, text_of, why
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Direction, Facts, ImportedBenchmark, Measurement, Metric, Verdict
from nephoscope.model.subjects import DatabaseLoad, Subject

MACHINE_UNKNOWN = "machine, CPU, kernel, region and what else ran: known only as far as the name of a folder says"
ORDER_UNKNOWN = "order and independence of the files of one configuration: they are taken as its replicates"


class Value(Frozen):
    """One number with its metric."""

    metric: Metric
    value: float = Field(allow_inf_nan=False)
    at_s: float | None = None


class Parsed(Frozen):
    """What a file says."""

    benchmark: str
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
    load: str = ""
    """What distinguishes its load from others of the same benchmark; becomes part of the benchmark's name."""
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
    place: Callable[[Path, Path, str], FileOrigin | None] | None = None
    """Of what was imported, one file, and the benchmark in it; none, or None: as the folders above it are called."""
    aside: Callable[[Path], bool] | None = None
    """Whether a file is read together with others instead of separately."""


def metric(name: str, unit: str, title: str, *, headline: bool = False, lower: bool = False) -> Metric:
    """A metric of somebody else's benchmark."""
    direction = Direction.LOWER if lower else Direction.HIGHER
    return Metric(name=name, unit=unit, direction=direction, title=title, headline=headline)


def latency(name: str, title: str, seconds: float) -> Value:
    """A latency in seconds."""
    return Value(metric=metric(name, "s", title, lower=True), value=seconds)


def read_files(path: Path, form: FileFormat) -> ImportedStudy:
    """Every file at or below a path; one that cannot be read is skipped.

    Raises:
        InputError: it cannot be read, or no file is of this kind.
    """
    trials: list[ImportedTrial] = []
    refused: list[str] = []
    benchmarks: dict[str, ImportedBenchmark] = {}
    for file in files_below(path, *form.suffixes):
        if form.aside is not None and form.aside(file):
            continue
        origin = origin_of(file, path)
        try:
            found = list(_trials(path, file, origin, form))
        except DAMAGED as error:
            refused.append(f"{origin}: {why(error)}")
            continue
        for one, trial in found:
            benchmarks[one.benchmark] = _merged(benchmarks.get(one.benchmark), one)
            trials.append(trial)
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
        benchmarks=[benchmarks[name] for name in sorted(benchmarks)],
        checks=dict(form.checks),
        trials=trials,
        refused=refused,
    )


def _trials(root: Path, file: Path, origin: str, form: FileFormat) -> Iterator[tuple[Parsed, ImportedTrial]]:
    """What one file holds, by the names that the study gives it."""
    for index, one in enumerate(form.parse(text_of(file, root))):
        place = (form.place(root, file, one.benchmark) if form.place else None) or FileOrigin(_machine(root, file))
        named = one.model_copy(update={"benchmark": safe_name(f"{one.benchmark}{place.load}")})
        yield named, _trial(named, root, file, f"{origin}#{index}" if index else origin, place)


def _machine(path: Path, file: Path) -> ImportedMachine:
    folders = file.relative_to(path).parent.parts if file != path else ()
    for index, part in enumerate(folders[:-1]):
        if part.casefold() in CLOUDS:
            return machine(part.casefold(), folders[index + 1])
    name = safe_name(folders[0]) if folders else "unnamed"
    return ImportedMachine(name=name, provider="other", machine_type=None)


def _trial(one: Parsed, root: Path, file: Path, origin: str, place: FileOrigin) -> ImportedTrial:
    raw = [file, *place.beside]
    return ImportedTrial(
        origin=origin,
        machine=place.machine,
        benchmark=one.benchmark,
        measurements=[
            Measurement(metric=found.metric.name, unit=found.metric.unit, value=found.value, at_s=found.at_s)
            for found in one.values
        ],
        verdicts=[read_whole(file.name), *one.verdicts, *place.verdicts],
        facts=place.facts,
        cpus=one.cpus,
        tool_versions=one.versions,
        raw={f"{safe_name(kept.stem)}{kept.suffix.lower()}": content_of(kept, root) for kept in raw},
    )


def _merged(known: ImportedBenchmark | None, one: Parsed) -> ImportedBenchmark:
    metrics = {found.name: found for found in known.metrics} if known else {}
    for found in one.values:
        metrics.setdefault(found.metric.name, found.metric)
    transactions = DatabaseLoad.OLTP if one.subject is Subject.DATABASE else None
    return ImportedBenchmark(
        name=one.benchmark,
        subject=one.subject,
        title=one.title,
        metrics=list(metrics.values()),
        database_load=one.database_load or transactions,
    )


def once(values: Iterable[Value]) -> list[Value]:
    """The values, none of them twice.

    Raises:
        OutputUnreadable: a metric has two values: two runs in one file cannot be told apart.
    """
    seen: dict[str, Value] = {}
    doubled: dict[str, int] = defaultdict(int)
    for value in values:
        doubled[value.metric.name] += 1
        seen[value.metric.name] = value
    twice = [name for name, count in doubled.items() if count > 1]
    if twice:
        raise OutputUnreadable(f"two values of {twice[0]}: the file contains several runs; split it")
    return list(seen.values())
