"""Which benchmarks and metrics the main page shows, and which of them comes first."""

from dataclasses import dataclass

from nephoscope.analysis.lookup import Lookup, MetricKey, best_first, headlines
from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, Statistic
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.report.figures.results import curves_of, series_of

TOP = 20
"""Rows of the first figure, where it is a ranking."""
TOP_OF_CHAPTER = 10
"""Rows of a ranking in a chapter; the explorer has all."""
SUBJECTS = (Subject.DATABASE, Subject.CPU, Subject.STORAGE, Subject.NETWORK, Subject.MEMORY)
"""In the order of cards."""


@dataclass(frozen=True)
class Board:
    """A headline metric of a benchmark."""

    row: BenchmarkRow
    metric: Metric

    @property
    def key(self) -> MetricKey:
        """Its benchmark and metric, as tables name them."""
        return self.row.benchmark, self.metric.name

    def ranked(self, lookup: Lookup, *, per_cpu: bool = False) -> list[Statistic]:
        """Its statistics, best level first."""
        return best_first(lookup.statistics_of(self.row.benchmark, self.metric.name, per_cpu=per_cpu), self.metric)

    def prices(self, lookup: Lookup) -> list[PricePerformance]:
        """What its units cost on the page's price basis; empty without prices."""
        return lookup.prices_of(*self.key)


def boards_of(lookup: Lookup, row: BenchmarkRow) -> list[Board]:
    """The headline metrics that have values, without single steps of a search or a curve.

    Where all headlines are steps, the one with the best level stands for the curve.
    """
    found = [one for one in headlines(row) if lookup.statistics_of(row.benchmark, one.name)]
    steps = {metric.name for curve in curves_of(row.metrics) for _, metric in curve.metrics}
    whole = [one for one in found if one.name not in steps]
    if not whole and found:
        whole = [max(found, key=lambda one: _best(lookup, row, one))]
    return [Board(row, one) for one in whole]


def _best(lookup: Lookup, row: BenchmarkRow, metric: Metric) -> float:
    sign = 1 if metric.direction is Direction.HIGHER else -1
    return max(sign * one.compared.value for one in lookup.statistics_of(row.benchmark, metric.name))


def in_order(lookup: Lookup) -> list[BenchmarkRow]:
    """The benchmarks in the order of everything that shows one of them first.

    That of the study's headline; then transactions, keys, CPUs, storage, networks. Of one kind, a measured maximum
    comes before single steps of a load; of steps, that which most configurations reached, the highest first; else the
    study's order decides.
    """
    steps: dict[str, int] = {}
    for one in series_of(lookup.study.benchmarks):
        rows = [row for _, row in reversed(one.rows)]
        rows.sort(key=lambda row: -len(lookup.statistics_of(row.benchmark, headlines(row)[0].name)))
        steps |= {row.benchmark: place for place, row in enumerate(rows, 1)}
    headline = lookup.study.headline

    def rank(row: BenchmarkRow) -> tuple[bool, int, bool, int]:
        asked = headline is not None and headline.benchmark == row.benchmark
        keys = row.database_load is DatabaseLoad.KEY_VALUE
        return not asked, SUBJECTS.index(row.subject), keys, steps.get(row.benchmark, 0)

    return sorted(lookup.study.benchmarks, key=rank)


def main_board(lookup: Lookup) -> Board | None:
    """The metric of the first card; None without values.

    Where the study names no headline, and it cannot have a price, it is the first that has one.
    """
    boards = [board for row in in_order(lookup) for board in boards_of(lookup, row)]
    if headline := lookup.study.headline:
        asked = [board for board in boards if board.row.benchmark == headline.benchmark]
        if found := next((board for board in asked if headline.metric in {None, board.metric.name}), None):
            return found
    priced = (board for board in boards if len(board.prices(lookup)) > 1)
    return next(priced, next(iter(boards), None))
