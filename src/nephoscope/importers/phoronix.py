"""Results of the Phoronix Test Suite: composite.xml, one entry for each system and test."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from nephoscope.importers.identity import BenchmarkIdentity
from nephoscope.importers.imported import (
    ImportedMachine,
    ImportedStudy,
    ImportedTrial,
    named_machine,
    read_whole,
    with_first,
)
from nephoscope.importers.latency_sets import SECONDS_OF, Checked, checked
from nephoscope.importers.tree import DAMAGED, MAX_TRIALS, content_of, files_below, origin_of, require_importable, why
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.records import Direction, Measurement, Metric
from nephoscope.model.subjects import database_load_by_name, subject_by_name
from nephoscope.parsers.text import decoded

FORMAT = "phoronix"
UNKNOWN = [
    "the runs of an entry ran in sequence on one machine: they are repeats, not replicates on fresh machines",
    "the suite repeats a run until its spread is small, up to a limit: the number of runs depends on the values",
    "the raw file lists hardware and software as named by the suite; nothing was checked",
    "subject of a test: derived from its name, or CPU if the name does not tell",
    "exit codes and what else ran",
]
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,20})?")
_VERSION = re.compile(r"-[0-9.]+$")
_KEY = re.compile(r"\b[A-Z][A-Za-z ]{0,30}: ")
_ROOT = "PhoronixTestSuite"


def read(path: Path) -> ImportedStudy:
    """A composite.xml, or a folder that holds such files.

    Raises:
        InputError: it cannot be read, or holds no result.
    """
    refused: list[str] = []
    left_out: list[str] = []
    trials: list[ImportedTrial] = []
    for file in files_below(path, ".xml"):
        origin = origin_of(file, path)
        try:
            trials += parse_composite(origin, content_of(file, path), left_out)
        except DAMAGED as error:
            refused.append(f"{origin}: {why(error)}")
        require_importable(len(trials), path)
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
        trials=trials,
        refused=refused,
        left_out=left_out,
    )


Entry = tuple[str, tuple[float, ...]]
"""System, and the value of each of its runs."""


def parse_composite(origin: str, content: bytes, left_out: list[str]) -> list[ImportedTrial]:
    """Every run of every result. Numbers in an origin have leading zeros, so that origins sort as the runs ran.

    Args:
        origin: of the file.
        content: of the file.
        left_out: gets a line for each result and entry without numbers of runs.

    Raises:
        OutputUnreadable: not XML, several or another document, a DTD, an element twice, no result with a number, or too
            many runs.
    """
    root = _root(decoded(content))
    machines = {_text(system, "Identifier"): _machine(system) for system in root.iter("System")}
    left_out += [f"{origin}: {name}" for result in root.iter("Result") for name in _without_number(result)]
    results = [result for result in root.iter("Result") if any(_entries(result))]
    if not results:
        raise OutputUnreadable("composite.xml: no result with a number")
    if sum(len(runs) for result in results for _, runs in _entries(result)) > MAX_TRIALS:
        raise OutputUnreadable(f"composite.xml: more than {MAX_TRIALS:,} runs")
    judged = _judged(results)
    left_out += [f"{origin}: {name}: {why}" for found in judged.values() for name, why in found.refused.items()]
    trials = [
        trial
        for place, result in enumerate(results, start=1)
        for trial in _trials(result, f"{origin}#{place:04}", machines, judged)
    ]
    return with_first(trials, {"composite.xml": content})


def _root(text: str) -> ElementTree.Element:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise OutputUnreadable("composite.xml: it declares entities, which the suite never does")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  # no DTD, so no entities; expat bounds the rest
    except (ElementTree.ParseError, ValueError) as error:
        if (count := text.count(f"<{_ROOT}>")) > 1:
            raise OutputUnreadable(f"composite.xml: {count} documents in one text; expected one: split it") from error
        raise OutputUnreadable(f"composite.xml: not XML: {error}") from error
    if root.tag != _ROOT:
        raise OutputUnreadable(f"composite.xml: its root is {root.tag[:40]!r}, not {_ROOT!r}")
    if len(root.findall("Result")) != sum(1 for _ in root.iter("Result")):
        raise OutputUnreadable("composite.xml: a Result stands within another element")
    for element in (*root.iter("Result"), *root.iter("Entry")):
        if twice := {tag for tag, count in Counter(child.tag for child in element).items() if count > 1}:
            raise OutputUnreadable(f"composite.xml: {min(twice)!r} stands twice in one {element.tag}")
    return root


def _text(element: ElementTree.Element, tag: str) -> str:
    return (element.findtext(tag) or "").strip()


def _machine(system: ElementTree.Element) -> ImportedMachine:
    """Systems of one name with other hardware are other machines."""
    return named_machine(_text(system, "Identifier"), _text(system, "Hardware"))


def _name(result: ElementTree.Element) -> str:
    """Tells it from the others of a file, which are benchmarks of their own: each percentile is."""
    return " ".join(_text(result, tag) for tag in ("Identifier", "Title", "Arguments", "Description", "Scale"))


def _judged(results: Sequence[ElementTree.Element]) -> dict[tuple[str, str], Checked]:
    """System and test -> what is no value among its latencies, by the means of their runs."""
    named_s: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for result in results:
        unit_s = SECONDS_OF.get(_text(result, "Scale").casefold(), 0.0)
        for system, runs in _entries(result):
            times = named_s[system, _text(result, "Identifier")]
            times |= {_name(result): unit_s * sum(runs) / len(runs)} if unit_s else {}
    return {(system, test): checked(test, times) for (system, test), times in named_s.items()}


def _trials(
    result: ElementTree.Element,
    origin: str,
    machines: Mapping[str, ImportedMachine],
    judged: Mapping[tuple[str, str], Checked],
) -> Iterator[ImportedTrial]:
    test, title = _text(result, "Identifier") or _text(result, "Title"), _text(result, "Title")
    described = {tag: _text(result, tag) for tag in ("Identifier", "Title", "Arguments", "Description", "Proportion")}
    short, values = _VERSION.sub("", test).rpartition("/")[2], _KEY.sub("", described["Description"])
    identity = BenchmarkIdentity(
        tool=FORMAT,
        workload=f"{short} {values}".strip(),
        version=_text(result, "AppVersion"),
        parameters={tag.casefold(): text for tag, text in described.items() if text},
        unit=_text(result, "Scale") or "1",
    )
    metric = Metric(
        name="result",
        unit=identity.unit,
        direction=Direction.LOWER if described["Proportion"] == "LIB" else Direction.HIGHER,
        title=title or identity.name,
        headline=True,
    )
    for place, (system, runs) in enumerate(_entries(result), start=1):
        for run, value in enumerate(runs, start=1):
            told = judged[system, _text(result, "Identifier")].told({_name(result): value})
            if not told:
                continue
            yield ImportedTrial(
                origin=f"{origin}/{place:04}/{run:04}",
                machine=machines.get(system) or named_machine(system),
                identity=identity,
                subject=subject_by_name(test),
                database_load=database_load_by_name(test),
                title=f"{title} {described['Description']}".strip(),
                metrics=[metric],
                measurements=[Measurement.of("result", identity.unit, told[_name(result)], role=None)],
                verdicts=[read_whole("composite.xml")],
            )


def _entries(result: ElementTree.Element) -> Iterator[Entry]:
    """Entries with a number; a test that failed has none. A series of a monitor is no result: its runs are seconds."""
    for entry in result.iter("Entry") if _is_of_a_test(result) else ():
        value, runs = _text(entry, "Value"), _text(entry, "RawString")
        texts = [part for part in runs.split(":") if part] or [value]
        if all(_NUMBER.fullmatch(part) for part in (value, *texts)):
            yield _text(entry, "Identifier") or "unnamed", tuple(float(part) for part in texts)


def _is_of_a_test(result: ElementTree.Element) -> bool:
    return bool(_text(result, "Identifier")) and _text(result, "DisplayFormat") in {"", "BAR_GRAPH"}


def _without_number(result: ElementTree.Element) -> Iterator[str]:
    """Names of what `_entries` leaves out, with the reason."""
    name = f"{_text(result, 'Title')} {_text(result, 'Description')}".strip()
    if not _is_of_a_test(result):
        yield f"{name}: a {_text(result, 'DisplayFormat') or 'result'} of a monitor, not of a test"
        return
    systems = {system for system, _ in _entries(result)}
    for entry in result.iter("Entry"):
        value, runs = _text(entry, "Value"), _text(entry, "RawString")
        if (system := _text(entry, "Identifier") or "unnamed") not in systems:
            reason = f"{(runs or value)[:60]!r} is no number" if value else "the test failed"
            yield f"{name}: {system}: {reason}"
