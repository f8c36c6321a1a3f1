"""Do machines with more memory for each vCPU repeat their numbers better? The 2022 report's question of ratios."""

from nephoscope.insights.base import Findings
from nephoscope.insights.words import say
from nephoscope.model.rows import Insight, Statistic
from nephoscope.stats.correlation import MIN_N, RankCorrelation, rank_correlation

NAME = "consistency"
MIN_REPLICATES = 3
"""Below it a coefficient of variation says next to nothing."""


def consistency(findings: Findings) -> list[Insight]:
    """One sentence per headline metric with enough configurations; silent where memory is the same or was not seen."""
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
        ("more" if found.high < 0 else "less") + " memory for each vCPU goes with steadier numbers"
        if decided
        else "not decided by these data"
    )
    return say(
        NAME,
        "answer" if decided else "note",
        "{benchmark_name}: memory for each vCPU against the spread (CV) of {title} over {n:count} configurations: rank "
        "correlation {rho:ratio} ({level:coverage} % interval {low:ratio} to {high:ratio}): " + ending + ".",
        numbers={"n": found.n, "rho": found.rho, "low": found.low, "high": found.high, "level": 95},
        trials=[trial for row in rows for trial in row.trials],
        benchmark=rows[0].benchmark,
        benchmark_name=rows[0].benchmark,
        title=title,
    )
