"""The verdict: for each headline question, what the study decided, by how much, how surely and at what cost.

Cards select and word; every claim on them is a stored answer: `best` for three or more configurations, `comparisons`
for two, `statistics` for one.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from nephoscope.model.questions import BestRow
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, Comparison, ComparisonVerdict, Statistic
from nephoscope.model.subjects import Subject
from nephoscope.report import format as people
from nephoscope.report.lookup import best_first, headlines
from nephoscope.report.main.bars import MAX_BARS, Bar, bars
from nephoscope.report.main.cost_lines import cost_lines
from nephoscope.report.main.names import enumerated
from nephoscope.report.main.palette import Palette, palette_of
from nephoscope.report.parts import Book
from nephoscope.report.tables.statistics import section_anchor

MAX_CARDS = 6
"""Further questions are in a table that a reader unfolds."""
ORDER = (Subject.DATABASE, Subject.CPU, Subject.STORAGE, Subject.NETWORK, Subject.MEMORY)
MAX_WINNERS = 3
"""A card counts more configurations than this instead of naming them."""
State = Literal["decided", "tie", "open"]


@dataclass(frozen=True)
class Card:
    """One question and its answer."""

    question: str
    benchmark: str
    metric: str
    href: str
    state: State
    answer: str
    number: str
    about: str
    interval: str
    sure: str
    caution: str
    costs: tuple[str, ...]
    bars: tuple[Bar, ...]
    more: int
    """Configurations without a bar."""
    label: str
    evidence: str | None
    coverage: float | None


@dataclass(frozen=True)
class Verdict:
    """All cards: those that are shown, and those that a reader unfolds."""

    shown: list[Card]
    folded: list[Card]
    about_intervals: str
    scope: str

    @property
    def drawn(self) -> set[tuple[str, str]]:
        """(benchmark, metric) of each card that has a bar for every configuration."""
        return {(card.benchmark, card.metric) for card in self.shown if card.bars and not card.more}


@dataclass(frozen=True)
class _Answer:
    state: State
    answer: str
    number: str
    about: str
    interval: str = ""
    sure: str = ""
    caution: str = ""
    coverage: float | None = None
    of_ratio: bool = False
    winners: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Question:
    """A headline metric with what the study stores about it."""

    book: Book
    palette: Palette
    benchmark: BenchmarkRow
    metric: Metric
    rows: list[Statistic]
    """Best median first."""
    best: BestRow | None

    @property
    def names(self) -> Mapping[str, str]:
        """Configuration -> its name for a reader."""
        return self.palette.called

    def called(self, names: Sequence[str], last: str = "and") -> str:
        return enumerated([self.names[name] for name in names], last=last)

    def pair(self, first: str, second: str) -> Comparison | None:
        """The stored comparison of two, with `first` on the left."""
        for row in self.book.lookup.comparisons.get((self.benchmark.benchmark, self.metric.name, False), []):
            if {row.left, row.right} == {first, second}:
                return row if row.left == first else _mirrored(row)
        return None


def verdict(book: Book) -> Verdict:
    """A card for each headline metric with values; of each kind of benchmark in turn, databases first."""
    questions = _in_turn(_questions(book))
    asked = [(question, answer) for question in questions if (answer := _answered(question)) is not None]
    found = [_card(question, answer) for question, answer in asked]
    first = next((answer for _, answer in asked if answer.coverage is not None and answer.interval), None)
    return Verdict(found[:MAX_CARDS], found[MAX_CARDS:], _about_intervals(first), _scope([one for one, _ in asked]))


def _questions(book: Book) -> list[_Question]:
    palette = palette_of(book.lookup)
    overall = {
        (row.benchmark, row.metric): row
        for row in book.lookup.study.best
        if row.view == "plain" and row.scope == "overall"
    }
    found = []
    for benchmark in book.lookup.study.benchmarks:
        for metric in headlines(benchmark):
            rows = best_first(book.lookup.statistics_of(benchmark.benchmark, metric.name), metric)
            best = overall.get((benchmark.benchmark, metric.name))
            found.append(_Question(book, palette, benchmark, metric, rows, best))
    return [question for question in found if question.rows]


def _in_turn(questions: Sequence[_Question]) -> list[_Question]:
    """The first of each subject, then the second of each, so that few cards cover all that was measured."""
    of: dict[Subject, list[_Question]] = defaultdict(list)
    for question in questions:
        of[question.benchmark.subject].append(question)
    turns = zip_longest(*(of[subject] for subject in ORDER if subject in of))
    return [question for turn in turns for question in turn if question is not None]


def _answered(question: _Question) -> _Answer | None:
    if len(question.rows) == 1:
        return _alone(question)
    if len(question.rows) == 2:
        return _of_two(question)
    if question.best is None:
        return _Answer("open", "Not decided", f"{len(question.rows):,}", "configurations; no test of all is stored")
    return _of_many(question, question.best)


def _alone(question: _Question) -> _Answer:
    (row,) = question.rows
    scale = question.book.lookup.scale(question.benchmark.benchmark, question.metric)
    interval = f"{scale.number(row.low)} to {scale.text(row.high)}" if row.n > 1 else ""
    about = "median" if row.n > 1 else "a single run, so nothing says how far to trust it"
    return _Answer(
        "open",
        question.names[row.configuration],
        scale.text(row.median),
        f"{about}, n = {row.n:,}" if row.n > 1 else about,
        interval=interval,
        coverage=row.coverage,
        winners=(row.configuration,),
    )


def _of_two(question: _Question) -> _Answer | None:
    first, second = (row.configuration for row in question.rows)
    row = question.pair(first, second)
    if row is None:
        return None
    if row.verdict is ComparisonVerdict.WORSE:
        first, second, row = second, first, _mirrored(row)
    caution, alpha = _sentence(row.note), question.book.lookup.study.levels.alpha
    if row.verdict is ComparisonVerdict.BETTER:
        told = _ratio(question, row, second, "the other")
        return _Answer(
            "decided", f"Best: {question.names[first]}", *told, sure=_wrong_winner(alpha), caution=caution,
            coverage=row.coverage, of_ratio=True, winners=(first,),
        )  # fmt: skip
    if row.verdict is ComparisonVerdict.TIE:
        return _Answer(
            "tie", f"A tie: {question.called([first, second])}", *_ratio(question, row, second, "the other"),
            sure=f"They differ by less than {row.margin_percent:g} %. {_wrong('call such a tie wrongly', alpha)}",
            caution=caution, coverage=row.coverage, of_ratio=True, winners=(first, second),
        )  # fmt: skip
    if row.low is None:
        why = f"n = {row.n_left:,} and {row.n_right:,} is too few for any claim"
        return _Answer("open", "Not decided", "", why, caution=caution, winners=())
    why = f"{question.names[first]} is {row.reason}." if row.reason else _undecided(row)
    told = _ratio(question, row, second, "the other")
    return _Answer("open", "Not decided", *told, sure=why, caution=caution, coverage=row.coverage, of_ratio=True)


def _of_many(question: _Question, best: BestRow) -> _Answer:
    caution = " ".join(text for text in (_sentence(best.reason), _sentence(best.note)) if text)
    if best.method == "none":
        once = best.n_most == 1
        why = "each was measured once" if once else "too few of them were measured more than once"
        return _Answer("open", "Not decided", f"{best.of:,}", f"configurations; {why}", caution=caution)
    unknown = f" Of {question.called(best.open)}, too little is known." if best.open else ""
    candidates = (*best.best, *best.open)
    if len(candidates) == 1 and best.excluded:
        return _winner(question, best, caution)
    if not best.excluded and not best.tied:
        return _Answer(
            "open", "Not decided", f"{best.of:,}", "configurations, any of which may be the best" + _detectable(best),
            sure=unknown.strip(), caution=caution,
        )  # fmt: skip
    named = len(candidates) <= MAX_WINNERS
    which = (
        question.called(candidates, "and" if best.tied else "or") if named else f"{len(candidates):,} configurations"
    )
    state: State = "tie" if best.tied else "decided"
    answer = f"A tie: {which}" if best.tied else f"Best: {'' if named else 'one of '}{which}"
    left = f"the other {best.excluded:,} {'is' if best.excluded == 1 else 'are'} worse" if best.excluded else ""
    lead = f"lead, within {best.margin_percent:g} % of each other" if best.tied else "may be the best"
    return _Answer(
        state, answer, f"{len(candidates):,} of {best.of:,}",
        "; ".join(part for part in (lead, left, _detectable(best)[2:]) if part),
        sure=_wrong("leave out the best", best.alpha) + unknown, caution=caution, winners=candidates,
    )  # fmt: skip


def _winner(question: _Question, best: BestRow, caution: str) -> _Answer:
    """The only winner, against the configuration with the next median, as far as their comparison is decided."""
    (name,) = best.best
    answer, sure = f"Best: {question.names[name]}", _wrong_winner(best.alpha)
    following = next((row.configuration for row in question.rows if row.configuration != name), None)
    pair = question.pair(name, following) if following else None
    if pair is None or following is None or pair.verdict not in {ComparisonVerdict.BETTER, ComparisonVerdict.TIE}:
        row = next(row for row in question.rows if row.configuration == name)
        scale = question.book.lookup.scale(question.benchmark.benchmark, question.metric)
        interval = f"{scale.number(row.low)} to {scale.text(row.high)}"
        about = f"median; the best of {best.of:,}"
        return _Answer(
            "decided", answer, scale.text(row.median), about, interval, sure, caution, row.coverage, winners=(name,)
        )
    told = _ratio(question, pair, following, "the next of " + f"{best.of:,}")
    if best.close:
        sure = f"Within {best.margin_percent:g} % of it: {question.called(best.close)}. {sure}"
    return _Answer(
        "decided", answer, *told, sure=sure, caution=caution, coverage=pair.coverage, of_ratio=True, winners=(name,)
    )


def _ratio(question: _Question, row: Comparison, second: str, place: str) -> tuple[str, str, str]:
    """Number, what it is, and its interval."""
    lower = "; lower is better" if row.direction is Direction.LOWER else ""
    interval = ""
    if row.low is not None and row.high is not None:
        interval = f"{people.ratio(row.low)} to {people.ratio(row.high)}"
    next_one = "" if place == "the other" else f", {place}"
    return people.ratio(row.ratio), f"as much as {question.names[second]}{next_one}{lower}", interval


def _undecided(row: Comparison) -> str:
    more = row.more_replicates_needed
    then = f" About {people.plural(more, 'more replicate')} of each would probably decide it." if more else ""
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


def _card(question: _Question, answer: _Answer) -> Card:
    book, benchmark, metric = question.book, question.benchmark, question.metric
    scale = book.lookup.scale(benchmark.benchmark, metric)
    first = [row for row in question.rows if row.configuration in answer.winners]
    ordered = first[:MAX_BARS] + [row for row in question.rows if row.configuration not in answer.winners]
    drawn = bars(book.lookup, question.palette, ordered, scale)
    trials = [trial for row in ordered for trial in row.trials]
    found = book.evidence.cite(trials, f"verdict on {metric.title} in {benchmark.benchmark}")
    return Card(
        question=metric.title,
        benchmark=benchmark.benchmark,
        metric=metric.name,
        href=book.href(section_anchor(benchmark.benchmark)),
        state=answer.state,
        answer=answer.answer,
        number=answer.number,
        about=answer.about,
        interval=answer.interval,
        sure=answer.sure,
        caution=answer.caution,
        costs=cost_lines(book, benchmark.benchmark, metric, answer.winners, question.names),
        bars=drawn,
        more=len(question.rows) - len(drawn) if drawn else 0,
        label=f"{len(set(trials)):,} trials",
        evidence=book.href(found.anchor) if found else None,
        coverage=answer.coverage,
    )


def _mirrored(row: Comparison) -> Comparison:
    words = {"better": "worse", "worse": "better"}
    return row.model_copy(
        update={
            "left": row.right,
            "right": row.left,
            "n_left": row.n_right,
            "n_right": row.n_left,
            "ratio": 1 / row.ratio,
            "low": None if row.high is None else 1 / row.high,
            "high": None if row.low is None else 1 / row.low,
            "verdict": row.verdict.opposite,
            "reason": re.sub(r"better|worse", lambda found: words[found[0]], row.reason),
        }
    )


def _about_intervals(answer: _Answer | None) -> str:
    """What the interval of the first card is."""
    if answer is None or answer.coverage is None:
        return ""
    what = "ratio" if answer.of_ratio else "median"
    return f"Intervals made this way contain the true {what} {int(100 * answer.coverage + 1e-9)} times in 100."


def _scope(questions: Sequence[_Question]) -> str:
    """Which machines the cards speak for, where these are not types of machines."""
    scopes = {row.scope for question in questions for row in question.rows}
    if scopes == {"this machine"}:
        return "The answers hold for this machine; another of its type may differ."
    if scopes & {"this machine", "these machines"}:
        return "The answers hold for the machines that were measured; others of their types may differ."
    return ""
