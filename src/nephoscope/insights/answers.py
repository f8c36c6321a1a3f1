"""One answer, one sentence: what `analysis.answers` decided in words, for every page, file and command."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from nephoscope.analysis.answers import MAX_WINNERS, Answer, Effort, Kind, Medians, Pulling, Ratio, answers, pulling_of
from nephoscope.insights.names import (
    UNKNOWN_PROVIDER,
    enumerated,
    names_benchmark,
    pace_words,
    provider_of,
    quantity_noun,
    title_in_sentence,
)
from nephoscope.model import numbers as people
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Comparison, Estimate, TrialRow
from nephoscope.model.sentence import Sentence
from nephoscope.model.units import SECONDS_PER_HOUR
from nephoscope.model.words import capitalised, counted

MIN_AS_PERCENT = 0.5
"""Of a metric of which less is better: 'less than' from this ratio on, a multiple below."""
MAX_SCALED = 4
"""The unit of numbers is one that suits so many of the best levels: cards draw as many."""
_FIRST = 3
MAX_LISTED = 12
"""More candidates than this are counted instead of named, where all that is known of an answer stands."""


@dataclass(frozen=True)
class Words:
    """An answer in words. A card sets the number apart; everything else prints the clause."""

    answer: str
    """A few words: 'Best: 2 CPUs'."""
    clause: str
    """The same as a sentence: 'the best is 2 CPUs, with 1.91× the rate of 1 CPU (1.77 to 2.05×)'."""
    number: str = ""
    about: str = ""
    """What the number is."""
    before: str = ""
    """What stands before the number: 'a ÷ b ='."""
    interval: str = ""
    after: str = ""
    """Sentences about other configurations, and about what the number is not."""
    sure: str = ""
    caution: str = ""


class Told(NamedTuple):
    """A ratio in words, in parts, as cards set the number apart."""

    before: str
    number: str
    about: str
    interval: str

    @property
    def words(self) -> str:
        """'1.91× the rate of 1 CPU (1.77 to 2.05×)', 'a ÷ b = 1.019× (0.999 to 1.039×)'."""
        return f"{' '.join(filter(None, (self.before, self.number, self.about)))} ({self.interval})"


@dataclass(frozen=True)
class Writer:
    """Words one answer with the names of a study."""

    answer: Answer
    names: Mapping[str, str]
    """See `names_of`."""

    @property
    def sentence(self) -> str:
        """'Point selects per second (point-select, this machine): the best is 2 CPUs, with 1.91× the rate of …'."""
        return f"{self.topic}: {self.words.clause}."

    @property
    def topic(self) -> str:
        """'Point selects per second (point-select, this machine)': where an answer speaks for machines, it says so."""
        question = self.answer.question
        title = title_in_sentence(question.metric, per_cpu=question.view == "per CPU")
        name = question.benchmark.benchmark
        benchmark = "" if names_benchmark(question.metric, name) else name
        where = ", ".join(filter(None, (benchmark, question.scope)))
        return f"{title} ({where})" if where else title

    @property
    def paragraph(self) -> str:
        """The sentence, and everything that a card says besides."""
        words = self.words
        return " ".join(filter(None, (self.sentence, words.after, words.sure, words.caution, *self._grounds())))

    def _grounds(self) -> Iterator[str]:
        """What the answer rests on, which a card shows as bars or not at all."""
        question, best = self.answer.question, self.answer.question.best
        if self.answer.pair is not None and self.answer.coverage is not None:
            sizes = " and ".join(f"{question.row(name).n:,}" for name in self.answer.pair)
            yield f"{people.coverage(self.answer.coverage)} interval, n = {sizes}."
        if best is None or len(question.rows) < 3:
            return
        if self.answer.kind == "winner" and self.answer.ratio is not None:
            level = question.row(best.best[0]).compared
            yield f"Its level is {self.scale.text(level)} ({self.ends(level)})."
        if self.answer.kind == "remaining" and len(best.best) <= MAX_LISTED:
            names = [self.names[name] for name in best.best]
            yield f"These may be the {pace_words(self.metric)[0]}: {enumerated(names, MAX_LISTED)}."
        if self.answer.kind in {"too rare", "any", "remaining", "disputed"}:
            first = question.rows[:_FIRST]
            levels = [f"{self.names[row.configuration]} ({self.scale.text(row.compared)})" for row in first]
            yield f"The first {'values' if best.n_most == 1 else 'levels'} are those of {enumerated(levels)}."
        if best.method == "rank sums":
            yield "The values come in steps, so exact rank sums were used, which decide less."
        if best.left_out:
            more = counted(len(best.left_out), "more configuration")
            have = "has" if len(best.left_out) == 1 else "have"
            yield f"{more} {have} a zero or negative value and cannot be compared."

    @property
    def words(self) -> Words:
        """The answer in words."""
        make: Mapping[Kind, Callable[[], Words]] = {
            "alone": self._alone,
            "single runs": self._single_runs,
            "no test": self._no_test,
            "too rare": self._too_rare,
            "few of two": self._few_of_two,
            "two": self._two,
            "winner": self._winner,
            "lone winner": self._lone_winner,
            "disputed": self._disputed,
            "any": self._any,
            "remaining": self._remaining,
            "group": self._group,
            "slow": self._slow,
        }
        words = make[self.answer.kind]()
        return replace(words, after=" ".join(filter(None, (words.after, *self._unlike_the_model()))))

    def _unlike_the_model(self) -> Iterator[str]:
        """What the comparison did about values that are far off, of two kinds, or not independent."""
        rows = self.answer.question.rows if len(self.answer.question.rows) > 1 else []
        away = [
            f"{len(row.set_aside):,} of {counted(row.n, 'value')} of {self.names[row.configuration]} "
            f"({_change(row.set_aside_percent)} than the median)"
            for row in rows
            if row.set_aside
        ]
        if away:
            yield f"Far off from all others, and set aside here: {enumerated(away)}."
        kinds = [
            f"{self.names[row.configuration]} ({row.second_kind:,} of {counted(row.n, 'value')} "
            f"{'is' if row.second_kind == 1 else 'are'} {_change(row.second_kind_percent)} than the others)"
            for row in rows
            if row.second_kind
        ]
        if kinds:
            yield f"Came in two kinds: {enumerated(kinds)}. Verdicts hold for the more frequent kind as well."
        if rows and rows[0].widened > 1:
            yield f"Values depend on those of the block before, so intervals are {rows[0].widened:.1f} times as wide."

    @property
    def metric(self) -> Metric:
        """What was measured."""
        return self.answer.question.metric

    @property
    def scale(self) -> people.Scale:
        """How to write its values."""
        levels = [row.compared.value for row in self.answer.question.rows[:MAX_SCALED]]
        return people.scale_for(self.metric.unit, levels)

    def called(self, names: Sequence[str], last: str = "and") -> str:
        """The names for a reader as an enumeration."""
        return enumerated([self.names[name] for name in names], last=last)

    def ends(self, of: Estimate) -> str:
        """Both ends of the interval of a number, with the unit."""
        return people.ends(of, people.quantity_form(of, self.metric.unit))

    # Nothing is compared.

    def _alone(self) -> Words:
        (row,) = self.answer.question.rows
        name, value = self.names[row.configuration], self.scale.text(row.middle)
        lost = self._without_value()
        if row.n == 1:
            about = "a single run, so its precision is unknown"
            return Words(name, f"{value} for {name}, {about}", value, about, sure=lost)
        interval = self.ends(row.middle)
        clause = f"a median of {value} ({interval}) for {name}, n = {row.n:,}"
        return Words(name, clause, value, f"median, n = {row.n:,}", interval=interval, sure=lost)

    def _without_value(self) -> str:
        """What became of the others: '1 CPU: none of 6 trials usable.'."""
        measured = {row.configuration for row in self.answer.question.rows}
        lost = [
            f"{self.names[name]}: {_unusable(rows)}"
            for name, rows in self.answer.question.tried.items()
            if name not in measured
        ]
        return f"{enumerated(lost)}." if lost else ""

    def _single_runs(self) -> Words:
        """The configuration that leads, where each was measured once."""
        first = self.answer.question.rows[0]
        extreme = "highest" if self.metric.direction is Direction.HIGHER else "lowest"
        name, value = self.names[first.configuration], self.scale.text(first.compared)
        what = f"the {extreme} single run of {self.answer.best.of:,}"
        why = "each was measured once, so nothing is decided"
        return self._noted(Words(name, f"{what} is {value}, of {name}; {why}", value, f"{what}; {why}"))

    def _no_test(self) -> Words:
        return _undecided_of(len(self.answer.question.rows), "no test over all of them is stored")

    def _too_rare(self) -> Words:
        return self._noted(_undecided_of(self.answer.best.of, "too few of them were measured more than once"))

    def _lone_winner(self) -> Words:
        (name,) = self.answer.best.best
        return self._noted(_undecided_of(self.answer.best.of, f"only of {self.names[name]} are there enough values"))

    # Two configurations.

    def _few_of_two(self) -> Words:
        row, (one, other) = self._pair()
        if row.n_left != row.n_right:
            why = f"{row.n_left:,} and {row.n_right:,} usable trials are too few to decide"
        else:
            each = f"{counted(row.n_left, 'usable trial')} each"
            why = f"{each} {'is' if row.n_left == 1 else 'are'} too few to decide"
        clause = f"not decided between {one} and {other}: {why}"
        return Words("Not decided", clause, "", why, caution=_sentence(row.note))

    def _two(self) -> Words:
        row, (one, other) = self._pair()
        ratio = self.answer.ratio or Ratio(row.ratio, row.ratio, row.ratio, None)
        wins = self.answer.state == "decided"
        told = self._lead(ratio, other) if wins else self._quotient(ratio, one, other)
        if wins:
            words = Words(f"Best: {one}", f"the best is {one}, with {told.words}", sure=self._wrong_winner())
        elif self.answer.state == "tie":
            close = f"differ by less than {row.margin_percent:g} %"
            sure = f"They {close}. {self._chance('of a wrong tie')}"
            words = Words(f"A tie: {one} and {other}", f"{one} and {other} are a tie: {told.words}", sure=sure)
        else:
            why = "" if row.is_disputed else _undecided(row, self.answer.effort)
            sure = f"{one}: {row.reason}." if row.reason else why
            words = Words("Not decided", f"not decided, as {told.words}", sure=sure)
        return replace(_with_ratio(words, told), after=self._by_medians(), caution=_sentence(row.note))

    def _pair(self) -> tuple[Comparison, tuple[str, str]]:
        """The comparison, and the names of its sides."""
        first, second = self.answer.pair or ("", "")
        row = self.answer.question.pair(first, second)
        assert row is not None  # noqa: S101  # an answer about two is made of it
        return row, (self.names[first], self.names[second])

    def _by_medians(self) -> str:
        medians, ratio = self.answer.medians, self.answer.ratio
        if medians is None or ratio is None:
            return ""
        of_medians = ratio._replace(value=medians.ratio)
        wins = self.answer.state == "decided"
        number = (self._lead(of_medians, "") if wins else self._quotient(of_medians, "", "")).number
        less = " less" if wins and self._is_less(of_medians) else ""
        return f"By medians {number}{less}{_opposite(medians)}: {self._pulling(medians.pulling)}."

    def _pulling(self, pulling: Pulling) -> str:
        """'2 of 6 values of 2 CPUs are about 33 % lower than the median'."""
        name = self.names[pulling.configuration]
        if pulling.percent is None:
            return f"the level of {name} is what it would be in every block"
        are = "is" if pulling.values == 1 else "are"
        far = f"{_change(pulling.percent)} than the median"
        return f"{pulling.values:,} of {counted(pulling.of, 'value')} of {name} {are} about {far}"

    # Three or more.

    def _noted(self, words: Words) -> Words:
        """With what the stored answer is cautioned with."""
        best = self.answer.best
        return replace(words, caution=" ".join(filter(None, (_sentence(best.reason), _sentence(best.note)))))

    def _unknown(self) -> str:
        """What is not known, and so no candidate: 'Unknown, as measured only twice: c.'."""
        best = self.answer.best
        if not best.open:
            return ""
        values = {row.configuration: row.n for row in self.answer.question.rows}
        if len(best.open) > MAX_WINNERS or len({values.get(name, 0) for name in best.open}) > 1:
            which = f"{len(best.open):,} of {best.of:,}" if len(best.open) > MAX_WINNERS else self.called(best.open)
            return f"Unknown, as measured too rarely: {which}."
        count = values[best.open[0]]
        times = {1: "once", 2: "twice"}.get(count, f"{count:,} times")
        return f"Unknown, as measured only {times}: {self.called(best.open)}."

    def _any(self) -> Words:
        best = self.answer.best
        all_of = f"the {self.answer.competing:,} that were measured often enough" if best.open else f"the {best.of:,}"
        may_be = f"any of {all_of} may be the {pace_words(self.metric)[0]}"
        words = Words("Not decided", may_be, about=f"A{may_be[1:]}", after=self._unknown(), sure=self._detectable())
        return self._noted(words)

    def _disputed(self) -> Words:
        """The test of levels names others than the medians do: a few values decide, and no best is named."""
        best, question = self.answer.best, self.answer.question
        first = next(name for name in best.best if name not in best.by_median)
        why = self._pulling(pulling_of([question.row(first), question.row(best.by_median[0])]))
        clause = f"first by levels is {self.names[first]}, and by medians {self.called(best.by_median)}"
        after = " ".join(filter(None, (f"{why}.", self._unknown())))
        words = Words("Not decided", f"not decided: {clause}", about=f"{clause}, so no best is named", after=after)
        return self._noted(words)

    def _candidates(self) -> Words:
        """What answers of several candidates share: what would have been ruled out, and the chance of an error."""
        missed = self._chance(f"that the {pace_words(self.metric)[0]} is not among them")
        sure = " ".join(filter(None, (self._detectable(), missed)))
        return self._noted(Words("", "", after=self._unknown(), sure=sure))

    def _excluded(self) -> str:
        best, of = self.answer.best, self.answer.competing
        are = "is" if best.excluded == 1 else "are"
        return f"{best.excluded:,} of {of:,} {are} clearly {pace_words(self.metric)[1]}"

    def _leading(self) -> tuple[str, str]:
        """Whose machines may be the best: (' on AWS', '') or ('', ' (31 on AWS and 24 on Azure)').

        Both are empty where none is excluded, all are of one cloud, or the cloud of a candidate is not known.
        """
        question = self.answer.question
        clouds = {row.configuration: provider_of(question.lookup, row.configuration) for row in question.rows}
        counts = Counter(clouds[name] for name in self.answer.best.best)
        if not self.answer.best.excluded or len({*clouds.values()}) == 1 or UNKNOWN_PROVIDER in counts:
            return "", ""
        if len(counts) == 1:
            return f" on {next(iter(counts))}", ""
        return "", f" ({enumerated([f'{count:,} on {cloud}' for cloud, count in counts.most_common()])})"

    def _remaining(self) -> Words:
        alone, spread = self._leading()
        where = f", all{alone}," if alone else spread
        any_of = f"any of the remaining {len(self.answer.best.best):,}{where} may be the {pace_words(self.metric)[0]}"
        clause = f"{self._excluded()}; {any_of}"
        return replace(self._candidates(), answer="No winner", clause=clause, about=clause)

    def _group(self) -> Words:
        """Several configurations that lead, or one of which is the best."""
        best, of = self.answer.best, self.answer.competing
        count, words = len(best.best), self._candidates()
        named = self.called(best.best, "and" if best.tied else "or")
        which = named if answers(count, of) else f"{count:,} configurations{''.join(self._leading())}"
        rest = f"; {self._excluded()}" if best.excluded else ""
        within = f"within {best.margin_percent:g} % of each other"
        if best.tied and count == of:
            about = f"{'Both' if count == 2 else f'All {count:,}'} are {within}"
            return replace(words, answer=f"A tie: {which}", clause=f"{which} are {within}", about=about)
        lead = f"lead, {within}" if best.tied else f"may be the {pace_words(self.metric)[0]}"
        return replace(
            words, answer=f"{'A tie' if best.tied else 'Best'}: {which}", clause=f"{which} {lead}{rest}",
            number=f"{count:,} of {of:,}", about=f"{lead}{rest}",
        )  # fmt: skip

    def _slow(self) -> Words:
        """Few that are behind, by name: of hosts that should be equal the answer, of others the end of it."""
        best, (extreme, worse) = self.answer.best, pace_words(self.metric)
        side = "above" if self.metric.direction is Direction.LOWER else "below"
        slow = [
            f"{self.names[row.configuration]}, {people.percent(abs(row.change_percent))} {side}" for row in best.behind
        ]
        are = f"are within {best.margin_percent:g} % of each other" if best.tied else f"may be the {extreme}"
        if not self.answer.question.lookup.study.equal_hosts:
            return self._led(f"{are}; clearly {worse}: {enumerated(slow)} the median of the others")
        rest = f"{'the' if best.tied else 'any of the'} other {len(best.best):,} {are}"
        verb = "is" if best.excluded == 1 else "are"
        about = f"{verb} clearly {worse}: {enumerated(slow)} the median of the others; {rest}"
        count = f"{best.excluded:,} of {self.answer.competing:,}"
        heading = f"{worse.capitalize()}: {self.called(self.answer.slow)}"
        return replace(self._candidates(), answer=heading, clause=f"{count} {about}", number=count, about=about)

    def _led(self, about: str) -> Words:
        """Too many lead to be named: how many do, and on which clouds."""
        best, (alone, spread) = self.answer.best, self._leading()
        count = f"{len(best.best):,} of {self.answer.competing:,}"
        heading = f"A tie: {len(best.best):,} configurations" if best.tied else f"Best: one of {len(best.best):,}"
        return replace(
            self._candidates(), answer=heading + alone,
            clause=f"{count}{alone and f', all{alone},'}{spread} {about}", number=count,
            about=f"{spread} {about}".strip(),
        )  # fmt: skip

    def _winner(self) -> Words:
        """The only winner, against the configuration with the next level if their comparison is decided."""
        best, of = self.answer.best, self.answer.competing
        first, second = (self.names[name] for name in self.answer.pair or ("", ""))
        close = f"Within {best.margin_percent:g} % of it: {self.called(best.close)}. " if best.close else ""
        answer = f"Best of {of:,}: {first}" if best.open else f"Best: {first}"
        clause, sure = f"the best of {of:,} is {first}, with", f"{close}{self._wrong_winner()}"
        if self.answer.ratio is not None:
            told = self._lead(self.answer.ratio, f"{second}, number 2 of {of:,}")
            after, words = self._by_medians(), _with_ratio(Words(answer, f"{clause} {told.words}", sure=sure), told)
        else:
            level = self.answer.question.row(best.best[0]).compared
            value, interval, after = self.scale.text(level), self.ends(level), self._next()
            words = Words(answer, f"{clause} a level of {value} ({interval})", value, "level", "", interval, sure=sure)
        return self._noted(replace(words, after=" ".join(filter(None, (after, self._unknown())))))

    def _next(self) -> str:
        """How far the second level is from that of the winner, whose lead over this one is not known as an interval."""
        question, best = self.answer.question, self.answer.best
        first, second = (question.row(name) for name in self.answer.pair or ("", ""))
        level, other = first.compared.value, second.compared.value
        change = 100 * (other / level - 1) if level else 0.0
        side = "lower" if change < 0 else "higher"
        far = f"is {people.percent(abs(change))} {side}" if change else "has the same level"
        stored = question.ranked
        certain = stored is not None and stored.signs_only and stored.gap(first.configuration, second.configuration)
        competes = second.configuration not in {row.configuration for row in best.left_out}
        alone = f" The test over all {best.of:,} rules it out; the two alone are not decided."
        end = "" if certain else alone if competes else " It did not compete."
        return f"Number 2 of {len(question.rows):,}, {self.names[second.configuration]}, {far}.{end}"

    # Ratios and chances.

    def _is_less(self, ratio: Ratio) -> bool:
        return self.metric.direction is Direction.LOWER and MIN_AS_PERCENT <= ratio.value < 1

    def _lead(self, ratio: Ratio, second: str) -> Told:
        """Of a winner: '1.30× the I/O rate of b', '1.7 % less latency than b'."""
        noun = quantity_noun(self.metric)
        if not self._is_less(ratio):
            form = people.ratio_form(ratio)
            return Told("", form.text(ratio.value), f"the {noun} of {second}", people.ends(ratio, form))
        part = people.Between(*(100 * (1 - end) for end in (ratio.value, ratio.high, ratio.low)))
        form = people.percent_form(part)
        less = "less" if noun == "value" else f"less {noun}"
        return Told("", form.text(part.value), f"{less} than {second}", people.ends(part, form))

    def _quotient(self, ratio: Ratio, first: str, second: str) -> Told:
        """Of two of which neither wins."""
        form = people.ratio_form(ratio)
        lower = "; lower is better" if self.metric.direction is Direction.LOWER else ""
        before = f"{first} \N{DIVISION SIGN} {second} ="
        return Told(before, form.text(ratio.value), "", f"{people.ends(ratio, form)}{lower}")

    def _chance(self, of_what: str) -> str:
        return f"Chance {of_what}: at most {100 * (self.answer.alpha or 0):g} %."

    def _wrong_winner(self) -> str:
        return self._chance("of a wrong winner")

    def _detectable(self) -> str:
        best = self.answer.best
        if best.detectable_percent is None or best.tied:
            return ""
        behind = f"{people.percent(best.detectable_percent)} {pace_words(self.metric)[1]}"
        return f"A configuration {behind} would probably have been ruled out."


def _change(change_percent: float | None) -> str:
    """'30 % lower'."""
    change = change_percent or 0.0
    return f"{people.percent(abs(change))} {'lower' if change < 0 else 'higher'}"


def _unusable(trials: Sequence[TrialRow]) -> str:
    """Of trials of which none counts: what has not ended yet is not lost."""
    waiting = sum(row.state in {"planned", "running"} for row in trials)
    if waiting:
        return f"no usable trial yet, {waiting:,} of {counted(len(trials), 'trial')} still to come"
    return f"none of {counted(len(trials), 'trial')} usable"


def _with_ratio(words: Words, told: Told) -> Words:
    return replace(words, number=told.number, about=told.about, before=told.before, interval=told.interval)


def _undecided_of(count: int, why: str) -> Words:
    """Of so many configurations, none of which is excluded."""
    clause = f"which of {count:,} configurations is the best is not decided: {why}"
    return Words("Not decided", clause, f"{count:,}", f"configurations; {why}")


def _undecided(row: Comparison, effort: Effort | None) -> str:
    then = ""
    if row.more_to_measure is not None:
        more = counted(row.more_to_measure, "more replicate")
        takes = f"; that takes {effort_words(effort)}" if effort else ""
        then = f" About {more} of each would probably decide it{takes}."
    elif row.is_hardly_decidable:
        then = " More replicates will hardly decide it."
    return f"The interval includes 1, so neither is shown to be better.{then}"


def effort_words(effort: Effort) -> str:
    """'about 1 h 12 min of machine time (about $3.10)'."""
    dollars = "" if effort.usd is None else f" (about {people.money(effort.usd)})"
    return f"about {people.duration(effort.hours * SECONDS_PER_HOUR)} of machine time{dollars}"


def _opposite(medians: Medians) -> str:
    return ", the other way round, so neither is called better" if medians.is_opposite else ""


def _sentence(text: Sentence | str) -> str:
    return f"{capitalised(text).removesuffix('.')}." if text else ""
