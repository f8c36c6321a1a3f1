"""Excluded trials and why, what the checks rejected, every trial, and the sets of trials behind the numbers."""

from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import TrialRow
from nephoscope.model.words import counted
from nephoscope.report.limits import MAX_SETS
from nephoscope.report.parts import Book, Cell, Column, Row, Table, state_badge, trial_links


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
