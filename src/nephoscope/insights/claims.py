"""What the study could not decide by its design: too many claims for its replicates, or values without a ratio."""

from nephoscope.insights.base import Findings
from nephoscope.insights.words import enumeration, plural, say
from nephoscope.model.rows import Insight
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.rank_sum import least_n_each, smallest_p_value

NAME = "claims"


def claims(findings: Findings) -> list[Insight]:
    """Warnings for families of comparisons that no result could decide; a note on metrics that are not compared."""
    return [*_undecidable(findings, per_cpu=False), *_undecidable(findings, per_cpu=True), *_without_ratio(findings)]


def _undecidable(findings: Findings, *, per_cpu: bool) -> list[Insight]:
    """Holm multiplies the smallest p-value by the number of claims; when even that exceeds alpha, none can hold."""
    family = findings.claims(per_cpu=per_cpu)
    smallest = min((smallest_p_value(row.n_left, row.n_right) for row in family), default=0.0)
    if smallest * len(family) < ALPHA:
        return []
    least = least_n_each(ALPHA / len(family))
    return [
        say(
            NAME,
            "warning",
            "No difference in a headline metric{which} could be certain here: {claims:count} comparisons are decided "
            "together, and the smallest p-value these replicates can give is {smallest:probability} before the "
            "correction. {least:count} replicates of each configuration are the least.",
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
            place = f"{findings.title(row.benchmark, row.metric)} in {row.benchmark}"
            metrics.setdefault(place, []).extend(row.trials)
    if not metrics:
        return []
    return [
        say(
            NAME,
            "note",
            "{count:count} " + plural(len(metrics), "metric has", "metrics have") + " values that are zero or negative "
            "and " + plural(len(metrics), "is", "are") + " not compared by ratio: {metrics}.",
            numbers={"count": len(metrics)},
            trials=[trial for trials in metrics.values() for trial in trials],
            metrics=enumeration(sorted(metrics)),
        )
    ]
