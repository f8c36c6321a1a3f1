"""The answer of each benchmark: which configuration is better in the headline metric, by how much, and how certain."""

from nephoscope.analysis.findings import Findings
from nephoscope.insights.bests import MAX_NAMED, told
from nephoscope.insights.pairs import INTERVAL, unresolved, winner_first
from nephoscope.insights.steal import cautioned
from nephoscope.insights.words import Draft, interval_of_one, keyed, quantity_style, say
from nephoscope.model.questions import BestRow
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Comparison, ComparisonVerdict, RankRow, Statistic
from nephoscope.model.words import enumeration

NAME = "answer"
MAX_RANKED = 12
"""With more configurations than this, no sentence gives every rank."""
_NAMED = 3


def answer(findings: Findings) -> list[Draft]:
    """The best of three or more configurations, and their ranks; the comparison of two; the median of one.

    Decided questions come first.
    """
    insights: list[Draft] = []
    open_questions: list[Draft] = []
    for benchmark, metric in findings.headlines():
        statistics = findings.statistics_of(benchmark, metric.name)
        best = findings.best_of(benchmark, metric.name)
        if len(statistics) == 1:
            insights.append(_alone(statistics[0], metric))
        elif len(statistics) == 2:
            for comparison in findings.comparisons_of(benchmark, metric.name):
                decided = comparison.verdict is not ComparisonVerdict.UNRESOLVED
                (insights if decided else open_questions).append(_pair(findings, comparison, metric))
        elif best is not None:
            (insights if best.excluded or best.tied else open_questions).append(_best(best, statistics, metric))
            if best.method != "none" and best.of <= MAX_RANKED:
                insights.append(_ranks(findings.ranks_of(benchmark, metric.name), statistics, metric, best.alpha))
    return [cautioned(insight, findings) for insight in insights + open_questions]


def _alone(row: Statistic, metric: Metric) -> Draft:
    style = quantity_style(row.unit)
    return say(
        NAME,
        "answer",
        f"{{benchmark_name}}: the median {{title}} of {{name}} is {{median:{style}}} ("
        + interval_of_one(row.n, "median", style)
        + ").",
        numbers={"median": row.middle, "coverage": 100 * row.coverage, "n": row.n},
        trials=row.trials,
        benchmark=row.benchmark,
        benchmark_name=row.benchmark,
        title=metric.title,
        name=row.configuration,
    )


def _best(best: BestRow, statistics: list[Statistic], metric: Metric) -> Draft:
    """The answer; the best levels too, where it names no configuration."""
    by_name = {row.configuration: row for row in statistics}
    style = quantity_style(statistics[0].unit)
    winner = by_name.get(best.best[0]) if len(best.best) == 1 else None
    answer = told(best, value=f", {{level:{style}}}" if winner else "")
    numbers, words, template = answer.numbers, answer.words, answer.template
    if winner:
        numbers["level"] = winner.compared
    elif not best.excluded or len(best.best) > MAX_NAMED:
        sign = -1 if metric.direction is Direction.HIGHER else 1
        first = sorted(statistics, key=lambda row: (sign * row.compared.value, row.configuration))[:_NAMED]
        parts = []
        for key, row in keyed(first):
            numbers[f"level_{key}"] = row.compared
            words[f"name_{key}"] = row.configuration
            parts.append(f"{{name_{key}}} ({{level_{key}:{style}}})")
        what = ("values" if best.n_most == 1 else "levels") + (" as delivered" if best.reason else "")
        template += f" The first {what} are those of " + enumeration(parts) + "."
    return say(
        NAME,
        "answer",
        "{benchmark_name}: " + template,
        numbers=numbers,
        trials=best.trials,
        benchmark=best.benchmark,
        benchmark_name=best.benchmark,
        title=metric.title,
        **words,
    )


def _pair(findings: Findings, comparison: Comparison, metric: Metric) -> Draft:
    if comparison.verdict is ComparisonVerdict.UNRESOLVED:
        return unresolved(NAME, findings, comparison, metric, title=metric.title)
    told = winner_first(comparison)
    if comparison.verdict is ComparisonVerdict.TIE:
        template = (
            "{benchmark_name}: {first} and {second} are a tie in {title}: the ratio is {ratio:ratio}, and its whole "
            "interval is within ±{margin:limit} % (" + INTERVAL + ")."
        )
    else:
        template = "{benchmark_name}: {first} has {ratio:ratio} the {title} of {second} (" + INTERVAL + ")"
        template += "." if metric.direction is Direction.HIGHER else "; lower is better."
    return say(
        NAME,
        "answer",
        template,
        numbers=told.numbers | {"margin": comparison.margin_percent},
        trials=findings.trials_of(comparison),
        benchmark=comparison.benchmark,
        benchmark_name=comparison.benchmark,
        first=told.first,
        second=told.second,
        title=metric.title,
    )


def _ranks(ranks: list[RankRow], statistics: list[Statistic], metric: Metric, alpha: float) -> Draft:
    numbers: dict[str, float] = {"configurations": len(ranks), "alpha": 100 * alpha}
    words: dict[str, str] = {}
    parts: list[str] = []
    for key, row in keyed(ranks):
        numbers |= {f"first_{key}": row.first, f"last_{key}": row.last}
        words[f"name_{key}"] = row.configuration
        exact = row.first == row.last
        rank = f"{{first_{key}:count}}" if exact else f"{{first_{key}:count}} to {{last_{key}:count}}"
        parts.append(f"{{name_{key}}} {rank}")
    return say(
        NAME,
        "answer",
        "{benchmark_name}: ranks of the {configurations:count} configurations by {title} (a range means that the exact "
        "rank is not certain; error rate {alpha:limit} % for all together): " + ", ".join(parts) + ".",
        numbers=numbers,
        trials=[trial for row in statistics for trial in row.trials],
        benchmark=statistics[0].benchmark,
        benchmark_name=statistics[0].benchmark,
        title=metric.title,
        **words,
    )
