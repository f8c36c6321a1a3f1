"""What the study could not decide by design: too many comparisons for its replicates, or values without a ratio."""

from nephoscope.insights.base import Findings
from nephoscope.insights.words import enumeration, plural, say
from nephoscope.model.rows import Insight
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.rank_sum import least_n_each, smallest_p_value

NAME = "claims"


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
    metrics: dict[str, list[str]] = {}
    for row in findings.statistics:
        several = len(findings.statistics_of(row.benchmark, row.metric)) > 1
        if several and not row.per_cpu and row.minimum <= 0:
            name = f"{findings.title(row.benchmark, row.metric)} in {row.benchmark}"
            metrics.setdefault(name, []).extend(row.trials)
    if not metrics:
        return []
    return [
        say(
            NAME,
            "note",
            "{count:count} "
            + plural(
                len(metrics),
                "metric has zero or negative values and is",
                "metrics have zero or negative values and are",
            )
            + " not compared by ratio: {metrics}.",
            numbers={"count": len(metrics)},
            trials=[trial for trials in metrics.values() for trial in trials],
            metrics=enumeration(sorted(metrics)),
        )
    ]
