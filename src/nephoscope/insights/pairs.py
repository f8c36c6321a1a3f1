"""What rules about two configurations share: which of them comes first, and why a verdict is unresolved."""

from dataclasses import dataclass

from nephoscope.analysis.findings import Findings
from nephoscope.insights.effort import effort_words, more_replicates
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.numbers import Number, interval
from nephoscope.model.records import Metric
from nephoscope.model.rows import MAX_TIMES_MORE, Comparison, ComparisonVerdict
from nephoscope.stats.decide import ALPHA, POWER


@dataclass(frozen=True)
class Oriented:
    """A comparison seen from one of its configurations."""

    first: str
    second: str
    verdict: ComparisonVerdict
    numbers: dict[str, Number]
    """ratio, n_first and n_second; also coverage (percent) when there is an interval."""


def oriented(comparison: Comparison, first: str) -> Oriented:
    """The comparison with `first` as the numerator of the ratio."""
    row = comparison if comparison.left == first else comparison.mirrored()
    numbers: dict[str, Number] = {
        "ratio": interval(row.ratio, row.low, row.high),
        "n_first": row.n_left,
        "n_second": row.n_right,
        "alpha": 100 * ALPHA,
    }
    if row.low is not None and row.high is not None and row.coverage is not None:
        numbers["coverage"] = 100 * row.coverage
    return Oriented(first, row.right, row.verdict, numbers)


def winner_first(comparison: Comparison) -> Oriented:
    """The comparison with the better configuration first; the left one when neither is better."""
    return oriented(comparison, comparison.right if comparison.verdict is ComparisonVerdict.WORSE else comparison.left)


INTERVAL = (
    "{coverage:coverage} interval {ratio:ends:ratio}, n = {n_first:count} and {n_second:count}, error rate "
    "{alpha:limit} %"
)


def unresolved(rule: str, findings: Findings, comparison: Comparison, metric: Metric, *, title: str) -> Draft:
    """Says what is unresolved between two configurations, why, and what would decide it."""
    told = oriented(comparison, comparison.left)
    numbers = dict(told.numbers)
    template = "{benchmark_name}: {title} of {first} and {second}: not decided, "
    if comparison.delivered not in {None, comparison.verdict}:
        template += "because {first} is {why}."
    elif comparison.low is None or comparison.high is None:
        template += "because n = {n_first:count} and {n_second:count} is too few for any claim."
    elif comparison.is_disputed and comparison.ratio_of_medians is not None:
        numbers["medians"] = interval(comparison.ratio_of_medians, comparison.low, comparison.high)
        template += (
            "with a ratio of {ratio:ratio} (" + INTERVAL + "), but {medians:ratio} by medians: a few values make the "
            "difference."
        )
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
        trials=findings.trials_of(comparison),
        benchmark=comparison.benchmark,
        benchmark_name=comparison.benchmark,
        first=told.first,
        second=told.second,
        why=str(comparison.reason),
        title=title or metric.title,
    )
