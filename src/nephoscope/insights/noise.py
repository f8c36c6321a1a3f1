"""How precise the study is, and which metrics are noisier than the smallest difference it cares about."""

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, plural, say
from nephoscope.model.rows import Statistic
from nephoscope.model.words import enumeration

NAME = "noise"


def noise(lookup: Lookup) -> list[Draft]:
    """The least and most precise headline medians; warnings for those beyond the margin; a count of the rest."""
    rows = [row for row in lookup.headline_statistics if row.margin_percent is not None and row.n > 1]
    if not rows:
        return []
    return [*_extremes(lookup, rows), *_wide(lookup), *_others(lookup)]


def _name(lookup: Lookup, row: Statistic) -> str:
    return f"{lookup.title(row.benchmark, row.metric)} in {row.benchmark} on {row.configuration}"


def _extremes(lookup: Lookup, rows: list[Statistic]) -> list[Draft]:
    ordered = sorted(rows, key=lambda row: (row.margin_percent or 0, row.benchmark, row.metric, row.configuration))
    best, worst = ordered[0], ordered[-1]
    if best is worst:
        return []
    template = (
        "The margins of error of the headline medians range from ±{best:percent} ({best_name}) to "
        "±{worst:percent} ({worst_name})."
    )
    return [
        say(
            NAME,
            "note",
            template,
            numbers={"best": best.margin_percent or 0.0, "worst": worst.margin_percent or 0.0},
            trials=[*best.trials, *worst.trials],
            best_name=_name(lookup, best),
            worst_name=_name(lookup, worst),
        )
    ]


def _wide(lookup: Lookup) -> list[Draft]:
    """One warning per headline metric, naming every configuration whose margin of error is too wide."""
    insights: list[Draft] = []
    for benchmark, metric in lookup.headlines():
        rows = [
            row
            for row in lookup.statistics_of(benchmark, metric.name)
            if row.n > 1 and (row.margin_percent or 0) > lookup.study.equivalence_margin_percent
        ]
        if rows:
            parts = [f"{{name_{key}}} ±{{margin_{key}:percent}}" for key, _ in keyed(rows)]
            widths = {f"margin_{key}": row.margin_percent or 0.0 for key, row in keyed(rows)}
            names = {f"name_{key}": row.configuration for key, row in keyed(rows)}
            insights.append(
                say(
                    NAME,
                    "warning",
                    "{benchmark_name}: the margin of error of {title} is wider than the equivalence margin of "
                    "±{margin:limit} % on " + enumeration(parts) + ".",
                    numbers={"margin": lookup.study.equivalence_margin_percent} | widths,
                    trials=[trial for row in rows for trial in row.trials],
                    benchmark=benchmark,
                    benchmark_name=benchmark,
                    title=metric.title,
                    **names,
                )
            )
    return insights


def _others(lookup: Lookup) -> list[Draft]:
    """All metrics other than the headline metrics, in one sentence."""
    headlines = {(benchmark, metric.name) for benchmark, metric in lookup.headlines()}
    rows = [
        row
        for row in lookup.study.statistics
        if not row.per_cpu and row.margin_percent is not None and (row.benchmark, row.metric) not in headlines
    ]
    wide = [row for row in rows if (row.margin_percent or 0) > lookup.study.equivalence_margin_percent]
    if not wide:
        return []
    worst = max(wide, key=lambda row: (row.margin_percent or 0, row.benchmark, row.metric, row.configuration))
    return [
        say(
            NAME,
            "note",
            "Of {total:count} "
            + plural(len(rows), "median")
            + " of other metrics, {wide:count} "
            + plural(len(wide), "has", "have")
            + " a margin of error wider than ±{margin:limit} %; the widest is ±{worst:percent} ({name}).",
            numbers={
                "total": len(rows),
                "wide": len(wide),
                "margin": lookup.study.equivalence_margin_percent,
                "worst": worst.margin_percent or 0.0,
            },
            trials=worst.trials,
            name=_name(lookup, worst),
        )
    ]
