"""Which microbenchmark predicts the throughput of a database, and the shortlist it would have given.

The 2020 Cloud Report argues that CPU, network and storage numbers predict TPC-C. This rule tests that with the study's
own data: the rank correlation over configurations, with its interval. One run of each configuration is enough, because
n counts configurations.
"""

from collections.abc import Iterator, Sequence

from nephoscope.insights.base import Findings
from nephoscope.insights.words import plural, say
from nephoscope.model.records import Direction
from nephoscope.model.rows import Insight, Statistic
from nephoscope.model.subjects import Subject
from nephoscope.stats.correlation import MIN_N, RankCorrelation, rank_correlation

NAME = "predictors"
SHORTLIST = 3


def predictors(findings: Findings) -> list[Insight]:
    """One sentence per database metric; where machine types were measured without a database, one that says so."""
    ranked = {benchmark for benchmark, _ in findings.headlines()}
    databases = ranked & {row.benchmark for row in findings.trials if row.subject is Subject.DATABASE}
    types = {row.machine_type for row in findings.configurations if row.machine_type}
    micro = [
        (benchmark, metric.name)
        for benchmark, metric in findings.headlines()
        if benchmark not in databases and findings.statistics_of(benchmark, metric.name)
    ]
    if not micro or len(types) < MIN_N:
        return []
    if not databases:
        return [_no_database(findings, micro)]
    return [insight for benchmark in sorted(databases) for insight in _of_database(findings, benchmark, micro)]


def _no_database(findings: Findings, micro: Sequence[tuple[str, str]]) -> Insight:
    rows = [row for benchmark, metric in micro for row in findings.statistics_of(benchmark, metric)]
    return say(
        NAME,
        "note",
        "These data cannot show "
        + plural(
            len(micro), "whether {micro:count} microbenchmark metric", "which of {micro:count} microbenchmark metrics"
        )
        + " predicts the throughput of a database: no trial drove a database.",
        numbers={"micro": len(micro)},
        trials=[trial for row in rows for trial in row.trials],
    )


def _of_database(findings: Findings, benchmark: str, micro: Sequence[tuple[str, str]]) -> Iterator[Insight]:
    for of, metric in findings.headlines():
        if of != benchmark or metric.direction is not Direction.HIGHER:
            continue
        target = {row.configuration: row for row in findings.statistics_of(benchmark, metric.name)}
        found = [
            (correlation, rows)
            for name, of_micro in micro
            for rows in [findings.statistics_of(name, of_micro)]
            for correlation in [_correlation(rows, target)]
            if correlation is not None
        ]
        if found:
            yield _sentence(findings, max(found, key=lambda one: abs(one[0].rho)), target, metric.title, len(found))


def _signed(row: Statistic) -> float:
    return row.median if row.direction is Direction.HIGHER else -row.median


def _correlation(rows: Sequence[Statistic], target: dict[str, Statistic]) -> RankCorrelation | None:
    both = [row for row in rows if row.configuration in target]
    if len(both) < MIN_N:
        return None
    return rank_correlation([_signed(row) for row in both], [target[row.configuration].median for row in both])


def _sentence(
    findings: Findings,
    found: tuple[RankCorrelation, Sequence[Statistic]],
    target: dict[str, Statistic],
    title: str,
    tried: int,
) -> Insight:
    correlation, rows = found
    shared = [row for row in rows if row.configuration in target]
    both = sorted(shared, key=lambda row: (-_signed(row), row.configuration))
    best = max(both, key=lambda row: target[row.configuration].median).configuration
    rank = 1 + [row.configuration for row in both].index(best)
    certain = correlation.low > 0 or correlation.high < 0
    return say(
        NAME,
        "answer",
        ("Of {tried:count} microbenchmark metrics, " if tried > 1 else "")
        + "{micro_title} of {micro} ranks {n:count} configurations most like {title} of {database}: rank correlation "
        "{rho:signed} ({level:coverage} % interval {low:signed} to {high:signed}), "
        + ("so it predicts the order" if certain else "which is compatible with no relation at all")
        + ". Its first {short:count} are {shortlist}; the configuration with the best {title}, {best}, is number "
        "{rank:count} in its order.",
        numbers={
            "tried": tried,
            "n": correlation.n,
            "rho": correlation.rho,
            "low": correlation.low,
            "high": correlation.high,
            "level": 95,
            "short": min(SHORTLIST, len(both)),
            "rank": rank,
        },
        trials=[trial for row in both for trial in (*row.trials, *target[row.configuration].trials)],
        micro=rows[0].benchmark,
        micro_title=findings.title(rows[0].benchmark, rows[0].metric),
        title=title,
        database=next(iter(target.values())).benchmark,
        shortlist=", ".join(row.configuration for row in both[:SHORTLIST]),
        best=best,
    )
