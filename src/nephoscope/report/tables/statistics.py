"""Tables of statistics: the leaderboard and the metrics of one benchmark."""

from collections.abc import Iterable, Sequence

from nephoscope.model import numbers as people
from nephoscope.model.rows import Comparison, RankRow, Statistic
from nephoscope.report.parts import (
    Book,
    Cell,
    Column,
    Row,
    Table,
    evidence_cell,
    slug,
)
from nephoscope.report.wording import coverage_note, interval_text

FEW = 4
"""Up to this many configurations, every pair is named; with more, pairs are counted and shown in a grid."""
STATISTIC_COLUMNS = (
    Column("Level", numeric=True, hint="What ratios are quotients of; of metrics that are not headlines the median."),
    Column("Median", numeric=True),
    Column("Interval of the median", numeric=True),
    Column("Coverage", numeric=True, hint="Exact for any distribution. Below 95 %, the interval is only the range."),
    Column("Margin", numeric=True, hint="Half the width of the interval, as a percentage of the median."),
)


def section_anchor(benchmark: str) -> str:
    """Anchor of a benchmark's section."""
    return f"benchmark-{slug(benchmark)}"


def comparison_anchor(row: Comparison) -> str:
    """Anchor of a comparison's row."""
    tail = "-per-cpu" if row.per_cpu else ""
    return f"compare-{slug(row.benchmark)}-{slug(row.metric)}-{slug(row.left)}-{slug(row.right)}{tail}"


def statistic_cells(book: Book, row: Statistic, scale: people.Scale, *, roomy: bool = False) -> tuple[Cell, ...]:
    """Level; median, interval, coverage and margin. The median links to its trials."""
    about = f"{row.benchmark} on {row.configuration}"
    low = coverage_note(row)
    level = Cell(people.MISSING if row.level is None else scale.number(row.level))
    if row.n == 1:
        note = low if roomy else ""
        empty = Cell(people.MISSING)
        median = evidence_cell(book, scale.number(row.middle), row.trials, about)
        return (level, median, Cell("one value", note=note, tone="warn", title=f"No interval; {low}."), empty, empty)
    margin = "" if row.margin_percent is None else "±"
    coverage = people.coverage(row.coverage)
    return (
        level,
        evidence_cell(book, scale.number(row.middle), row.trials, about),
        Cell(interval_text(row, scale), note=_other_medians(book, row, scale)),
        Cell(
            coverage if roomy or not low else f"range, {coverage}",
            note=low if roomy else "",
            tone="warn" if low else "",
            title=f"Below 95 %: only the range of the values; {low}." if low else "",
        ),
        Cell(margin + people.percent(row.margin_percent)),
    )


def interval_cells(row: Statistic, scale: people.Scale) -> tuple[Cell, Cell]:
    """Interval of the median and its coverage; one value has neither."""
    if row.n == 1:
        return Cell("one value", tone="warn"), Cell(people.MISSING)
    return Cell(interval_text(row, scale)), Cell(people.coverage(row.coverage))


def table_over(
    book: Book, caption: str, unit: str, rows: Iterable[tuple[float, Statistic]], scale: people.Scale
) -> Table:
    """Statistics over a quantity such as threads or warehouses: its value beside each."""
    columns = (Column("Configuration"), Column(unit.capitalize(), numeric=True), *STATISTIC_COLUMNS)
    body = tuple(
        Row((Cell(one.configuration, tone="name"), Cell(people.integer(at)), *statistic_cells(book, one, scale)))
        for at, one in rows
    )
    return Table(caption, columns, body, compact=True)


def _other_medians(book: Book, row: Statistic, scale: people.Scale) -> str:
    """The medians of quiet trials and with those that steal rejected; empty where no trial lost CPU time."""
    found = book.lookup.delivered.get((row.benchmark, row.metric, row.per_cpu, row.configuration))
    if found is None:
        return ""
    parts = []
    if found.n_quiet < found.n:
        quiet = scale.number(found.quiet_median) if found.quiet_median is not None else "none"
        parts.append(f"as delivered; quiet median {quiet} (n = {found.n_quiet})")
    if found.median_with_rejected is not None:
        n = found.n + found.n_rejected
        parts.append(f"with those that steal rejected {scale.number(found.median_with_rejected)} (n = {n})")
    return "; ".join(parts)


def rank_cell(rank: RankRow | None) -> Cell:
    """A rank, as a range when it is not certain, with ties marked."""
    if rank is None:
        return Cell(people.MISSING)
    text = str(rank.first) if rank.first == rank.last else f"{rank.first} \N{EN DASH} {rank.last}"
    few = len(rank.ties) <= FEW // 2
    note = f"= {', '.join(rank.ties) if few else f'{len(rank.ties)} ties'}" if rank.ties else ""
    note = "; ".join(filter(None, (note, str(rank.note))))
    return Cell(text, note=note, title=f"A tie with {', '.join(rank.ties)}" if rank.ties else "")


def figure_table(book: Book, caption: str, rows: Sequence[Statistic], scale: people.Scale) -> Table:
    """The data of a chart of statistics."""
    columns = (
        Column("Configuration"),
        *STATISTIC_COLUMNS,
        Column("Minimum", numeric=True),
        Column("Maximum", numeric=True),
    )
    body = tuple(
        Row(
            (
                Cell(row.configuration),
                *statistic_cells(book, row, scale),
                Cell(scale.number(row.minimum)),
                Cell(scale.number(row.maximum)),
            )
        )
        for row in rows
    )
    return Table(caption, columns, body, compact=True)
