"""What a study decided about each headline metric, in words, for cards and for the first sentences of chapters.

Every claim is a stored answer: `best` for three or more configurations, `comparisons` for two, `statistics` for one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nephoscope.analysis.rank_intervals import lead_of
from nephoscope.model import numbers as people
from nephoscope.model.questions import BestRow, Headline, RankIntervals, View
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, Comparison, ComparisonVerdict, Estimate, Scope, Statistic, TrialRow
from nephoscope.model.scopes import OVERALL
from nephoscope.model.sentence import Sentence
from nephoscope.model.words import capitalised, counted
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
    """The same as a sentence: 'the best is 2 CPUs, with 1.91× the rate of 1 CPU (1.77 to 2.05×)'."""
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
    slow: tuple[str, ...] = ()
    """Those that the answer names because they are behind."""

    @property
    def is_compared(self) -> bool:
        """Whether it compares configurations of which several values are known."""
        return self.of_ratio or self.alpha is not None


@dataclass(frozen=True)
class Question:
    """A headline metric with what the study stores about it."""

    book: Book
    names: Mapping[str, str]
    benchmark: BenchmarkRow
    metric: Metric
    rows: list[Statistic]
    """Best level first."""
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
        """How to write its values."""
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
    value = question.scale.text(first.compared)
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
    name, value = question.names[row.configuration], question.scale.text(row.middle)
    lost = _without_value(question)
    if row.n == 1:
        about = "a single run, so its precision is unknown"
        clause = f"{value} for {name}, {about}"
        return Answer("open", name, clause, value, about, sure=lost, winners=(row.configuration,))
    interval = _interval(question, row)
    return Answer(
        "open",
        name,
        f"a median of {value} ({interval}) for {name}, n = {row.n:,}",
        value,
        f"median, n = {row.n:,}",
        interval=interval,
        sure=lost,
        coverage=row.coverage,
        winners=(row.configuration,),
    )


def _interval(question: Question, row: Statistic | Estimate) -> str:
    of = row.middle if isinstance(row, Statistic) else row
    return people.ends(of, people.quantity_form(of, question.metric.unit))


def _without_value(question: Question) -> str:
    """What became of the others: '1 CPU: none of 6 trials usable.'."""
    found = {row.configuration for row in question.rows}
    said = [f"{question.names[name]}: {_unusable(rows)}" for name, rows in question.tried.items() if name not in found]
    return f"{enumerated(said)}." if said else ""


def _unusable(trials: Sequence[TrialRow]) -> str:
    """Of trials of which none counts: what has not ended yet is not lost."""
    waiting = sum(row.state in {"planned", "running"} for row in trials)
    if waiting:
        return f"no usable trial yet, {waiting:,} of {counted(len(trials), 'trial')} still to come"
    return f"none of {counted(len(trials), 'trial')} usable"


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
    wins = row.verdict is ComparisonVerdict.BETTER
    after = _by_medians(question, ratio, first, second, wins=wins)
    if wins:
        told = ratio.lead(other)
        return _told(
            told, "decided", f"Best: {one}", f"the best is {one}, with {told.words}", sure=_wrong_winner(alpha),
            caution=caution, winners=(first,), alpha=alpha, after=after,
        )  # fmt: skip
    told = ratio.quotient(one, other)
    if row.verdict is ComparisonVerdict.TIE:
        close = f"differ by less than {row.margin_percent:g} %"
        return _told(
            told, "tie", f"A tie: {one} and {other}", f"{one} and {other} are a tie, as they {close}",
            sure=f"They {close}. {_chance('of a wrong tie', alpha)}", caution=caution, winners=(first, second),
            alpha=alpha, after=after,
        )  # fmt: skip
    return _told(
        told, "open", "Not decided", f"not decided, as {told.words}", caution=caution, after=after,
        sure=f"{one}: {row.reason}." if row.reason else "" if row.is_disputed else _undecided(row),
    )  # fmt: skip


def _by_medians(question: Question, ratio: Ratio, first: str, second: str, *, wins: bool) -> str:
    """What the ratio is by medians, if that is another answer, and which values make the difference."""
    of = {row.configuration: row for row in question.rows}
    pair = (of[first], of[second])
    if not pair[1].median:
        return ""
    of_medians = pair[0].median / pair[1].median
    margin = math.log1p(question.book.lookup.study.equivalence_margin_percent / 100)
    disputed = (ratio.low > 1 > of_medians) or (ratio.high < 1 < of_medians)
    if not disputed and abs(math.log(of_medians / ratio.value)) <= margin:
        return ""
    said = f"By medians {ratio.by_medians(of_medians, wins=wins)}"
    order = ", the other way round, so neither is called better" if disputed else ""
    return f"{said}{order}: {_pulling(question, max(pair, key=_pulled))}."


def _pulled(row: Statistic) -> float:
    """How far its level is from its median, on logarithms."""
    return abs(math.log(row.compared.value / row.median))


def _pulling(question: Question, row: Statistic) -> str:
    """'2 of 6 values of 2 CPUs are about 33 % lower than its median'."""
    off = row.pulling_percent
    if off is None:
        return f"the level of {question.names[row.configuration]} is what it would be in every block"
    about = f"{people.percent(abs(off))} {'lower' if off < 0 else 'higher'} than its median"
    are = "is" if row.pulling == 1 else "are"
    return f"{row.pulling:,} of {counted(row.n, 'value')} of {question.names[row.configuration]} {are} about {about}"


def _ratio(question: Question, row: Comparison) -> Ratio:
    low, high = (row.ratio if end is None else end for end in (row.low, row.high))
    return Ratio(question.metric, row.ratio, low, high, row.coverage)


def _told(
    told: Told, state: State, answer: str, clause: str, *, sure: str, caution: str, winners: tuple[str, ...] = (),
    alpha: float | None = None, after: str = "",
) -> Answer:  # fmt: skip
    """An answer whose number is a ratio."""
    return Answer(
        state, answer, clause, told.number, told.about, told.before, told.interval, after, sure=sure, caution=caution,
        coverage=told.coverage, alpha=alpha, of_ratio=True, winners=winners,
    )  # fmt: skip


def _of_many(question: Question, best: BestRow) -> Answer:
    caution = " ".join(text for text in (_sentence(best.reason), _sentence(best.note)) if text)
    if best.method == "none":
        if best.n_most == 1:
            return _single_runs(question, best.of, caution)
        return _undecided_of(best.of, "too few of them were measured more than once", caution)
    unknown = _unknown(question, best)
    if best.by_median:
        return _disputed(question, best, unknown, caution)
    if len(best.best) == 1:
        return _winner(question, best, unknown, caution)
    if not best.excluded and not best.tied:
        may_be = f"any of {_known_of(best)} may be the {pace_words(question.metric)[0]}"
        return Answer(
            "open", "Not decided", may_be, "", f"A{may_be[1:]}",
            sure=_detectable(question, best), after=unknown, caution=caution,
        )  # fmt: skip
    return _group(question, best, unknown, caution)


def _known(best: BestRow) -> int:
    """How many configurations have enough values for a claim."""
    return best.of - len(best.open)


def _known_of(best: BestRow) -> str:
    """'the 6'; 'the 2 that were measured often enough' where others were not."""
    return f"the {_known(best):,} that were measured often enough" if best.open else f"the {best.of:,}"


def _unknown(question: Question, best: BestRow) -> str:
    """What is not known, and so no candidate: 'Unknown, as measured only twice: c.'."""
    if not best.open:
        return ""
    values = {row.configuration: row.n for row in question.rows}
    if len(best.open) > MAX_WINNERS or len({values.get(name, 0) for name in best.open}) > 1:
        which = f"{len(best.open):,} of {best.of:,}" if len(best.open) > MAX_WINNERS else question.called(best.open)
        return f"Unknown, as measured too rarely: {which}."
    times = {1: "once", 2: "twice"}.get(values[best.open[0]], f"{values[best.open[0]]:,} times")
    return f"Unknown, as measured only {times}: {question.called(best.open)}."


def _disputed(question: Question, best: BestRow, unknown: str, caution: str) -> Answer:
    """The test of levels names others than the medians do: a few values decide, and no best is named."""
    first = next(name for name in best.best if name not in best.by_median)
    of = {row.configuration: row for row in question.rows}
    why = _pulling(question, max((of[first], of[best.by_median[0]]), key=_pulled))
    clause = f"first by levels is {question.names[first]}, and by medians {question.called(best.by_median)}"
    return Answer(
        "open", "Not decided", f"not decided: {clause}", "", f"{clause}, so no best is named",
        after=" ".join(filter(None, (f"{why}.", unknown))), caution=caution,
    )  # fmt: skip


def _group(question: Question, best: BestRow, unknown: str, caution: str) -> Answer:
    """Several configurations that lead, or one of which is the best."""
    candidates, of = best.best, _known(best)
    count, (extreme, worse) = len(candidates), pace_words(question.metric)
    named = answers(count, of)
    missed = _chance(f"that the {extreme} is not among them", best.alpha)
    sure = " ".join(part for part in (_detectable(question, best), missed) if part)
    if best.behind and (not named or question.book.lookup.study.equal_hosts):
        return _slow(question, best, unknown, caution, sure)
    excluded = f"{best.excluded:,} of {of:,} {'is' if best.excluded == 1 else 'are'} clearly {worse}"
    if not named and not best.tied:
        said = f"{excluded}; any of the remaining {count:,} may be the {extreme}"
        return Answer("open", "No winner", said, "", said, sure=sure, after=unknown, caution=caution, alpha=best.alpha)
    which = question.called(candidates, "and" if best.tied else "or") if named else f"{count:,} configurations"
    rest = f"; {excluded}" if best.excluded else ""
    if best.tied and count == of:
        close = f"are within {best.margin_percent:g} % of each other"
        all_of_them = "Both" if count == 2 else f"All {count:,}"
        return Answer(
            "tie", f"A tie: {which}", f"{which} {close}", "", f"{all_of_them} {close}",
            sure=sure, after=unknown, caution=caution, alpha=best.alpha, winners=tuple(candidates),
        )  # fmt: skip
    if best.tied:
        close = f"lead, within {best.margin_percent:g} % of each other"
        answer, clause, lead = f"A tie: {which}", f"{which} {close}{rest}", close
    else:
        lead = f"may be the {extreme}"
        answer, clause = f"Best: {which}", f"{which} {lead}{rest}"
    return Answer(
        "tie" if best.tied else "decided", answer, clause, f"{count:,} of {of:,}", f"{lead}{rest}",
        sure=sure, after=unknown, caution=caution, alpha=best.alpha, winners=tuple(candidates),
    )  # fmt: skip


def _slow(question: Question, best: BestRow, unknown: str, caution: str, sure: str) -> Answer:
    """Few that are behind, by name: what somebody asks of a rack whose hosts should be equal."""
    extreme, worse = pace_words(question.metric)
    side = "above" if question.metric.direction is Direction.LOWER else "below"
    named = [
        f"{question.names[one.configuration]}, {people.percent(abs(one.change_percent))} {side}" for one in best.behind
    ]
    others = (
        f"the other {len(best.best):,} are within {best.margin_percent:g} % of each other"
        if best.tied
        else f"any of the other {len(best.best):,} may be the {extreme}"
    )
    are = "is" if best.excluded == 1 else "are"
    about = f"{are} clearly {worse}: {enumerated(named)} the median of the others; {others}"
    count = f"{best.excluded:,} of {_known(best):,}"
    return Answer(
        "decided", f"{worse.capitalize()}: {question.called([one.configuration for one in best.behind])}",
        f"{count} {about}", count, about, sure=sure, after=unknown, caution=caution, alpha=best.alpha,
        slow=tuple(one.configuration for one in best.behind),
    )  # fmt: skip


def answers(count: int, of: int) -> bool:
    """Whether so few may be the best of all that a reader can use it."""
    return count <= MAX_WINNERS or (count <= MAX_LEADERS and count <= MAX_SHARE * of)


def _winner(question: Question, best: BestRow, unknown: str, caution: str) -> Answer:
    """The only winner, against the configuration with the next level if their comparison is decided."""
    (name,) = best.best
    called, sure, of = question.names[name], _wrong_winner(best.alpha), _known(best)
    if best.close:
        sure = f"Within {best.margin_percent:g} % of it: {question.called(best.close)}. {sure}"
    row = next(row for row in question.rows if row.configuration == name)
    known = [other for other in question.rows if other.configuration not in best.open]
    second = next((other for other in known if other is not row), None)
    if second is None:
        return _undecided_of(best.of, f"only of {called} are there enough values", caution)
    ratio = _lead(question, name, second.configuration)
    first = f"the best of {of:,} is {called}, with"
    answer = f"Best of {of:,}: {called}" if best.open else f"Best: {called}"
    if ratio is not None:
        medians = _by_medians(question, ratio, name, second.configuration, wins=True)
        told = ratio.lead(f"{question.names[second.configuration]}, number 2 of {of:,}")
        return _told(
            told, "decided", answer, f"{first} {told.words}", sure=sure, caution=caution, winners=(name,),
            alpha=best.alpha, after=" ".join(filter(None, (medians, unknown))),
        )  # fmt: skip
    interval, value = _interval(question, row.compared), question.scale.text(row.compared)
    after = " ".join(filter(None, (_next(question, best, row, second), unknown)))
    return Answer(
        "decided", answer, f"{first} a level of {value} ({interval}). {after.removesuffix('.')}", value,
        "level", interval=interval, after=after, sure=sure,
        caution=caution, coverage=row.compared.coverage, alpha=best.alpha, winners=(name,),
    )  # fmt: skip


def _next(question: Question, best: BestRow, first: Statistic, second: Statistic) -> str:
    """How far the second level is from that of the winner, whose lead over this one is not known as an interval."""
    one, other = first.compared.value, second.compared.value
    change = 100 * (other / one - 1) if one else 0.0
    away = f"is {people.percent(abs(change))} {'lower' if change < 0 else 'higher'}" if change else "has the same level"
    stored = _ranked(question)
    certain = stored is not None and stored.signs_only and stored.gap(first.configuration, second.configuration)
    competes = second.configuration not in {one.configuration for one in best.left_out}
    alone = f" The test over all {best.of:,} rules it out; the two alone are not decided."
    end = "" if certain else alone if competes else " It did not compete."
    return f"Number 2 of {len(question.rows):,}, {question.names[second.configuration]}, {away}.{end}"


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
