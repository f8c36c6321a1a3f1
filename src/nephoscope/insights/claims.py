"""What the study could not decide by design: too many comparisons for its replicates, or values without a ratio."""

from nephoscope.insights.base import Findings
from nephoscope.insights.words import enumeration, plural, say
from nephoscope.model.rows import Insight
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.rank_sum import least_n_each, smallest_p_value

NAME = "claims"
MAX_NAMED = 8
"""With more configurations than this, a metric's are counted instead of named."""


def claims(findings: Findings) -> list[Insight]:
    """Warnings about comparisons that no result could decide; a note about metrics that are not compared."""
    return [*_undecidable(findings, per_cpu=False), *_undecidable(findings, per_cpu=True), *_without_ratio(findings)]


def _undecidable(findings: Findings, *, per_cpu: bool) -> list[Insight]:
    """Holm multiplies the smallest p-value by the number of comparisons; if that exceeds alpha, none can be decided."""
    family = findings.claims(per_cpu=per_cpu)
    smallest = min((smallest_p_value(row.n_left, row.n_right) for row in family), default=0.0)
    if smallest * len(family) < ALPHA:
        return []
    least = least_n_each(ALPHA / len(family))
    return [
        say(
            NAME,
            "warning",
            "This study has too few replicates to establish any difference in a headline metric{which}: it corrects "
            "for {claims:count} comparisons, and the smallest p-value it can reach is {smallest:probability} before "
            "the correction. It takes at least {least:count} replicates of each configuration.",
            numbers={"claims": len(family), "smallest": smallest, "least": least},
            trials=[trial for row in family for trial in row.trials],
            which=" per CPU" if per_cpu else "",
        )
    ]


def _without_ratio(findings: Findings) -> list[Insight]:
    """One sentence for all metrics; a warning if it is about a headline metric, which then has no answer."""
    names: dict[str, list[str]] = {}
    trials: list[str] = []
    headlines = {(benchmark, metric.name) for benchmark, metric in findings.headlines()}
    leading = False
    for row in findings.statistics:
        several = len(findings.statistics_of(row.benchmark, row.metric)) > 1
        if several and not row.per_cpu and row.minimum <= 0:
            title = f"{findings.title(row.benchmark, row.metric)} in {row.benchmark}"
            names.setdefault(title, []).append(row.configuration)
            trials += row.trials
            leading |= (row.benchmark, row.metric) in headlines
    if not names:
        return []
    return [
        say(
            NAME,
            "warning" if leading else "note",
            "{count:count} "
            + plural(len(names), "metric has", "metrics have")
            + " zero or negative values, of which a ratio means nothing, and "
            + plural(len(names), "is", "are")
            + " not compared there: {metrics}.",
            numbers={"count": len(names)},
            trials=trials,
            metrics="; ".join(f"{title} on {_listed(many)}" for title, many in sorted(names.items())),
        )
    ]


def _listed(names: list[str]) -> str:
    return enumeration(sorted(names)) if len(names) <= MAX_NAMED else f"{len(names)} configurations"
