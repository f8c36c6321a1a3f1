"""Tables of statistics: the leaderboard and the metrics of one benchmark."""

from nephoscope.model import numbers as people
from nephoscope.model.rows import Comparison, RankRow, Statistic
from nephoscope.report.parts import Cell, slug
from nephoscope.report.wording import interval_text

FEW = 4
"""Up to this many configurations, every pair is named; with more, pairs are counted and shown in a grid."""


def section_anchor(benchmark: str) -> str:
    """Anchor of a benchmark's section."""
    return f"benchmark-{slug(benchmark)}"


def comparison_anchor(row: Comparison) -> str:
    """Anchor of a comparison's row."""
    tail = "-per-cpu" if row.per_cpu else ""
    return f"compare-{slug(row.benchmark)}-{slug(row.metric)}-{slug(row.left)}-{slug(row.right)}{tail}"


def interval_cells(row: Statistic, scale: people.Scale) -> tuple[Cell, Cell]:
    """Interval of the median and its coverage; one value has neither."""
    if row.n == 1:
        return Cell("one value", tone="warn"), Cell(people.MISSING)
    return Cell(interval_text(row, scale)), Cell(people.coverage(row.coverage))


def rank_cell(rank: RankRow | None) -> Cell:
    """A rank, as a range when it is not certain, with ties marked."""
    if rank is None:
        return Cell(people.MISSING)
    text = str(rank.first) if rank.first == rank.last else f"{rank.first} \N{EN DASH} {rank.last}"
    few = len(rank.ties) <= FEW // 2
    note = f"= {', '.join(rank.ties) if few else f'{len(rank.ties)} ties'}" if rank.ties else ""
    note = "; ".join(filter(None, (note, str(rank.note))))
    return Cell(text, note=note, title=f"A tie with {', '.join(rank.ties)}" if rank.ties else "")
