"""What one benchmark says of another, and what memory says of how steady the values are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, answer, keyed, note
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import ConfigurationRow, Statistic, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.model.words import enumeration
from nephoscope.stats.correlation import MIN_N, RankCorrelation, rank_correlation, rank_correlation_within
from nephoscope.stats.median import CONFIDENCE

SHORTLIST = 3


def predictors(lookup: Lookup) -> Iterator[Draft]:
    """One sentence for each database metric that a microbenchmark predicts, and one about all others.

    Where machine types were measured without a database, one that says so.
    """
    ranked = {benchmark for benchmark, _ in lookup.headlines()}
    databases = ranked & {row.benchmark for row in lookup[TrialRow] if row.subject is Subject.DATABASE}
    types = {row.machine_type for row in lookup[ConfigurationRow] if row.machine_type}
    micro = [
        (benchmark, metric)
        for benchmark, metric in lookup.headlines()
        if benchmark not in databases and lookup.statistics_of(benchmark, metric.name)
    ]
    if not micro or len(types) < MIN_N:
        return
    if not databases:
        yield _no_database(lookup, micro)
    most_like = [found for benchmark in sorted(databases) for found in _of_database(lookup, benchmark, micro)]
    unpredicted = [one for one in most_like if one.correlation.low <= 0]
    yield from (_predicts(lookup, one) for one in most_like if one.correlation.low > 0)
    if unpredicted:
        yield _nothing_predicts(lookup, unpredicted)


def order_of(
    lookup: Lookup, target: tuple[str, Metric], micro: tuple[str, Metric], *, per_cpu: bool
) -> tuple[RankCorrelation, list[str]] | None:
    """How alike two metrics order the configurations that have both, and the trials of both; None: too few.

    Args:
        lookup: the study.
        target: benchmark and metric whose order is to be told.
        micro: those that may tell it.
        per_cpu: of each metric that can be divided by CPUs.
    """
    values = {row.configuration: row for row in _statistics(lookup, *target, per_cpu=per_cpu)}
    rows = [row for row in _statistics(lookup, *micro, per_cpu=per_cpu) if row.configuration in values]
    found = rank_correlation([_signed(row) for row in rows], [_signed(values[row.configuration]) for row in rows])
    trials = [trial for row in rows for trial in (*row.trials, *values[row.configuration].trials)]
    return (found, trials) if found else None


def _statistics(lookup: Lookup, benchmark: str, metric: Metric, *, per_cpu: bool) -> list[Statistic]:
    return lookup.statistics_of(benchmark, metric.name, per_cpu=per_cpu and metric.per_cpu)


def _of_several_sizes(lookup: Lookup) -> bool:
    """Whether machines differ in their CPUs: then a larger one is better in most metrics, which predicts nothing."""
    return len({row.vcpus for row in lookup[ConfigurationRow] if row.vcpus}) > 1


def _no_database(lookup: Lookup, micro: Sequence[tuple[str, Metric]]) -> Draft:
    rows = [row for benchmark, metric in micro for row in lookup.statistics_of(benchmark, metric.name)]
    return note(
        "These data cannot show {micro:goes:whether|which of} {micro:counted:microbenchmark metric} predicts the "
        "throughput of a database: no trial drove a database.",
        numbers={"micro": len(micro)},
        trials=[trial for row in rows for trial in row.trials],
    )


def _of_database(lookup: Lookup, benchmark: str, micro: Sequence[tuple[str, Metric]]) -> Iterator["_MostLike"]:
    for of, metric in lookup.headlines():
        if of != benchmark or metric.direction is not Direction.HIGHER:
            continue
        per_cpu = metric.per_cpu and _of_several_sizes(lookup)
        target = {row.configuration: row for row in _statistics(lookup, benchmark, metric, per_cpu=per_cpu)}
        tried = [
            both
            for name, of_micro in micro
            for rows in [_statistics(lookup, name, of_micro, per_cpu=per_cpu)]
            for both in [[row for row in rows if row.configuration in target]]
            if _correlation(both, target) is not None
        ]
        found = [
            _MostLike(target, f"{metric.title}{' per CPU' if per_cpu else ''}", both, correlation, len(tried))
            for both in tried
            if (correlation := _correlation(both, target, len(tried))) is not None
        ]
        if found:
            yield max(found, key=lambda one: one.correlation.rho)


@dataclass(frozen=True)
class _MostLike:
    """Of a database metric: the microbenchmark metric with the most similar order. The other way round is least so."""

    target: Mapping[str, Statistic]
    title: str
    micro: Sequence[Statistic]
    """On the configurations that have both."""
    correlation: RankCorrelation
    tried: int

    @property
    def numbers(self) -> dict[str, float]:
        return {"tried": self.tried, **_numbers(self.correlation)}

    @property
    def trials(self) -> list[str]:
        return [trial for row in self.micro for trial in (*row.trials, *self.target[row.configuration].trials)]

    def words(self, lookup: Lookup) -> dict[str, str]:
        first = self.micro[0]
        return {
            "micro": first.benchmark,
            "micro_title": lookup.title(first.benchmark, first.metric) + (" per CPU" if first.per_cpu else ""),
            "title": self.title,
            "database": next(iter(self.target.values())).benchmark,
        }


def _numbers(found: RankCorrelation) -> dict[str, float]:
    return {"n": found.n, "rho": found.rho, "low": found.low, "high": found.high, "level": 100 * found.confidence}


def _signed(row: Statistic) -> float:
    return row.compared.value if row.direction is Direction.HIGHER else -row.compared.value


def _correlation(rows: Sequence[Statistic], target: Mapping[str, Statistic], tried: int = 1) -> RankCorrelation | None:
    """With an interval that holds for the best of several metrics, too: Bonferroni's. None: too few values."""
    values = [target[row.configuration].compared.value for row in rows]
    return rank_correlation([_signed(row) for row in rows], values, 1 - (1 - CONFIDENCE) / tried)


def _predicts(lookup: Lookup, one: _MostLike) -> Draft:
    in_order = sorted(one.micro, key=lambda row: (-_signed(row), row.configuration))
    best = max(in_order, key=lambda row: one.target[row.configuration].compared.value).configuration
    within = _within_sizes(lookup, one)
    return answer(
        ("Of {tried:count} microbenchmark metrics, " if one.tried > 1 else "")
        + "{micro_title} of {micro} ranks {n:count} configurations most like {title} of {database}: rank correlation "
        "{rho:signed} ({level:coverage} interval {low:signed} to {high:signed}), so it predicts the order. Its first "
        "{short:count} are {shortlist}; the configuration with the best {title}, {best}, is number {rank:count} in its "
        "order."
        + (_WITHIN + ("not the reason." if within["low_within"] > 0 else "a possible reason.") if within else ""),
        numbers=one.numbers
        | within
        | {
            "short": min(SHORTLIST, len(in_order)),
            "rank": 1 + [row.configuration for row in in_order].index(best),
        },
        trials=one.trials,
        shortlist=", ".join(row.configuration for row in in_order[:SHORTLIST]),
        best=best,
        **one.words(lookup),
    )


_WITHIN = (
    " Among the {n_within:count} that have as many CPUs as at least five others, it is {rho_within:signed} "
    "({level:coverage} interval {low_within:signed} to {high_within:signed}): size is "
)


def _within_sizes(lookup: Lookup, one: _MostLike) -> dict[str, float]:
    """The correlation among machines of one size; empty where all have one, or no size has enough of them.

    Per CPU, too, the small ones may be ahead in both metrics: of a machine that others share, say.
    """
    cpus = {row.configuration: row.vcpus for row in lookup[ConfigurationRow] if row.vcpus}
    rows = [row for row in one.micro if row.configuration in cpus]
    sizes = [cpus[row.configuration] for row in rows]
    values = [one.target[row.configuration].compared.value for row in rows]
    found = rank_correlation_within([_signed(row) for row in rows], values, sizes, one.correlation.confidence)
    if found is None or len(set(sizes)) < 2:
        return {}
    return {"n_within": found.n, "rho_within": found.rho, "low_within": found.low, "high_within": found.high}


def _nothing_predicts(lookup: Lookup, many: Sequence[_MostLike]) -> Draft:
    """One sentence, however many database metrics it is about."""
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    parts = []
    for key, one in keyed(many):
        numbers |= {f"{name}_{key}": value for name, value in one.numbers.items()}
        words |= {f"{name}_{key}": word for name, word in one.words(lookup).items()}
        most_like = f"the most similar order of {{tried_{key}:count}} is that of " if one.tried > 1 else ""
        parts.append(
            f"{{title_{key}}} of {{database_{key}}} ({most_like}{{micro_title_{key}}} of {{micro_{key}}}: rank "
            f"correlation {{rho_{key}:signed}}, {{level_{key}:coverage}} interval {{low_{key}:signed}} to "
            f"{{high_{key}:signed}}, n = {{n_{key}:count}})"
        )
    return note(
        f"These data do not show that a microbenchmark predicts the order of configurations by {enumeration(parts)}.",
        numbers=numbers,
        trials=[trial for one in many for trial in one.trials],
        **words,
    )


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


def consistency(lookup: Lookup) -> Iterator[Draft]:
    """One sentence for each headline metric that shows a relation, and one that lists those that show none.

    Silent about a metric with too few configurations, and where memory is equal or was not observed.
    """
    asked = [one for one in _asked(lookup) if one.correlation() is not None]
    found = [(one, correlation) for one in asked if (correlation := one.correlation(len(asked))) is not None]
    nothing = [(one, correlation) for one, correlation in found if correlation.low <= 0 <= correlation.high]
    yield from (_relation(*pair) for pair in found if pair not in nothing)
    if nothing:
        yield _no_relation(nothing)


def _asked(lookup: Lookup) -> list[_Asked]:
    memory = {
        row.configuration: row.memory_gib_per_vcpu
        for row in lookup[ConfigurationRow]
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
    return answer(
        "{benchmark_name}: the rank correlation of memory per vCPU with the spread (CV) of {title} over {n:count} "
        "configurations is {rho:signed} ({level:coverage} interval {low:signed} to {high:signed}): "
        + ("more" if found.high < 0 else "less")
        + " memory per vCPU goes with more repeatable results.",
        numbers=_numbers(found),
        trials=[trial for row in one.rows for trial in row.trials],
        benchmark=one.rows[0].benchmark,
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
    return note(
        f"These data do not show a relation between memory per vCPU and the spread (CV) of {enumeration(parts)}; in "
        "parentheses the rank correlation, its {level:coverage} interval and the number of configurations.",
        numbers=numbers,
        trials=[trial for one, _ in nothing for row in one.rows for trial in row.trials],
        **words,
    )
