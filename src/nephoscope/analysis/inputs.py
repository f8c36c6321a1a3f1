"""The inputs of the analysis: a study with its stored trials, as plain rows, independent of who reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nephoscope.model.analysed import PartOfStudy
from nephoscope.model.frozen import Frozen
from nephoscope.model.looks import Look
from nephoscope.model.records import (
    CommandRecord,
    Disturbance,
    Facts,
    OperationErrors,
    Plan,
    ResourceUse,
    SourceRecord,
    Verdict,
)
from nephoscope.model.rows import BenchmarkRow, MeasurementRow, NetworkRow, RawFileRow, TrialRow
from nephoscope.prices.book import PriceBook, shipped
from nephoscope.study.claims import Claims
from nephoscope.study.model import Study


class ObservedMachine(Frozen):
    """The facts of one machine before one trial."""

    trial: str
    configuration: str
    role: str
    machine: str
    facts: Facts


@dataclass(frozen=True, kw_only=True)
class StudyInputs:
    """One study, as stored. The order of rows does not matter."""

    study: Study
    study_toml: str
    """The study file, verbatim."""
    plan: Plan
    nephoscope_version: str
    benchmarks: Sequence[BenchmarkRow]
    trials: Sequence[TrialRow]
    """Every trial of the plan, whatever its outcome."""
    measurements: Sequence[MeasurementRow]
    bounds: Sequence[MeasurementRow] = ()
    """What its tool could only tell to be above the value of its row."""
    machines: Sequence[ObservedMachine] = ()
    """Facts before the attempt that counts, of every machine of every trial that has some."""
    commands: Mapping[str, Sequence[CommandRecord]] = field(default_factory=dict)
    """Trial id -> what was executed in the attempt that counts, in order."""
    network: Sequence[NetworkRow] = ()
    """Of every trial that finished, the machines whose counters of bytes were seen."""
    verdicts: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)
    """Trial id -> the verdict of every check on the attempt that is used."""
    errors: Mapping[str, Sequence[OperationErrors]] = field(default_factory=dict)
    """Trial id -> operations that were retried or failed in the attempt that counts."""
    resources: Mapping[str, Sequence[ResourceUse]] = field(default_factory=dict)
    """Trial id -> what its machines did in the attempt that counts."""
    raw_files: Sequence[RawFileRow] = ()
    """Of every trial that began, the files of raw output of the attempt that counts."""
    check_texts: Mapping[str, str] = field(default_factory=dict)
    """Every check by name -> its sentence for the report; also those that had nothing to judge."""
    database_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Configuration -> settings in force."""
    versions_of_trials: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Trial id -> tool -> the version that its trial used."""
    book: PriceBook = field(default_factory=shipped)
    """Prices: the folder's own over those that ship."""
    looks: Sequence[Look] = ()
    """Those that were stored, in the order of their blocks."""
    source: SourceRecord | None = None
    """Where imported results come from; None: they were measured here."""
    claims: Claims | None = None
    """The folder's claims file."""
    part: PartOfStudy | None = None
    """How much of the study the plan holds; None: all of it."""
    judged_again: Disturbance | None = None
    """How stored steal was judged again; None: as when the trials ran."""
    stamp: str = ""
    """What the files looked like before they were read, see `store.index`; empty: not known."""

    @property
    def tool_versions(self) -> dict[str, list[str]]:
        """Tool -> every version that some trial used."""
        found: dict[str, set[str]] = {}
        for versions in self.versions_of_trials.values():
            for tool, said in versions.items():
                found.setdefault(tool, set()).add(said)
        return {tool: sorted(said) for tool, said in sorted(found.items())}
