"""Metrics that no comparison can be made of, as their values have no ratio."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.words import named_or_counted

NAME = "claims"
MAX_NAMED = 8
"""With more configurations than this, a metric's are counted instead of named."""


def claims(lookup: Lookup) -> list[Draft]:
    """One sentence for all metrics; a warning if it is about a headline metric, which then has no answer."""
    names: dict[str, list[str]] = {}
    trials: list[str] = []
    headlines = {(benchmark, metric.name) for benchmark, metric in lookup.headlines()}
    leading = False
    for row in lookup.study.statistics:
        several = len(lookup.statistics_of(row.benchmark, row.metric)) > 1
        if several and not row.per_cpu and row.minimum <= 0:
            title = f"{lookup.title(row.benchmark, row.metric)} in {row.benchmark}"
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
            + " zero or negative values, whose ratios mean nothing, and "
            + plural(len(names), "is", "are")
            + " not compared there: {metrics}.",
            numbers={"count": len(names)},
            trials=trials,
            metrics="; ".join(
                f"{title} on {named_or_counted(sorted(many), MAX_NAMED)}" for title, many in sorted(names.items())
            ),
        )
    ]
