"""Metrics that no comparison can be made of, as their values have no ratio."""

from nephoscope.insights.base import Findings
from nephoscope.insights.words import enumeration, plural, say
from nephoscope.model.rows import Insight

NAME = "claims"


def claims(findings: Findings) -> list[Insight]:
    """A note about metrics that are not compared."""
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
