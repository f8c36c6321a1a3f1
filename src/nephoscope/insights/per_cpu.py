"""Scaling with CPUs: does a configuration with more CPUs deliver as much per CPU?"""

from nephoscope.analysis.answers import answered, question_of
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights import contrasts
from nephoscope.insights.answer import drafted
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.numbers import Number, interval
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Comparison, ComparisonVerdict
from nephoscope.stats.decide import ALPHA

NAME = "per_cpu"
_INTERVAL = (
    "{coverage:coverage} interval {ratio:ends:ratio}, n = {n_first:count} and {n_second:count}, error rate "
    "{alpha:limit} %"
)
_ENDINGS = {
    ComparisonVerdict.BETTER: ": it scales better than in proportion to its CPUs.",
    ComparisonVerdict.WORSE: ": it scales less than in proportion to its CPUs.",
    ComparisonVerdict.TIE: ": it scales in proportion to its CPUs, within ±{margin:limit} %.",
}
_CONTRAST_ENDINGS = {
    ComparisonVerdict.BETTER: ": more than in proportion.",
    ComparisonVerdict.WORSE: ": less than in proportion.",
}


def per_cpu(lookup: Lookup) -> list[Draft]:
    """Where higher is better: two configurations with different numbers of CPUs; of more, each contrast of sizes.

    The ratio of the values per CPU, larger over smaller, is the scaling efficiency.
    """
    insights: list[Draft] = []
    rows = {row.benchmark: row for row in lookup.study.benchmarks}
    for benchmark, metric in lookup.headlines():
        cpus = {row.configuration: row.cpus for row in lookup.statistics_of(benchmark, metric.name, per_cpu=True)}
        if metric.direction is not Direction.HIGHER:
            continue
        if len(cpus) > 2:
            insights += [
                contrasts.sentence(lookup, row, NAME, _CONTRAST_ENDINGS.get(row.verdict))
                for row in lookup.study.contrasts
                if (row.benchmark, row.metric, row.view) == (benchmark, metric.name, "per CPU")
                and row.question in contrasts.SCALING
            ]
            continue
        for comparison in lookup.comparisons_of(benchmark, metric.name, per_cpu=True):
            left, right = cpus.get(comparison.left), cpus.get(comparison.right)
            if left is None or right is None or left == right:
                continue
            if comparison.verdict is not ComparisonVerdict.UNRESOLVED:
                insights.append(_sentence(lookup, comparison, metric, left, right))
            elif found := answered(question_of(lookup, rows[benchmark], metric, "per CPU")):
                insights.append(drafted(NAME, found))
    return insights


def _sentence(lookup: Lookup, comparison: Comparison, metric: Metric, left: int, right: int) -> Draft:
    row = comparison if left > right else comparison.mirrored()
    numbers: dict[str, Number] = {
        "ratio": interval(row.ratio, row.low, row.high),
        "n_first": row.n_left,
        "n_second": row.n_right,
        "alpha": 100 * ALPHA,
        "coverage": 100 * (row.coverage or 0.0),
        "cpus_large": max(left, right),
        "cpus_small": min(left, right),
        "margin": comparison.margin_percent,
    }
    template = (
        "{benchmark_name}: {first}, with {cpus_large:count} CPUs, has {ratio:ratio} the "
        "{title} of {second}, with {cpus_small:count} "
        + plural(min(left, right), "CPU")
        + " ("
        + _INTERVAL
        + ")"
        + _ENDINGS[row.verdict]
    )
    return say(
        NAME,
        "answer",
        template,
        numbers=numbers,
        trials=lookup.trials_of_pair(comparison),
        benchmark=comparison.benchmark,
        benchmark_name=comparison.benchmark,
        first=row.left,
        second=row.right,
        title=f"{metric.title} per CPU",
    )
