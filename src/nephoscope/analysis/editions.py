"""Compares two analysed studies like for like: performance, price, and performance per dollar."""

from collections import defaultdict
from collections.abc import Sequence

from nephoscope.analysis.cells import Cell
from nephoscope.analysis.units import counted_cells
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.editions import EditionOverall, EditionRow
from nephoscope.model.price_rows import CostRow
from nephoscope.model.records import Direction
from nephoscope.model.rows import BenchmarkRow, ComparisonVerdict
from nephoscope.stats.bootstrap import mean_ratio, mean_ratio_interval
from nephoscope.stats.decide import ALPHA, holm, relation
from nephoscope.stats.ratio import RatioEstimate, compare

_Key = tuple[str, str, str]


def editions_of(
    before: AnalysedStudy, after: AnalysedStudy, *, basis: str, alpha: float = ALPHA
) -> tuple[list[EditionRow], list[str]]:
    """A row for each configuration and headline metric that both have, sorted; and what has no counterpart, and why.

    Like for like: the same name, the same machine type where one is known, the same benchmark in the same version with
    the same parameters. Ratios are after / before, of the replicates that count (Hodges-Lehmann, exact interval), each
    corrected by Holm over all rows. The price is a constant, so it moves the interval and does not widen it.

    Args:
        before: the older one, A.
        after: the newer one, B.
        basis: of the prices of both.
        alpha: level of the verdicts.
    """
    old, new = _headline_cells(before), _headline_cells(after)
    left_out = [f"{_name(key)} only in A" for key in sorted(old.keys() - new.keys())]
    left_out += [f"{_name(key)} only in B" for key in sorted(new.keys() - old.keys())]
    rows: list[tuple[_Key, RatioEstimate, RatioEstimate | None, CostRow | None, CostRow | None]] = []
    for key in sorted(old.keys() & new.keys()):
        was, is_now = _cost(before, key[2], basis), _cost(after, key[2], basis)
        reason = _unlike(before, after, key[0]) or _other_machine(was, is_now)
        if reason or min(old[key].values[0], new[key].values[0]) <= 0:
            left_out.append(f"{_name(key)}: {reason or 'a value is zero or negative'}")
            continue
        x, y = new[key].values, old[key].values
        per_dollar = None
        if was and is_now and was.month_usd and is_now.month_usd and new[key].direction is Direction.HIGHER:
            per_dollar = compare([v / is_now.month_usd for v in x], [v / was.month_usd for v in y])
        rows.append((key, compare(x, y), per_dollar, was, is_now))
    plain = _adjusted([estimate for _, estimate, *_ in rows])
    dollars = _adjusted([estimate for _, _, estimate, *_ in rows])
    margin = after.equivalence_margin_percent / 100
    found: list[EditionRow] = []
    for (key, estimate, per_dollar, was, is_now), p, p_dollar in zip(rows, plain, dollars, strict=True):
        cell, prices = new[key], (was.month_usd if was else None, is_now.month_usd if is_now else None)
        found.append(
            EditionRow(
                configuration=key[2],
                benchmark=key[0],
                subject=cell.subject,
                metric=key[1],
                unit=cell.unit,
                direction=cell.direction,
                n_before=len(old[key].values),
                n_after=len(cell.values),
                ratio=estimate.ratio,
                low=estimate.interval.low if estimate.interval else None,
                high=estimate.interval.high if estimate.interval else None,
                coverage=estimate.interval.coverage if estimate.interval else None,
                p_adjusted=p,
                verdict=_verdict(estimate, p, cell.direction, margin, alpha),
                basis=basis,
                month_before_usd=prices[0],
                month_after_usd=prices[1],
                price_ratio=prices[1] / prices[0] if prices[0] and prices[1] else None,
                dollar_ratio=per_dollar.ratio if per_dollar else None,
                dollar_low=per_dollar.interval.low if per_dollar and per_dollar.interval else None,
                dollar_high=per_dollar.interval.high if per_dollar and per_dollar.interval else None,
                dollar_p_adjusted=p_dollar if per_dollar else None,
                dollar_verdict=_verdict(per_dollar, p_dollar, Direction.HIGHER, margin, alpha) if per_dollar else None,
            )
        )
    return found, left_out


def _headline_cells(study: AnalysedStudy) -> dict[_Key, Cell]:
    metrics = {row.benchmark: row.metrics for row in study.benchmarks}
    cells = counted_cells(study.trials, study.measurements, metrics)
    return {(c.benchmark, c.metric, c.configuration): c for c in cells if c.headline and not c.per_cpu}


def _name(key: _Key) -> str:
    return f"{key[2]}, {key[0]} {key[1]}"


def _cost(study: AnalysedStudy, configuration: str, basis: str) -> CostRow | None:
    rows = [row for row in study.costs if row.configuration == configuration and row.basis == basis]
    return rows[0] if rows else None


def _unlike(before: AnalysedStudy, after: AnalysedStudy, benchmark: str) -> str:
    """Why the numbers of a benchmark are not comparable; empty when they are."""
    old, new = _benchmark(before, benchmark), _benchmark(after, benchmark)
    if (old.uses, old.version) != (new.uses, new.version):
        return f"{old.uses} version {old.version} in A, {new.uses} version {new.version} in B"
    differing = [
        name for name in {*old.parameters, *new.parameters} if old.parameters.get(name) != new.parameters.get(name)
    ]
    return f"different parameters: {', '.join(sorted(differing))}" if differing else ""


def _benchmark(study: AnalysedStudy, name: str) -> BenchmarkRow:
    return next(row for row in study.benchmarks if row.benchmark == name)


def _other_machine(before: CostRow | None, after: CostRow | None) -> str:
    if before and after and before.machine_type != after.machine_type:
        return f"{before.machine_type} in A, {after.machine_type} in B"
    return ""


def _adjusted(estimates: Sequence[RatioEstimate | None]) -> list[float]:
    """Holm over those that can claim anything; 1 for the others."""
    able = [one.p_value for one in estimates if one and one.interval]
    adjusted = iter(holm(able))
    return [next(adjusted) if one and one.interval else 1.0 for one in estimates]


def _verdict(
    estimate: RatioEstimate, p_adjusted: float, direction: Direction, margin: float, alpha: float
) -> ComparisonVerdict:
    said = relation(estimate.interval, p_adjusted, equivalence_margin=margin, alpha=alpha)
    if said in {"tie", "unresolved"}:
        return ComparisonVerdict(said)
    return ComparisonVerdict.BETTER if (said == "above") == (direction is Direction.HIGHER) else ComparisonVerdict.WORSE


MIN_CONFIGURATIONS = 2
"""With a single configuration, its own row says more."""


def overall_of(before: AnalysedStudy, after: AnalysedStudy, rows: Sequence[EditionRow]) -> list[EditionOverall]:
    """A row for each headline metric that at least two configurations have like for like, sorted.

    Args:
        before: the older study, A.
        after: the newer one, B; its seed is that of the resampling.
        rows: what is like for like; see `editions_of`.
    """
    old, new = _values(before), _values(after)
    boards: dict[tuple[str, str], list[EditionRow]] = defaultdict(list)
    for row in rows:
        boards[row.benchmark, row.metric].append(row)
    found: list[EditionOverall] = []
    for (benchmark, metric), board in sorted(boards.items()):
        if len(board) < MIN_CONFIGURATIONS:
            continue
        keys = [(benchmark, metric, row.configuration) for row in board]
        pairs = [(new[key], old[key]) for key in keys]
        interval = mean_ratio_interval(pairs, seed=after.seed)
        found.append(
            EditionOverall(
                benchmark=benchmark,
                subject=board[0].subject,
                metric=metric,
                direction=board[0].direction,
                configurations=len(board),
                least_n=min(min(row.n_before, row.n_after) for row in board),
                ratio=mean_ratio(pairs),
                low=interval.low if interval else None,
                high=interval.high if interval else None,
                coverage=interval.coverage if interval else None,
            )
        )
    return found


def _values(study: AnalysedStudy) -> dict[tuple[str, str, str], tuple[float, ...]]:
    metrics = {row.benchmark: row.metrics for row in study.benchmarks}
    cells = counted_cells(study.trials, study.measurements, metrics)
    return {(c.benchmark, c.metric, c.configuration): c.values for c in cells if c.headline and not c.per_cpu}
