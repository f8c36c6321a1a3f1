"""Scaling with CPUs: does a configuration with more CPUs deliver as much per CPU?"""

from nephoscope.insights.base import Findings
from nephoscope.insights.pairs import INTERVAL, oriented, unresolved
from nephoscope.insights.words import plural, say
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Comparison, ComparisonVerdict, Insight

NAME = "per_cpu"
MAX_SENTENCES = 12
"""With more pairs than this, one sentence counts them."""
_ENDINGS = {
    ComparisonVerdict.BETTER: ": it scales better than in proportion to its CPUs.",
    ComparisonVerdict.WORSE: ": it scales less than in proportion to its CPUs.",
    ComparisonVerdict.TIE: ": it scales in proportion to its CPUs, within ±{margin:limit} %.",
}


def per_cpu(findings: Findings) -> list[Insight]:
    """One sentence per pair of configurations with different numbers of CPUs, where higher is better; counts if many.

    The ratio of the values per CPU, larger over smaller, is the scaling efficiency.
    """
    insights: list[Insight] = []
    for benchmark, metric in findings.headlines():
        cpus = {row.configuration: row.cpus for row in findings.statistics_of(benchmark, metric.name, per_cpu=True)}
        if metric.direction is not Direction.HIGHER:
            continue
        pairs: list[tuple[Comparison, int, int]] = []
        for comparison in findings.comparisons_of(benchmark, metric.name, per_cpu=True):
            left, right = cpus.get(comparison.left), cpus.get(comparison.right)
            if left is not None and right is not None and left != right:
                pairs.append((comparison, left, right))
        if len(pairs) > MAX_SENTENCES:
            insights.append(_counts(pairs, metric))
        else:
            insights += [_sentence(findings, comparison, metric, left, right) for comparison, left, right in pairs]
    return insights


def _counts(pairs: list[tuple[Comparison, int, int]], metric: Metric) -> Insight:
    """How often the larger of two has more, as much or less per CPU."""
    verdicts = [
        oriented(comparison, comparison.left if left > right else comparison.right).verdict
        for comparison, left, right in pairs
    ]
    count = {kind: verdicts.count(kind) for kind in ComparisonVerdict}
    return say(
        NAME,
        "answer",
        "{benchmark_name}: in {pairs:count} pairs of configurations with different numbers of CPUs, the larger one has "
        "more {title} per CPU in {more:count}, as much (within ±{margin:limit} %) in {even:count} and less in "
        "{less:count}; {open:count} are unresolved.",
        numbers={
            "pairs": len(pairs),
            "margin": pairs[0][0].margin_percent,
            "more": count[ComparisonVerdict.BETTER],
            "even": count[ComparisonVerdict.TIE],
            "less": count[ComparisonVerdict.WORSE],
            "open": count[ComparisonVerdict.UNRESOLVED],
        },
        trials=[trial for comparison, _, _ in pairs for trial in comparison.trials],
        benchmark=pairs[0][0].benchmark,
        benchmark_name=pairs[0][0].benchmark,
        title=metric.title,
    )


def _sentence(findings: Findings, comparison: Comparison, metric: Metric, left: int, right: int) -> Insight:
    title = f"{metric.title} per CPU"
    if comparison.verdict is ComparisonVerdict.UNRESOLVED:
        return unresolved(NAME, findings, comparison, metric, title=title)
    larger = comparison.left if left > right else comparison.right
    told = oriented(comparison, larger)
    numbers = told.numbers | {
        "cpus_large": max(left, right),
        "cpus_small": min(left, right),
        "margin": comparison.margin_percent,
    }
    template = (
        "{benchmark_name}: {first}, with {cpus_large:count} CPUs, has {ratio:ratio} \N{MULTIPLICATION SIGN} the "
        "{title} of {second}, with {cpus_small:count} "
        + plural(min(left, right), "CPU")
        + " ("
        + INTERVAL
        + ")"
        + _ENDINGS[told.verdict]
    )
    return say(
        NAME,
        "answer",
        template,
        numbers=numbers,
        trials=comparison.trials,
        benchmark=comparison.benchmark,
        benchmark_name=comparison.benchmark,
        first=told.first,
        second=told.second,
        title=title,
    )
