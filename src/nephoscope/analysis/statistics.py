"""One row of statistics per configuration, benchmark and metric, from stored trials."""

import math
from collections.abc import Mapping, Sequence

from nephoscope.analysis.boards import Board, boards
from nephoscope.analysis.cells import Cell
from nephoscope.analysis.one_question import cells
from nephoscope.analysis.table import Table, Workings
from nephoscope.analysis.units import scope_of_cells
from nephoscope.model.frozen import MOST_NUMBER
from nephoscope.model.rows import Estimate, Statistic
from nephoscope.stats.leaderboard import mean_half_widths
from nephoscope.stats.limits import growth
from nephoscope.stats.median import CONFIDENCE, margin_of_error, median_interval
from nephoscope.stats.spread import outliers, pull, spread

_MOST_LOGARITHM = math.log(MOST_NUMBER)
"""A level whose interval reaches further has no interval of its own: that of the median stays."""

_Key = tuple[str, str, bool, str]
"""Benchmark, metric, per CPU, configuration."""


def statistics_of_cells(cells: Sequence[Cell], boards: Sequence[Board]) -> list[Statistic]:
    """Median, level, their intervals, spread and flagged outliers of every metric over the valid replicates.

    Sorted by configuration, benchmark, metric, plain before per CPU. A metric without one valid value has no row.

    Args:
        cells: the values.
        boards: the leaderboards of the same cells.
    """
    levels: dict[_Key, Estimate] = {}
    notable: dict[_Key, dict[str, object]] = {}
    for board in boards:
        key = board.benchmark, board.metric, board.view == "per CPU"
        levels |= {(*key, name): of for name, of in _levels(board).items()}
        if board.by_values:
            notable |= {(*key, name): _notable(board, row) for row, name in enumerate(board.names)}
    rows = []
    for cell in cells:
        at = cell.benchmark, cell.metric, cell.per_cpu, cell.configuration
        rows.append(_statistic(cell, levels.get(at)).model_copy(update=notable.get(at, {})))
    return sorted(rows, key=lambda row: (row.configuration, row.benchmark, row.metric, row.per_cpu))


def _notable(board: Board, row: int) -> dict[str, object]:
    """What the fit did with values that it is no model for."""
    cell, kinds, places = board.cells[row], board.fit.kinds, board.set_aside_of(row)
    median = median_interval(cell.values).median
    changes = [100 * (cell.values[place] / median - 1) for place in places]
    used, lower = len(cell.values) - len(places), int(kinds.lower[row])
    is_lower = 2 * lower <= used
    apart = (-1 if is_lower else 1) * board.sign * float(kinds.apart[row])
    return {
        "set_aside": [trial for place in places for trial in cell.members[place]],
        "set_aside_percent": max(changes, key=abs, default=None),
        "second_kind": lower if is_lower else used - lower,
        "second_kind_percent": 100 * growth(apart) if lower else None,
        "widened": math.sqrt(board.fit.excess),
    }


def _levels(board: Board) -> Mapping[str, Estimate]:
    """Of each configuration; with the median's interval where the level is a median, or nothing is known of spread."""
    medians = [median_interval(cell.values) for cell in board.cells]
    found = {
        name: Estimate(one.median, one.low, one.high, one.coverage)
        for name, one in zip(board.names, medians, strict=True)
    }
    if not board.by_values:
        return found
    halves = mean_half_widths(board.fit, CONFIDENCE)
    for name, level, half in zip(board.names, board.levels.tolist(), halves.tolist(), strict=True):
        found[name] = found[name]._replace(value=math.exp(board.sign * level))
        if math.isfinite(half) and abs(level) + half < _MOST_LOGARITHM:
            low, high = (math.exp(board.sign * level + end) for end in (-half, half))
            found[name] = found[name]._replace(low=low, high=high, coverage=CONFIDENCE)
    return found


def _statistic(cell: Cell, level: Estimate | None) -> Statistic:
    interval, around = median_interval(cell.values), spread(cell.values)
    pulling = pull(cell.values, level.value) if level else None
    return Statistic(
        configuration=cell.configuration,
        benchmark=cell.benchmark,
        subject=cell.subject,
        metric=cell.metric,
        unit=cell.unit,
        direction=cell.direction,
        per_cpu=cell.per_cpu,
        cpus=cell.cpus,
        n=len(cell.values),
        n_excluded=cell.n_excluded,
        median=interval.median,
        low=interval.low,
        high=interval.high,
        coverage=interval.coverage,
        margin_percent=_percent(margin_of_error(interval)) if len(cell.values) > 1 else None,
        cv_percent=_percent(around.cv),
        range_percent=_percent(around.relative_range),
        mad=around.mad,
        minimum=around.minimum,
        maximum=around.maximum,
        more_replicates_needed=interval.more_needed,
        outliers=[trial for index in outliers(cell.values) for trial in cell.members[index]],
        trials=list(cell.trials),
        counted=cell.counted,
        machines=None if cell.machines is None else len(cell.machines),
        scope=scope_of_cells([cell]),
        level=level.value if level else None,
        level_low=level.low if level else None,
        level_high=level.high if level else None,
        level_coverage=level.coverage if level else None,
        pulling=pulling[0] if pulling else 0,
        pulling_percent=100 * pulling[1] if pulling else None,
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def statistics(of: Workings) -> list[Statistic]:
    """Of every metric on every configuration."""
    return statistics_of_cells(of(cells), of(boards))


STATISTICS = Table("statistics", Statistic, statistics)
