"""The verdict: a card for each headline question with its answer, a picture, and what it costs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from nephoscope.analysis.answers import MACHINES_ALONE, Answer, Question, State, answered, hosts_of, questions_of
from nephoscope.insights.answers import Writer
from nephoscope.insights.names import enumerated, metric_title, names_of
from nephoscope.model.subjects import Subject
from nephoscope.model.words import counted
from nephoscope.report.figures.series import Series, series_of, workload
from nephoscope.report.main.bars import MAX_BARS, Bar, bars
from nephoscope.report.main.boards import in_order
from nephoscope.report.main.cost_lines import cost_lines
from nephoscope.report.main.load_curves import Curve, curve
from nephoscope.report.main.palette import Palette, palette_of
from nephoscope.report.parts import Book
from nephoscope.report.tables.statistics import section_anchor

Asked = tuple[Question, Answer]
MAX_EVENTS = 2
"""Of a card: those that cost most."""
MAX_CARDS = 5
"""Further questions are in a table that a reader unfolds."""


LEVELS = (
    "Configurations are compared by their levels, and a ratio is the quotient of two of them: geometric means, without "
    "what a whole block was faster or slower. The evidence has the medians."
)


@dataclass(frozen=True)
class Card:
    """One question and its answer."""

    question: str
    benchmark: str
    metric: str
    href: str
    state: State
    answer: str
    sentence: str
    """The whole answer, as every other page and command gives it."""
    before: str
    number: str
    about: str
    interval: str
    after: str
    sure: str
    caution: str
    events: tuple[str, ...]
    """What happened in trials behind the number."""
    costs: tuple[str, ...]
    bars: tuple[Bar, ...]
    more: int
    """Configurations without a bar."""
    label: str
    evidence: str | None
    coverage: float | None
    curve: Curve | None = None
    """Where the benchmark is one of several loads: the same configurations over all of them."""


@dataclass(frozen=True)
class Verdict:
    """All cards: those that are shown, and those that a reader unfolds."""

    shown: list[Card]
    folded: list[Card]
    about_intervals: str
    about_chances: str
    about_levels: str
    scope: str

    @property
    def drawn(self) -> set[tuple[str, str]]:
        """(benchmark, metric) of each card that has a bar for every configuration."""
        return {(card.benchmark, card.metric) for card in self.shown if card.bars and not card.more}


def verdict(book: Book) -> Verdict:
    """A card for each headline metric with values; the study's headline, then of each kind of benchmark in turn.

    What only one of several configurations was measured for gets a card only if it is the study's headline, or nothing
    can be compared. Several loads of one workload share a card.
    """
    questions = _in_turn(questions_of(book.lookup, in_order(book.lookup)))
    asked = [(question, answer) for question in questions if (answer := answered(question)) is not None]
    asked = [(question, answer) for question, answer in asked if not _asked_of_one(question)] or asked
    palette = palette_of(book.lookup)
    series = series_of(book.lookup.study.benchmarks)
    first, others = _one_of_each(asked)
    found = [_card(book, question, answer, palette, series) for question, answer in first]
    folded = [_card(book, question, answer, palette, ()) for question, answer in others]
    answers = [answer for _, answer in asked]
    return Verdict(
        found[:MAX_CARDS],
        found[MAX_CARDS:] + folded,
        _about_intervals(answers),
        _about_chances(answers),
        LEVELS if any(answer.is_compared for answer in answers) else "",
        _scope([one for one, _ in asked]),
    )


def _one_of_each(asked: Sequence[Asked]) -> tuple[list[Asked], list[Asked]]:
    """The questions that get cards, and those of other loads of a workload that has one."""
    first: list[Asked] = []
    others: list[Asked] = []
    had: dict[tuple[str, str], str] = {}
    for question, answer in asked:
        name = question.benchmark.benchmark
        one = had.setdefault((workload(question.benchmark), question.metric.name), name) == name
        (first if one else others).append((question, answer))
    return first, others


def _asked_of_one(question: Question) -> bool:
    """Whether the study measures it on one of several configurations: a number without a comparison is no verdict.

    But for what the study is about: its reader came for that number.
    """
    headline = question.lookup.study.headline
    if headline is not None and headline.benchmark == question.benchmark.benchmark:
        return False
    return len(question.tried) == 1 and len(question.lookup.configurations) > 1


def _in_turn(questions: Sequence[Question]) -> list[Question]:
    """The first of each subject, then the second of each, so that few cards cover all that was measured."""
    of: dict[Subject, list[Question]] = defaultdict(list)
    for question in questions:
        of[question.benchmark.subject].append(question)
    turns = zip_longest(*of.values())
    return [question for turn in turns for question in turn if question is not None]


def _card(book: Book, question: Question, answer: Answer, palette: Palette, series: Sequence[Series]) -> Card:
    benchmark, metric, writer = question.benchmark, question.metric, Writer(answer, names_of(book.lookup))
    words = writer.words
    rows = question.rows[::-1] if book.lookup.study.equal_hosts else question.rows
    named = answer.slow or answer.winners
    first = [row for row in rows if row.configuration in named]
    ordered = first[:MAX_BARS] + [row for row in rows if row.configuration not in named]
    drawn = bars(book.lookup, palette, ordered, writer.scale)
    trials = [trial for row in ordered for trial in row.trials]
    found = book.evidence.cite(trials, f"verdict on {metric.title} in {benchmark.benchmark}")
    return Card(
        question=metric_title(metric) + (", per vCPU" if question.view == "per CPU" else ""),
        benchmark=benchmark.benchmark,
        metric=metric.name,
        href=book.href(section_anchor(benchmark.benchmark)),
        state=answer.state,
        answer=words.answer,
        sentence=writer.sentence,
        before=words.before,
        number=words.number,
        about=words.about,
        interval=words.interval,
        after=words.after,
        sure=words.sure,
        caution=words.caution,
        events=_events(book, question, trials),
        costs=cost_lines(book, benchmark.benchmark, metric, answer.winners),
        bars=drawn,
        more=len(question.rows) - len(drawn) if drawn else 0,
        label=counted(len(set(trials)), "trial"),
        evidence=book.href(found.anchor) if found else None,
        coverage=answer.coverage,
        curve=curve(question, writer.scale, [row.configuration for row in ordered[: len(drawn)]], palette, series),
    )


def _events(book: Book, question: Question, trials: Sequence[str]) -> tuple[str, ...]:
    """'2 CPUs, replicate 3: nothing was completed for 2 s, from 4 s on, at a cost of 1.2 % of the mean.'."""
    names, rows = names_of(book.lookup), (book.lookup.trials[trial] for trial in dict.fromkeys(trials))
    found = [(row, event) for row in rows for event in row.events if event.metric in {None, question.metric.name}]
    found.sort(key=lambda pair: -(pair[1].cost or 0.0))
    said = [
        f"{names[row.configuration]}, replicate {row.replicate}: {event.clause}." for row, event in found[:MAX_EVENTS]
    ]
    more = len(found) - MAX_EVENTS
    return (*said, f"The evidence has {counted(more, 'more event')} in these trials.") if more > 0 else tuple(said)


def _about_intervals(answers: Sequence[Answer]) -> str:
    """What the intervals are; where numbers of replicates differ, it speaks of the least sure ones."""
    least: dict[str, float] = {}
    for answer in answers:
        if answer.coverage is not None:
            what = "ratio" if answer.ratio else "level" if answer.is_compared else "median"
            least[what] = min(answer.coverage, least.get(what, 1.0))
    if not least:
        return ""
    said = [f"the true {what} {int(100 * coverage + 1e-9)} times in 100" for what, coverage in least.items()]
    return f"Intervals made this way contain {' and '.join(said)}."


def _about_chances(answers: Sequence[Answer]) -> str:
    """That the chances of errors add up; empty where at most one answer can be wrong, or their chances differ."""
    alphas = [answer.alpha for answer in answers if answer.alpha is not None]
    if len(alphas) < 2 or len(set(alphas)) > 1:
        return ""
    return (
        f"Each of the {len(alphas):,} answers has its own {100 * alphas[0]:g} %, so the chance that any of them is "
        "wrong is higher."
    )


def _scope(questions: Sequence[Question]) -> str:
    """Which machines the cards speak for, where these are not types of machines."""
    scopes = {row.scope for question in questions for row in question.rows}
    if not scopes & MACHINES_ALONE:
        return ""
    machines = {name for question in questions for name in question.machines}
    hosts = hosts_of(questions[0].lookup)
    if len(hosts) > 1:
        return f"These answers are about the hosts {enumerated(hosts)}, not about their type."
    if len(machines) < 2 and scopes == {"this machine"}:
        return "The answers hold for this machine; another of its type may differ."
    return "The answers hold for the machines that were measured; others of their types may differ."
