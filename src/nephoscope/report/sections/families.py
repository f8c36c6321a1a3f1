"""Families of machine types, and medians with and without the trials that the checks reject, as stored."""

from nephoscope.model.records import Metric
from nephoscope.model.rows import FamilyComparison, GateRow
from nephoscope.report import format as people
from nephoscope.report.format import scale_for
from nephoscope.report.parts import Book, Cell, Column, Link, Row, Table, evidence_cell, verdict_badge
from nephoscope.report.wording import ENOUGH, metric_title, unit_text


def families_table(book: Book) -> Table | None:
    """Every question about matched types with its verdict; None when no types were compared."""
    rows: list[Row] = []
    question = None
    for row in book.lookup.study.family_comparisons:
        if row.question != question:
            question = row.question
            rows.append(Row(group=Link(row.question, ""), group_note=f"matched types: {row.matched_by}"))
        rows.append(_family(book, row))
    columns = (
        Column("Left"),
        Column("Right"),
        Column("Metric"),
        Column("Left is"),
        Column("Ratio", numeric=True, hint="Left ÷ right: median of all ratios within blocks."),
        Column("Interval", numeric=True),
        Column("Coverage", numeric=True),
        Column(
            "p, adjusted",
            numeric=True,
            hint="Benjamini\N{EN DASH}Hochberg correction over all questions of this table.",
        ),
        Column("Types", numeric=True, hint="Left, right: machine types, not runs."),
        Column("Blocks", numeric=True),
    )
    return Table("Families of machine types", columns, tuple(rows), compact=True) if rows else None


def _family(book: Book, row: FamilyComparison) -> Row:
    metric = _metric(book, row.benchmark, row.metric)
    title = f"{row.benchmark}: {metric_title(metric) if metric else row.metric}" + (", per vCPU" if row.per_cpu else "")
    interval = "no interval: too few types"
    if row.low is not None and row.high is not None:
        interval = people.ratio_interval(row.ratio, row.low, row.high)
    about = f"{row.question}: {row.left} and {row.right}"
    return Row(
        (
            Cell(row.left),
            Cell(row.right),
            Cell(title, tone="name"),
            Cell(badges=(verdict_badge(row.verdict),)),
            evidence_cell(book, people.ratio(row.ratio), row.trials, about),
            Cell(interval),
            Cell(people.coverage(row.coverage), tone="warn" if (row.coverage or 0) < ENOUGH else ""),
            Cell(people.probability(row.p_adjusted), note=f"p {people.probability(row.p_value)}"),
            Cell(f"{row.n_left}, {row.n_right}"),
            Cell(str(row.blocks)),
        )
    )


def gate_table(book: Book) -> Table | None:
    """Medians before and after the checks, side by side; None when the checks rejected no measured trial."""
    rows = tuple(_gate(book, row) for row in book.lookup.study.gate)
    columns = (
        Column("Configuration"),
        Column("Metric"),
        Column("All trials", numeric=True, hint="Median of all trials with a value, whatever their verdict."),
        Column("n", numeric=True),
        Column("Valid trials", numeric=True, hint="Median of the valid trials."),
        Column("n", numeric=True),
        Column("Change", numeric=True),
        Column("Rejected by"),
    )
    note = "Only headline metrics with a rejected trial; all others are the same before and after."
    return Table("Medians before and after the checks", columns, rows, note=note, compact=True) if rows else None


def _gate(book: Book, row: GateRow) -> Row:
    metric = _metric(book, row.benchmark, row.metric)
    medians = [row.median_before, *([] if row.median_after is None else [row.median_after])]
    scale = scale_for(row.unit, medians, [0.0 for _ in medians], metric=row.metric)
    after = "none left" if row.median_after is None else scale.number(row.median_after)
    change = people.MISSING if row.change_percent is None else f"{row.change_percent:+.1f} %"
    return Row(
        (
            Cell(row.configuration, tone="name"),
            Cell(f"{row.benchmark}: {metric_title(metric) if metric else row.metric}", note=unit_text(scale)),
            evidence_cell(book, scale.number(row.median_before), row.trials, f"rejected: {row.configuration}"),
            Cell(str(row.n_before)),
            Cell(after, tone="warn" if row.median_after is None else ""),
            Cell(str(row.n_after)),
            Cell(change),
            Cell(", ".join(map(str, row.reasons))),
        )
    )


def _metric(book: Book, benchmark: str, name: str) -> Metric | None:
    for row in book.lookup.study.benchmarks:
        if row.benchmark == benchmark:
            return next((metric for metric in row.metrics if metric.name == name), None)
    return None
