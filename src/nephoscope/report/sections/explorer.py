"""The data of the explorer: levels with intervals, stored ranks, and the intervals of all pairs behind these.

The page tests nothing: it ranks any part of the configurations, at any price, by the stored intervals of pairs. These
are right for all pairs at once, so they are right for the pairs that remain after a filter, and dividing by a price
moves each by a known amount. Half-widths are packed as exponents and rounded up, so a rank of the page never claims
more than a stored one.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nephoscope.analysis.lookup import Lookup, headlines, unique
from nephoscope.insights.names import metric_title
from nephoscope.model.questions import BestRow, RankIntervals
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, RankRow, Statistic
from nephoscope.model.words import PROVIDERS
from nephoscope.report.main.boards import in_order
from nephoscope.report.parts import Book
from nephoscope.report.sections.explorer_machines import machines_of
from nephoscope.report.tables.statistics import section_anchor

STEP = 1.01
"""Half-widths are written as powers of this: rounded up by at most one percent."""


def explorer_data(book: Book) -> dict[str, Any] | None:
    """None when no trial is valid: then there is nothing to rank."""
    lookup = book.lookup
    boards = [board for row in in_order(lookup) for m in headlines(row) if (board := _board(book, row, m))]
    if not boards:
        return None
    ranked = unique(name for board in boards for name in board["plain"])
    machines = machines_of(lookup)
    return {
        "margin": math.log1p(lookup.study.equivalence_margin_percent / 100),
        "step": STEP,
        "bases": lookup.bases,
        "providers": PROVIDERS,
        "costs": book.href("costs"),
        "scopes": lookup.study.scopes,
        "labels": lookup.labels,
        "configurations": [machines[name] for name in lookup.configurations if name in ranked],
        "boards": boards,
    }


def _board(book: Book, row: BenchmarkRow, metric: Metric) -> dict[str, Any] | None:
    lookup = book.lookup
    plain = lookup.statistics.get((row.benchmark, metric.name, False), {})
    if not plain:
        return None
    per_cpu = lookup.statistics.get((row.benchmark, metric.name, True), {})
    scale, of_cpu = lookup.scale(row.benchmark, metric), lookup.scale(row.benchmark, metric, per_cpu=True)
    return {
        "name": f"{row.benchmark}/{metric.name}",
        "benchmark": row.benchmark,
        "evidence": book.href(section_anchor(row.benchmark)),
        "title": metric_title(metric),
        "stored_unit": metric.unit,
        "unit": scale.unit,
        "divisor": scale.divisor,
        "per_cpu": {"unit": of_cpu.unit, "divisor": of_cpu.divisor},
        "higher": metric.direction is Direction.HIGHER,
        "measures": row.extent.model_dump(),
        "plain": {name: [*_level(one), scale.value_and_ends(one.compared)] for name, one in plain.items()},
        "cpu": {name: [*_level(one), one.cpus, of_cpu.value_and_ends(one.compared)] for name, one in per_cpu.items()}
        if metric.per_cpu
        else {},
        "ranks": _ranks(lookup, row.benchmark, metric.name),
        "best": _best(lookup, row.benchmark, metric.name),
        "unknown": _unknown(lookup, row.benchmark, metric.name),
        "intervals": _intervals(lookup[RankIntervals], row.benchmark, metric.name),
    }


def _level(row: Statistic) -> list[float]:
    level = row.compared
    return [level.value, level.low, level.high, row.n, level.coverage]


def _ranks(lookup: Lookup, benchmark: str, metric: str) -> dict[str, Mapping[str, list[int]]]:
    """View, or view and price basis -> configuration -> first and last rank."""
    found: dict[str, Mapping[str, list[int]]] = {}
    for (of, name, view, basis), rows in lookup.ranks.items():
        if (of, name) == (benchmark, metric):
            found[_view(view, basis)] = {configuration: _ends(row) for configuration, row in rows.items()}
    return found


def _best(lookup: Lookup, benchmark: str, metric: str) -> dict[str, dict[str, Any]]:
    """View -> scope -> how many compete, and those of them that may be the best."""
    found: dict[str, dict[str, Any]] = {}
    for row in lookup[BestRow]:
        if (row.benchmark, row.metric) == (benchmark, metric):
            found.setdefault(_view(row.view, row.basis), {})[str(row.scope)] = [row.of, row.best]
    return found


def _unknown(lookup: Lookup, benchmark: str, metric: str) -> list[str]:
    """Configurations with too few values for any claim: no candidates."""
    rows = (row for row in lookup[BestRow] if (row.benchmark, row.metric) == (benchmark, metric))
    return unique(name for row in rows for name in row.open)


def _view(view: str, basis: str | None) -> str:
    return {"plain": "plain", "per CPU": "cpu"}.get(view, f"dollar {basis}")


def _ends(row: RankRow) -> list[int]:
    return [row.first, row.last]


def _intervals(rows: Sequence[RankIntervals], benchmark: str, metric: str) -> dict[str, Any] | None:
    """The pairs' half-widths as powers of `STEP` times the smallest; None: the analysis stored no intervals."""
    row = next((row for row in rows if (row.benchmark, row.metric) == (benchmark, metric)), None)
    if row is None:
        return None
    least = min((half for half in row.half_widths if half), default=1.0)
    return {
        "configurations": row.configurations,
        "levels": row.levels,
        "least": least,
        "powers": [None if half is None else _power(half / least) for half in row.half_widths],
        "signs": row.signs_only,
    }


def _power(ratio: float) -> int:
    """The smallest power of `STEP` that is not below; 0 for 0, which only signs have."""
    return math.ceil(math.log(ratio, STEP) - 1e-9) if ratio > 1 else 0
