"""How many replicates a wanted precision takes, by what the replicates at hand show (CONFIRM)."""

from collections.abc import Sequence

from nephoscope.insights.base import Findings
from nephoscope.insights.effort import effort_words, more_replicates
from nephoscope.insights.words import enumeration, plural, say
from nephoscope.model.records import Metric
from nephoscope.model.rows import Insight, Statistic
from nephoscope.stats.median import least_n
from nephoscope.stats.precision import replicates_for_precision

NAME = "precision"
SHARES = (0.01, 0.02, 0.05)
"""Half-widths of the interval, of the median: what Maricq et al. ask for."""


def precision(findings: Findings) -> list[Insight]:
    """One note for each headline metric with more replicates than the least: fewer of them tell nothing of more."""
    found = []
    for benchmark, metric in findings.headlines():
        rows = [row for row in findings.statistics_of(benchmark, metric.name) if row.n > least_n()]
        if rows:
            found.append(_note(findings, metric, rows))
    return found


def _note(findings: Findings, metric: Metric, rows: Sequence[Statistic]) -> Insight:
    """Judged by the configuration whose median is known worst: the others need no more."""
    worst = max(rows, key=lambda row: (row.margin_percent or 0.0, row.configuration))
    values = findings.values_of(worst)
    numbers: dict[str, float] = {"n": worst.n}
    needed = {share: replicates_for_precision(values, share, seed=findings.seed) for share in SHARES}
    beyond = max((share for share in SHARES if needed[share] is None), default=None)
    parts = []
    for key, (share, least) in zip("abc", needed.items(), strict=True):
        numbers |= {f"share_{key}": 100 * share, f"needed_{key}": least or worst.n}
        if least or share == beyond:  # what is closer still takes more than that, too
            parts.append(
                f"±{{share_{key}:percent}} % takes " + ("" if least else "more than ") + f"{{needed_{key}:count}}"
            )
    names = [row.configuration for row in findings.statistics_of(worst.benchmark, worst.metric)]
    effort = more_replicates(findings, worst.benchmark, names, 1)
    one_more = f" One more of each of the {{all:count}} {plural(len(names), 'configuration')} is done" if effort else ""
    numbers |= effort | {"all": len(names)}
    return say(
        NAME,
        "note",
        "{benchmark_name}: by the {n:count} replicates of {name}, the least precise, a median of {title} within "
        + enumeration(parts)
        + " replicates (CONFIRM)."
        + (one_more + effort_words(effort).removeprefix(",") + "." if effort else ""),
        numbers=numbers,
        trials=worst.trials,
        benchmark=worst.benchmark,
        benchmark_name=worst.benchmark,
        name=worst.configuration,
        title=metric.title,
    )
