"""How sure the numbers are: precision, replicates, outliers, drift, and trials that were not at rest."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np

from nephoscope.analysis.answers import more_replicates
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, plural, say
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


def noise(lookup: Lookup) -> list[Draft]:
    """The least and most precise headline medians; warnings for those beyond the margin; a count of the rest."""
    rows = [row for row in lookup.headline_statistics if row.margin_percent is not None and row.n > 1]
    if not rows:
        return []
    return [*_extremes(lookup, rows), *_wide(lookup), *_others(lookup)]


def _name(lookup: Lookup, row: Statistic) -> str:
    return f"{lookup.title(row.benchmark, row.metric)} in {row.benchmark} on {row.configuration}"


def _extremes(lookup: Lookup, rows: list[Statistic]) -> list[Draft]:
    ordered = sorted(rows, key=lambda row: (row.margin_percent or 0, row.benchmark, row.metric, row.configuration))
    best, worst = ordered[0], ordered[-1]
    if best is worst:
        return []
    template = (
        "The margins of error of the headline medians range from ±{best:percent} ({best_name}) to "
        "±{worst:percent} ({worst_name})."
    )
    return [
        say(
            "noise",
            "note",
            template,
            numbers={"best": best.margin_percent or 0.0, "worst": worst.margin_percent or 0.0},
            trials=[*best.trials, *worst.trials],
            best_name=_name(lookup, best),
            worst_name=_name(lookup, worst),
        )
    ]


def _wide(lookup: Lookup) -> list[Draft]:
    """One warning per headline metric, naming every configuration whose margin of error is too wide."""
    insights: list[Draft] = []
    for benchmark, metric in lookup.headlines():
        rows = [
            row
            for row in lookup.statistics_of(benchmark, metric.name)
            if row.n > 1 and (row.margin_percent or 0) > lookup.study.equivalence_margin_percent
        ]
        if rows:
            parts = [f"{{name_{key}}} ±{{margin_{key}:percent}}" for key, _ in keyed(rows)]
            widths = {f"margin_{key}": row.margin_percent or 0.0 for key, row in keyed(rows)}
            names = {f"name_{key}": row.configuration for key, row in keyed(rows)}
            insights.append(
                say(
                    "noise",
                    "warning",
                    "{benchmark_name}: the margin of error of {title} is wider than the equivalence margin of "
                    "±{margin:limit} % on " + enumeration(parts) + ".",
                    numbers={"margin": lookup.study.equivalence_margin_percent} | widths,
                    trials=[trial for row in rows for trial in row.trials],
                    benchmark=benchmark,
                    title=metric.title,
                    **names,
                )
            )
    return insights


def _others(lookup: Lookup) -> list[Draft]:
    """All metrics other than the headline metrics, in one sentence."""
    headlines = {(benchmark, metric.name) for benchmark, metric in lookup.headlines()}
    rows = [
        row
        for row in lookup.study.statistics
        if not row.per_cpu and row.margin_percent is not None and (row.benchmark, row.metric) not in headlines
    ]
    wide = [row for row in rows if (row.margin_percent or 0) > lookup.study.equivalence_margin_percent]
    if not wide:
        return []
    worst = max(wide, key=lambda row: (row.margin_percent or 0, row.benchmark, row.metric, row.configuration))
    return [
        say(
            "noise",
            "note",
            "Of {total:count} "
            + plural(len(rows), "median")
            + " of other metrics, {wide:count} "
            + plural(len(wide), "has", "have")
            + " a margin of error wider than ±{margin:limit} %; the widest is ±{worst:percent} ({name}).",
            numbers={
                "total": len(rows),
                "wide": len(wide),
                "margin": lookup.study.equivalence_margin_percent,
                "worst": worst.margin_percent or 0.0,
            },
            trials=worst.trials,
            name=_name(lookup, worst),
        )
    ]


SHARES = (0.01, 0.02, 0.05)
"""Half-widths of the interval as a share of the median; the ones that Maricq et al. use."""


def precision(lookup: Lookup) -> list[Draft]:
    """One note for each headline metric with more than the minimum of replicates: fewer allow no extrapolation."""
    found = []
    for benchmark, metric in lookup.headlines():
        rows = [row for row in lookup.statistics_of(benchmark, metric.name) if row.n > least_n()]
        if rows:
            found.append(_precision_note(lookup, metric, rows))
    return found


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
    one_more = f" One more replicate of {plural(len(names), 'the', 'each of the')} {{all:count}} "
    one_more += f"{plural(len(names), 'configuration')} takes about {{hours:hours}} of machine time"
    one_more += " (about {usd:money})." if effort and effort.usd is not None else "."
    numbers["all"] = len(names)
    if effort is not None:
        numbers |= {"hours": effort.hours, "usd": effort.usd or 0.0}
    return say(
        "precision",
        "note",
        "{benchmark_name}: number of replicates needed for the median of {title}, estimated from the {n:count} "
        "replicates of {name}, the least precise configuration (CONFIRM): "
        + enumeration(parts)
        + "."
        + (one_more if effort else ""),
        numbers=numbers,
        trials=worst.trials,
        benchmark=worst.benchmark,
        name=worst.configuration,
        title=metric.title,
    )


MAX_NAMED_REPLICATES = 8
"""With more pairs of benchmark and configuration than this, the warning counts them instead of naming them."""


def replicates(lookup: Lookup) -> list[Draft]:
    """One warning per insufficient number of replicates, naming the benchmarks and configurations concerned."""
    by_n: dict[int, list[Statistic]] = defaultdict(list)
    enough = {(row.benchmark, row.configuration) for row in lookup.study.trials if row.state == "not needed"}
    for row in lookup.headline_statistics:
        if row.more_replicates_needed and (row.benchmark, row.configuration) not in enough:
            by_n[row.n].append(row)
    return [_replicates_warning(n, rows) for n, rows in sorted(by_n.items())]


def _replicates_warning(n: int, rows: list[Statistic]) -> Draft:
    more = rows[0].more_replicates_needed
    pairs = sorted({(row.benchmark, row.configuration) for row in rows})
    many = len(pairs) > MAX_NAMED_REPLICATES
    where = "" if many else enumeration([f"{benchmark} on {configuration}" for benchmark, configuration in pairs])
    return say(
        "replicates",
        "warning",
        (
            "A single valid replicate gives no interval, so how far its value can be trusted is unknown; "
            "{more:count} more "
            if n == 1
            else "With {n:count} valid replicates, the interval shown is the range of the values and covers the median "
            "with {coverage:coverage}, not {wanted:coverage}; {more:count} more "
        )
        + plural(more, "is", "are")
        + " needed for "
        + ("{pairs:count} pairs of benchmark and configuration." if many else "{where}."),
        numbers={
            "pairs": len(pairs),
            "n": n,
            "coverage": 100 * rows[0].coverage,
            "wanted": 100 * CONFIDENCE,
            "more": more,
        },
        trials=[trial for row in rows for trial in row.trials],
        **({} if many else {"where": where}),
    )


MAX_NAMED_OUTLIERS = 3
"""Of the statistics of a benchmark that have outliers; the others are counted."""


def outliers(lookup: Lookup) -> list[Draft]:
    """One note for each benchmark that has outliers among its headline values; its trials are the outliers."""
    rows = [row for row in lookup.headline_statistics if row.outliers]
    return [_outliers_note(lookup, list(many)) for _, many in groupby(rows, key=attrgetter("benchmark"))]


def _outliers_note(lookup: Lookup, rows: Sequence[Statistic]) -> Draft:
    """The first are those with the largest share of outliers."""
    ordered = sorted(rows, key=lambda row: (-len(row.outliers) / row.n, row.metric, row.configuration))
    flagged = sum(len(row.outliers) for row in rows)
    numbers: dict[str, float] = {"flagged": flagged, "more": len(rows) - MAX_NAMED_OUTLIERS}
    words: dict[str, str] = {}
    parts = []
    for key, row in keyed(ordered[:MAX_NAMED_OUTLIERS]):
        numbers |= {f"flagged_{key}": len(row.outliers), f"n_{key}": row.n}
        words |= {f"title_{key}": lookup.title(row.benchmark, row.metric), f"name_{key}": row.configuration}
        parts.append(f"{{flagged_{key}:count}} of {{n_{key}:count}} values of {{title_{key}}} on {{name_{key}}}")
    if len(rows) > MAX_NAMED_OUTLIERS:
        parts.append("values of {more:count} other " + plural(len(rows) - MAX_NAMED_OUTLIERS, "median"))
    return say(
        "outliers",
        "note",
        "{benchmark_name}: {flagged:count} "
        + plural(flagged, "value is an outlier", "values are outliers")
        + " by the modified z-score ("
        + enumeration(parts)
        + "). Outliers are kept in all statistics.",
        numbers=numbers,
        trials=[trial for row in rows for trial in row.outliers],
        benchmark=rows[0].benchmark,
        **words,
    )


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
    judged = zip(effects, adjusted, strict=True)
    return [_order_warning(what, effect, p, trials) for (what, effect), p in judged if p < ALPHA]


def _order_warning(what: str, effect: OrderEffect, p_adjusted: float, trials: list[str]) -> Draft:
    template = (
        "The headline values depend on the {what} in which they were measured "
        "(Kruskal-Wallis H = {statistic:statistic}, p = {p:probability}). The randomised order spreads this effect "
        "over all configurations, so it widens their intervals rather than favouring one of them."
        if what
        else "Headline values depend on the replicate measured just before (autocorrelation {statistic:statistic}, "
        "p = {p:probability}): replicates are not independent, so intervals may be too narrow."
    )
    return say(
        "order",
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


MIN_VALUES = 60
"""The same minimum as in the check `throttled`."""


def unsteady(lookup: Lookup) -> list[Draft]:
    """One warning per headline metric and configuration with such trials."""
    found: list[Draft] = []
    series: dict[tuple[str, str, str], dict[str, list[MeasurementRow]]] = defaultdict(lambda: defaultdict(list))
    for row in lookup.study.measurements:
        if row.valid and row.at_s is not None:
            series[row.benchmark, row.metric, row.configuration][row.trial].append(row)
    for benchmark, metric in lookup.headlines():
        configurations = sorted(name for b, m, name in series if (b, m) == (benchmark, metric.name))
        for configuration in configurations:
            by_trial = series[benchmark, metric.name, configuration]
            long = {trial: rows for trial, rows in by_trial.items() if len(rows) >= MIN_VALUES}
            restless = sorted(trial for trial, rows in long.items() if not _at_rest(rows))
            if restless:
                name = f"{lookup.title(benchmark, metric.name)} in {benchmark} on {configuration}"
                found.append(_steadiness_warning(benchmark, name, restless, len(long)))
    return found


def _at_rest(rows: list[MeasurementRow]) -> bool:
    """One level, settled in the first half, and no certain drift as large as a change of level."""
    values = [row.value for row in sorted(rows, key=lambda row: row.at_s or 0.0)]
    if len(plateaus(values)) > 1:
        return False
    seen = steadiness(values)
    if seen is None:
        return True
    return seen.came_to_rest and not (seen.drifts and abs(seen.drift) >= MIN_CHANGE)


def _steadiness_warning(benchmark: str, metric: str, restless: list[str], n: int) -> Draft:
    return say(
        "steadiness",
        "warning",
        "{metric}: {restless:count} of {n:count} "
        f"{plural(n, 'trial')} {plural(len(restless), 'was', 'were')}"
        " not in a steady state: the rate jumped or drifted by {least:limit} % or more, or did not settle in the "
        "first half. Use a longer warm-up or a longer trial.",
        numbers={"restless": len(restless), "n": n, "least": 100 * MIN_CHANGE},
        trials=restless,
        benchmark=benchmark,
        metric=metric,
    )
