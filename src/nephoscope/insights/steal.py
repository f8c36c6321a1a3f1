"""What disturbed trials change: CPU time that the hypervisor took, and trials that checks removed."""

import math
from collections.abc import Iterator

from nephoscope.analysis.delivered import NOTABLE_REJECTED_SHARE
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import names_of
from nephoscope.insights.words import Draft, say, warning
from nephoscope.model.numbers import Between, Number
from nephoscope.model.rows import DeliveredRow, GateRow, StealRow, TrialRow
from nephoscope.model.words import enumeration


def steal(lookup: Lookup) -> Iterator[Draft]:
    """A warning about the configurations that lost CPU time and the headline medians that it changed."""
    yield from _again(lookup)
    yield from _taken(lookup)


def _taken(lookup: Lookup) -> Iterator[Draft]:
    lost = sorted((row for row in lookup[StealRow] if row.over), key=lambda row: (-row.share, row.configuration))
    if not lost:
        return
    headlines = {(benchmark, metric.name) for benchmark, metric in lookup.headlines()}
    margin_percent = lookup.study.equivalence_margin_percent
    medians = [
        row
        for row in lookup[DeliveredRow]
        if (row.benchmark, row.metric) in headlines and not row.per_cpu and _change_percent(row) > margin_percent
    ]
    worst, called = lost[0], names_of(lookup)
    numbers: dict[str, Number] = {"share": Between(100 * worst.share, 100 * worst.low, 100 * worst.high)}
    numbers |= {"limit": 100 * worst.limit_share, "over": worst.over, "n": worst.n, "confidence": 95}
    rejected = sum(row.rejected for row in lost)
    numbers |= {"rejected": rejected, "medians": len(medians), "margin": margin_percent}
    template = "Trials of {names} lost over {limit:limit} % of CPU time to the hypervisor, "
    template += "most often those of {worst}: " if len(lost) > 1 else ""
    template += (
        "{share:percent} of them ({over:count} of {n:count}; {confidence:limit} % interval {share:ends:percent})."
    )
    template += " {rejected:counted:trial was|trials were} rejected for it." if rejected else ""
    if medians:
        template += " {medians:counted:headline median differs|headline medians differ} by "
        template += "over {margin:limit} % with and without them."
    yield warning(
        template,
        numbers=numbers,
        trials=[*(trial for row in lost for trial in row.trials), *(trial for row in medians for trial in row.trials)],
        worst=called[worst.configuration],
        names=[called[row.configuration] for row in lost],
    )


def _change_percent(row: DeliveredRow) -> float:
    """How far the median as delivered is from the others; infinite if there is no other, or none that counts."""
    if not row.median or row.n_quiet == 0:
        return math.inf
    others = [other for other in (row.quiet_median, row.median_with_rejected) if other is not None]
    return max(100 * abs(other / row.median - 1) for other in others)


def _again(lookup: Lookup) -> Iterator[Draft]:
    """That this analysis judges steal otherwise than the study did when it ran."""
    if lookup.study.judged_again is None:
        return
    finished = [row.trial for row in lookup[TrialRow] if row.state == "finished"]
    done = {"record": "trials that lost CPU time count", "reject": "trials that lost CPU time are rejected"}
    yield warning(
        "The CPU time that the hypervisor withheld from {n:counted:finished trial} was judged again for this analysis: "
        "{done}.",
        numbers={"n": len(finished)},
        trials=finished,
        done=done[lookup.study.judged_again],
    )


def cautioned(insight: Draft, lookup: Lookup) -> Draft:
    """The insight about a benchmark, with the names of those of its configurations that steal rejected much of."""
    rejected = {
        row.configuration
        for row in lookup[DeliveredRow]
        if row.benchmark == insight.benchmark and row.rejected_share > NOTABLE_REJECTED_SHARE
    }
    names = {lookup.trials[trial].configuration for trial in insight.trials} & rejected if rejected else set()
    if not names:
        return insight
    return insight.with_ending(
        " Steal rejected over {rejected_limit:limit} % of the trials of {rejected_names}, which affects this result.",
        {"rejected_limit": 100 * NOTABLE_REJECTED_SHARE},
        rejected_names=enumeration(sorted(names)),
    )


NOTABLE_PERCENT = 5.0
"""A median that the checks move by more than this is named: three times the usual equivalence margin."""


def gate(lookup: Lookup) -> Iterator[Draft]:
    """How many headline medians the checks changed; a warning if they changed some by much."""
    rows = lookup[GateRow]
    if not rows:
        return
    moved = [row for row in rows if abs(row.change_percent or 0) > NOTABLE_PERCENT]
    gone = [row for row in rows if row.median_after is None]
    yield say(
        "warning" if moved or gone else "note",
        "The checks removed trials from {rows:counted:headline median}: {moved:count} changed by more than "
        "{notable:limit} %" + (", and {gone:counted:has|have} no valid trial left." if gone else "."),
        numbers={"rows": len(rows), "moved": len(moved), "gone": len(gone), "notable": NOTABLE_PERCENT},
        trials=[trial for row in rows for trial in row.trials],
    )
