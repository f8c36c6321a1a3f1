"""Headline metrics and cost: dollars per unit, verdicts and ranks per dollar, and the Pareto front."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial

from nephoscope.analysis.cells import Cell
from nephoscope.analysis.comparisons import compared
from nephoscope.analysis.delivered import compared_as_delivered
from nephoscope.analysis.ranks import ranks_of
from nephoscope.model.records import Direction
from nephoscope.model.rows import (
    Comparison,
    ComparisonVerdict,
    CostRow,
    PriceComparison,
    PricePerformance,
    RankRow,
    Statistic,
)
from nephoscope.model.units import SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from nephoscope.prices.cost import discount_to_reach

_PER = {"/s": 1.0, "/min": SECONDS_PER_MINUTE}
_NOT_OPERATIONS = frozenset({"B", "byte", "bytes", "bit"})


@dataclass(frozen=True)
class PricedBoards:
    """All tables of performance per dollar."""

    rows: list[PricePerformance]
    comparisons: list[PriceComparison]
    ranks: list[RankRow]


def price_performance_of(
    cells: Sequence[Cell],
    statistics: Sequence[Statistic],
    comparisons: Sequence[Comparison],
    costs: Sequence[CostRow],
    transfers_usd: Mapping[tuple[str, str], float],
    disturbed: AbstractSet[str],
    *,
    margin_percent: float,
) -> PricedBoards:
    """One leaderboard for each headline metric where more is better, and each basis with a price.

    Per dollar means each value divided by the dollars of a month: a constant of its configuration. Verdicts on it are
    corrected together for each basis (Holm): each basis answers a question of its own.

    Args:
        cells: of all metrics; see `cells_of`.
        statistics: the same as medians with intervals.
        comparisons: by performance alone, for what is certainly behind the Pareto front.
        costs: by configuration and basis.
        transfers_usd: configuration and benchmark -> a month of transfer, where that is known.
        disturbed: trials that count although they lost CPU time; see `analysis.delivered`.
        margin_percent: the study's equivalence margin.
    """
    boards: dict[tuple[str, str, str], dict[str, CostRow]] = defaultdict(dict)
    headline = {
        (cell.benchmark, cell.metric, cell.configuration): cell
        for cell in cells
        if cell.headline and not cell.per_cpu and cell.direction is Direction.HIGHER and cell.values[0] > 0
    }
    by_configuration: dict[str, list[CostRow]] = defaultdict(list)
    for cost in costs:
        if cost.month_usd:
            by_configuration[cost.configuration].append(cost)
    for benchmark, metric, name in headline:
        for cost in by_configuration[name]:
            boards[cost.basis, benchmark, metric][name] = cost
    known = {(row.benchmark, row.metric, row.configuration): row for row in statistics if not row.per_cpu}
    winners = _winners(comparisons)
    compared = _compared(headline, boards, disturbed, margin_percent)
    of_boards: dict[tuple[str, str, str], list[PriceComparison]] = defaultdict(list)
    for pair in compared:
        of_boards[pair.basis, pair.benchmark, pair.metric].append(pair)
    rows: list[PricePerformance] = []
    ranks: list[RankRow] = []
    for (basis, benchmark, metric), priced in sorted(boards.items()):
        of_board = {name: known[benchmark, metric, name] for name in priced}
        moved = {name: transfers_usd.get((name, benchmark)) for name in priced}
        rows += _board(of_board, priced, winners[benchmark, metric], moved)
        per_dollar = {name: row.median / (priced[name].month_usd or 1) for name, row in of_board.items()}
        ranks += ranks_of(
            per_dollar,
            of_boards[basis, benchmark, metric],
            Direction.HIGHER,
            benchmark=benchmark,
            subject=next(iter(of_board.values())).subject,
            metric=metric,
            view="per dollar",
            basis=basis,
        )
    return PricedBoards(rows, compared, ranks)


def _compared(
    headline: Mapping[tuple[str, str, str], Cell],
    boards: Mapping[tuple[str, str, str], Mapping[str, CostRow]],
    disturbed: AbstractSet[str],
    margin_percent: float,
) -> list[PriceComparison]:
    of_basis: dict[str, list[Cell]] = defaultdict(list)
    for (basis, benchmark, metric), priced in sorted(boards.items()):
        for name, cost in sorted(priced.items()):
            cell, month_usd = headline[benchmark, metric, name], cost.month_usd
            if month_usd and len(cell.values) > 1:  # a single value makes no claim
                per_dollar = tuple(value / month_usd for value in cell.values)
                of_basis[basis].append(replace(cell, values=per_dollar, unit=f"{cell.unit} per USD/month"))
    return [
        row
        for basis, many in of_basis.items()
        for row in compared_as_delivered(
            many,
            partial(compared, make=partial(PriceComparison, basis=basis), margin_percent=margin_percent),
            disturbed,
        )
    ]


def _winners(comparisons: Sequence[Comparison]) -> dict[tuple[str, str], dict[str, set[str]]]:
    """(benchmark, metric) -> configuration -> those that are certainly better."""
    found: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in comparisons:
        if row.per_cpu:
            continue
        if row.verdict is ComparisonVerdict.BETTER:
            found[row.benchmark, row.metric][row.right].add(row.left)
        elif row.verdict is ComparisonVerdict.WORSE:
            found[row.benchmark, row.metric][row.left].add(row.right)
    return found


def _board(
    statistics: Mapping[str, Statistic],
    costs: Mapping[str, CostRow],
    winners: Mapping[str, set[str]],
    transfers_usd: Mapping[str, float | None],
) -> list[PricePerformance]:
    months = {name: cost.month_usd or 0.0 for name, cost in costs.items()}
    least = min(months[name] / row.median for name, row in statistics.items())
    behind = _behind(statistics, months)
    found = []
    for name, row in sorted(statistics.items()):
        month_usd, cost, moved = months[name], costs[name], transfers_usd[name]
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
                median=row.median,
                usd_per_unit=month_usd / row.median,
                low=month_usd / row.high,
                high=month_usd / row.low,
                coverage=row.coverage,
                usd_per_unit_with_transfer=None if moved is None else (month_usd + moved) / row.median,
                usd_per_million=_usd_per_million(row.unit, row.median, month_usd, cost.hours),
                front="behind" if certainly else "open" if name in behind else "on it",
                discount_to_lead_percent=discount_to_reach(
                    least * row.median, month_usd, storage_share=cost.storage_share or 0.0
                ),
                price_row=cost.price_row,
                source=cost.source,
                date=cost.date,
                trials=row.trials,
            )
        )
    return found


def _behind(statistics: Mapping[str, Statistic], months: Mapping[str, float]) -> set[str]:
    """Configurations for which another one is no dearer and no worse in its median, and strictly better in one."""
    behind: set[str] = set()
    best: tuple[float, float] | None = None
    for name in sorted(statistics, key=lambda name: (months[name], -statistics[name].median)):
        mine = (statistics[name].median, months[name])
        if best is not None and best[0] >= mine[0] and best != mine:
            behind.add(name)
        elif best is None or mine[0] > best[0]:
            best = mine
    return behind


def _usd_per_million(unit: str, median: float, month_usd: float, hours: float) -> float | None:
    """For a metric that counts things per second or per minute; None for any other, including bytes."""
    for ending, seconds in _PER.items():
        counted = unit.removesuffix(ending)
        if counted != unit and counted not in _NOT_OPERATIONS:
            return 1e6 * month_usd * seconds / (median * hours * SECONDS_PER_HOUR)
    return None
