"""What disturbed trials change: CPU time that the hypervisor took, and trials that checks removed."""

import math
from collections.abc import Sequence

from nephoscope.analysis.delivered import NOTABLE_REJECTED_SHARE
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, plural, quantity_style, say
from nephoscope.model.delivered_rows import DeliveredRow, StealRow
from nephoscope.model.numbers import Between, Number
from nephoscope.model.records import Metric
from nephoscope.model.rows import GateRow
from nephoscope.model.words import enumeration

MAX_NAMED = 8


def steal(lookup: Lookup) -> list[Draft]:
    """One sentence for each configuration that lost CPU time, then one for each headline median that it changed.

    Of each kind at most `MAX_NAMED`, the largest first, and a count of the others.
    """
    lost = sorted((row for row in lookup.study.steal if row.over), key=lambda row: (-row.share, row.configuration))
    headlines = {(benchmark, metric.name): metric for benchmark, metric in lookup.headlines()}
    medians = sorted(
        (
            row
            for row in lookup.study.delivered
            if (row.benchmark, row.metric) in headlines
            and not row.per_cpu
            and _change_percent(row) > lookup.study.equivalence_margin_percent
        ),
        key=lambda row: (-_change_percent(row), row.benchmark, row.metric, row.configuration),
    )
    told = [_share(row) for row in lost[:MAX_NAMED]]
    told += [_median(row, headlines[row.benchmark, row.metric]) for row in medians[:MAX_NAMED]]
    return [*_again(lookup), *told, *_others(lost[MAX_NAMED:], medians[MAX_NAMED:])]


def _change_percent(row: DeliveredRow) -> float:
    """How far the median as delivered is from the others; infinite if there is no other, or none that counts."""
    if not row.median or row.n_quiet == 0:
        return math.inf
    others = [other for other in (row.quiet_median, row.median_with_rejected) if other is not None]
    return max(100 * abs(other / row.median - 1) for other in others)


def _others(lost: Sequence[StealRow], medians: Sequence[DeliveredRow]) -> list[Draft]:
    """How many more there are."""
    if not lost and not medians:
        return []
    return [
        say(
            "steal",
            "note",
            "Steal also hit {lost:count} other "
            + plural(len(lost), "configuration")
            + " and changed {medians:count} other "
            + plural(len(medians), "median")
            + " of headline metrics: see the tables steal and delivered.",
            numbers={"lost": len(lost), "medians": len(medians)},
            trials=[
                *(trial for row in lost for trial in row.trials),
                *(trial for row in medians for trial in row.trials),
            ],
        )
    ]


def _again(lookup: Lookup) -> list[Draft]:
    """That this analysis judges steal otherwise than the study did when it ran."""
    if lookup.study.judged_again is None:
        return []
    finished = [row.trial for row in lookup.study.trials if row.state == "finished"]
    done = {"record": "trials that lost CPU time count", "reject": "trials that lost CPU time are rejected"}
    return [
        say(
            "steal",
            "warning",
            "The CPU time that the hypervisor withheld from {n:count} finished "
            + plural(len(finished), "trial")
            + " was judged again for this analysis: {done}.",
            numbers={"n": len(finished)},
            trials=finished,
            done=done[lookup.study.judged_again],
        )
    ]


def cautioned(insight: Draft, lookup: Lookup) -> Draft:
    """The insight about a benchmark, with the names of those of its configurations that steal rejected much of."""
    rejected = {
        row.configuration
        for row in lookup.study.delivered
        if row.benchmark == insight.benchmark and row.rejected_share > NOTABLE_REJECTED_SHARE
    }
    if not rejected:
        return insight
    told = set(insight.trials)
    names = sorted({row.configuration for row in lookup.study.trials if row.trial in told} & rejected)
    if not names:
        return insight
    return insight.with_ending(
        " Steal rejected over {rejected_limit:limit} % of the trials of {rejected_names}, which affects this result.",
        {"rejected_limit": 100 * NOTABLE_REJECTED_SHARE},
        rejected_names=enumeration(names),
    )


def _share(row: StealRow) -> Draft:
    rejected = f" {{rejected:count}} {plural(row.rejected, 'was', 'were')} rejected for it." if row.rejected else ""
    return say(
        "steal",
        "answer",
        "{name}: {share:percent} of trials lost over {limit:limit} % of CPU time to the hypervisor, "
        "{share:ends:percent} at a confidence of {confidence:limit} % ({over:count} of {n:count}); the median loss is "
        "{median:percent}, the largest {highest:percent}." + rejected,
        numbers={
            "share": Between(100 * row.share, 100 * row.low, 100 * row.high),
            "limit": 100 * row.limit_share,
            "confidence": 95,
            "over": row.over,
            "n": row.n,
            "median": 100 * row.median_stolen_share,
            "highest": 100 * row.highest_stolen_share,
            "rejected": row.rejected,
        },
        trials=row.trials,
        name=row.configuration,
    )


def _median(row: DeliveredRow, metric: Metric) -> Draft:
    style = quantity_style(row.unit)
    numbers: dict[str, Number] = {"n": row.n, "n_quiet": row.n_quiet, "rejected": row.n_rejected}
    numbers |= {
        name: value
        for name, value in (
            ("median", row.median),
            ("quiet", row.quiet_median),
            ("with_rejected", row.median_with_rejected),
        )
        if value is not None
    }
    every = row.n + row.n_rejected
    numbers["all"] = every
    parts = []
    if row.n_quiet < row.n:
        quiet = f"{{quiet:{style}}} in the {{n_quiet:count}} quiet {plural(row.n_quiet, 'one')}"
        parts.append(
            f"as delivered {{median:{style}}} in {{n:count}} {plural(row.n, 'trial')}, "
            + (quiet if row.n_quiet else "none of which was quiet")
        )
    if row.n_rejected:
        them = plural(row.n_rejected, "it", "them")
        without = f"without {them} " + (f"{{median:{style}}}" if row.n else "no trial is left")
        parts.append(
            f"steal rejected {{rejected:count}} of {{all:count}} {plural(every, 'trial')}: with {them} the "
            f"median is {{with_rejected:{style}}}, {without}"
        )
    return say(
        "steal",
        "answer",
        "{benchmark_name}: {title} of {name}: " + "; ".join(parts) + ".",
        numbers=numbers,
        trials=row.trials,
        benchmark=row.benchmark,
        title=metric.title,
        name=row.configuration,
    )


NOTABLE_PERCENT = 5.0
"""A median that the checks move by more than this is named: three times the usual equivalence margin."""


def gate(lookup: Lookup) -> list[Draft]:
    """One sentence with counts and the medians that changed most."""
    rows = lookup.study.gate
    if not rows:
        return []
    moved = [row for row in rows if row.change_percent is not None and abs(row.change_percent) > NOTABLE_PERCENT]
    gone = [row for row in rows if row.median_after is None]
    by_size = sorted(moved, key=lambda row: (-abs(row.change_percent or 0), row.configuration, row.metric))
    numbers: dict[str, float] = {
        "rows": len(rows),
        "moved": len(moved),
        "gone": len(gone),
        "notable": NOTABLE_PERCENT,
    }
    words: dict[str, str] = {}
    named = [_named(row, key, numbers, words, lookup) for key, row in keyed(by_size[:MAX_NAMED])]
    return [
        say(
            "gate",
            "answer",
            "The checks removed trials from {rows:count} "
            + plural(len(rows), "median", "medians")
            + " of headline metrics: {moved:count} changed by more than {notable:limit} %"
            + (", and {gone:count} " + plural(len(gone), "has", "have") + " no valid trial left." if gone else ".")
            + (" The largest changes: " + "; ".join(named) + "." if named else ""),
            numbers=numbers,
            trials=[trial for row in rows for trial in row.trials],
            **words,
        )
    ]


def _named(row: GateRow, key: str, numbers: dict[str, float], words: dict[str, str], lookup: Lookup) -> str:
    style = quantity_style(row.unit)
    numbers |= {f"before_{key}": row.median_before, f"from_{key}": row.n_before, f"to_{key}": row.n_after}
    numbers[f"after_{key}"] = row.median_after or 0.0
    words |= {f"name_{key}": row.configuration, f"benchmark_{key}": row.benchmark}
    words[f"metric_{key}"] = lookup.title(row.benchmark, row.metric)
    return (
        f"{{metric_{key}}} in {{benchmark_{key}}} on {{name_{key}}}: from {{before_{key}:{style}}} to "
        f"{{after_{key}:{style}}} (n = {{from_{key}:count}} before, {{to_{key}:count}} after)"
    )
