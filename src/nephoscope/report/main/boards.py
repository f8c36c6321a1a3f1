"""Which benchmarks and metrics the main page shows, and which of them comes first."""

from dataclasses import dataclass

from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, Statistic
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.report.figures.counted_metrics import curves_of
from nephoscope.report.lookup import Lookup, best_first, headlines, unique

TOP = 20
"""Rows of the first figure, where it is a ranking."""
TOP_OF_CHAPTER = 10
"""Rows of a ranking in a chapter; the explorer has all."""


@dataclass(frozen=True)
class Board:
    """A headline metric of a benchmark."""

    row: BenchmarkRow
    metric: Metric

    def ranked(self, lookup: Lookup, *, per_cpu: bool = False) -> list[Statistic]:
        """Its statistics, best median first."""
        return best_first(lookup.statistics_of(self.row.benchmark, self.metric.name, per_cpu=per_cpu), self.metric)

    def prices(self, lookup: Lookup) -> list[PricePerformance]:
        """What its units cost on the first price basis that has any; empty without prices."""
        bases = unique(row.basis for row in lookup.study.costs)
        found = (lookup.price_boards.get((self.row.benchmark, self.metric.name, basis), []) for basis in bases)
        return next((rows for rows in found if rows), [])


def boards_of(lookup: Lookup, row: BenchmarkRow) -> list[Board]:
    """The headline metrics that have values, without single steps of a search or a curve.

    Where all headlines are steps, the one with the best median stands for the curve.
    """
    found = [one for one in headlines(row) if lookup.statistics_of(row.benchmark, one.name)]
    steps = {metric.name for curve in curves_of(row.metrics) for _, metric in curve.metrics}
    whole = [one for one in found if one.name not in steps]
    if not whole and found:
        whole = [max(found, key=lambda one: _best(lookup, row, one))]
    return [Board(row, one) for one in whole]


def _best(lookup: Lookup, row: BenchmarkRow, metric: Metric) -> float:
    sign = 1 if metric.direction is Direction.HIGHER else -1
    return max(sign * one.median for one in lookup.statistics_of(row.benchmark, metric.name))


def main_board(lookup: Lookup) -> Board | None:
    """The first headline of the first benchmark of transactions, else of any database, else of any; None without."""
    rows = sorted(lookup.study.benchmarks, key=_rank)
    return next((board for row in rows for board in boards_of(lookup, row)), None)


def _rank(row: BenchmarkRow) -> int:
    if row.subject is not Subject.DATABASE:
        return 2
    return int(row.database_load is DatabaseLoad.KEY_VALUE)
