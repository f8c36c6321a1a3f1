"""What evidence.html holds of each listed trial: numbers, verdicts, machines, and the digests of its raw output.

The page is published without the trials, so this takes the place of links into their folders.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from nephoscope.analysis.lookup import MetricKey
from nephoscope.model import numbers as people
from nephoscope.model.records import Metric
from nephoscope.model.rows import MachineRow, MeasurementRow, RawFileRow, TrialRow
from nephoscope.report.figures.spec import packed
from nephoscope.report.parts import Book
from nephoscope.report.sections.machines import FACTS

MAX_NUMBERS = 60
"""Numbers of one trial; the others are in measurements.csv."""


def trial_records(book: Book) -> str:
    """The records as a packed script: lists of machines and metrics, and for each trial what it has of them."""
    lookup = book.lookup
    metrics = [(row.benchmark, metric) for row in lookup.study.benchmarks for metric in row.metrics]
    places = {(benchmark, metric.name): place for place, (benchmark, metric) in enumerate(metrics)}
    numbers = _numbers(book, metrics, places)
    files: dict[str, list[list[Any]]] = defaultdict(list)
    for row in lookup[RawFileRow]:
        files[row.trial].append([row.file, row.size_bytes, row.sha256])
    machines: dict[str, list[int]] = defaultdict(list)
    for place, seen in enumerate(lookup[MachineRow]):
        for trial in seen.trials:
            machines[trial].append(place)
    listed = [row for row in lookup[TrialRow] if row.trial in book.listed]
    return packed(
        {
            "metrics": [metric.title for _, metric in metrics],
            "machines": [_machine(row) for row in lookup[MachineRow]],
            "trials": {
                row.trial: _record(row, numbers.get(row.trial, []), machines[row.trial], files[row.trial])
                for row in listed
            },
        }
    )


def _record(row: TrialRow, numbers: list[Any], machines: list[int], files: list[list[Any]]) -> dict[str, Any]:
    found = {
        "verdict": list(map(str, row.reasons)) or ["Every check that applies called it valid."],
        "numbers": numbers[:MAX_NUMBERS],
        "more": max(0, len(numbers) - MAX_NUMBERS),
        "machines": machines,
        "files": files,
        "folder": row.folder or "",
    }
    return {name: value for name, value in found.items() if value}


def _numbers(
    book: Book, metrics: list[tuple[str, Metric]], places: Mapping[MetricKey, int]
) -> dict[str, list[tuple[int, str]]]:
    """Trial -> metrics of the whole trial by their place, headline metrics first, with their values as text."""
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for benchmark, metric in sorted(metrics, key=lambda pair: not pair[1].headline):
        rows = book.lookup.values.get((benchmark, metric.name), [])
        scale = book.lookup.scale(benchmark, metric) if rows else None
        for row in rows:
            if scale is not None and row.trial in book.listed:
                found[row.trial].append((places[benchmark, metric.name], _number(row, scale)))
    return found


def _number(row: MeasurementRow, scale: people.Scale) -> str:
    return f"{scale.text(row.value)} ({row.role})" if row.role else scale.text(row.value)


def _machine(row: MachineRow) -> list[tuple[str, str]]:
    facts = [(title, read(row.facts)) for _, title, read in FACTS]
    host = [("Machine", row.machine), ("Host", row.facts.hostname)]
    return [(name, text) for name, text in [*host, *facts] if text and text != people.MISSING]
