"""Results of the Phoronix Test Suite: composite.xml, one entry for each system and test."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from nephoscope.importers.imported import ImportedMachine, ImportedStudy, ImportedTrial, read_whole, safe_name
from nephoscope.importers.tree import DAMAGED, content_of, files_below, origin_of, why
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.records import Direction, ImportedBenchmark, Measurement, Metric
from nephoscope.model.subjects import database_load_by_name, subject_by_name

FORMAT = "phoronix"
UNKNOWN = [
    "the runs of an entry ran in sequence on one machine: they are repeats, not replicates on fresh machines",
    "the suite repeats a run until its spread is small, up to a limit: the number of runs depends on the values",
    "the raw file lists hardware and software as named by the suite; nothing was checked",
    "subject of a test: derived from its name, or CPU if the name does not tell",
    "exit codes and what else ran",
]
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,20})?")
_ROOT = "PhoronixTestSuite"


def read(path: Path) -> ImportedStudy:
    """A composite.xml, or a folder that holds such files.

    Raises:
        InputError: it cannot be read, or holds no result.
    """
    refused: list[str] = []
    trials: list[ImportedTrial] = []
    benchmarks: dict[str, ImportedBenchmark] = {}
    for file in files_below(path, ".xml"):
        origin = origin_of(file, path)
        try:
            content = content_of(file, path)
            results = parse_composite(content.decode("utf-8", errors="replace"))
            found = [
                one
                for place, (benchmark, entries) in enumerate(results, start=1)
                for one in _trials(f"{origin}#{place:04}", content, benchmark, entries)
            ]
        except DAMAGED as error:
            refused.append(f"{origin}: {why(error)}")
            continue
        benchmarks |= {benchmark.name: benchmark for benchmark, _ in results if benchmark.name not in benchmarks}
        trials += found
    if not trials:
        first = f": {refused[0]}" if refused else ""
        raise InputError(f"no result of the Phoronix Test Suite at {path}{first}", hint="name a composite.xml")
    return ImportedStudy(
        format=FORMAT,
        name=FORMAT,
        title="Imported: results of the Phoronix Test Suite",
        description="Results of the Phoronix Test Suite, measured by others. nephoscope measured none.",
        source="files without a stated origin; the tool is https://github.com/phoronix-test-suite/phoronix-test-suite",
        licence="not stated",
        unknown=UNKNOWN,
        benchmarks=[benchmarks[name] for name in sorted(benchmarks)],
        trials=trials,
        refused=refused,
    )


Entry = tuple[str, tuple[float, ...]]
"""System, and the value of each of its runs."""


def parse_composite(text: str) -> list[tuple[ImportedBenchmark, list[Entry]]]:
    """Tests with their entries. Entries without a number (a test that failed) are left out.

    Raises:
        OutputUnreadable: not XML, another document, a DTD, or a damaged number.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise OutputUnreadable("composite.xml: it declares entities, which the suite never does")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  # no DTD, so no entities; expat bounds the rest
    except (ElementTree.ParseError, ValueError) as error:
        raise OutputUnreadable(f"composite.xml: not XML: {error}") from error
    if root.tag != _ROOT:
        raise OutputUnreadable(f"composite.xml: its root is {root.tag[:40]!r}, not {_ROOT!r}")
    found = [
        (benchmark, entries) for result in root.iter("Result") for benchmark, entries in [_result(result)] if entries
    ]
    if not found:
        raise OutputUnreadable("composite.xml: no result with a number")
    return found


def _result(result: ElementTree.Element) -> tuple[ImportedBenchmark, list[Entry]]:
    def said(tag: str) -> str:
        return (result.findtext(tag) or "").strip()

    identifier = said("Identifier") or said("Title")
    name = safe_name(f"{identifier.removeprefix('pts/')}-{said('Description')}")
    unit = said("Scale") or "1"
    direction = Direction.LOWER if said("Proportion") == "LIB" else Direction.HIGHER
    result_metric = Metric(name="result", unit=unit, direction=direction, title=said("Title") or name, headline=True)
    parameters = {"arguments": said("Arguments"), "version": said("AppVersion"), "description": said("Description")}
    benchmark = ImportedBenchmark(
        name=name,
        subject=subject_by_name(identifier),
        database_load=database_load_by_name(identifier),
        title=f"{said('Title')} {said('Description')}".strip(),
        parameters=parameters,
        metrics=[result_metric],
    )
    return benchmark, list(_entries(result))


def _entries(result: ElementTree.Element) -> Iterator[Entry]:
    for entry in result.iter("Entry"):
        value, runs = (entry.findtext("Value") or "").strip(), (entry.findtext("RawString") or "").strip()
        if not value:
            continue
        texts = [part for part in runs.split(":") if part] or [value]
        if not all(_NUMBER.fullmatch(part) for part in texts):
            raise OutputUnreadable(f"composite.xml: a run is {runs[:60]!r}")
        yield (entry.findtext("Identifier") or "unnamed").strip(), tuple(float(part) for part in texts)


def _trials(
    result: str, content: bytes, benchmark: ImportedBenchmark, entries: Sequence[Entry]
) -> Iterator[ImportedTrial]:
    """Every run of a result: numbers in its origin have leading zeros, so that origins sort as the runs ran."""
    unit = benchmark.metrics[0].unit
    for place, (system, values) in enumerate(entries, start=1):
        of = ImportedMachine(name=safe_name(system), provider="other", machine_type=None)
        for run, value in enumerate(values, start=1):
            yield ImportedTrial(
                origin=f"{result}/{place:04}/{run:04}",
                machine=of,
                benchmark=benchmark.name,
                measurements=[Measurement(metric="result", unit=unit, value=value)],
                verdicts=[read_whole("composite.xml")],
                raw={"composite.xml": content} if run == 1 else {},
            )
