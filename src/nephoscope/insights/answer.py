"""The answer of each benchmark: which configuration is better in the headline metric, by how much, and how certain."""

from nephoscope.insights.base import Findings
from nephoscope.insights.leaders import MAX_RANKED
from nephoscope.insights.pairs import INTERVAL, oriented, unresolved, winner_first
from nephoscope.insights.steal import cautioned
from nephoscope.insights.words import interval_of_one, say
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Comparison, ComparisonVerdict, Insight, Statistic

NAME = "answer"
MAX_PAIRED = 3
"""With more configurations than this, the answer gives ranks instead of every pair."""


def answer(findings: Findings) -> list[Insight]:
    """One sentence per pair of configurations; with more than three, their ranks; with one, its median.

    With more than twelve, `leaders` names the best ones. Decided comparisons come first.
    """
    insights: list[Insight] = []
    open_questions: list[Insight] = []
    for benchmark, metric in findings.headlines():
        statistics = findings.statistics_of(benchmark, metric.name)
        comparisons = findings.comparisons_of(benchmark, metric.name)
        if len(statistics) == 1:
            insights.append(_alone(statistics[0], metric))
        elif len(statistics) > MAX_RANKED:
            continue
        elif len(statistics) > MAX_PAIRED and comparisons:
            insights.append(_ranks(statistics, comparisons, metric))
        else:
            for comparison in comparisons:
                decided = comparison.verdict is not ComparisonVerdict.UNRESOLVED
                (insights if decided else open_questions).append(_pair(findings, comparison, metric))
    return [cautioned(insight, findings) for insight in insights + open_questions]


def _alone(row: Statistic, metric: Metric) -> Insight:
    style = f"quantity:{row.unit}"
    return say(
        NAME,
        "answer",
        f"{{benchmark_name}}: the median {{title}} of {{name}} is {{median:{style}}} ("
        + interval_of_one(row.n, style)
        + ").",
        numbers={"median": row.median, "low": row.low, "high": row.high, "coverage": 100 * row.coverage, "n": row.n},
        trials=row.trials,
        benchmark=row.benchmark,
        benchmark_name=row.benchmark,
        title=metric.title,
        name=row.configuration,
    )


def _pair(findings: Findings, comparison: Comparison, metric: Metric) -> Insight:
    if comparison.verdict is ComparisonVerdict.UNRESOLVED:
        return unresolved(NAME, findings, comparison, metric, title=metric.title)
    told = winner_first(comparison)
    if comparison.verdict is ComparisonVerdict.TIE:
        template = (
            "{benchmark_name}: {first} and {second} are a tie in {title}: the ratio is {ratio:ratio}, and its whole "
            "interval is within ±{margin:limit} % (" + INTERVAL + ")."
        )
    else:
        template = (
            "{benchmark_name}: {first} has {ratio:ratio} \N{MULTIPLICATION SIGN} the {title} of {second} ("
            + INTERVAL
            + ")"
        )
        template += "." if metric.direction is Direction.HIGHER else "; lower is better."
    return say(
        NAME,
        "answer",
        template,
        numbers=told.numbers | {"margin": comparison.margin_percent},
        trials=comparison.trials,
        benchmark=comparison.benchmark,
        benchmark_name=comparison.benchmark,
        first=told.first,
        second=told.second,
        title=metric.title,
    )


def _ranks(statistics: list[Statistic], comparisons: list[Comparison], metric: Metric) -> Insight:
    """Ranks as intervals: 1 + (number that are certainly better) to N - (number that are certainly worse)."""
    sign = -1 if metric.direction is Direction.HIGHER else 1
    order = [row.configuration for row in sorted(statistics, key=lambda row: (sign * row.median, row.configuration))]
    numbers: dict[str, float] = {"configurations": len(order)}
    words: dict[str, str] = {}
    parts: list[str] = []
    for index, name in enumerate(order):
        verdicts = [oriented(row, name).verdict for row in comparisons if name in {row.left, row.right}]
        first = 1 + verdicts.count(ComparisonVerdict.WORSE)
        last = len(order) - verdicts.count(ComparisonVerdict.BETTER)
        key = "abcdefghijklmnopqrstuvwxyz"[index % 26] * (1 + index // 26)
        numbers |= {f"first_{key}": first, f"last_{key}": last}
        words[f"name_{key}"] = name
        rank = f"{{first_{key}:count}}" if first == last else f"{{first_{key}:count}} to {{last_{key}:count}}"
        parts.append(f"{{name_{key}}} {rank}")
    return say(
        NAME,
        "answer",
        "{benchmark_name}: ranks of the {configurations:count} configurations by {title} (a range means that the exact "
        "rank is not certain): " + ", ".join(parts) + ".",
        numbers=numbers,
        trials=[trial for row in statistics for trial in row.trials],
        benchmark=statistics[0].benchmark,
        benchmark_name=statistics[0].benchmark,
        title=metric.title,
        **words,
    )
