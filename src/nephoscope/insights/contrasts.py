"""What one thing changes: a volume's kind, a CPU's vendor, a setting, over all pairs that differ in it only."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.steal import cautioned
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.numbers import Number, interval
from nephoscope.model.questions import ContrastRow
from nephoscope.model.records import Direction
from nephoscope.model.rows import ComparisonVerdict
from nephoscope.stats.decide import POWER

NAME = "contrasts"
SCALING = frozenset({"size", "CPUs", "machines"})
"""Questions about more of the same; `per_cpu` asks whether it pays."""


def contrasts(lookup: Lookup) -> list[Draft]:
    """One sentence for each contrast of a headline metric as measured.

    Silent where a benchmark has only two configurations: their comparison says it.
    """
    told = []
    for row in lookup.study.contrasts:
        several = len(lookup.statistics_of(row.benchmark, row.metric)) > 2
        if row.view == "plain" and (several or row.declared) and row.question not in SCALING:
            told.append(sentence(lookup, row, NAME))
    return told


def sentence(
    lookup: Lookup, stored: ContrastRow, rule: str, ending: str | None = None, as_measured: float | None = None
) -> Draft:
    """'tpcc: volume kind, io2 against gp3: 1.21× the New-Orders (95 % interval …), in 20 of 23 pairs (error rate 5 %)'.

    Args:
        lookup: for the title of the metric.
        stored: the answer.
        rule: the rule that speaks.
        ending: part of a template that is added where better or worse is certain; default: nothing.
        as_measured: the ratio of the plain values, to add to one of costs.
    """
    of_costs = stored.view == "per dollar"
    row = stored.as_costs() if of_costs else stored
    numbers: dict[str, Number] = {
        "ratio": interval(row.ratio, row.low, row.high),
        "alpha": 100 * row.alpha,
        "agreeing": row.pairs_agreeing,
        "pairs": row.pairs,
        "margin": row.margin_percent,
    }
    ends = ""
    if row.low is not None and row.high is not None and row.coverage is not None:
        numbers["coverage"] = 100 * row.coverage
        ends = " ({coverage:coverage} interval {ratio:ends:ratio})"
    template = (
        "{benchmark_name}"
        + ("" if row.basis is None else ", {basis} prices")
        + ": {question}, {left} against {right}: {ratio:ratio} the "
        + ("cost of the same {title}" if of_costs else "{title}")
        + ends
    )
    if as_measured is not None:
        numbers["speed"] = as_measured
        template += " and {speed:ratio} as much of it"
    if row.pairs > 1:
        template += ", in {agreeing:count} of {pairs:count} " + plural(row.pairs, "pair") + " on that side of equality"
    told = say(
        rule,
        "answer",
        template + " (error rate {alpha:limit} %)" + _end(row, numbers, ending),
        numbers=numbers,
        trials=row.trials,
        benchmark=row.benchmark,
        benchmark_name=row.benchmark,
        question=row.question,
        left=row.left,
        right=row.right,
        basis=row.basis or "",
        reason=str(row.reason),
        title=lookup.title(row.benchmark, row.metric) + (" per CPU" if row.view == "per CPU" else ""),
    )
    return cautioned(told, lookup)


def _end(row: ContrastRow, numbers: dict[str, Number], ending: str | None) -> str:
    if row.verdict is ComparisonVerdict.TIE:
        return ": a tie, as the whole interval is within ±{margin:limit} %."
    if row.delivered not in {None, row.verdict}:
        return ": not decided, because {left} is {reason}."
    if row.verdict is ComparisonVerdict.UNRESOLVED:
        detectable = ""
        if row.detectable_percent is not None:
            numbers |= {"detectable": row.detectable_percent, "power": 100 * POWER}
            detectable = "; a difference of {detectable:percent} would show with a chance of {power:count} %"
        return ": not decided, as the interval includes equality" + detectable + "."
    if ending is not None:
        return ending
    return "." if row.direction is Direction.HIGHER else "; lower is better."
