"""How sure the numbers are: precision, replicates, outliers, drift, and trials that were not at rest."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nephoscope.analysis.answers import more_replicates
from nephoscope.analysis.lookup import Lookup, grouped
from nephoscope.insights.names import mostly, names_of
from nephoscope.insights.words import Draft, keyed, note, warning
from nephoscope.model.numbers import Number
from nephoscope.model.records import Metric
from nephoscope.model.rows import MeasurementRow, Statistic, TrialRow
from nephoscope.model.words import enumeration
from nephoscope.stats.change_points import plateaus
from nephoscope.stats.decide import ALPHA, holm
from nephoscope.stats.limits import MIN_CHANGE
from nephoscope.stats.median import CONFIDENCE, least_n
from nephoscope.stats.order import OrderEffect, group_effect, serial_effect, standardised
from nephoscope.stats.precision import replicates_for_precision
from nephoscope.stats.samples import Floats
from nephoscope.stats.steadiness import steadiness
from nephoscope.stats.two_way import two_way_fit


def noise(lookup: Lookup) -> Iterator[Draft]:
    """A warning if headline medians are known less precisely than the equivalence margin."""
    rows = [row for row in lookup.headline_statistics if row.n > 1]
    margin_percent = lookup.study.equivalence_margin_percent
    wide = [row for row in rows if (row.margin_percent or 0) > margin_percent]
    if not wide:
        return
    worst = max(wide, key=lambda row: (row.margin_percent or 0, row.benchmark, row.metric, row.configuration))
    words = {"name": names_of(lookup)[worst.configuration], "of": worst.benchmark}
    words["title"] = lookup.title(worst.benchmark, worst.metric)
    numbers: dict[str, Number] = {"wide": len(wide), "all": len(rows)}
    numbers |= {"margin": margin_percent, "worst": worst.margin_percent or 0.0}
    where = mostly(Counter(row.benchmark for row in wide), numbers, words)
    yield warning(
        "{wide:count} of {all:counted:median} {wide:goes:is|are} known less precisely than the margin of "
        f"±{{margin:limit}} %{where}; the worst is ±{{worst:percent}}, of {{title}} in {{of}} on {{name}}.",
        numbers=numbers,
        trials=[trial for row in wide for trial in row.trials],
        **words,
    )


SHARES = (0.01, 0.02, 0.05)
"""Half-widths of the interval as a share of the median; the ones that Maricq et al. use."""


def precision(lookup: Lookup) -> Iterator[Draft]:
    """One note for each headline metric with more than the minimum of replicates: fewer allow no extrapolation."""
    for benchmark, metric in lookup.headlines():
        rows = [row for row in lookup.statistics_of(benchmark, metric.name) if row.n > least_n()]
        if rows:
            yield _precision_note(lookup, metric, rows)


def _precision_note(lookup: Lookup, metric: Metric, rows: Sequence[Statistic]) -> Draft:
    """Estimated from the configuration with the least precise median: the others need no more replicates."""
    worst = max(rows, key=lambda row: (row.margin_percent or 0.0, row.configuration))
    values = lookup.values_behind(worst)
    numbers: dict[str, float] = {"n": worst.n}
    needed = replicates_for_precision(values, SHARES)
    beyond = max((share for share in SHARES if needed[share] is None), default=None)
    parts = []
    for key, (share, least) in keyed(needed.items()):
        numbers |= {f"share_{key}": 100 * share, f"needed_{key}": least or worst.n}
        if least or share == beyond:  # even higher precision takes more than that, too
            parts.append(("" if least else "more than ") + f"{{needed_{key}:count}} for ±{{share_{key}:limit}} %")
    names = [row.configuration for row in lookup.statistics_of(worst.benchmark, worst.metric)]
    effort = more_replicates(lookup, worst.benchmark, names, 1)
    one_more = " One more replicate of {all:goes:the|each of the} {all:counted:configuration} takes about "
    one_more += "{hours:hours} of machine time"
    one_more += " (about {usd:money})." if effort and effort.usd is not None else "."
    numbers["all"] = len(names)
    if effort is not None:
        numbers |= {"hours": effort.hours, "usd": effort.usd or 0.0}
    return note(
        "{benchmark_name}: number of replicates needed for the median of {title}, estimated from the {n:count} "
        f"replicates of {{name}}, the least precise configuration (CONFIRM): {enumeration(parts)}."
        + (one_more if effort else ""),
        numbers=numbers,
        trials=worst.trials,
        benchmark=worst.benchmark,
        name=worst.configuration,
        title=metric.title,
    )


def replicates(lookup: Lookup) -> Iterator[Draft]:
    """A warning if headline medians rest on too few replicates for an interval at the usual confidence."""
    enough = {(row.benchmark, row.configuration) for row in lookup[TrialRow] if row.state == "not needed"}
    few = [
        row
        for row in lookup.headline_statistics
        if row.more_replicates_needed and (row.benchmark, row.configuration) not in enough
    ]
    if not few:
        return
    least = min(few, key=lambda row: row.n)
    if max(row.n for row in few) == 1:
        so = "a single valid replicate, which gives no interval: how far {few:goes:it|they} can be trusted is unknown."
    else:
        so = (
            "fewer than {needed:count} valid replicates, at the least {least:count}: the interval is only the range of "
        )
        so += "the values"
        covers = ", and covers the median with {coverage:coverage} instead of {wanted:coverage}."
        so += covers if least.n > 1 else "."
    every = len(lookup.headline_statistics)
    which = (
        "Each median rests" if 1 < every == len(few) else "{few:count} of {every:counted:median} {few:goes:rests|rest}"
    )
    yield warning(
        f"{which} on {so}",
        numbers={
            "few": len(few),
            "every": every,
            "needed": least.n + least.more_replicates_needed,
            "least": least.n,
            "coverage": 100 * least.coverage,
            "wanted": 100 * CONFIDENCE,
        },
        trials=[trial for row in few for trial in row.trials],
    )


def outliers(lookup: Lookup) -> Iterator[Draft]:
    """A warning that counts the outliers among the headline values; its trials are the outliers."""
    rows = [row for row in lookup.headline_statistics if row.outliers]
    if not rows:
        return
    flagged: Counter[str] = Counter()
    for row in rows:
        flagged[row.benchmark] += len(row.outliers)
    words: dict[str, str] = {}
    numbers: dict[str, Number] = {"flagged": flagged.total(), "all": sum(row.n for row in lookup.headline_statistics)}
    yield warning(
        f"Outliers in {{flagged:count}} of {{all:count}} values{mostly(flagged, numbers, words)} (modified z-score). "
        "They stay in all medians; where configurations are compared, those that are far off from all others are set "
        "aside.",
        numbers=numbers,
        trials=[trial for row in rows for trial in row.outliers],
        **words,
    )


@dataclass(frozen=True)
class _Series:
    """Standardised headline values in plan order; one value per trial."""

    values: Floats
    cells: list[int]
    trials: list[TrialRow]


def order(lookup: Lookup) -> Iterator[Draft]:
    """Warnings for effects of the block, of the position in the block, and of the replicate before.

    The last is asked of what blocks do not remove. These are three questions about one study, so their p-values are
    corrected by Holm. No warning means that no effect was found, which is likely with few replicates. Imports are not
    tested: their order was not randomised, and their source rarely gives it.
    """
    series = None if lookup.study.source is not None else _series(lookup)
    if series is None:
        return
    asked: list[tuple[str, Callable[[], OrderEffect | None]]] = [
        ("block", lambda: _grouped(series, lambda row: row.block, lookup.study.seed)),
        ("position within the block", lambda: _grouped(series, lambda row: row.position_in_block, lookup.study.seed)),
        ("", lambda: serial_effect(_residuals(series))),
    ]
    effects = [(what, effect) for what, ask in asked if (effect := ask()) is not None]
    adjusted = holm([effect.p_value for _, effect in effects])
    judged = zip(effects, adjusted, strict=True)
    certain = [(what, effect, p) for (what, effect), p in judged if p < ALPHA]
    if certain:
        yield _order_warning(certain, [row.trial for row in series.trials])


def _order_warning(effects: Sequence[tuple[str, OrderEffect, float]], trials: list[str]) -> Draft:
    serial = any(not what for what, _, _ in effects)
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    parts = []
    for key, (what, effect, p_adjusted) in keyed(effects):
        numbers |= {f"statistic_{key}": effect.statistic, f"p_{key}": p_adjusted}
        words[f"what_{key}"] = what or "replicate measured just before"
        measure = "Kruskal-Wallis H" if what else "autocorrelation"
        parts.append(f"the {{what_{key}}} ({measure} = {{statistic_{key}:statistic}}, p = {{p_{key}:probability}})")
    so = (
        "replicates are not independent, and intervals may be too narrow."
        if serial
        else "the random order spreads this over all configurations, so intervals are wider and no configuration is "
        "favoured."
    )
    return warning(f"The headline values depend on {enumeration(parts)}: {so}", numbers=numbers, trials=trials, **words)


def _grouped(series: _Series, group: Callable[[TrialRow], int], seed: int) -> OrderEffect | None:
    return group_effect(series.values, [group(row) for row in series.trials], series.cells, seed=seed)


def _residuals(series: _Series) -> Floats:
    """Shape (cells, blocks): without what all configurations of a benchmark have in common in a block."""
    blocks = {block: place for place, block in enumerate(sorted({row.block for row in series.trials}))}
    logs = np.full((max(series.cells) + 1, len(blocks)), np.nan)
    rows: dict[str, list[int]] = defaultdict(list)
    for value, cell, trial in zip(series.values, series.cells, series.trials, strict=True):
        logs[cell, blocks[trial.block]] = value
        if cell not in rows[trial.benchmark]:
            rows[trial.benchmark].append(cell)
    for several in rows.values():
        logs[several] = two_way_fit(logs[several], blocked=len(several) > 1).residuals
    return logs


def _series(lookup: Lookup) -> _Series | None:
    """One headline metric per benchmark, so that no trial is used twice."""
    trials = {row.trial: row for row in lookup[TrialRow] if row.counts}
    chosen: dict[str, str] = {}
    for benchmark, metric in lookup.headlines():
        chosen.setdefault(benchmark, metric.name)
    cells: dict[tuple[str, str], list[tuple[TrialRow, float]]] = defaultdict(list)
    for row in lookup[MeasurementRow]:
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


MIN_VALUES = 60
"""The same minimum as in the check `throttled`."""


def unsteady(lookup: Lookup) -> Iterator[Draft]:
    """A warning if long trials of headline metrics were not in a steady state."""
    headlines = {(benchmark, metric.name) for benchmark, metric in lookup.headlines()}
    seconds = (row for row in lookup[MeasurementRow] if row.valid and row.at_s is not None)
    series = grouped(
        (row for row in seconds if (row.benchmark, row.metric) in headlines),
        lambda row: (row.benchmark, row.metric, row.trial),
    )
    long = {key: rows for key, rows in series.items() if len(rows) >= MIN_VALUES}
    restless = {(trial, benchmark) for (benchmark, _, trial), rows in long.items() if not _at_rest(rows)}
    if not restless:
        return
    words: dict[str, str] = {}
    every = len({trial for _, _, trial in long})
    numbers: dict[str, Number] = {"restless": len(restless), "n": every, "least": 100 * MIN_CHANGE}
    where = mostly(Counter(benchmark for _, benchmark in restless), numbers, words)
    yield warning(
        "{restless:count} of {n:counted:long trial} {restless:goes:was|were} not in a steady state"
        f"{where}: the rate jumped or drifted by {{least:limit}} % or more, or did not settle in the first half. Use a "
        "longer warm-up or longer trials.",
        numbers=numbers,
        trials=[trial for trial, _ in restless],
        **words,
    )


def _at_rest(rows: list[MeasurementRow]) -> bool:
    """One level, settled in the first half, and no certain drift as large as a change of level."""
    values = [row.value for row in sorted(rows, key=lambda row: row.at_s or 0.0)]
    if len(plateaus(values)) > 1:
        return False
    seen = steadiness(values)
    if seen is None:
        return True
    return seen.came_to_rest and not (seen.drifts and abs(seen.drift) >= MIN_CHANGE)
