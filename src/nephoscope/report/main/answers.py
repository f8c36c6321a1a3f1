"""What a study decided about each headline metric, in words, for cards and for the first sentences of chapters.

Every claim is a stored answer: `best` for three or more configurations, `comparisons` for two, `statistics` for one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nephoscope.analysis.rank_intervals import lead_of
from nephoscope.model.questions import BestRow, Headline, RankIntervals, View
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, Comparison, ComparisonVerdict, Scope, Statistic, TrialRow
from nephoscope.model.scopes import OVERALL
from nephoscope.model.sentence import Sentence
from nephoscope.model.words import capitalised, counted
from nephoscope.report import format as people
from nephoscope.report.lookup import MetricKey, best_first, headlines, scale_of
from nephoscope.report.main.bars import MAX_BARS
from nephoscope.report.main.boards import in_order
from nephoscope.report.main.names import enumerated, hosts_of, names_of
from nephoscope.report.main.ratios import Ratio, Told
from nephoscope.report.parts import Book
from nephoscope.report.wording import pace_words

MAX_WINNERS = 3
"""Up to so many configurations of which one is the best answer the question, whatever their number."""
MAX_LEADERS, MAX_SHARE = 6, 1 / 3
"""More than so many, or a larger share of all, are no answer."""
MACHINES_ALONE: frozenset[Scope] = frozenset({"this machine", "these machines"})
"""Scopes of answers that hold for the machines that were measured, and perhaps not for others of their types."""
State = Literal["decided", "tie", "open"]


@dataclass(frozen=True)
class Answer:
    """What is decided about one question."""

    state: State
    answer: str
    """A few words: 'Best: 2 CPUs'."""
    clause: str
    """The same as a sentence: 'the best is 2 CPUs, with 1.91× the rate of 1 CPU (1.77× to 2.05×)'."""
    number: str
    about: str
    """What the number is."""
    before: str = ""
    """What stands before the number: 'a ÷ b ='."""
    interval: str = ""
    after: str = ""
    """A sentence about the next configuration, where it is not what the number is about."""
    sure: str = ""
    caution: str = ""
    coverage: float | None = None
    alpha: float | None = None
    """The chance that it is wrong; None: it says nothing that could be."""
    of_ratio: bool = False
    winners: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """A headline metric with what the study stores about it."""

    book: Book
    names: Mapping[str, str]
    benchmark: BenchmarkRow
    metric: Metric
    rows: list[Statistic]
    """Best median first."""
    best: BestRow | None
    view: View = "plain"

    @property
    def where(self) -> str:
        """'tpcc'; 'tpcc, this machine' where an answer speaks for machines, and not for their types."""
        if not {row.scope for row in self.rows} & MACHINES_ALONE:
            return self.benchmark.benchmark
        several = len(self.machines) > 1 or len(hosts_of(self.book.lookup)) > 1
        return f"{self.benchmark.benchmark}, {'these machines' if several else 'this machine'}"

    @property
    def machines(self) -> frozenset[str]:
        """Those under test, as far as it is known which they are."""
        found = (self.book.lookup.trials[trial].machine for row in self.rows for trial in row.trials)
        return frozenset(name for name in found if name is not None)

    @property
    def key(self) -> MetricKey:
        """Its benchmark and metric, as tables name them."""
        return self.benchmark.benchmark, self.metric.name

    @property
    def tried(self) -> dict[str, list[TrialRow]]:
        """The trials of its benchmark, by configuration; only of those for which the study has some."""
        lookup, name = self.book.lookup, self.benchmark.benchmark
        return {one: rows for one in lookup.configurations if (rows := lookup.trials_of(name, one))}

    @property
    def scale(self) -> people.Scale:
        """How to write its values on the main page, whose cards show the best of them."""
        return scale_of(self.metric, self.rows[:MAX_BARS])

    def called(self, names: Sequence[str], last: str = "and") -> str:
        """The names for a reader as an enumeration."""
        return enumerated([self.names[name] for name in names], last=last)

    def pair(self, first: str, second: str) -> Comparison | None:
        """The stored comparison of two, with `first` on the left."""
        for row in self.book.lookup.comparisons.get((*self.key, self.view == "per CPU"), []):
            if {row.left, row.right} == {first, second}:
                return row if row.left == first else row.mirrored()
        return None


def questions_of(book: Book) -> list[Question]:
    """Every headline metric with values, in the order of cards."""
    names = names_of(book.lookup)
    stored = {(row.benchmark, row.metric, row.view, str(row.scope)): row for row in book.lookup.study.best}
    asked = book.lookup.study.headline
    found = []
    for benchmark in in_order(book.lookup):
        for metric in headlines(benchmark):
            rows = best_first(book.lookup.statistics_of(benchmark.benchmark, metric.name), metric)
            best = stored.get((benchmark.benchmark, metric.name, "plain", str(OVERALL)))
            plain = Question(book, names, benchmark, metric, rows, best)
            if asked and (benchmark.benchmark, metric.name) == (asked.benchmark, asked.metric or metric.name):
                found.append(_as_asked(plain, asked, stored))
                if (asked.view, asked.scope) == ("plain", str(OVERALL)):
                    continue
            found.append(plain)
    return [question for question in found if question.rows]


def _as_asked(plain: Question, asked: Headline, stored: Mapping[tuple[str, str, View, str], BestRow]) -> Question:
    """The question in the view and the scope of the study's headline; overall where a part of it lacks the scope."""
    lookup, per_cpu = plain.book.lookup, asked.view == "per CPU"
    scope = asked.scope if asked.scope in lookup.study.scopes else str(OVERALL)
    among = lookup.study.scopes.get(scope, lookup.configurations)
    every = lookup.statistics_of(*plain.key, per_cpu=per_cpu)
    return replace(
        plain,
        rows=best_first([row for row in every if row.configuration in among], plain.metric),
        best=stored.get((*plain.key, asked.view, scope)),
        view=asked.view,
    )


def answered(question: Question) -> Answer | None:
    """What the study stores as its answer; None: two configurations that were not compared."""
    if len(question.rows) == 1:
        return _alone(question)
    if len(question.rows) == 2:
        return _of_two(question)
    if question.best is None:
        return _undecided_of(len(question.rows), "no test over all of them is stored")
    return _of_many(question, question.best)


def _too_few(left: int, right: int) -> str:
    """'1 usable trial each is too few to decide', of two configurations."""
    if left != right:
        return f"{left:,} and {right:,} usable trials are too few to decide"
    return f"{counted(left, 'usable trial')} each {'is' if left == 1 else 'are'} too few to decide"


def _undecided_of(count: int, why: str, caution: str = "") -> Answer:
    """Of so many configurations, none of which is excluded."""
    clause = f"which of {count:,} configurations is the best is not decided: {why}"
    return Answer("open", "Not decided", clause, f"{count:,}", f"configurations; {why}", caution=caution)


def _single_runs(question: Question, of: int, caution: str) -> Answer:
    """The configuration that leads, where each was measured once."""
    first = question.rows[0]
    name, extreme = question.names[first.configuration], _extreme(question.metric)
    value = question.scale.text(first.median)
    why = "each was measured once, so nothing is decided"
    clause = f"the {extreme} single run of {of:,} is {value}, of {name}; {why}"
    return Answer(
        "open", name, clause, value, f"the {extreme} single run of {of:,}; {why}", caution=caution,
        winners=(first.configuration,),
    )  # fmt: skip


def _extreme(metric: Metric) -> str:
    return "highest" if metric.direction is Direction.HIGHER else "lowest"


def _alone(question: Question) -> Answer:
    (row,) = question.rows
    name, value = question.names[row.configuration], question.scale.text(row.median)
    lost = _without_value(question)
    if row.n == 1:
        about = "a single run, so its precision is unknown"
        clause = f"{name} has {value}: {about}"
        return Answer("open", name, clause, value, about, sure=lost, winners=(row.configuration,))
    interval = _interval(question, row)
    return Answer(
        "open",
        name,
        f"{name} has a median of {value} ({interval}), n = {row.n:,}",
        value,
        f"median, n = {row.n:,}",
        interval=interval,
        sure=lost,
        coverage=row.coverage,
        winners=(row.configuration,),
    )


def _interval(question: Question, row: Statistic) -> str:
    scale = question.scale
    return f"{scale.number(row.low)} to {scale.text(row.high)}"


def _without_value(question: Question) -> str:
    """What became of the others: '1 CPU: none of 6 trials usable.'."""
    found = {row.configuration for row in question.rows}
    said = [
        f"{question.names[name]}: none of {counted(len(rows), 'trial')} usable"
        for name, rows in question.tried.items()
        if name not in found
    ]
    return f"{enumerated(said)}." if said else ""


def _of_two(question: Question) -> Answer | None:
    first, second = (row.configuration for row in question.rows)
    row = question.pair(first, second)
    if row is None:
        return None
    if row.verdict is ComparisonVerdict.WORSE:
        first, second, row = second, first, row.mirrored()
    caution, alpha = _sentence(row.note), question.book.lookup.study.levels.alpha
    one, other = question.names[first], question.names[second]
    if row.low is None:
        why = _too_few(row.n_left, row.n_right)
        return Answer("open", "Not decided", f"not decided between {one} and {other}: {why}", "", why, caution=caution)
    ratio = _ratio(question, row)
    if row.verdict is ComparisonVerdict.BETTER:
        told = ratio.lead(other)
        return _told(
            told, "decided", f"Best: {one}", f"the best is {one}, with {told.words}", sure=_wrong_winner(alpha),
            caution=caution, winners=(first,), alpha=alpha,
        )  # fmt: skip
    told = ratio.quotient(one, other)
    if row.verdict is ComparisonVerdict.TIE:
        close = f"differ by less than {row.margin_percent:g} %"
        return _told(
            told, "tie", f"A tie: {one} and {other}", f"{one} and {other} are a tie, as they {close}",
            sure=f"They {close}. {_chance('of a wrong tie', alpha)}", caution=caution, winners=(first, second),
            alpha=alpha,
        )  # fmt: skip
    return _told(
        told, "open", "Not decided", f"not decided, as {told.words}", caution=caution,
        sure=f"{one} is {row.reason}." if row.reason else _undecided(row),
    )  # fmt: skip


def _ratio(question: Question, row: Comparison) -> Ratio:
    low, high = (row.ratio if end is None else end for end in (row.low, row.high))
    return Ratio(question.metric, row.ratio, low, high, row.coverage)


def _told(
    told: Told, state: State, answer: str, clause: str, *, sure: str, caution: str, winners: tuple[str, ...] = (),
    alpha: float | None = None,
) -> Answer:  # fmt: skip
    """An answer whose number is a ratio."""
    return Answer(
        state, answer, clause, told.number, told.about, told.before, told.interval, sure=sure, caution=caution,
        coverage=told.coverage, alpha=alpha, of_ratio=True, winners=winners,
    )  # fmt: skip


def _of_many(question: Question, best: BestRow) -> Answer:
    caution = " ".join(text for text in (_sentence(best.reason), _sentence(best.note)) if text)
    if best.method == "none":
        if best.n_most == 1:
            return _single_runs(question, best.of, caution)
        return _undecided_of(best.of, "too few of them were measured more than once", caution)
    unknown = f" Too little is known about {question.called(best.open)}." if best.open else ""
    candidates = (*best.best, *best.open)
    if len(candidates) == 1 and best.excluded:
        return _winner(question, best, caution)
    if not best.excluded and not best.tied:
        may_be = f"any of the {best.of:,} may be the {pace_words(question.metric)[0]}"
        return Answer(
            "open", "Not decided", may_be, "", f"A{may_be[1:]}",
            sure=f"{_detectable(question, best)}{unknown}".strip(), caution=caution,
        )  # fmt: skip
    return _group(question, best, candidates, unknown, caution)


def _group(question: Question, best: BestRow, candidates: Sequence[str], unknown: str, caution: str) -> Answer:
    """Several configurations that lead, or one of which is the best."""
    count, (extreme, worse) = len(candidates), pace_words(question.metric)
    named = answers(count, best.of)
    missed = _chance(f"that the {extreme} is not among them", best.alpha)
    sure = " ".join(part for part in (_detectable(question, best), missed) if part) + unknown
    excluded = f"{best.excluded:,} of {best.of:,} {'is' if best.excluded == 1 else 'are'} clearly {worse}"
    if not named and not best.tied:
        said = f"{excluded}; any of the remaining {count:,} may be the {extreme}"
        return Answer("open", "No winner", said, "", said, sure=sure, caution=caution, alpha=best.alpha)
    which = question.called(candidates, "and" if best.tied else "or") if named else f"{count:,} configurations"
    rest = f"; {excluded}" if best.excluded else ""
    if best.tied and count == best.of:
        close = f"are within {best.margin_percent:g} % of each other"
        all_of_them = "Both" if count == 2 else f"All {count:,}"
        return Answer(
            "tie", f"A tie: {which}", f"{which} {close}", "", f"{all_of_them} {close}",
            sure=sure, caution=caution, alpha=best.alpha, winners=tuple(candidates),
        )  # fmt: skip
    if best.tied:
        close = f"lead, within {best.margin_percent:g} % of each other"
        answer, clause, lead = f"A tie: {which}", f"{which} {close}{rest}", close
    else:
        lead = f"may be the {extreme}"
        answer, clause = f"Best: {which}", f"{which} {lead}{rest}"
    return Answer(
        "tie" if best.tied else "decided", answer, clause, f"{count:,} of {best.of:,}", f"{lead}{rest}",
        sure=sure, caution=caution, alpha=best.alpha, winners=tuple(candidates),
    )  # fmt: skip


def answers(count: int, of: int) -> bool:
    """Whether so few may be the best of all that a reader can use it."""
    return count <= MAX_WINNERS or (count <= MAX_LEADERS and count <= MAX_SHARE * of)


def _winner(question: Question, best: BestRow, caution: str) -> Answer:
    """The only winner, against the configuration with the next median if their comparison is decided."""
    (name,) = best.best
    called, sure = question.names[name], _wrong_winner(best.alpha)
    if best.close:
        sure = f"Within {best.margin_percent:g} % of it: {question.called(best.close)}. {sure}"
    row = next(row for row in question.rows if row.configuration == name)
    second = next(other for other in question.rows if other is not row)
    ratio = _lead(question, name, second.configuration)
    first = f"the best of {best.of:,} is {called}, with"
    if ratio is not None:
        told = ratio.lead(f"{question.names[second.configuration]}, number 2 of {best.of:,}")
        return _told(
            told, "decided", f"Best: {called}", f"{first} {told.words}", sure=sure, caution=caution, winners=(name,),
            alpha=best.alpha,
        )  # fmt: skip
    interval, value = _interval(question, row), question.scale.text(row.median)
    after = _next(question, best, row, second)
    return Answer(
        "decided", f"Best: {called}", f"{first} a median of {value} ({interval}). {after.removesuffix('.')}", value,
        "median", interval=interval, after=after, sure=sure,
        caution=caution, coverage=row.coverage, alpha=best.alpha, winners=(name,),
    )  # fmt: skip


def _next(question: Question, best: BestRow, first: Statistic, second: Statistic) -> str:
    """How far the second median is from that of the winner, whose lead over this one is not known as an interval."""
    change = 100 * (second.median / first.median - 1) if first.median else 0.0
    away = (
        f"a median {people.percent(abs(change))} {'lower' if change < 0 else 'higher'}" if change else "the same median"
    )
    stored = _ranked(question)
    certain = stored is not None and stored.signs_only and stored.gap(first.configuration, second.configuration)
    competes = second.configuration not in {one.configuration for one in best.left_out}
    alone = f" The test over all {best.of:,} rules it out; the two alone are not decided."
    end = "" if certain else alone if competes else " It did not compete."
    return f"Number 2 of {len(question.rows):,}, {question.names[second.configuration]}, has {away}.{end}"


def _lead(question: Question, first: str, second: str) -> Ratio | None:
    """The first as a multiple of the second, if that is decided; of large studies only the ranks' intervals are stored.

    These hold for all pairs at once, so they are wider.
    """
    pair = question.pair(first, second)
    if pair is not None:
        decided = pair.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.TIE}
        return _ratio(question, pair) if decided else None
    stored = _ranked(question)
    metric, alpha = question.metric, question.book.lookup.study.levels.alpha
    lead = lead_of(stored, first, second, metric.direction, alpha) if stored else None
    return Ratio(metric, lead[0], lead[1].low, lead[1].high, lead[1].coverage) if lead else None


def _ranked(question: Question) -> RankIntervals | None:
    """The intervals behind the ranks, if they are stored."""
    stored = question.book.lookup.study.rank_intervals
    return next((row for row in stored if (row.benchmark, row.metric) == question.key), None)


def _undecided(row: Comparison) -> str:
    then = ""
    if row.more_to_measure is not None:
        more = counted(row.more_to_measure, "more replicate")
        then = f" About {more} of each would probably decide it."
    elif row.is_hardly_decidable:
        then = " More replicates will hardly decide it."
    return f"The interval includes 1, so neither is shown to be better.{then}"


def _wrong_winner(alpha: float) -> str:
    return _chance("of a wrong winner", alpha)


def _chance(of_what: str, alpha: float) -> str:
    return f"Chance {of_what}: at most {100 * alpha:g} %."


def _detectable(question: Question, best: BestRow) -> str:
    if best.detectable_percent is None or best.tied:
        return ""
    behind = f"{people.percent(best.detectable_percent)} {pace_words(question.metric)[1]}"
    return f"A configuration {behind} would probably have been ruled out."


def _sentence(text: Sentence) -> str:
    return f"{capitalised(text).removesuffix('.')}." if text else ""
