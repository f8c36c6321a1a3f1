"""Headline metrics and cost: leaderboards per dollar, dollars per unit, and the Pareto front."""

import math
from collections.abc import Mapping, Sequence

from nephoscope.analysis.boards import Board, boards, priced
from nephoscope.analysis.costs import costs
from nephoscope.analysis.quiet_boards import QuietBoards, quiet
from nephoscope.analysis.ranks import surely_better_in_both
from nephoscope.analysis.renamed import extents, trials
from nephoscope.analysis.statistics import statistics
from nephoscope.analysis.table import Table
from nephoscope.analysis.transfers import months_of, transfers
from nephoscope.model.price_rows import CostRow, PricePerformance
from nephoscope.model.rows import Statistic
from nephoscope.model.subjects import Extent
from nephoscope.model.units import SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from nephoscope.prices.cost import discount_to_reach

_PER = {"/s": 1.0, "/min": SECONDS_PER_MINUTE}
_NOT_OPERATIONS = frozenset({"B", "byte", "bytes", "bit"})


def price_performance_of(
    boards: Sequence[Board],
    priced: Sequence[Board],
    statistics: Sequence[Statistic],
    costs: Sequence[CostRow],
    extents: Mapping[str, Extent],
    transfers_usd: Mapping[tuple[str, str], float],
    quiet: QuietBoards | None = None,
) -> list[PricePerformance]:
    """What a unit costs, for every configuration of every leaderboard per dollar.

    Args:
        boards: as measured, for what is certainly behind the Pareto front.
        priced: see `priced_boards`.
        statistics: levels with intervals.
        costs: by configuration and basis.
        extents: see `priced_boards`.
        transfers_usd: configuration and benchmark -> a month of transfer, where that is known.
        quiet: the boards without disturbed trials, which must agree on what is behind; default: no trial is disturbed.
    """
    known = {(row.benchmark, row.metric, row.configuration): row for row in statistics if not row.per_cpu}
    by_key = {(cost.configuration, cost.basis): cost for cost in costs}
    winners = {
        (board.benchmark, board.metric): surely_better_in_both(board, quiet or QuietBoards())
        for board in boards
        if board.headline and board.view == "plain"
    }
    rows: list[PricePerformance] = []
    for board in priced:
        of_board = {name: known[board.benchmark, board.metric, name] for name in board.members}
        basis_costs = {name: by_key[name, board.basis or ""] for name in board.members}
        moved = {name: transfers_usd.get((name, board.benchmark)) for name in board.members}
        extent = extents[board.benchmark]
        rows += _board(of_board, basis_costs, extent, winners[board.benchmark, board.metric], moved)
    return rows


def _board(
    statistics: Mapping[str, Statistic],
    costs: Mapping[str, CostRow],
    extent: Extent,
    winners: Mapping[str, set[str]],
    transfers_usd: Mapping[str, float | None],
) -> list[PricePerformance]:
    months = {name: cost.month_of(extent) or 0.0 for name, cost in costs.items()}
    least = min(months[name] / row.compared.value for name, row in statistics.items())
    behind = _behind(statistics, months)
    found = []
    for name, row in sorted(statistics.items()):
        month_usd, cost, moved = months[name], costs[name], transfers_usd[name]
        level = row.compared
        certainly = any(months.get(winner, math.inf) <= month_usd for winner in winners.get(name, ()))
        found.append(
            PricePerformance(
                configuration=name,
                benchmark=row.benchmark,
                subject=row.subject,
                metric=row.metric,
                basis=cost.basis,
                unit=row.unit,
                n=row.n,
                month_usd=month_usd,
                machines=cost.machines_of(extent),
                without_volumes=cost.share_left_out(extent) > 0,
                median=row.median,
                usd_per_unit=month_usd / level.value,
                low=month_usd / level.high,
                high=month_usd / level.low,
                coverage=level.coverage,
                usd_per_unit_with_transfer=None if moved is None else (month_usd + moved) / level.value,
                usd_per_million=_usd_per_million(row.unit, level.value, month_usd, cost.hours),
                front="behind" if certainly else "open" if name in behind else "on it",
                discount_to_lead_percent=discount_to_reach(
                    least * level.value, month_usd, storage_share=cost.storage_share_of(extent)
                ),
                price_row=cost.price_row,
                source=cost.source,
                date=cost.date,
                trials=row.trials,
            )
        )
    return found


def _behind(statistics: Mapping[str, Statistic], months: Mapping[str, float]) -> set[str]:
    """Configurations for which another one is no dearer and no worse in its level, and strictly better in one."""
    behind: set[str] = set()
    best: tuple[float, float] | None = None
    for name in sorted(statistics, key=lambda name: (months[name], -statistics[name].compared.value)):
        mine = (statistics[name].compared.value, months[name])
        if best is not None and best[0] >= mine[0] and best != mine:
            behind.add(name)
        elif best is None or mine[0] > best[0]:
            best = mine
    return behind


def _usd_per_million(unit: str, level: float, month_usd: float, hours: float) -> float | None:
    """For a metric that counts things per second or per minute; None for any other, including bytes."""
    for ending, seconds in _PER.items():
        counted = unit.removesuffix(ending)
        if counted != unit and counted not in _NOT_OPERATIONS:
            return 1e6 * month_usd * seconds / (level * hours * SECONDS_PER_HOUR)
    return None


PRICE_PERFORMANCE = Table(
    "price_performance",
    PricePerformance,
    lambda of: price_performance_of(
        of(boards),
        of(priced),
        of(statistics),
        of(costs).rows,
        of(extents),
        months_of(of(transfers), of(trials)),
        of(quiet),
    ),
    order=lambda row: (row.benchmark, row.metric, row.basis, row.configuration),
)
