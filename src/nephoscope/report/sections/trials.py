"""Excluded trials and why, what the checks rejected, every trial, and the sets of trials behind the numbers."""

import shlex

from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import TrialRow
from nephoscope.model.words import counted
from nephoscope.report import format as people
from nephoscope.report.evidence import trial_anchor
from nephoscope.report.limits import MAX_SETS
from nephoscope.report.parts import Book, Cell, Column, Row, Table, state_badge, trial_cell, trial_links
from nephoscope.report.tables.statistics import label_cells, label_columns


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
    for row in sorted(book.lookup.study.trials, key=lambda row: row.position):
        if not row.counts and row.state != "not needed":
            groups.setdefault(
                (row.state, str(row.verdict), row.benchmark, row.configuration, *map(str, row.reasons)), []
            ).append(row)
    if not groups:
        return None
    columns = (
        Column("Benchmark"),
        Column("Configuration"),
        Column("State"),
        Column("Why, and what to try"),
        Column("Trials"),
    )
    rows = tuple(
        Row(
            (
                Cell(found[0].benchmark),
                Cell(found[0].configuration),
                Cell(badges=(state_badge(found[0]),)),
                Cell(lines=tuple(map(str, found[0].reasons)) or ("no reason stored",)),
                Cell(links=trial_links([row.trial for row in found], book)),
            )
        )
        for found in groups.values()
    )
    return Table("Excluded trials", columns, rows)


def checks_table(book: Book) -> Table | None:
    """Each check, what it rejects and how often it did."""
    checks = book.lookup.study.checks
    if not checks:
        return None
    columns = (
        Column("Check"),
        Column("What it rejects"),
        Column("Valid", numeric=True),
        Column("Invalid", numeric=True),
        Column("Unknown", numeric=True),
    )
    rows = tuple(
        Row(
            (
                Cell(row.check, code=True),
                Cell(str(row.text)),
                Cell(people.integer(row.valid)),
                Cell(people.integer(row.invalid), tone="warn" if row.invalid else ""),
                Cell(people.integer(row.unknown), tone="warn" if row.unknown else ""),
            )
        )
        for row in checks
    )
    return Table("Checks and their verdicts", columns, rows)


def trials_table(book: Book) -> Table | None:
    """Every trial in plan order; its id opens its record."""
    trials = sorted(book.lookup.study.trials, key=lambda row: row.position)
    if not trials:
        return None
    columns = (
        Column("Trial", hint="Opens its numbers, verdicts, machines and the digests of its raw output."),
        Column("Position", numeric=True),
        Column("Block", numeric=True),
        Column("Benchmark"),
        Column("Configuration"),
        *label_columns(book),
        Column("CPUs", numeric=True),
        Column("State"),
        Column("Attempts", numeric=True),
        Column("Started (UTC)"),
        Column("Duration", numeric=True),
        Column("Client CPU", numeric=True),
        Column("Conditions"),
    )
    rows = tuple(_trial(book, row) for row in trials if row.trial in book.lookup.listed)
    more = len(trials) - len(rows)
    note = f"For {counted(more, 'more valid trial')}, see measurements.csv and raw_files.csv." if more else ""
    return Table("Trials in plan order", columns, rows, note=note, compact=True)


def _trial(book: Book, row: TrialRow) -> Row:
    return Row(
        (
            Cell(row.trial, href=book.href(trial_anchor(row.trial)), code=True, tone="name"),
            Cell(str(row.position)),
            Cell(str(row.block)),
            Cell(row.benchmark, tone="name"),
            Cell(row.configuration, tone="name"),
            *label_cells(book, row.configuration),
            Cell(people.integer(row.cpus)),
            Cell(badges=(state_badge(row),)),
            Cell(str(row.attempts)),
            Cell(people.moment(row.started_unix_ms).removesuffix(" UTC"), tone="name"),
            Cell(people.duration(row.duration_s)),
            Cell(people.share(row.client_cpu_share)),
            Cell(", ".join(row.conditions), tone="name"),
        ),
        anchor=trial_anchor(row.trial),
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


def commands_table(book: Book) -> Table | None:
    """The commands that ran, once per benchmark and configuration."""
    commands = book.lookup.study.commands
    if not commands:
        return None
    columns = (
        Column("Benchmark"),
        Column("Configuration"),
        Column("Machine"),
        Column("Command"),
        Column("From trial"),
    )
    rows = tuple(
        Row(
            (
                Cell(row.benchmark),
                Cell(row.configuration),
                Cell(row.machine),
                Cell(shlex.join(row.argv), code=True),
                trial_cell(row.trial, book),
            )
        )
        for row in commands
    )
    return Table("Commands", columns, rows, compact=True)
