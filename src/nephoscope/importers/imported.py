"""What an importer hands over: a study that somebody else made, as far as its files tell it."""

import re

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.quantities import Seconds, UnixMs
from nephoscope.model.records import Facts, ImportedBenchmark, Measurement, Verdict, VerdictKind
from nephoscope.study.model import Volume

WHOLE = "imported-output"
"""Check of every imported trial: its output was read completely."""
CLOUDS = ("aws", "azure", "gcp")
_UNSAFE = re.compile(r"[^a-z0-9.]+")


class ImportedMachine(Frozen):
    """What a trial was measured on, as its source says."""

    name: str = Field(description="name of the configuration in charts: 'aws-m5a.2xlarge'")
    provider: str = Field(description="'aws', 'azure', 'gcp', or 'other'")
    machine_type: str | None
    priced_in: str | None = Field(default=None, description="region of its price; where it ran may not be known")
    volumes: list[Volume] = Field(default=[], description="volumes of each machine, as priced")
    count: int = Field(default=1, description="number of machines of this type that were measured together")
    database: str | None = Field(default=None, description="system under test, if there is one; for people")


class ImportedTrial(Frozen):
    """One execution of one benchmark by somebody else."""

    origin: str = Field(description="its file or folder, relative to the import")
    machine: ImportedMachine
    benchmark: str
    measurements: list[Measurement] = []
    verdicts: list[Verdict] = Field(description="verdicts of the importer's checks")
    failure: str | None = Field(default=None, description="why its output was rejected; it then has no numbers")
    facts: Facts | None = Field(default=None, description="None: nothing shows the machine")
    cpus: int | None = Field(default=None, description="that were measured")
    started_unix_ms: UnixMs | None = None
    duration_s: Seconds | None = None
    tool_versions: dict[str, str] = {}
    same_machine: str | None = Field(
        default=None, description="shared by trials on the same machine, as far as the source shows it; None: not known"
    )
    raw: dict[str, bytes] = Field(default={}, description="the source's own files, verbatim, by name")


class ImportedStudy(Frozen):
    """Everything that an importer found."""

    format: str
    name: str = Field(description="of the study")
    title: str
    description: str
    source: str
    licence: str
    unknown: list[str]
    benchmarks: list[ImportedBenchmark]
    checks: dict[str, str] = {}
    trials: list[ImportedTrial]
    left_out: list[str] = []
    """What was found but is not imported: nothing is wrong with it."""
    refused: list[str] = []
    """Files that could not be read, each with the reason."""


def machine(provider: str, machine_type: str, priced_in: str | None = None) -> ImportedMachine:
    """A machine of a cloud, with the name that charts use."""
    of = provider if provider in CLOUDS else "other"
    return ImportedMachine(
        name=safe_name(f"{provider}-{machine_type}"), provider=of, machine_type=machine_type, priced_in=priced_in
    )


def safe_name(text: str) -> str:
    """Text as the name of a configuration or a benchmark: 'Standard_D8as_v5' is 'standard-d8as-v5'."""
    return _UNSAFE.sub("-", text.casefold()).strip("-.")[:63].rstrip("-.") or "unnamed"


def read_whole(what: str) -> Verdict:
    """The verdict of a trial whose output was understood from its first to its last line."""
    return Verdict(check=WHOLE, verdict=VerdictKind.VALID, reason=f"{what} read whole")


WHOLE_TEXT = "Needs output that its parser can read from the first to the last line."
