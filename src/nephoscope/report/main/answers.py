"""What a study decided about each headline metric, in words, for cards and for the first sentences of chapters.

Every claim is a stored answer: `best` for three or more configurations, `comparisons` for two, `statistics` for one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nephoscope.model.questions import BestRow
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, Comparison, ComparisonVerdict, Scope, Statistic, TrialRow
from nephoscope.model.words import counted
from nephoscope.report import format as people
from nephoscope.report.lookup import MetricKey, best_first, headlines, scale_of
from nephoscope.report.main.bars import MAX_BARS
from nephoscope.report.main.boards import in_order
from nephoscope.report.main.names import enumerated, names_of
from nephoscope.report.parts import Book

MAX_WINNERS = 3
"""Up to so many configurations of which one is the best answer the question, whatever their number."""
MAX_LEADERS, MAX_SHARE = 6, 1 / 3
"""More than so many, or a larger share of all, are no answer."""
MACHINES_ALONE: frozenset[Scope] = frozenset({"this machine", "these machines"})
"""Scopes of answers that hold for the machines that were measured, and perhaps not for others of their types."""
MAX_FOLLOWERS = 9
"""A multiple of a configuration that is further behind says little about the winner."""
State = Literal["decided", "tie", "open"]


@dataclass(frozen=True)
class Answer:
    """What is decided about one question."""

    state: State
    answer: str
    """A few words: 'Best: 2 CPUs'."""
    clause: str
    """The same as the end of a sentence: 'the best is 2 CPUs, with 1.91× as much as 1 CPU (1.77× to 2.05×)'."""
    number: str
    about: str
    """What the number is."""
    interval: str = ""
    sure: str = ""
    caution: str = ""
    coverage: float | None = None
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

    @property
    def where(self) -> str:
        """'tpcc'; 'tpcc on this machine' where an answer speaks for machines, and not for their types."""
        scopes = {row.scope for row in self.rows}
        words = "on this machine" if scopes == {"this machine"} else "on these machines"
        return f"{self.benchmark.benchmark} {words}" if scopes & MACHINES_ALONE else self.benchmark.benchmark

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
        for row in self.book.lookup.comparisons.get((*self.key, False), []):
            if {row.left, row.right} == {first, second}:
                return row if row.left == first else row.mirrored()
        return None


def questions_of(book: Book) -> list[Question]:
    """Every headline metric with values, in the order of cards."""
    names = names_of(book.lookup)
    overall = {
        (row.benchmark, row.metric): row
        for row in book.lookup.study.best
        if row.view == "plain" and row.scope == "overall"
    }
    found = []
    for benchmark in in_order(book.lookup):
        for metric in headlines(benchmark):
            rows = best_first(book.lookup.statistics_of(benchmark.benchmark, metric.name), metric)
            best = overall.get((benchmark.benchmark, metric.name))
            found.append(Question(book, names, benchmark, metric, rows, best))
    return [question for question in found if question.rows]


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
    told = _Ratio.of(row, other)
    if row.verdict is ComparisonVerdict.BETTER:
        return told.answer(
            "decided", f"Best: {one}", f"the best is {one}, with {told.words}", sure=_wrong_winner(alpha),
            caution=caution, winners=(first,),
        )  # fmt: skip
    if row.verdict is ComparisonVerdict.TIE:
        close = f"differ by less than {row.margin_percent:g} %"
        return told.answer(
            "tie", f"A tie: {one} and {other}", f"{one} and {other} are a tie, as they {close}",
            sure=f"They {close}. {_wrong('call such a tie wrongly', alpha)}", caution=caution, winners=(first, second),
        )  # fmt: skip
    return told.answer(
        "open", "Not decided", f"not decided between {one} and {other}: {one} has {told.words}",
        about=f"{told.about}: {one}", caution=caution,
        sure=f"{one} is {row.reason}." if row.reason else _undecided(row),
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
        clause = f"any of {best.of:,} configurations may be the best"
        return Answer(
            "open", "Not decided", clause, f"{best.of:,}",
            "configurations, any of which may be the best" + _detectable(best), sure=unknown.strip(), caution=caution,
        )  # fmt: skip
    return _group(question, best, candidates, unknown, caution)


def _group(question: Question, best: BestRow, candidates: Sequence[str], unknown: str, caution: str) -> Answer:
    """Several configurations that lead, or one of which is the best."""
    count = len(candidates)
    named = answers(count, best.of)
    left = _others_are_worse(best.excluded)
    worse = f"; {left}" if left else ""
    if not named and not best.tied:
        clause = f"{count:,} of {best.of:,} configurations may be the best"
        return Answer(
            "open", f"No winner: {count:,} of {best.of:,} may be the best", clause + worse, "",
            "; ".join(part for part in (left, _detectable(best)[2:]) if part),
            sure=_wrong("leave out the best", best.alpha) + unknown, caution=caution,
        )  # fmt: skip
    which = question.called(candidates, "and" if best.tied else "or") if named else f"{count:,} configurations"
    if best.tied:
        close = f"lead, within {best.margin_percent:g} % of each other"
        answer, clause, lead = f"A tie: {which}", f"{which} {close}{worse}", close
    else:
        answer, clause, lead = f"Best: {which}", f"the best of {best.of:,} is {which}{worse}", "may be the best"
    return Answer(
        "tie" if best.tied else "decided", answer, clause, f"{count:,} of {best.of:,}",
        "; ".join(part for part in (lead, left, _detectable(best)[2:]) if part),
        sure=_wrong("leave out the best", best.alpha) + unknown, caution=caution, winners=tuple(candidates),
    )  # fmt: skip


def answers(count: int, of: int) -> bool:
    """Whether so few may be the best of all that a reader can use it."""
    return count <= MAX_WINNERS or (count <= MAX_LEADERS and count <= MAX_SHARE * of)


def _others_are_worse(count: int) -> str:
    if count < 2:
        return "the other one is worse" if count else ""
    return f"the other {count:,} are worse"


def _winner(question: Question, best: BestRow, caution: str) -> Answer:
    """The only winner, against the configuration with the next median, as far as their comparison is decided."""
    (name,) = best.best
    called, sure = question.names[name], _wrong_winner(best.alpha)
    first = f"the best of {best.of:,} is {called}, with"
    told = _lead_of_any(question, name, best.of)
    if told is None:
        row = next(row for row in question.rows if row.configuration == name)
        interval, value = _interval(question, row), question.scale.text(row.median)
        about = f"median; the best of {best.of:,}"
        return Answer(
            "decided", f"Best: {called}", f"{first} a median of {value} ({interval})", value, about, interval, sure,
            caution, row.coverage, winners=(name,),
        )  # fmt: skip
    if best.close:
        sure = f"Within {best.margin_percent:g} % of it: {question.called(best.close)}. {sure}"
    return told.answer(
        "decided", f"Best: {called}", f"{first} {told.words}", sure=sure, caution=caution, winners=(name,)
    )


def _lead_of_any(question: Question, winner: str, of: int) -> "_Ratio | None":
    """The winner as a multiple of the next one; of a later one where that comparison is not decided."""
    followers = [row.configuration for row in question.rows if row.configuration != winner]
    for place, name in enumerate(followers[:MAX_FOLLOWERS], start=2):
        where = f", the next of {of:,}" if place == 2 else f", number {place} of {of:,}"
        if told := _lead(question, winner, name, where):
            return told
    return None


def _lead(question: Question, first: str, second: str, place: str) -> "_Ratio | None":
    """The first as a multiple of the second, if that is decided; of large studies only the ranks' intervals are stored.

    These hold for all pairs at once, so they are wider.
    """
    pair, called = question.pair(first, second), question.names[second]
    if pair is not None:
        decided = pair.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.TIE}
        return _Ratio.of(pair, called, place) if decided else None
    ranked = question.book.lookup.study.rank_intervals
    rows = (row for row in ranked if (row.benchmark, row.metric) == question.key)
    stored = next(rows, None)
    gap = None if stored is None or stored.signs_only else stored.gap(first, second)
    if gap is None or gap[0] <= gap[1]:
        return None
    lower = question.metric.direction is Direction.LOWER
    middle, half = (-gap[0] if lower else gap[0]), gap[1]
    return _Ratio(
        math.exp(middle), f"as much as {called}{place}", "; lower is better" if lower else "",
        people.ratio_interval(math.exp(middle - half), math.exp(middle + half)),
        1 - question.book.lookup.study.levels.alpha,
    )  # fmt: skip


@dataclass(frozen=True)
class _Ratio:
    """A configuration as a multiple of the second one, in words."""

    ratio: float
    about: str
    lower: str
    interval: str
    coverage: float | None

    @classmethod
    def of(cls, row: Comparison, second: str, place: str = "") -> "_Ratio":
        """`second` is the name for a reader of the right side."""
        lower = "; lower is better" if row.direction is Direction.LOWER else ""
        interval = "" if row.low is None or row.high is None else people.ratio_interval(row.low, row.high)
        return cls(row.ratio, f"as much as {second}{place}", lower, interval, row.coverage)

    @property
    def words(self) -> str:
        """'1.91× as much as 1 CPU (1.77× to 2.05×; lower is better)'."""
        said = self.interval + self.lower if self.interval else self.lower.removeprefix("; ")
        return f"{people.ratio(self.ratio)} {self.about}" + (f" ({said})" if said else "")

    def answer(
        self, state: State, answer: str, clause: str, *, sure: str, caution: str, about: str = "",
        winners: tuple[str, ...] = (),
    ) -> Answer:  # fmt: skip
        """An answer whose number is this ratio."""
        return Answer(
            state, answer, clause, people.ratio(self.ratio), (about or self.about) + self.lower, self.interval,
            sure, caution, self.coverage, of_ratio=True, winners=winners,
        )  # fmt: skip


def _undecided(row: Comparison) -> str:
    then = ""
    if row.more_to_measure is not None:
        more = counted(row.more_to_measure, "more replicate")
        then = f" About {more} of each would probably decide it."
    elif row.is_hardly_decidable:
        then = " More replicates will hardly decide it."
    return f"The interval includes 1×, so neither is shown to be better.{then}"


def _wrong_winner(alpha: float) -> str:
    return _wrong("name a wrong winner", alpha)


def _wrong(what: str, alpha: float) -> str:
    return f"Studies done this way {what} at most {100 * alpha:g} times in 100."


def _detectable(best: BestRow) -> str:
    if best.detectable_percent is None or best.tied:
        return ""
    return f"; one that is {people.percent(best.detectable_percent)} behind would probably have shown"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""
