"""How precise the study is, and which metrics are noisier than the difference it cares about."""

from nephoscope.analysis.results import Insight, Statistic
from nephoscope.insights.base import Findings
from nephoscope.insights.words import say

NAME = "noise"


def noise(findings: Findings) -> list[Insight]:
    """The least and the most precise headline median; a warning for each wider than the margin; a count of the rest."""
    rows = [row for row in findings.headline_statistics() if row.margin_percent is not None and row.n > 1]
    if not rows:
        return []
    wide = [row for row in rows if (row.margin_percent or 0) > findings.margin_percent]
    return [*_extremes(findings, rows), *(_wide(findings, row) for row in wide), *_others(findings)]


def _place(findings: Findings, row: Statistic) -> str:
    return f"{findings.title(row.benchmark, row.metric)} in {row.benchmark} on {row.configuration}"


def _extremes(findings: Findings, rows: list[Statistic]) -> list[Insight]:
    ordered = sorted(rows, key=lambda row: (row.margin_percent or 0, row.benchmark, row.metric, row.configuration))
    best, worst = ordered[0], ordered[-1]
    if best is worst:
        return []
    template = (
        "The margins of error of the headline medians lie between {best:percent} % ({best_place}) and "
        "{worst:percent} % ({worst_place})."
    )
    return [
        say(
            NAME,
            "note",
            template,
            numbers={"best": best.margin_percent or 0.0, "worst": worst.margin_percent or 0.0},
            trials=[*best.trials, *worst.trials],
            best_place=_place(findings, best),
            worst_place=_place(findings, worst),
        )
    ]


def _wide(findings: Findings, row: Statistic) -> Insight:
    return say(
        NAME,
        "warning",
        "The margin of error of {place} is {margin_of_error:percent} %, wider than the equivalence margin of "
        "{margin:percent} % (n = {n:count}).",
        numbers={"margin_of_error": row.margin_percent or 0.0, "margin": findings.margin_percent, "n": row.n},
        trials=row.trials,
        benchmark=row.benchmark,
        place=_place(findings, row),
    )


def _others(findings: Findings) -> list[Insight]:
    """The metrics beside the headlines, in one sentence."""
    headlines = {(benchmark, metric.name) for benchmark, metric in findings.headlines()}
    rows = [
        row
        for row in findings.statistics
        if not row.per_cpu and row.margin_percent is not None and (row.benchmark, row.metric) not in headlines
    ]
    wide = [row for row in rows if (row.margin_percent or 0) > findings.margin_percent]
    if not wide:
        return []
    worst = max(wide, key=lambda row: (row.margin_percent or 0, row.benchmark, row.metric, row.configuration))
    return [
        say(
            NAME,
            "note",
            "Of {total:count} medians of other metrics, {wide:count} have a margin of error wider than "
            "{margin:percent} %; the widest is {worst:percent} % ({place}).",
            numbers={
                "total": len(rows),
                "wide": len(wide),
                "margin": findings.margin_percent,
                "worst": worst.margin_percent or 0.0,
            },
            trials=worst.trials,
            place=_place(findings, worst),
        )
    ]
