"""Trials whose rate was not at rest: it changed its level, drifted, or never ended its warm-up. Told, not dropped."""

from collections import defaultdict

from nephoscope.insights.base import Findings
from nephoscope.insights.words import plural, say
from nephoscope.model.rows import Insight, MeasurementRow
from nephoscope.stats.change_points import plateaus
from nephoscope.stats.limits import MIN_CHANGE
from nephoscope.stats.steadiness import steadiness

NAME = "steadiness"
MIN_VALUES = 60
"""As the check `throttled` asks for."""


def unsteady(findings: Findings) -> list[Insight]:
    """One warning per headline metric and configuration with such trials."""
    found: list[Insight] = []
    series: dict[tuple[str, str, str], dict[str, list[MeasurementRow]]] = defaultdict(lambda: defaultdict(list))
    for row in findings.measurements:
        if row.valid and row.at_s is not None:
            series[row.benchmark, row.metric, row.configuration][row.trial].append(row)
    for benchmark, metric in findings.headlines():
        configurations = sorted(name for b, m, name in series if (b, m) == (benchmark, metric.name))
        for configuration in configurations:
            by_trial = series[benchmark, metric.name, configuration]
            long = {trial: rows for trial, rows in by_trial.items() if len(rows) >= MIN_VALUES}
            restless = sorted(trial for trial, rows in long.items() if not _at_rest(rows))
            if restless:
                place = f"{findings.title(benchmark, metric.name)} in {benchmark} on {configuration}"
                found.append(_told(benchmark, place, restless, len(long)))
    return found


def _at_rest(rows: list[MeasurementRow]) -> bool:
    """On one level, at rest before its middle, and without a drift that is certain and as large as a change."""
    values = [row.value for row in sorted(rows, key=lambda row: row.at_s or 0.0)]
    if len(plateaus(values)) > 1:
        return False
    seen = steadiness(values)
    if seen is None:
        return True
    return seen.came_to_rest and not (seen.drifts and abs(seen.drift) >= MIN_CHANGE)


def _told(benchmark: str, place: str, restless: list[str], n: int) -> Insight:
    return say(
        NAME,
        "warning",
        "{place}: {restless:count} of {n:count} trials "
        + plural(len(restless), "was", "were")
        + " not in a steady state: the rate changed its level by {least:percent} % or more, drifted as far, or did not "
        "come to rest in the first half. A longer warm-up or a longer trial tells more.",
        numbers={"restless": len(restless), "n": n, "least": 100 * MIN_CHANGE},
        trials=restless,
        benchmark=benchmark,
        place=place,
    )
