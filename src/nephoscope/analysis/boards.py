"""Leaderboards: the values of one metric on all configurations, as the statistics of many configurations take them."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from nephoscope.analysis.cells import Cell, require_one_unit
from nephoscope.analysis.costs import costs, months_by_basis
from nephoscope.analysis.one_question import cells
from nephoscope.analysis.renamed import extents
from nephoscope.analysis.table import Workings
from nephoscope.model.price_rows import CostRow
from nephoscope.model.questions import Method, View
from nephoscope.model.records import Direction, Omission
from nephoscope.model.sentence import Sentence
from nephoscope.model.subjects import Extent, Subject
from nephoscope.stats.leaderboard import Leaderboard
from nephoscope.stats.median import median_interval
from nephoscope.stats.samples import Floats, Indices, Mask

NO_LOGARITHM = Sentence("has values that are not above 0")
NO_PRICE = Sentence("has no price")


@dataclass(frozen=True)
class Board:
    """One metric, one view. Configurations are rows of the fit, in the order of their names."""

    benchmark: str
    subject: Subject
    metric: str
    unit: str
    direction: Direction
    headline: bool
    view: View
    basis: str | None
    names: tuple[str, ...]
    """Of the rows of the fit."""
    members: tuple[str, ...]
    """Those that compete; others have no price on this basis, but their spread is known."""
    cells: tuple[Cell, ...]
    """The values of each configuration, as measured."""
    left_out: tuple[Omission, ...]
    """Those that were measured but do not compete."""
    fit: Leaderboard
    """On logarithms, negated if less is better: higher is better."""
    levels: Floats
    """Shape (K,), as the logarithms of the fit: the differences of any two are the logarithm of their ratio."""

    medians: Floats
    """Shape (K,): logarithms of the medians, in the same way. Where they put two the other way round than the levels
    do, a few values decide, and none of the two is called better."""

    @property
    def sign(self) -> int:
        """1 if higher values are better, else -1."""
        return 1 if self.direction is Direction.HIGHER else -1

    @cached_property
    def below_by_median(self) -> Mask:
        """Shape (K, K): the median of the row's configuration is worse than that of the column's."""
        return np.asarray(self.medians[:, None] < self.medians[None, :])

    @property
    def by_values(self) -> bool:
        """Whether the fit compares its configurations: a headline metric, or a multiple of one, and not in steps."""
        return (self.headline or self.cells[0].like_headline) and not self.fit.discrete

    @property
    def same_as(self) -> str | None:
        """The metric of which this one is a constant multiple."""
        return self.cells[0].same_as

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Configuration -> its row."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def trials(self) -> tuple[tuple[str, ...], ...]:
        """Of each configuration."""
        return tuple(cell.trials for cell in self.cells)

    @property
    def method(self) -> Method:
        """How this board's questions are answered."""
        if not self.fit.decidable.any():
            return "none"
        if self.fit.discrete:
            return "rank sums"
        return "within blocks" if self.fit.fit.blocked else "without blocks"

    def set_aside_of(self, row: int) -> list[int]:
        """Places of the values of a row's cell that its level leaves out."""
        far, places = self.fit.logs[row][self.fit.set_aside[row]].tolist(), []
        for place, value in enumerate(self.cells[row].values):
            if (log := self.sign * math.log(value)) in far:
                far.remove(log)  # an equal value may be one that it keeps
                places.append(place)
        return places

    def ratio_of(self, left: int, right: int) -> float:
        """The value of the left row as a multiple of that of the right one: the quotient of their levels."""
        return math.exp(self.sign * float(self.levels[left] - self.levels[right]))

    def rows_of(self, names: Sequence[str]) -> Indices:
        """Rows of those of the names that compete, in the order of rows."""
        competing = {*self.members} & {*names}
        return np.array([place for place, name in enumerate(self.names) if name in competing], dtype=np.intp)


def boards_of(cells: Sequence[Cell], *, blocked: bool) -> list[Board]:
    """One board for each benchmark, metric and view, plain and per CPU, in the order of the cells.

    A configuration with a zero or negative value is in no row, as its logarithm does not exist. Blocks are ignored
    where one of them holds a configuration twice, and where values are medians of machines, which are of no block.

    Args:
        cells: as `cells_of` groups them.
        blocked: whether blocks were measured in random order, each at one time: true for studies that nephoscope ran.

    Raises:
        ValueError: a metric with values in two units.
    """
    grouped: dict[tuple[str, str, bool], list[Cell]] = defaultdict(list)
    for cell in cells:
        grouped[cell.benchmark, cell.metric, cell.per_cpu].append(cell)
    ordered = [sorted(many, key=lambda cell: cell.configuration) for many in grouped.values()]
    asked = _without_parts(ordered)
    return [_board(many, blocked=blocked) for many in asked if any(cell.values[0] > 0 for cell in many)]


def _without_parts(groups: Sequence[Sequence[Cell]]) -> list[Sequence[Cell]]:
    """Leaves out a leaderboard whose every value is on a larger one of the same metric: it asks nothing more."""
    homes: dict[tuple[str, bool, str, tuple[str, ...]], set[int]] = defaultdict(set)
    for number, group in enumerate(groups):
        for cell in group:
            homes[cell.metric, cell.per_cpu, cell.configuration, cell.trials].add(number)
    found = []
    for number, group in enumerate(groups):
        shared = set.intersection(
            *(homes[cell.metric, cell.per_cpu, cell.configuration, cell.trials] for cell in group)
        )
        if all(len(groups[other]) <= len(group) for other in shared - {number}):
            found.append(group)
    return found


def per_dollar(board: Board, months_usd: Mapping[str, float], basis: str) -> Board:
    """The plain board divided by the dollars of a month: a constant of each configuration.

    Configurations without a price on this basis do not compete.
    """
    offsets = np.array([-math.log(months_usd[name]) if name in months_usd else math.nan for name in board.names])
    return replace(
        board,
        view="per dollar",
        basis=basis,
        unit=f"{board.unit} per USD/month",
        members=tuple(name for name in board.members if name in months_usd),
        left_out=(*board.left_out, *(Omission(name, NO_PRICE) for name in board.members if name not in months_usd)),
        fit=board.fit.shifted(offsets),
        levels=board.levels + offsets,
        medians=board.medians + offsets,
    )


def priced_boards(boards: Sequence[Board], costs: Sequence[CostRow], extents: Mapping[str, Extent]) -> list[Board]:
    """One leaderboard per dollar for each headline metric where more is better, and each basis with a price.

    Per dollar means each value divided by the dollars of a month: a constant of its configuration.

    Args:
        boards: all; those per CPU are ignored.
        costs: by configuration and basis.
        extents: benchmark -> the part of a configuration that it measures, and that its dollars pay for.
    """
    months = {extent: months_by_basis(costs, extent) for extent in {*extents.values()}}
    found = [
        per_dollar(board, months[extents[board.benchmark]].get(basis, {}), basis)
        for basis in sorted({basis for by_basis in months.values() for basis in by_basis})
        for board in sorted(boards, key=lambda board: (board.benchmark, board.metric))
        if board.headline and board.view == "plain" and board.direction is Direction.HIGHER
    ]
    return [board for board in found if board.members]


def _board(cells: Sequence[Cell], *, blocked: bool) -> Board:
    first = cells[0]
    require_one_unit({cell.unit for cell in cells}, first.metric)
    usable = [cell for cell in cells if cell.values[0] > 0]
    names = tuple(cell.configuration for cell in usable)
    sign = 1 if first.direction is Direction.HIGHER else -1
    fit = _fit(usable, sign, blocked=blocked)
    by_values = (first.headline or first.like_headline) and not fit.discrete
    medians = np.array([sign * math.log(median_interval(cell.values).median) for cell in usable])
    return Board(
        benchmark=first.benchmark,
        subject=first.subject,
        metric=first.metric,
        unit=first.unit,
        direction=first.direction,
        headline=first.headline,
        view="per CPU" if first.per_cpu else "plain",
        basis=None,
        names=names,
        members=names,
        cells=tuple(usable),
        left_out=tuple(Omission(cell.configuration, NO_LOGARITHM) for cell in cells if cell.values[0] <= 0),
        fit=fit,
        levels=fit.fit.means if by_values else medians,
        medians=medians,
    )


def _fit(cells: Sequence[Cell], sign: int, *, blocked: bool) -> Leaderboard:
    in_blocks = blocked and all(len({*cell.blocks}) == len(cell.values) for cell in cells)
    if in_blocks:
        columns = {block: place for place, block in enumerate(sorted({b for cell in cells for b in cell.blocks}))}
        width = len(columns)
    else:
        width = max((len(cell.values) for cell in cells), default=0)
    logs = np.full((len(cells), width), np.nan)
    for row, cell in enumerate(cells):
        places = [columns[block] for block in cell.blocks] if in_blocks else [*range(len(cell.values))]
        logs[row, places] = [sign * math.log(value) for value in cell.values]
    return Leaderboard.of(logs, blocked=in_blocks)


def boards(of: Workings) -> list[Board]:
    """The leaderboard of every metric, plain and per CPU."""
    return of(refitted)(of(cells))


def refitted(of: Workings) -> Callable[[Sequence[Cell]], list[Board]]:
    """Other cells of the study -> their leaderboards."""
    return partial(boards_of, blocked=of.inputs.source is None)


def priced(of: Workings) -> list[Board]:
    """The leaderboards per dollar."""
    return of(by_dollars)(of(boards))


def by_dollars(of: Workings) -> Callable[[Sequence[Board]], list[Board]]:
    """Leaderboards of the study -> the same per dollar."""
    return partial(priced_boards, costs=of(costs).rows, extents=of(extents))
