"""What rules about two configurations share: which of them comes first, and why a verdict is unresolved."""

from dataclasses import dataclass

from nephoscope.insights.base import Findings
from nephoscope.insights.effort import effort_words, more_replicates
from nephoscope.insights.words import plural, say
from nephoscope.model.records import Metric
from nephoscope.model.rows import MAX_TIMES_MORE, Comparison, ComparisonVerdict, Insight
from nephoscope.stats.decide import ALPHA, POWER

_OPPOSITE = {ComparisonVerdict.BETTER: ComparisonVerdict.WORSE, ComparisonVerdict.WORSE: ComparisonVerdict.BETTER}


@dataclass(frozen=True)
class Oriented:
    """A comparison seen from one of its configurations."""

    first: str
    second: str
    verdict: ComparisonVerdict
    numbers: dict[str, float]
    """ratio, n_first and n_second; also low, high and coverage (percent) when there is an interval."""


def oriented(comparison: Comparison, first: str) -> Oriented:
    """The comparison with `first` as the numerator of the ratio."""
    if comparison.left == first:
        ends, ratio = (comparison.low, comparison.high), comparison.ratio
        counts, verdict = (comparison.n_left, comparison.n_right), comparison.verdict
    else:
        ends = (_inverse(comparison.high), _inverse(comparison.low))
        ratio, counts = 1 / comparison.ratio, (comparison.n_right, comparison.n_left)
        verdict = _OPPOSITE.get(comparison.verdict, comparison.verdict)
    numbers: dict[str, float] = {"ratio": ratio, "n_first": counts[0], "n_second": counts[1], "alpha": 100 * ALPHA}
    if ends[0] is not None and ends[1] is not None and comparison.coverage is not None:
        numbers |= {"low": ends[0], "high": ends[1], "coverage": 100 * comparison.coverage}
    second = comparison.right if comparison.left == first else comparison.left
    return Oriented(first, second, verdict, numbers)


def _inverse(value: float | None) -> float | None:
    return None if value is None else 1 / value


def winner_first(comparison: Comparison) -> Oriented:
    """The comparison with the better configuration first; the left one when neither is better."""
    return oriented(comparison, comparison.right if comparison.verdict is ComparisonVerdict.WORSE else comparison.left)


INTERVAL = (
    "{coverage:coverage} % interval {low:ratio} to {high:ratio}, n = {n_first:count} and {n_second:count}, error rate "
    "{alpha:limit} %"
)


def unresolved(rule: str, findings: Findings, comparison: Comparison, metric: Metric, *, title: str) -> Insight:
    """Says what is unresolved between two configurations, why, and what would decide it."""
    told = oriented(comparison, comparison.left)
    numbers = dict(told.numbers)
    template = "{benchmark_name}: {title} of {first} and {second}: not decided, "
    if comparison.delivered not in {None, comparison.verdict}:
        template += "because {first} is {why}."
    elif comparison.low is None or comparison.high is None:
        template += "because n = {n_first:count} and {n_second:count} is too few for any claim."
    else:
        numbers["margin"] = comparison.margin_percent
        template += (
            "with a ratio of {ratio:ratio} (" + INTERVAL + "): the interval includes equality, but is not entirely "
            "within ±{margin:limit} %."
        )
    if comparison.is_hardly_decidable:
        numbers["times"] = MAX_TIMES_MORE
        template += (
            " More replicates will hardly decide it: it would take over {times:count} times as many as were measured."
        )
    if comparison.more_to_measure is not None:
        more = comparison.more_to_measure
        effort = more_replicates(findings, comparison.benchmark, (comparison.left, comparison.right), more)
        numbers |= {"more": more, "power": 100 * POWER} | effort
        cost = effort_words(effort)
        template += (
            " About {more:count} more "
            + plural(more, "replicate")
            + " of each would decide it with a chance of {power:count} %"
            + (f"; that takes {cost}." if cost else ".")
        )
    return say(
        rule,
        "answer",
        template,
        numbers=numbers,
        trials=comparison.trials,
        benchmark=comparison.benchmark,
        benchmark_name=comparison.benchmark,
        first=told.first,
        second=told.second,
        why=comparison.reason,
        title=title or metric.title,
    )
