"""Do machines with more memory per vCPU give more repeatable results? The 2022 Cloud Report asked this question."""

from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, say
from nephoscope.model.records import Metric
from nephoscope.model.rows import Statistic
from nephoscope.model.words import enumeration
from nephoscope.stats.correlation import MIN_N, RankCorrelation, rank_correlation
from nephoscope.stats.median import CONFIDENCE

NAME = "consistency"
MIN_REPLICATES = 3
"""With fewer, a coefficient of variation means next to nothing."""


@dataclass(frozen=True)
class _Asked:
    """A headline metric, on the configurations whose memory per vCPU and spread are known."""

    metric: Metric
    rows: Sequence[Statistic]
    memory_gib: Sequence[float]

    def correlation(self, asked: int = 1) -> RankCorrelation | None:
        """With an interval that holds for all metrics asked about at once: Bonferroni's. None: too few values."""
        spreads = [row.cv_percent or 0.0 for row in self.rows]
        return rank_correlation(self.memory_gib, spreads, 1 - (1 - CONFIDENCE) / asked)


def consistency(lookup: Lookup) -> list[Draft]:
    """One sentence for each headline metric that shows a relation, and one that lists those that show none.

    Silent about a metric with too few configurations, and where memory is equal or was not observed.
    """
    asked = [one for one in _asked(lookup) if one.correlation() is not None]
    found = [(one, correlation) for one in asked if (correlation := one.correlation(len(asked))) is not None]
    nothing = [(one, correlation) for one, correlation in found if correlation.low <= 0 <= correlation.high]
    return [
        *(_relation(*pair) for pair in found if pair not in nothing),
        *([_no_relation(nothing)] if nothing else []),
    ]


def _asked(lookup: Lookup) -> list[_Asked]:
    memory = {
        row.configuration: row.memory_gib_per_vcpu
        for row in lookup.study.configurations
        if row.machine_type and row.memory_gib_per_vcpu is not None
    }
    found = []
    for benchmark, metric in lookup.headlines():
        rows = [
            row
            for row in lookup.statistics_of(benchmark, metric.name)
            if row.configuration in memory and row.cv_percent is not None and row.n >= MIN_REPLICATES
        ]
        if len(rows) >= MIN_N:
            found.append(_Asked(metric, rows, [memory[row.configuration] for row in rows]))
    return found


def _relation(one: _Asked, found: RankCorrelation) -> Draft:
    return say(
        NAME,
        "answer",
        "{benchmark_name}: the rank correlation of memory per vCPU with the spread (CV) of {title} over {n:count} "
        "configurations is {rho:signed} ({level:coverage} interval {low:signed} to {high:signed}): "
        + ("more" if found.high < 0 else "less")
        + " memory per vCPU goes with more repeatable results.",
        numbers={
            "n": found.n,
            "rho": found.rho,
            "low": found.low,
            "high": found.high,
            "level": 100 * found.confidence,
        },
        trials=[trial for row in one.rows for trial in row.trials],
        benchmark=one.rows[0].benchmark,
        benchmark_name=one.rows[0].benchmark,
        title=one.metric.title,
    )


def _no_relation(nothing: Sequence[tuple[_Asked, RankCorrelation]]) -> Draft:
    numbers: dict[str, float] = {"level": 100 * nothing[0][1].confidence}
    words: dict[str, str] = {}
    parts = []
    for key, (one, found) in keyed(nothing):
        numbers |= {f"rho_{key}": found.rho, f"low_{key}": found.low, f"high_{key}": found.high, f"n_{key}": found.n}
        words |= {f"title_{key}": one.metric.title, f"benchmark_{key}": one.rows[0].benchmark}
        parts.append(
            f"{{title_{key}}} in {{benchmark_{key}}} ({{rho_{key}:signed}}, {{low_{key}:signed}} to "
            f"{{high_{key}:signed}}, n = {{n_{key}:count}})"
        )
    return say(
        NAME,
        "note",
        "These data do not show a relation between memory per vCPU and the spread (CV) of "
        + enumeration(parts)
        + "; in parentheses the rank correlation, its {level:coverage} interval and the number of configurations.",
        numbers=numbers,
        trials=[trial for one, _ in nothing for row in one.rows for trial in row.trials],
        **words,
    )
