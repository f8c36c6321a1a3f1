"""What an importer hands over: a study that somebody else made, as far as its files tell it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Self

from pydantic import Field

from nephoscope.importers.identity import CLOUDS, BenchmarkIdentity, readable_name, rule_of, title_of, type_name
from nephoscope.model.errors import InputError
from nephoscope.model.frozen import Frozen
from nephoscope.model.quantities import Seconds, UnixMs
from nephoscope.model.records import Facts, ImportedBenchmark, Measurement, Metric, Verdict, VerdictKind
from nephoscope.model.sentence import Sentence
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.study.model import Volume

WHOLE = "imported-output"
"""Check of every imported trial: its output was read completely."""


_UNNAMED = "unnamed"


class ImportedMachine(Frozen):
    """What a trial was measured on, as its source says."""

    name: str = Field(description="name of the configuration in charts: 'aws-m5a.2xlarge'")
    provider: str = Field(description="'aws', 'azure', 'gcp', or 'other'")
    machine_type: str | None
    priced_in: str | None = Field(default=None, description="region of its price; where it ran may not be known")
    volumes: list[Volume] = Field(default=[], description="volumes of each machine, as priced")
    count: int = Field(default=1, description="number of machines of this type that were measured together")
    database: str | None = Field(default=None, description="system under test, if there is one; for people")


class Priced(Frozen):
    """At which prices a study is to be read."""

    on: str | None = Field(description="day, as in `[costs] date`; None: that of the first trial")
    bases: list[str] = Field(description="as in `[costs] bases`")


class ImportedTrial(Frozen):
    """One execution of one benchmark by somebody else."""

    origin: str = Field(description="its file or folder, relative to the import")
    machine: ImportedMachine
    identity: BenchmarkIdentity
    subject: Subject
    title: str = Field(description="of its benchmark")
    database_load: DatabaseLoad | None = None
    metrics: list[Metric] = Field(description="at least those that it measured")
    measurements: list[Measurement] = []
    verdicts: list[Verdict] = Field(description="verdicts of the importer's checks")
    failure: str | None = Field(default=None, description="why its output was rejected; it then has no numbers")
    facts: Facts | None = Field(default=None, description="None: nothing shows the machine")
    cpus: int | None = Field(default=None, description="that were measured")
    started_unix_ms: UnixMs | None = None
    duration_s: Seconds | None = None
    tool_versions: dict[str, str] = {}
    settings: dict[str, str] = Field(default={}, description="of the database server, in force")
    same_machine: str | None = Field(
        default=None, description="shared by trials on the same machine, as far as the source shows it; None: not known"
    )
    raw: dict[str, bytes] = Field(default={}, description="the source's own files, verbatim, by name")

    @property
    def benchmark(self) -> str:
        """The name of its benchmark."""
        return self.identity.name


class ImportedStudy(Frozen):
    """Everything that an importer found."""

    format: str
    name: str = Field(description="of the study")
    title: str
    description: str
    source: str
    licence: str
    unknown: list[str]
    checks: dict[str, str] = {}
    trials: list[ImportedTrial]
    left_out: list[str] = []
    """What was found but is not imported: nothing is wrong with it."""
    refused: list[str] = []
    """Files that could not be read, each with the reason."""
    priced: Priced | None = Field(default=None, description="None: as any other study")
    called_same: int = 0
    """Results whose files do not say their parameters, and have the same ones, as the user said."""

    @property
    def benchmarks(self) -> list[ImportedBenchmark]:
        """Every benchmark of its trials, sorted by name.

        Raises:
            InputError: two of them have one name, or two of its metrics have one name and different definitions.
        """
        first: dict[str, ImportedTrial] = {}
        metrics: dict[str, dict[str, Metric]] = defaultdict(dict)
        for trial in self.trials:
            if first.setdefault(trial.benchmark, trial).identity != trial.identity:
                raise _one_name(trial.benchmark)
            for metric in trial.metrics:
                other = metrics[trial.benchmark].setdefault(metric.name, metric)
                if other.definition != metric.definition:
                    raise _two_definitions(trial.benchmark, other, metric)
        alike: dict[str, list[dict[str, str]]] = defaultdict(list)
        for trial in first.values():
            alike[trial.title].append(trial.identity.described)
        return [
            ImportedBenchmark(
                name=name,
                subject=trial.subject,
                title=title_of(trial.title, trial.identity.described, alike[trial.title]),
                parameters=trial.identity.described,
                metrics=list(metrics[name].values()),
                database_load=trial.database_load,
            )
            for name, trial in sorted(first.items())
        ]

    @property
    def machines(self) -> dict[str, ImportedMachine]:
        """Every machine by its name.

        Raises:
            InputError: two of them have one name.
        """
        found: dict[str, ImportedMachine] = {}
        for trial in self.trials:
            if found.setdefault(trial.machine.name, trial.machine) != trial.machine:
                raise _one_name(trial.machine.name)
        return found

    @property
    def rule(self) -> Sentence:
        """What was taken as replicates, and by which rule."""
        silent = sum(bool(trial.identity.file) for trial in self.trials)
        return rule_of(self.called_same or silent, same=self.called_same > 0)

    def all_same(self) -> Self:
        """The study where files that do not say their parameters have the same ones."""
        silent = sum(bool(trial.identity.file) for trial in self.trials)
        trials = [trial.model_copy(update={"identity": trial.identity.but(file="")}) for trial in self.trials]
        return self.model_copy(update={"trials": trials, "called_same": silent})


def _one_name(name: str) -> InputError:
    return InputError(
        f"two different things would be called {name!r}", hint="import them one by one, each to its --out"
    )


def _two_definitions(benchmark: str, one: Metric, other: Metric) -> InputError:
    words = " and ".join(f"{metric.clock or metric.title!r} in {metric.unit}" for metric in (one, other))
    return InputError(
        f"{benchmark}: {one.name} has two definitions, which are never compared: {words}",
        hint="import the files of each definition by themselves, each to its --out",
    )


def machine(provider: str, machine_type: str, priced_in: str | None = None) -> ImportedMachine:
    """A machine of a cloud, with the name that charts use."""
    of = provider if provider in CLOUDS else "other"
    return ImportedMachine(
        name=type_name(provider, machine_type), provider=of, machine_type=machine_type, priced_in=priced_in
    )


def named_machine(name: str, more: str = "") -> ImportedMachine:
    """A machine that is known by a name only; where its name had to be changed, its type is the original one.

    Args:
        name: empty: it has none.
        more: what else tells it from others of its name.
    """
    as_another_kind = name.partition("-")[0] in CLOUDS or name == _UNNAMED
    ours = readable_name(name, f"{name}\n{more}" if more or as_another_kind else None) if name else _UNNAMED
    return ImportedMachine(name=ours, provider="other", machine_type=name if name and name != ours else None)


def with_first(trials: Sequence[ImportedTrial], raw: Mapping[str, bytes]) -> list[ImportedTrial]:
    """The trials of one file, the first of them with its content: a copy with each is a square of what a file takes."""
    return [trial.model_copy(update={"raw": dict(raw)}) if place == 0 else trial for place, trial in enumerate(trials)]


def read_whole(what: str) -> Verdict:
    """The verdict of a trial whose output was understood from its first to its last line."""
    return Verdict(check=WHOLE, verdict=VerdictKind.VALID, reason=f"{what} read whole")


WHOLE_TEXT = "Needs output that its parser can read from the first to the last line."
