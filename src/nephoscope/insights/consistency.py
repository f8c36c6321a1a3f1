"""Do machines with more memory per vCPU give more repeatable results? The 2022 Cloud Report asked this question."""

from nephoscope.insights.base import Findings
from nephoscope.insights.words import say
from nephoscope.model.rows import Insight, Statistic
from nephoscope.stats.correlation import MIN_N, RankCorrelation, rank_correlation

NAME = "consistency"
MIN_REPLICATES = 3
"""With fewer, a coefficient of variation means next to nothing."""


def consistency(findings: Findings) -> list[Insight]:
    """One sentence per headline metric with enough configurations; none where memory is equal or was not observed."""
    memory = {
        row.configuration: row.memory_gib_per_vcpu
        for row in findings.configurations
        if row.machine_type and row.memory_gib_per_vcpu is not None
    }
    insights = []
    for benchmark, metric in findings.headlines():
        rows = [
            row
            for row in findings.statistics_of(benchmark, metric.name)
            if row.configuration in memory and row.cv_percent is not None and row.n >= MIN_REPLICATES
        ]
        if len(rows) < MIN_N:
            continue
        found = rank_correlation(
            [float(memory[row.configuration] or 0) for row in rows], [float(row.cv_percent or 0) for row in rows]
        )
        if found is not None:
            insights.append(_sentence(rows, found, metric.title))
    return insights


def _sentence(rows: list[Statistic], found: RankCorrelation, title: str) -> Insight:
    decided = found.low > 0 or found.high < 0
    ending = (
        ("more" if found.high < 0 else "less") + " memory per vCPU goes with more repeatable results"
        if decided
        else "these data do not show a relation"
    )
    return say(
        NAME,
        "answer" if decided else "note",
        "{benchmark_name}: the rank correlation of memory per vCPU with the spread (CV) of {title} over {n:count} "
        "configurations is {rho:signed} ({level:coverage} % interval {low:signed} to {high:signed}): " + ending + ".",
        numbers={"n": found.n, "rho": found.rho, "low": found.low, "high": found.high, "level": 95},
        trials=[trial for row in rows for trial in row.trials],
        benchmark=rows[0].benchmark,
        benchmark_name=rows[0].benchmark,
        title=title,
    )
