"""What changed from one analysed study to another: metrics, prices, and the answers to their questions."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nephoscope.analysis.agreement import agree
from nephoscope.analysis.cells import Cell
from nephoscope.analysis.comparisons import verdict_of
from nephoscope.analysis.delivered import disturbed_trials
from nephoscope.analysis.edition_answers import (
    Counterparts,
    also_different,
    best_changes,
    contrast_changes,
    counterparts,
)
from nephoscope.analysis.units import counted_cells
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.editions import EditionCard, EditionRow, Editions, LeftOut
from nephoscope.model.price_rows import CostRow
from nephoscope.model.records import Direction
from nephoscope.model.rows import BenchmarkRow, ComparisonVerdict, MeasurementRow, TrialRow
from nephoscope.stats.change import MIN_VALUES, Change, Measured, change
from nephoscope.stats.decide import ALPHA, relation
from nephoscope.stats.ratio import RatioInterval

_Key = tuple[str, str, str]
"""Benchmark, metric, configuration."""


@dataclass(frozen=True)
class _Pair:
    """One metric of one configuration in both studies, as all trials and as the quiet ones have it."""

    names: Counterparts
    before: Cell
    after: Cell
    quiet: tuple[Measured, Measured] | None
    """Values of the quiet trials; None: no trial lost CPU time."""

    @property
    def measured(self) -> tuple[Measured, Measured]:
        """Values of all trials that count."""
        return _measured(self.before), _measured(self.after)


def editions_of(
    before: AnalysedStudy, after: AnalysedStudy, *, basis: str, alpha: float = ALPHA, also: Collection[str] = ()
) -> Editions:
    """Everything that two studies say about what changed. Ratios are after / before.

    Results are compared if they are of the same benchmark in the same version with the same parameters, on two
    configurations that belong together (see `counterparts`); everything else is listed with the reason. There is a card
    for each metric, headline or named, and each set of differences, and a row for each of its configurations. The
    intervals of all cards hold together with a chance of 1 - `alpha`, and so do those of all rows (Bonferroni). A price
    is a constant, so it moves an interval and does not widen it.

    Args:
        before: the earlier study.
        after: the later one, whose equivalence margin is used.
        basis: of the prices of both.
        alpha: chance that any interval of the cards is wrong; the same for the rows.
        also: metrics that are compared beside the headline ones.
    """
    pairs, left_out = _pairs(before, after, also)
    groups: dict[tuple[str, str, tuple[str, ...]], list[_Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.after.benchmark, pair.after.metric, pair.names.differs].append(pair)
    titles = {(row.benchmark, metric.name): metric.title for row in after.benchmarks for metric in row.metrics}
    margin = after.equivalence_margin_percent
    common = {row.benchmark for row in after.benchmarks if not _unlike(before, after, row.benchmark)}
    together = _Family(_claims(list(groups.values())), alpha, margin, titles)
    alone = _Family(_claims([[pair] for pair in pairs]), alpha, margin, titles)
    return Editions(
        before=before.title or before.study,
        after=after.title or after.study,
        cards=[EditionCard(**together.fields(groups[key])) for key in sorted(groups, key=_order)],
        rows=[_row(pair, alone, before, after, basis) for pair in pairs],
        best=best_changes(before, after, common, titles, basis),
        contrasts=contrast_changes(before, after, common, titles, basis),
        also_different=also_different(before, after, [pair.names for pair in pairs]),
        left_out=left_out,
        simulated=before.plan.simulated and after.plan.simulated,
    )


def _order(key: tuple[str, str, tuple[str, ...]]) -> tuple[Any, ...]:
    benchmark, metric, differs = key
    return differs, benchmark, metric


def _claims(groups: Sequence[Sequence[_Pair]]) -> int:
    """Groups with enough values for a claim: others make none, and take no power from these (Tarone 1990)."""
    return sum(
        all(min(len(pair.before.values), len(pair.after.values)) >= MIN_VALUES for pair in group) for group in groups
    )


@dataclass(frozen=True)
class _Family:
    """Claims whose intervals hold together."""

    claims: int
    alpha: float
    margin_percent: float
    titles: Mapping[tuple[str, str], str]

    def fields(self, pairs: Sequence[_Pair]) -> dict[str, Any]:
        """Fields of a card over these configurations."""
        first = pairs[0].after
        found = self._change([pair.measured for pair in pairs])
        verdict, reason = self.verdict(found.interval, first.direction), ""
        if any(pair.quiet is not None for pair in pairs):
            quiet = [pair.quiet or pair.measured for pair in pairs]
            enough = all(side.values for both in quiet for side in both)
            other = self._change(quiet).interval if enough else None
            agreed = agree(verdict, self.verdict(other, first.direction))
            verdict, reason = agreed.verdict, agreed.reason
        own = [self._change([pair.measured]).ratio for pair in pairs]
        return {
            "benchmark": first.benchmark,
            "subject": first.subject,
            "metric": first.metric,
            "title": self.titles.get((first.benchmark, first.metric)) or first.metric,
            "unit": first.unit,
            "direction": first.direction,
            "differs": list(pairs[0].names.differs),
            "configurations": [pair.names.after for pair in pairs],
            "agreeing": sum((ratio > 1) == (found.ratio > 1) for ratio in own),
            "n_before": min(len(pair.before.values) for pair in pairs),
            "n_after": min(len(pair.after.values) for pair in pairs),
            "before": found.levels[0] if found.levels else None,
            "after": found.levels[1] if found.levels else None,
            "ratio": found.ratio,
            "low": found.interval.low if found.interval else None,
            "high": found.interval.high if found.interval else None,
            "coverage": 1 - self.alpha if found.interval else None,
            "method": found.method,
            "verdict": verdict,
            "reason": reason,
            "margin_percent": self.margin_percent,
        }

    def _change(self, pairs: Sequence[tuple[Measured, Measured]]) -> Change:
        return change(pairs, 1 - self.alpha / max(1, self.claims))

    def verdict(self, interval: RatioInterval | None, direction: Direction) -> ComparisonVerdict:
        """By the interval alone, which is corrected for the family already."""
        said = relation(interval, 0.0, equivalence_margin=self.margin_percent / 100, alpha=self.alpha)
        return verdict_of(said, direction)


def _measured(cell: Cell) -> Measured:
    return Measured(cell.values, cell.blocks)


def _row(pair: _Pair, family: _Family, before: AnalysedStudy, after: AnalysedStudy, basis: str) -> EditionRow:
    fields = family.fields([pair])
    was = _month(before, pair.after.benchmark, pair.names.before, basis)
    is_now = _month(after, pair.after.benchmark, pair.names.after, basis)
    price_ratio = is_now / was if was and is_now else None
    cost: RatioInterval | None = None
    sold = price_ratio is not None and fields["direction"] is Direction.HIGHER
    if sold and price_ratio and fields["low"] is not None:
        cost = RatioInterval(price_ratio / fields["high"], price_ratio / fields["low"], 1 - family.alpha)
    return EditionRow(
        **fields,
        configuration=pair.names.after,
        configuration_before=pair.names.before,
        basis=basis,
        month_before_usd=was,
        month_after_usd=is_now,
        price_ratio=price_ratio,
        cost_ratio=price_ratio / fields["ratio"] if sold and price_ratio else None,
        cost_low=cost.low if cost else None,
        cost_high=cost.high if cost else None,
        cost_verdict=family.verdict(cost, Direction.LOWER) if sold else None,
    )


def _pairs(before: AnalysedStudy, after: AnalysedStudy, also: Collection[str]) -> tuple[list[_Pair], list[LeftOut]]:
    """What can be compared, sorted by benchmark, metric and configuration; and what cannot, and why."""
    old, new = _cells(before, also), _cells(after, also)
    quiet_old, quiet_new = _quiet_values(before, also), _quiet_values(after, also)
    names = counterparts(before, after)
    partner_of_new = {one.after: one for one in names}
    pairs: list[_Pair] = []
    left_out: list[LeftOut] = []
    used: set[_Key] = set()
    for key in sorted(new):
        benchmark, metric, configuration = key
        one = partner_of_new.get(configuration)
        partner = (benchmark, metric, one.before) if one else None
        if one is None or partner is None or partner not in old:
            reason = _alone(before, benchmark, configuration_known=one is not None, where="earlier")
            left_out.append(_left_out(key, reason, in_before=False))
            continue
        used.add(partner)
        reason = (
            _unlike(before, after, benchmark)
            or _redefined(before, after, benchmark, metric)
            or _incomparable(old[partner], new[key])
        )
        if reason:
            left_out.append(_left_out(key, reason, in_before=True))
            continue
        quiet = None
        if quiet_old.hit(old[partner]) or quiet_new.hit(new[key]):
            quiet = (quiet_old.values(partner), quiet_new.values(key))
        pairs.append(_Pair(one, old[partner], new[key], quiet))
    known = {one.before for one in names}
    for key in sorted(old.keys() - used):
        reason = _alone(after, key[0], configuration_known=key[2] in known, where="later")
        left_out.append(_left_out(key, reason, in_before=True))
    return pairs, left_out


def _left_out(key: _Key, reason: str, *, in_before: bool) -> LeftOut:
    benchmark, metric, configuration = key
    return LeftOut(configuration=configuration, benchmark=benchmark, metric=metric, in_before=in_before, reason=reason)


def _alone(other: AnalysedStudy, benchmark: str, *, configuration_known: bool, where: str) -> str:
    """Why a result has no counterpart in the other study."""
    if not configuration_known:
        return f"the {where} study has no such configuration"
    if all(row.benchmark != benchmark for row in other.benchmarks):
        return f"the {where} study has no such benchmark"
    return f"the {where} study has no valid trial of it"


@dataclass(frozen=True)
class _Quiet:
    """Values of trials that lost little CPU time."""

    disturbed: frozenset[str]
    cells: Mapping[_Key, Cell]

    def hit(self, cell: Cell) -> bool:
        """True if a trial of the cell was disturbed."""
        return not self.disturbed.isdisjoint(cell.trials)

    def values(self, key: _Key) -> Measured:
        """Empty: no trial of it was quiet."""
        return _measured(self.cells[key]) if key in self.cells else Measured(())


def _quiet_values(study: AnalysedStudy, also: Collection[str]) -> _Quiet:
    disturbed = disturbed_trials(study[TrialRow])
    return _Quiet(disturbed, _cells(study, also, lambda trial: trial not in disturbed))


def _cells(
    study: AnalysedStudy, also: Collection[str], wanted: Callable[[str], bool] = lambda _: True
) -> dict[_Key, Cell]:
    metrics = {row.benchmark: row.metrics for row in study.benchmarks}
    cells = counted_cells(study[TrialRow], [row for row in study[MeasurementRow] if wanted(row.trial)], metrics)
    return {
        (c.benchmark, c.metric, c.configuration): c for c in cells if (c.headline or c.metric in also) and not c.per_cpu
    }


def _month(study: AnalysedStudy, benchmark: str, configuration: str, basis: str) -> float | None:
    """Dollars for what the benchmark measures of the configuration."""
    row = next((row for row in study[CostRow] if (row.configuration, row.basis) == (configuration, basis)), None)
    extent = next(row.extent for row in study.benchmarks if row.benchmark == benchmark)
    return row.month_of(extent) if row else None


def _incomparable(old: Cell, new: Cell) -> str:
    if old.unit != new.unit:
        return f"in {old.unit} in the earlier study, in {new.unit} in the later one"
    return "a value is zero or negative" if min(old.values[0], new.values[0]) <= 0 else ""


def _unlike(before: AnalysedStudy, after: AnalysedStudy, benchmark: str) -> str:
    """Why the numbers of a benchmark are not comparable; empty: they are, or one study does not have it."""
    old, new = _benchmark(before, benchmark), _benchmark(after, benchmark)
    if old is None or new is None:
        return ""
    if (old.uses, old.version) != (new.uses, new.version):
        return f"{old.uses} version {old.version} in the earlier study, {new.uses} version {new.version} in the later"
    differing = [
        name for name in {*old.parameters, *new.parameters} if old.parameters.get(name) != new.parameters.get(name)
    ]
    return f"different parameters: {', '.join(sorted(differing))}" if differing else ""


def _redefined(before: AnalysedStudy, after: AnalysedStudy, benchmark: str, metric: str) -> str:
    """Why two imported numbers of one name are not comparable; a benchmark of ours has another version instead."""
    if before.source is None and after.source is None:
        return ""
    clocks = [
        next((one.clock for one in row.metrics if one.name == metric), "")
        for row in (_benchmark(before, benchmark), _benchmark(after, benchmark))
        if row is not None
    ]
    old, new = clocks if len(clocks) == 2 else ("", "")
    return "" if old == new else f"two definitions: {old or 'not said'!r} in the earlier study, {new or 'not said'!r}"


def _benchmark(study: AnalysedStudy, name: str) -> BenchmarkRow | None:
    return next((row for row in study.benchmarks if row.benchmark == name), None)
