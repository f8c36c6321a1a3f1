"""Trials whose rate was not steady: it jumped, drifted, or was still warming up. They are reported, not excluded."""

from collections import defaultdict

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.rows import MeasurementRow
from nephoscope.stats.change_points import plateaus
from nephoscope.stats.limits import MIN_CHANGE
from nephoscope.stats.steadiness import steadiness

NAME = "steadiness"
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
                found.append(_warning(benchmark, name, restless, len(long)))
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


def _warning(benchmark: str, metric: str, restless: list[str], n: int) -> Draft:
    return say(
        NAME,
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
