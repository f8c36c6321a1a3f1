"""The raw logs of the Cloud Report's pilot runs of 2019: folders PROVIDER/TYPE/DATE/RUN -> imported runs.

A run's identity is a hash of its logs. Provider, machine type, date and number are parsed from the path, because the
logs do not contain them. They are kept as a label: a claim, which the gate compares with what the logs show.
`run-data.csv`, if there is one, repeats the same claim and is only compared with it.
"""

import csv
import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field

from nephoscope.checks.logs import (
    LOG_CHECKS,
    OF_THE_MACHINE,
    LogFacts,
    MachineType,
    Sibling,
    judge_by_siblings,
    judge_copy,
    judge_log,
    judge_overlap,
    judge_reads,
)
from nephoscope.checks.thresholds import STRESS_LENGTH
from nephoscope.checks.verdicts import overall
from nephoscope.importers.cloud_report_2019.machine_types import machine_type_of
from nephoscope.importers.cloud_report_2019.measured import (
    PREPARE,
    ImportedMeasurement,
    cpu_measurements,
    load_measurements,
    ping_measurements,
    section_measurements,
    throughput_measurements,
)
from nephoscope.importers.cloud_report_2019.overlap import begun_anew, interleaved, unfinished
from nephoscope.importers.tree import content_of
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Verdict, VerdictKind
from nephoscope.model.units import MIB
from nephoscope.parsers.cpuinfo import parse_cpu_lines
from nephoscope.parsers.iperf2 import parse_iperf_client
from nephoscope.parsers.ping import parse_ping
from nephoscope.parsers.stress_ng import StressNgLog, parse_stress_ng_runs
from nephoscope.parsers.sysbench_fileio import parse_fileio_load, parse_fileio_run

T = TypeVar("T")

SOURCE = "https://github.com/cockroachlabs/cloud-report, branch add-results-logs-dir"
LICENCE = "Apache-2.0"
NOT_KNOWN = [
    "argv of the tools: not stored; only the options that a log mentions are known",
    "versions of stress-ng, ping and iperf; kernel, image, zone, kind and size of the disk, mount options",
    "whether runs without I/O logs shared a machine with others",
    "time of day, and what else ran on the machine; exit codes",
    "the machine at the other end of ping and iperf",
]

_CPU, _PING, _IPERF = "cpu.log", "network-ping.log", "network-iperf-client.log"
_LOAD, _READ, _WRITE = "io-load-results.log", "io-rd-results.log", "io-wr-results.log"
_LOGS = (_CPU, _PING, _IPERF, _LOAD, _READ, _WRITE)
_CLAIM = "run-data.csv"
_OVERLAP = "concurrent-run"
_LABEL_PARTS = 4
_MAX_BYTES = 64 * MIB
"""Size limit of an unpacked log; real ones have a few KiB."""


class Label(Frozen):
    """What a path claims."""

    provider: str
    machine_type: str = Field(description="as written, even if it names the disks: 'c5.4xlarge-ebs'")
    date: str
    number: str


class ImportedRun(Frozen):
    """One folder of logs."""

    run: str = Field(description="first 12 hexadecimal digits of the SHA-256 of its logs")
    folder: str = Field(description="folder, relative to the imported one")
    label: Label = Field(description="claimed by the path")
    verdict: VerdictKind
    verdicts: list[Verdict]
    shown: LogFacts | None = Field(description="what the logs show about the machine; None: no readable CPU log")
    unreadable: list[str] = Field(description="'file: reason' for each rejected log; its numbers are missing")
    notes: list[str]
    measurements: int = Field(description="number of values read")
    same_machine: str | None = Field(
        default=None,
        description="shared by runs with one log of the files' preparation: they found the same files, so they ran on "
        "the same machine; None: the run has no such log",
    )

    @property
    def refused(self) -> list[Verdict]:
        """Verdicts that are not valid."""
        return [one for one in self.verdicts if one.verdict is not VerdictKind.VALID]


class TypeCounts(Frozen):
    """How the runs of one labelled type were judged."""

    provider: str
    machine_type: str
    runs: int
    valid: int
    invalid: int
    unknown: int
    reasons: dict[str, int] = Field(
        description="check -> runs that it found not valid; a run may be listed under several"
    )


class ImportRecord(Frozen):
    """What was imported, without its measurements."""

    schema_: Literal["nephoscope/import/1"] = Field(default="nephoscope/import/1", alias="schema")
    source: str
    licence: str
    not_known: list[str] = Field(description="what the logs do not say, so that nobody assumes it")
    counts: list[TypeCounts]
    runs: list[ImportedRun]


def words_of(reasons: Mapping[str, int]) -> str:
    """Reasons for a table: 'effective-cpus 3, cpu-cache 2'."""
    return ", ".join(f"{check} {count}" for check, count in reasons.items())


def record_of(runs: list[ImportedRun]) -> ImportRecord:
    """What was imported, counted by labelled type."""
    return ImportRecord(source=SOURCE, licence=LICENCE, not_known=NOT_KNOWN, counts=_counts(runs), runs=runs)


def measured_runs(tree: Path) -> list[tuple[ImportedRun, list[ImportedMeasurement]]]:
    """Every run below a folder, by path, with its numbers.

    Raises:
        InputError: the folder cannot be read, or holds no such logs.
    """
    try:
        found = sorted(_folders(tree), key=lambda item: item[0])
        read = [_read(tree, folder.relative_to(tree), logs) for folder, logs in found]
    except OSError as error:
        raise InputError(
            f"cannot read {tree}: {error}", hint="give the folder that contains PROVIDER folders"
        ) from error
    if not read:
        raise InputError(
            f"no logs below {tree}", hint=f"expected PROVIDER/TYPE/DATE/RUN/ with one of {', '.join(_LOGS)}"
        )
    judged = [one.judged(_siblings(one, read)) for one in read]
    originals = _originals(zip((run for run, _ in judged), (one.prepared for one in read), strict=True))
    return [
        (run, _counted_once(run, measured, originals.get(one.prepared or "")))
        for (run, measured), one in zip(judged, read, strict=True)
    ]


def _originals(runs: Iterable[tuple[ImportedRun, str | None]]) -> dict[str, ImportedRun]:
    """Log of `prepare` -> the run for which it counts: the first valid one, else the first."""

    def place(run: ImportedRun) -> tuple[bool, str, int, str]:
        number = run.label.number
        return run.verdict is not VerdictKind.VALID, run.label.date, int(number) if number.isdigit() else 0, run.folder

    found: dict[str, ImportedRun] = {}
    for run, prepared in sorted(runs, key=lambda pair: place(pair[0])):
        if prepared is not None:
            found.setdefault(prepared, run)
    return found


def _counted_once(
    run: ImportedRun, measured: list[ImportedMeasurement], original: ImportedRun | None
) -> list[ImportedMeasurement]:
    """The numbers of a run; those of a log that counts for another run are rejected."""
    if original is None or original is run:
        return measured
    copy = judge_copy(original.folder)
    return [one.model_copy(update={"own_verdict": copy}) if one.tool == PREPARE else one for one in measured]


def _folders(tree: Path) -> Iterator[tuple[Path, dict[str, Path]]]:
    """Folders with logs, and the logs by the name they have in later runs."""
    by_folder: dict[Path, dict[str, Path]] = {}
    for path in tree.rglob("*"):
        name = path.name.casefold().replace("_", "-").removesuffix(".gz")
        deep_enough = len(path.relative_to(tree).parts) > _LABEL_PARTS
        if name in {*_LOGS, _CLAIM} and deep_enough and path.is_file():
            by_folder.setdefault(path.parent, {})[name] = path
    return ((folder, logs) for folder, logs in by_folder.items() if logs.keys() & set(_LOGS))


@dataclass(frozen=True)
class _Read:
    """A folder as it was read, before it is compared with its siblings."""

    run: ImportedRun
    measured: list[ImportedMeasurement]
    marks: Mapping[str, str]
    """What a run shares with others on the same machines -> how a message says so."""
    prepared: str | None
    """The log of `prepare`; None: there is none, or it wrote nothing."""

    def judged(self, siblings: Sequence[Sibling]) -> tuple[ImportedRun, list[ImportedMeasurement]]:
        """The run with what its siblings say, where its own logs say nothing."""
        told = None if self.run.shown else judge_by_siblings(siblings)
        if told is None:
            return self.run, self.measured
        verdicts = [told, *(one for one in self.run.verdicts if one.check == _OVERLAP)]
        return self.run.model_copy(update={"verdict": overall(verdicts), "verdicts": verdicts}), self.measured


def _siblings(one: _Read, runs: Sequence[_Read]) -> list[Sibling]:
    """Other runs of the label and day that share a mark; of several shared marks the first is reported."""

    def day(read: _Read) -> tuple[str, str, str]:
        return read.run.label.provider, read.run.label.machine_type, read.run.label.date

    return [
        Sibling(number=other.run.label.number, link=one.marks[shared[0]], verdict=_of_the_machine(other.run))
        for other in runs
        if other is not one and other.run.shown and day(other) == day(one)
        for shared in [[mark for mark in one.marks if mark in other.marks]]
        if shared
    ]


def _of_the_machine(run: ImportedRun) -> VerdictKind:
    """A run that shared its CPUs does not show which machine it was; one whose CPUs were all free does."""
    refused = {one.check for one in run.refused}
    shared = "cpu-contention" in refused or {_OVERLAP, "effective-cpus"} <= refused
    if shared and refused.isdisjoint(OF_THE_MACHINE):
        return VerdictKind.UNKNOWN
    return overall([one for one in run.verdicts if one.check != _OVERLAP])


def _read(tree: Path, folder: Path, files: Mapping[str, Path]) -> _Read:
    contents: dict[str, bytes] = {}
    closed: list[str] = []
    for name in sorted(files):
        try:
            contents[name] = _content(files[name], tree)
        except OutputUnreadable as error:
            closed.append(f"{name}: {error.message}")
    label = Label.model_validate(dict(zip(Label.model_fields, folder.parts[-_LABEL_PARTS:], strict=True)))
    known = machine_type_of(label.provider, label.machine_type)
    logs = _Logs({name: content.decode(errors="replace") for name, content in contents.items()})
    shown = logs.read(_CPU, _shown)
    overlap = judge_overlap(_signs_of_another_run(logs.texts))
    verdicts = judge_log(shown, label.machine_type, known, shared=overlap is not None)
    verdicts += [overlap] if overlap else []
    measured, marks = _measured(logs, known), _marks(logs)
    prepared = logs.texts[_LOAD] if logs.texts.get(_LOAD) in marks else None
    run = ImportedRun(
        run=_hash({name: content for name, content in contents.items() if name in _LOGS}),
        folder=folder.as_posix(),
        label=label,
        verdict=overall(verdicts),
        verdicts=verdicts,
        shown=shown,
        unreadable=[*closed, *logs.refused.values()],
        notes=_notes(label, logs.texts.get(_CLAIM)),
        measurements=len(measured),
        same_machine=_hash({_LOAD: contents[_LOAD]}) if prepared else None,
    )
    return _Read(run, measured, marks, prepared)


def _signs_of_another_run(texts: Mapping[str, str]) -> list[str]:
    """One sentence per log; a log emptied by another run is only looked for where nothing else shows one."""
    found = {
        name: sign
        for name in (_WRITE, _READ)
        if name in texts and (sign := interleaved(texts[name]) or unfinished(texts[name]))
    }
    if not found and _WRITE in texts and _READ in texts and (sign := begun_anew(texts[_WRITE], texts[_READ])):
        found = {_WRITE: sign}
    return [f"{name}: {sign}" for name, sign in found.items()]


def _content(path: Path, tree: Path) -> bytes:
    """What a log holds, also where it was packed; a damaged pack is as far as it can be read.

    Raises:
        OutputUnreadable: it is no regular file of the tree, or too large.
    """
    content = content_of(path, tree)
    if path.suffix.casefold() != ".gz":
        return content
    unpacked = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        text = unpacked.decompress(content, _MAX_BYTES + 1)
    except zlib.error:
        return b""
    if len(text) > _MAX_BYTES:
        raise OutputUnreadable(f"unpacked, it is larger than {_MAX_BYTES // MIB} MiB")
    return text


def _marks(logs: "_Logs") -> dict[str, str]:
    """Addresses of servers, and the log of `prepare`: its time has two decimals, so none is like another."""
    marks: dict[str, str] = {}
    if ping := logs.read(_PING, parse_ping):
        marks[f"server {ping.host}"] = f"the same server {ping.host}"
    if iperf := logs.read(_IPERF, parse_iperf_client):
        marks[f"server {iperf.server}"] = f"the same server {iperf.server}"
    if (load := logs.read(_LOAD, parse_fileio_load)) and load.written_bytes is not None:
        marks[logs.texts[_LOAD]] = f"the same {_LOAD}"
    return marks


def _measured(logs: "_Logs", known: MachineType | None) -> list[ImportedMeasurement]:
    def sections(text: str) -> list[ImportedMeasurement]:
        return [
            one
            for section in parse_fileio_run(text)
            for served in [judge_reads(section.files_bytes, section.open_flags, known) if section.reading else None]
            for one in section_measurements(section, served)
        ]

    readers: Mapping[str, Callable[[str], Iterable[ImportedMeasurement]]] = {
        _CPU: lambda text: cpu_measurements(_judged(text)),
        _PING: lambda text: ping_measurements(parse_ping(text)),
        _IPERF: lambda text: throughput_measurements(parse_iperf_client(text)),
        _LOAD: lambda text: load_measurements(parse_fileio_load(text)),
        _WRITE: sections,
        _READ: sections,
    }
    return [one for name, read in readers.items() for one in logs.read(name, read) or []]


def _counts(runs: Sequence[ImportedRun]) -> list[TypeCounts]:
    by_type: dict[tuple[str, str], list[ImportedRun]] = {}
    for run in runs:
        by_type.setdefault((run.label.provider, run.label.machine_type), []).append(run)
    return [_count(*key, many) for key, many in sorted(by_type.items())]


def _count(provider: str, machine_type: str, runs: Sequence[ImportedRun]) -> TypeCounts:
    kinds = Counter(run.verdict for run in runs)
    reasons = Counter(one.check for run in runs for one in run.refused)
    return TypeCounts(
        provider=provider,
        machine_type=machine_type,
        runs=len(runs),
        valid=kinds[VerdictKind.VALID],
        invalid=kinds[VerdictKind.INVALID],
        unknown=kinds[VerdictKind.UNKNOWN],
        reasons={check: reasons[check] for check in LOG_CHECKS if reasons[check]},
    )


class _Logs:
    """Texts by name; keeps why one was refused, once."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.refused: dict[str, str] = {}

    def read(self, name: str, parse: Callable[[str], T]) -> T | None:
        """What the parser makes of a log; None when it is not there or was refused."""
        if name not in self.texts:
            return None
        try:
            return parse(self.texts[name])
        except OutputUnreadable as error:
            self.refused[name] = f"{name}: {error.message}"
            return None


def _judged(text: str) -> StressNgLog:
    """Of several runs in a log the one with the least CPU time for its length; of a short one only where all are."""
    runs = parse_stress_ng_runs(text)
    if any(len(run.rows) > 1 for run in runs):
        raise OutputUnreadable("several stressors at once: their CPU time shows nothing about the machine")
    long = [run for run in runs if run.rows[0].real_s >= STRESS_LENGTH.value]
    return min(long or runs, key=lambda run: run.rows[0].user_s / run.rows[0].real_s)


def _shown(text: str) -> LogFacts:
    log, lines = _judged(text), parse_cpu_lines(text)
    row = log.rows[0]
    return LogFacts(
        stressor=row.stressor,
        workers=row.workers,
        user_s=row.user_s,
        real_s=row.real_s,
        l3_kib=tuple(sorted({size for size in (log.cache_kib, lines.l3_kib) if size is not None})),
        cpu_models=lines.models,
        vcpus=lines.vcpus,
        sockets=lines.sockets,
        threads_per_core=lines.threads_per_core,
    )


def _hash(contents: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name, content in contents.items():
        whole.update(f"{name} {len(content)}\n".encode() + content)
    return whole.hexdigest()[:12]


def _notes(label: Label, run_data: str | None) -> list[str]:
    """Contradictions between run-data.csv and the path."""
    try:
        rows = list(csv.reader((run_data or "").replace("\0", "").splitlines()))
    except csv.Error as error:
        return [f"run-data.csv cannot be read: {error}"]
    claimed = [cell.strip() for cell in rows[-1][1:]] if len(rows) > 1 else []
    path = [label.provider, label.machine_type, label.date, label.number]
    if not claimed or claimed == path:
        return []
    return [f"run-data.csv says {'/'.join(claimed)}, the path {'/'.join(path)}"]
