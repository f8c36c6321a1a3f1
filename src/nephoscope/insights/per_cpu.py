"""Scaling with CPUs: does a configuration with more CPUs deliver as much per CPU?"""

from nephoscope.analysis.findings import Findings
from nephoscope.insights import contrasts
from nephoscope.insights.pairs import INTERVAL, oriented, unresolved
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Comparison, ComparisonVerdict

NAME = "per_cpu"
_ENDINGS = {
    ComparisonVerdict.BETTER: ": it scales better than in proportion to its CPUs.",
    ComparisonVerdict.WORSE: ": it scales less than in proportion to its CPUs.",
    ComparisonVerdict.TIE: ": it scales in proportion to its CPUs, within ±{margin:limit} %.",
}
_CONTRAST_ENDINGS = {
    ComparisonVerdict.BETTER: ": more than in proportion.",
    ComparisonVerdict.WORSE: ": less than in proportion.",
}


def per_cpu(findings: Findings) -> list[Draft]:
    """Where higher is better: two configurations with different numbers of CPUs; of more, each contrast of sizes.

    The ratio of the values per CPU, larger over smaller, is the scaling efficiency.
    """
    insights: list[Draft] = []
    for benchmark, metric in findings.headlines():
        cpus = {row.configuration: row.cpus for row in findings.statistics_of(benchmark, metric.name, per_cpu=True)}
        if metric.direction is not Direction.HIGHER:
            continue
        if len(cpus) > 2:
            insights += [
                contrasts.sentence(findings, row, NAME, _CONTRAST_ENDINGS.get(row.verdict))
                for row in findings.contrasts
                if (row.benchmark, row.metric, row.view) == (benchmark, metric.name, "per CPU")
                and row.question in contrasts.SCALING
            ]
            continue
        for comparison in findings.comparisons_of(benchmark, metric.name, per_cpu=True):
            left, right = cpus.get(comparison.left), cpus.get(comparison.right)
            if left is not None and right is not None and left != right:
                insights.append(_sentence(findings, comparison, metric, left, right))
    return insights


def _sentence(findings: Findings, comparison: Comparison, metric: Metric, left: int, right: int) -> Draft:
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
        "{benchmark_name}: {first}, with {cpus_large:count} CPUs, has {ratio:ratio} the "
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
        trials=findings.trials_of(comparison),
        benchmark=comparison.benchmark,
        benchmark_name=comparison.benchmark,
        first=told.first,
        second=told.second,
        title=title,
    )
