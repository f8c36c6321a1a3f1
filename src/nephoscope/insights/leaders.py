"""Which of many configurations is first, overall and per CPU, and whether that is certain."""

from collections.abc import Sequence

from nephoscope.insights.base import Findings
from nephoscope.insights.pairs import oriented
from nephoscope.insights.steal import cautioned
from nephoscope.insights.words import enumeration, plural, say
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import ComparisonVerdict, Insight, Statistic

NAME = "leaders"
MAX_RANKED = 12
"""With more configurations than this, the answer names the best three instead of every rank."""
_NAMED = 3


def leaders(findings: Findings) -> list[Insight]:
    """One sentence for each headline metric and view with many configurations."""
    insights = []
    for benchmark, metric in findings.headlines():
        for per_cpu in (False, True):
            rows = findings.statistics_of(benchmark, metric.name, per_cpu=per_cpu)
            if len(rows) > MAX_RANKED:
                insights.append(cautioned(_sentence(findings, rows, metric), findings))
    return insights


def _sentence(findings: Findings, rows: Sequence[Statistic], metric: Metric) -> Insight:
    sign = -1 if metric.direction is Direction.HIGHER else 1
    first = sorted(rows, key=lambda row: (sign * row.median, row.configuration))[:_NAMED]
    best, style = first[0], f"quantity:{first[0].unit}"
    comparisons = findings.comparisons_of(best.benchmark, best.metric, per_cpu=best.per_cpu)
    verdicts = [
        oriented(row, best.configuration).verdict for row in comparisons if best.configuration in {row.left, row.right}
    ]
    beaten = verdicts.count(ComparisonVerdict.BETTER)
    numbers: dict[str, float] = {"all": len(rows), "beaten": beaten, "last": len(rows) - beaten, "n": best.n}
    parts = []
    for key, row in zip("abc", first, strict=False):
        numbers[f"median_{key}"] = row.median
        parts.append(f"{{name_{key}}} ({{median_{key}:{style}}})")
    return say(
        NAME,
        "answer",
        "{benchmark_name}: the best "
        + ("values" if best.n == 1 else "medians")
        + " of {title} among {all:count} configurations are those of "
        + enumeration(parts)
        + _certainty(best.n, beaten, len(rows)),
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=best.benchmark,
        benchmark_name=best.benchmark,
        title=metric.title + (" per CPU" if best.per_cpu else ""),
        **{f"name_{key}": row.configuration for key, row in zip("abc", first, strict=False)},
    )


def _certainty(n: int, beaten: int, among: int) -> str:
    """How certain the first rank is, given the replicates."""
    if beaten == among - 1:
        return ". The first is certainly better than every other (n = {n:count})."
    if n == 1:
        return ". The first was measured once, so a repeat may change this order."
    if beaten == 0:
        return ". Which one is really best is unresolved: no difference from the first is certain (n = {n:count})."
    return (
        ". Which one is really best is unresolved: with n = {n:count}, the first is certainly better than "
        "{beaten:count} " + plural(beaten, "other") + ", so its rank is somewhere from first to number {last:count}."
    )
