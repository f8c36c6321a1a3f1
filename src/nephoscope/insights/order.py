"""Effects of the order of execution on the values."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, say
from nephoscope.model.rows import TrialRow
from nephoscope.stats.decide import ALPHA, holm
from nephoscope.stats.order import OrderEffect, group_effect, serial_effect, standardised
from nephoscope.stats.samples import Floats

NAME = "order"


@dataclass(frozen=True)
class _Series:
    """Standardised headline values in plan order; one value per trial."""

    values: Floats
    cells: list[int]
    trials: list[TrialRow]


def order(lookup: Lookup) -> list[Draft]:
    """Warnings for effects of the block, of the position in the block, and of the replicate before.

    These are three questions about one study, so their p-values are corrected by Holm. No warning means that no effect
    was found, which is likely with few replicates. Imports are not tested: their order was not randomised, and their
    source rarely gives it.
    """
    series = None if lookup.study.source is not None else _series(lookup)
    if series is None:
        return []
    asked: list[tuple[str, Callable[[], OrderEffect | None]]] = [
        ("block", lambda: _grouped(series, lambda row: row.block, lookup.study.seed)),
        ("position within the block", lambda: _grouped(series, lambda row: row.position_in_block, lookup.study.seed)),
        ("", lambda: serial_effect(series.values, series.cells, seed=lookup.study.seed)),
    ]
    effects = [(what, effect) for what, ask in asked if (effect := ask()) is not None]
    adjusted = holm([effect.p_value for _, effect in effects])
    trials = [row.trial for row in series.trials]
    return [_warning(what, effect, p, trials) for (what, effect), p in zip(effects, adjusted, strict=True) if p < ALPHA]


def _warning(what: str, effect: OrderEffect, p_adjusted: float, trials: list[str]) -> Draft:
    template = (
        "The headline values depend on the {what} in which they were measured "
        "(Kruskal-Wallis H = {statistic:statistic}, p = {p:probability}). The randomised order spreads this effect "
        "over all configurations, so it widens their intervals rather than favouring one of them."
        if what
        else "Headline values depend on the replicate measured just before (autocorrelation {statistic:statistic}, "
        "p = {p:probability}): replicates are not independent, so intervals may be too narrow."
    )
    return say(
        NAME,
        "warning",
        template,
        numbers={"statistic": effect.statistic, "p": p_adjusted},
        trials=trials,
        case="" if what else "serial",
        what=what,
    )


def _grouped(series: _Series, group: Callable[[TrialRow], int], seed: int) -> OrderEffect | None:
    return group_effect(series.values, [group(row) for row in series.trials], series.cells, seed=seed)


def _series(lookup: Lookup) -> _Series | None:
    """One headline metric per benchmark, so that no trial is used twice."""
    trials = {row.trial: row for row in lookup.study.trials if row.counts}
    chosen: dict[str, str] = {}
    for benchmark, metric in lookup.headlines():
        chosen.setdefault(benchmark, metric.name)
    cells: dict[tuple[str, str], list[tuple[TrialRow, float]]] = defaultdict(list)
    for row in lookup.study.measurements:
        if row.at_s is None and row.trial in trials and chosen.get(row.benchmark) == row.metric:
            trial = trials[row.trial]
            cells[trial.configuration, trial.benchmark].append((trial, row.value))
    entries: list[tuple[TrialRow, int, float]] = []
    for number, (_, pairs) in enumerate(sorted(cells.items())):
        scores = standardised([value for _, value in pairs])
        if scores is not None:
            entries += [(row, number, float(score)) for (row, _), score in zip(pairs, scores, strict=True)]
    if not entries:
        return None
    entries.sort(key=lambda entry: (entry[0].position, entry[0].trial))
    return _Series(
        values=np.array([score for _, _, score in entries]),
        cells=[cell for _, cell, _ in entries],
        trials=[row for row, _, _ in entries],
    )
