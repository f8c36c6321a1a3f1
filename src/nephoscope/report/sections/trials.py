"""Excluded trials and why, what the checks rejected, every trial, and the sets of trials behind the numbers."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from nephoscope.analysis.lookup import MetricKey
from nephoscope.model import numbers as people
from nephoscope.model.records import Metric, VerdictKind
from nephoscope.model.rows import MachineRow, MeasurementRow, RawFileRow, TrialRow
from nephoscope.model.words import counted
from nephoscope.report.figures.spec import packed
from nephoscope.report.parts import MAX_SETS, Book, Cell, Column, Row, Table, filled, state_badge, trial_links
from nephoscope.report.sections.machines import FACTS, fact_text, fact_title


def outcomes(trials: list[TrialRow]) -> str:
    """How many trials can be used, and what happened to the others."""
    if not trials:
        return "The study has no trials."
    good = sum(trial.counts for trial in trials)
    usable = f"{good:,} of {counted(len(trials), 'trial')} usable"
    return f"{', '.join((usable, *lost(trials)))}."


def lost(trials: list[TrialRow]) -> list[str]:
    """What happened to those that cannot be used: '4 rejected by a check', '2 failed'."""
    parts = []
    for words, found in (
        ("rejected by a check", [t for t in trials if t.state == "finished" and t.verdict is VerdictKind.INVALID]),
        (
            "with an unknown verdict",
            [t for t in trials if t.state == "finished" and t.verdict in {VerdictKind.UNKNOWN, None}],
        ),
        ("altered after they had ended", [t for t in trials if t.state == "altered"]),
        ("failed", [t for t in trials if t.state == "failed"]),
        ("interrupted", [t for t in trials if t.state == "interrupted"]),
        ("running now", [t for t in trials if t.state == "running"]),
        ("not run", [t for t in trials if t.state == "not run"]),
        ("not started yet", [t for t in trials if t.state == "planned"]),
        ("that no open question needed", [t for t in trials if t.state == "not needed"]),
    ):
        if found:
            parts.append(f"{len(found):,} {words}")
    return parts


def exclusions_table(book: Book) -> Table | None:
    """Excluded trials, grouped by reason."""
    groups: dict[tuple[str, ...], list[TrialRow]] = {}
    for row in sorted(book.lookup[TrialRow], key=lambda row: row.position):
        if not row.counts and row.state != "not needed":
            groups.setdefault(
                (row.state, str(row.verdict), row.benchmark, row.configuration, *map(str, row.reasons)), []
            ).append(row)
    if not groups:
        return None
    return filled(
        "Excluded trials",
        groups.values(),
        (Column("Benchmark"), lambda rows: rows[0].benchmark),
        (Column("Configuration"), lambda rows: rows[0].configuration),
        (Column("State"), lambda rows: Cell(badges=(state_badge(rows[0]),))),
        (
            Column("Why, and what to try"),
            lambda rows: Cell(lines=tuple(map(str, rows[0].reasons)) or ("no reason stored",)),
        ),
        (Column("Trials"), lambda rows: Cell(links=trial_links([row.trial for row in rows], book))),
        compact=False,
    )


def evidence_table(book: Book) -> Table | None:
    """Every set of trials behind a number of this report; call it after all sections have cited theirs."""
    if not book.evidence.sets:
        return None
    columns = (Column("Set"), Column("Used for"), Column("Count", numeric=True), Column("Trials"))
    rows = tuple(
        Row(
            (
                Cell(found.label),
                Cell(found.about),
                Cell(str(len(found.trials))),
                Cell(links=trial_links(found.trials, book), tone="values"),
            ),
            anchor=found.anchor,
        )
        for found in book.evidence.sets.values()
    )
    full = "Further numbers have no set here: see the column `trials` of their CSV file."
    note = full if len(rows) == MAX_SETS else ""
    return Table("Sets of trials behind the numbers", columns, rows, note=note, compact=True)


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
    facts = [(fact_title(name), fact_text(row.facts, name)) for name in FACTS]
    host = [("Machine", row.machine), ("Host", row.facts.hostname)]
    return [(name, text) for name, text in [*host, *facts] if text and text != people.MISSING]
