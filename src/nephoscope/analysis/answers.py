"""What a study decided about each headline metric, as values; `insights.answers` makes them sentences.

Every claim is a stored answer: `best` for three or more configurations, `comparisons` for two, `statistics` for one.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from nephoscope.analysis.durations import DurationRow
from nephoscope.analysis.lookup import Lookup, MetricKey, best_first, headlines, unique
from nephoscope.analysis.ranks import lead_of
from nephoscope.model.price_rows import CostRow
from nephoscope.model.questions import BestRow, Headline, RankIntervals, View
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow, Comparison, ComparisonVerdict, Estimate, Scope, Statistic, TrialRow
from nephoscope.model.units import SECONDS_PER_HOUR
from nephoscope.model.written import OVERALL

MAX_WINNERS = 3
"""Up to so many configurations of which one is the best answer the question, whatever their number."""
MAX_LEADERS, MAX_SHARE = 6, 1 / 3
"""More than so many, or a larger share of all, are no answer."""
MACHINES_ALONE: frozenset[Scope] = frozenset({"this machine", "these machines"})
"""Scopes of answers that hold for the machines that were measured, and perhaps not for others of their types."""
_PAID_BY_THE_HOUR = ("stated", "on-demand")
"""Nobody commits to a year for a few replicates."""
State = Literal["decided", "tie", "open"]
Kind = Literal[
    "alone",
    "single runs",
    "too rare",
    "no test",
    "two",
    "few of two",
    "winner",
    "lone winner",
    "disputed",
    "any",
    "remaining",
    "group",
    "slow",
]
"""Nothing is compared; two configurations; three or more."""


class Ratio(NamedTuple):
    """How often one configuration has what another has, with its interval."""

    value: float
    low: float
    high: float
    coverage: float | None


class Pulling(NamedTuple):
    """The values that make a ratio of levels another one than the ratio of medians."""

    configuration: str
    values: int
    of: int
    percent: float | None
    """How far they are from the median; None: no values do, but the blocks."""


class Medians(NamedTuple):
    """A ratio of medians that is another answer than that of levels."""

    ratio: float
    is_opposite: bool
    pulling: Pulling


class Effort(NamedTuple):
    """What more replicates take."""

    hours: float
    usd: float | None
    """None: not every machine has a price."""


@dataclass(frozen=True)
class Question:
    """A headline metric with what the study stores about it."""

    lookup: Lookup
    benchmark: BenchmarkRow
    metric: Metric
    rows: list[Statistic]
    """Best level first."""
    best: BestRow | None
    view: View = "plain"

    @property
    def scope(self) -> Scope | None:
        """'this machine' or 'these machines' where an answer speaks for these, and not for their types; else None."""
        if not {row.scope for row in self.rows} & MACHINES_ALONE:
            return None
        several = len(self.machines or hosts_of(self.lookup)) > 1
        return "these machines" if several else "this machine"

    @property
    def machines(self) -> frozenset[str]:
        """Those under test, as far as it is known which they are."""
        machines = (self.lookup.trials[trial].machine for row in self.rows for trial in row.trials)
        return frozenset(name for name in machines if name is not None)

    @property
    def key(self) -> MetricKey:
        """Its benchmark and metric, as tables name them."""
        return self.benchmark.benchmark, self.metric.name

    @property
    def tried(self) -> dict[str, list[TrialRow]]:
        """The trials of its benchmark, by configuration; only of those for which the study has some."""
        lookup, name = self.lookup, self.benchmark.benchmark
        return {each: rows for each in lookup.configurations if (rows := lookup.trials_of(name, each))}

    @property
    def ranked(self) -> RankIntervals | None:
        """The intervals behind the ranks, if they are stored."""
        stored = self.lookup[RankIntervals]
        return next((row for row in stored if (row.benchmark, row.metric) == self.key), None)

    @property
    def trials(self) -> list[str]:
        """Those behind the answer."""
        return [trial for row in self.rows for trial in row.trials]

    def row(self, name: str) -> Statistic:
        """The statistic of one configuration."""
        return next(row for row in self.rows if row.configuration == name)

    def pair(self, first: str, second: str) -> Comparison | None:
        """The stored comparison of two, with `first` on the left."""
        return self.lookup.pair(*self.key, first, second, per_cpu=self.view == "per CPU")


@dataclass(frozen=True)
class Answer:
    """What is decided about one question."""

    question: Question
    kind: Kind
    state: State = "open"
    winners: tuple[str, ...] = ()
    slow: tuple[str, ...] = ()
    """Those that the answer names because they are behind."""
    pair: tuple[str, str] | None = None
    """The first and the second of a ratio or a distance."""
    ratio: Ratio | None = None
    """The first as a multiple of the second."""
    medians: Medians | None = None
    alpha: float | None = None
    """The chance that it is wrong; None: it says nothing that could be."""
    effort: Effort | None = None
    """What the replicates would take that would decide it."""

    @property
    def best(self) -> BestRow:
        """The stored answer of three or more configurations."""
        assert self.question.best is not None  # noqa: S101  # an answer of such a kind is made of it
        return self.question.best

    @property
    def level(self) -> Estimate | None:
        """What the number is where it is of one configuration and has an interval."""
        row = self.question.rows[0]
        if self.kind == "winner" and self.ratio is None:
            return self.question.row(self.winners[0]).compared
        return row.middle if self.kind == "alone" and row.n > 1 else None

    @property
    def coverage(self) -> float | None:
        """How often such an interval contains the true number; None: there is none."""
        return self.ratio.coverage if self.ratio else self.level.coverage if self.level else None

    @property
    def is_compared(self) -> bool:
        """Whether it compares configurations of which several values are known."""
        return self.ratio is not None or self.alpha is not None

    @property
    def competing(self) -> int:
        """How many configurations have enough values for a claim."""
        return self.best.of - len(self.best.open)


def questions_of(lookup: Lookup, benchmarks: Iterable[BenchmarkRow]) -> list[Question]:
    """Every headline metric with values, in the order of the benchmarks."""
    asked, questions = lookup.study.headline, []
    for benchmark in benchmarks:
        for metric in headlines(benchmark):
            plain = question_of(lookup, benchmark, metric)
            if asked and (benchmark.benchmark, metric.name) == (asked.benchmark, asked.metric or metric.name):
                questions.append(_as_asked(plain, asked))
                if (asked.view, asked.scope) == ("plain", str(OVERALL)):
                    continue
            questions.append(plain)
    return [question for question in questions if question.rows]


def question_of(lookup: Lookup, benchmark: BenchmarkRow, metric: Metric, view: View = "plain") -> Question:
    """The question about all configurations, as measured or per CPU."""
    key = benchmark.benchmark, metric.name
    rows = best_first(lookup.statistics_of(*key, per_cpu=view == "per CPU"), metric)
    return Question(lookup, benchmark, metric, rows, lookup.best_of(*key, view=view), view)


def _as_asked(plain: Question, asked: Headline) -> Question:
    """The question in the view and the scope of the study's headline; overall where a part of it lacks the scope."""
    lookup = plain.lookup
    scope = asked.scope if asked.scope in lookup.study.scopes else str(OVERALL)
    among = lookup.study.scopes.get(scope, lookup.configurations)
    every = question_of(lookup, plain.benchmark, plain.metric, asked.view)
    bests = lookup.bests_of(*plain.key, view=asked.view)
    return replace(
        every,
        rows=[row for row in every.rows if row.configuration in among],
        best=next((row for row in bests if str(row.scope) == scope), None),
    )


def answered(question: Question) -> Answer | None:
    """What the study stores as its answer; None: two configurations that were not compared."""
    if len(question.rows) == 1:
        return Answer(question, "alone", winners=(question.rows[0].configuration,))
    if len(question.rows) == 2:
        return _of_two(question)
    return Answer(question, "no test") if question.best is None else _of_many(question, question.best)


def _of_two(question: Question) -> Answer | None:
    first, second = (row.configuration for row in question.rows)
    row = question.pair(first, second)
    if row is None:
        return None
    if row.verdict is ComparisonVerdict.WORSE:
        first, second, row = second, first, row.mirrored()
    pair, effort = (first, second), _effort(question, row)
    ratio = _ratio(row)
    if ratio is None:
        return Answer(question, "few of two", pair=pair, effort=effort)
    winners: dict[ComparisonVerdict, tuple[State, tuple[str, ...]]] = {
        ComparisonVerdict.BETTER: ("decided", (first,)),
        ComparisonVerdict.TIE: ("tie", pair),
    }
    state, named = winners.get(row.verdict, ("open", ()))
    alpha = question.lookup.study.levels.alpha if named else None
    medians = _medians(question, ratio, first, second)
    return Answer(
        question, "two", state, named, pair=pair, ratio=ratio, medians=medians, alpha=alpha, effort=effort
    )  # fmt: skip


def _ratio(row: Comparison) -> Ratio | None:
    """None: too few values for an interval."""
    if row.low is None:
        return None
    return Ratio(row.ratio, row.low, row.ratio if row.high is None else row.high, row.coverage)


def _medians(question: Question, ratio: Ratio, first: str, second: str) -> Medians | None:
    """What the ratio is by medians, if that is another answer, and which values make the difference."""
    pair = (question.row(first), question.row(second))
    if not pair[1].median:
        return None
    of_medians = pair[0].median / pair[1].median
    margin = math.log1p(question.lookup.study.equivalence_margin_percent / 100)
    opposite = (ratio.low > 1 > of_medians) or (ratio.high < 1 < of_medians)
    if not opposite and abs(math.log(of_medians / ratio.value)) <= margin:
        return None
    return Medians(of_medians, opposite, pulling_of(pair))


def pulling_of(rows: Iterable[Statistic]) -> Pulling:
    """Of the configuration whose level is furthest from its median, on logarithms."""
    row = max(rows, key=lambda row: abs(math.log(row.compared.value / row.median)))
    return Pulling(row.configuration, row.pulling, row.n, row.pulling_percent)


def _of_many(question: Question, best: BestRow) -> Answer:
    if best.method == "none" and best.n_most == 1:
        return Answer(question, "single runs", winners=(question.rows[0].configuration,))
    if best.method == "none" or best.by_median:
        return Answer(question, "too rare" if best.method == "none" else "disputed")
    if len(best.best) == 1:
        return _winner(question, best)
    return Answer(question, "any") if not best.excluded and not best.tied else _several(question, best)


def _several(question: Question, best: BestRow) -> Answer:
    """Of several configurations that lead, or one of which is the best."""
    named = answers(len(best.best), best.of - len(best.open))
    if best.behind and (not named or question.lookup.study.equal_hosts):
        slow = tuple(row.configuration for row in best.behind)
        return Answer(question, "slow", "decided", slow=slow, alpha=best.alpha)
    if not named and not best.tied:
        return Answer(question, "remaining", alpha=best.alpha)
    return Answer(question, "group", "tie" if best.tied else "decided", tuple(best.best), alpha=best.alpha)


def answers(count: int, of: int) -> bool:
    """Whether so few may be the best of all that a reader can use it."""
    return count <= MAX_WINNERS or (count <= MAX_LEADERS and count <= MAX_SHARE * of)


def _winner(question: Question, best: BestRow) -> Answer:
    """The only winner, against the configuration with the next level if their comparison is decided."""
    (name,) = best.best
    known = (row.configuration for row in question.rows if row.configuration not in best.open)
    second = next((other for other in known if other != name), None)
    if second is None:
        return Answer(question, "lone winner", pair=(name, name))
    ratio = _lead(question, name, second)
    return Answer(
        question, "winner", "decided", (name,), pair=(name, second), ratio=ratio, alpha=best.alpha,
        medians=_medians(question, ratio, name, second) if ratio else None,
    )  # fmt: skip


def _lead(question: Question, first: str, second: str) -> Ratio | None:
    """The first as a multiple of the second, if that is decided; of large studies only the ranks' intervals are stored.

    These hold for all pairs at once, so they are wider.
    """
    pair = question.pair(first, second)
    if pair is not None:
        return _ratio(pair) if pair.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.TIE} else None
    stored, alpha = question.ranked, question.lookup.study.levels.alpha
    lead = lead_of(stored, first, second, question.metric.direction, alpha) if stored else None
    return Ratio(lead[0], lead[1].low, lead[1].high, lead[1].coverage) if lead else None


def _effort(question: Question, row: Comparison) -> Effort | None:
    if row.more_to_measure is None:
        return None
    return more_replicates(question.lookup, row.benchmark, (row.left, row.right), row.more_to_measure)


def more_replicates(lookup: Lookup, benchmark: str, configurations: Iterable[str], more: int) -> Effort | None:
    """What so many more replicates on all these configurations take together; None: no duration is known.

    Assumes that a trial lasts as long as the mean of those that finished, and that machines are paid for only that
    long; creating a cluster comes on top. Volumes are left out: a few hours of them cost little.
    """
    names = sorted(configurations)
    mean_s = {row.configuration: row.mean_s for row in lookup[DurationRow] if row.benchmark == benchmark}
    if not mean_s.keys() >= {*names}:
        return None
    hours = {name: more * mean_s[name] / SECONDS_PER_HOUR for name in names}
    rates: Mapping[str, float | None] = {name: _usd_per_hour(lookup.costs.get(name, ())) for name in names}
    usd = [hours[name] * rate for name, rate in rates.items() if rate is not None]
    return Effort(sum(hours.values()), sum(usd) if len(usd) == len(names) else None)


def _usd_per_hour(costs: Sequence[CostRow]) -> float | None:
    for basis in _PAID_BY_THE_HOUR:
        for row in costs:
            if row.basis == basis and row.usd_per_hour is not None:
                return row.usd_per_hour * max(1, row.machines)
    return None


def hosts_of(lookup: Lookup) -> list[str]:
    """The hosts on which databases ran, where the study names them."""
    asked = {trial.intent.configuration_name: trial.intent.configuration for trial in lookup.study.plan.trials}
    machines = ((asked.get(name) or {}).get("database_machine") or {} for name in lookup.configurations)
    return unique(host for machine in machines for host in machine.get("hosts") or ())
