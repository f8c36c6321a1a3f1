"""The verdict: a card for each headline question with its answer, a picture, and what it costs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from nephoscope.analysis.answers import MACHINES_ALONE, Answer, Question, State, answered, hosts_of, questions_of
from nephoscope.analysis.lookup import Lookup, grouped, unique
from nephoscope.analysis.usable import DIR, UsableCell
from nephoscope.insights.answers import Writer
from nephoscope.insights.names import enumerated, metric_title, names_benchmark, names_of
from nephoscope.model import numbers as people
from nephoscope.model.numbers import Scale
from nephoscope.model.rows import Statistic, TrialRow
from nephoscope.model.subjects import Subject
from nephoscope.model.words import counted
from nephoscope.report.figures import theme
from nephoscope.report.figures.results import Series, series_of, workload
from nephoscope.report.main.boards import in_order
from nephoscope.report.main.money import cost_lines
from nephoscope.report.main.palette import Palette, palette_of
from nephoscope.report.parts import Book, section_anchor
from nephoscope.report.sections.trials import lost
from nephoscope.report.wording import Line, line_of, lines_text

Asked = tuple[Question, Answer]
MAX_EVENTS = 2
"""Of a card: those that cost most."""
OF_FAULTS = ("outages", "losses", "outage_costs")
"""Rules whose sentences are on the card of a benchmark with faults."""
MAX_CARDS = 5
"""Further questions are in a table that a reader unfolds."""


LEVELS = (
    "Configurations are compared by their levels, and a ratio is the quotient of two of them: geometric means, without "
    "what a whole block was faster or slower. The evidence has the medians."
)


_LEAST_POINTS = 2


@dataclass(frozen=True)
class CurveLine:
    """One configuration; its points in percent of the width and of the height, from the top left."""

    name: str
    colour: str
    points: str


@dataclass(frozen=True)
class Curve:
    """Rates over loads, both axes from zero."""

    lines: tuple[CurveLine, ...]
    about: str
    """What the axes are: '50 to 150 active warehouses per vCPU, up to 4,120/min'."""


MAX_BARS = 4


@dataclass(frozen=True)
class Bar:
    """One configuration: its level and interval as percentages of the longest bar."""

    name: str
    value: str
    level: float
    low: float
    high: float
    colour: str
    glyph: str
    line: Line
    about: str
    """How many values the line rests on, and how often such lines contain the true level."""


@dataclass(frozen=True)
class Card:
    """One question and its answer."""

    question: str
    of: str
    """The benchmark, beside a question that does not say it."""
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
    faults: tuple[str, ...]
    """Where the benchmark inflicts faults: when servers were back, what was lost, and what that costs."""
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
    if (
        len(first) > 1
        and len({question.metric.name for question, _ in first}) == 1
        and all(map(_asked_of_one, questions))
    ):
        found = [_not_compared(book, [question for question, _ in first], palette)]
    else:
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
    ordered = _drawn_first(book.lookup, question, answer, palette)
    drawn = bars(book.lookup, palette, ordered, writer.scale)
    trials = question.trials
    found = book.evidence.cite(trials, f"verdict on {metric.title} in {benchmark.benchmark}")
    return Card(
        question=metric_title(metric, per_cpu=question.view == "per CPU"),
        of="" if names_benchmark(metric, benchmark.benchmark) else benchmark.benchmark,
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
        faults=tuple(
            str(one.text)
            for one in book.lookup.study.insights
            if one.rule in OF_FAULTS and one.benchmark == benchmark.benchmark
        ),
        costs=cost_lines(book, benchmark.benchmark, metric, answer.winners),
        bars=drawn,
        more=len(question.rows) - len(drawn) if drawn else 0,
        label=counted(len(set(trials)), "trial"),
        evidence=book.href(found.anchor) if found else None,
        coverage=answer.coverage,
        curve=curve(question, writer.scale, [row.configuration for row in ordered[: len(drawn)]], palette, series),
    )


def _drawn_first(lookup: Lookup, question: Question, answer: Answer, palette: Palette) -> list[Statistic]:
    """The rows for bars, best first: of several clouds the best of each has one, so that a card compares clouds.

    Of hosts that should be equal the slow ones come first.
    """
    if lookup.study.equal_hosts:
        rows, named = question.rows[::-1], answer.slow or answer.winners
        return sorted(rows, key=lambda row: row.configuration not in named)
    rows = question.rows
    of_clouds = grouped(rows, lambda row: palette.of[row.configuration]) if palette.by == "provider" else {}
    best = [of_cloud[0].configuration for of_cloud in of_clouds.values()]
    first = {name: place for place, name in enumerate(dict.fromkeys([*best, *answer.winners]))}
    chosen = sorted(rows, key=lambda row: first.get(row.configuration, len(first)))
    shown = {row.configuration for row in chosen[:MAX_BARS]}
    return [row for row in rows if row.configuration in shown] + chosen[MAX_BARS:]


def _not_compared(book: Book, questions: Sequence[Question], palette: Palette) -> Card:
    """The card of several configurations of which each ran a benchmark of its own: their numbers beside each other."""
    rows, metric, lookup = [question.rows[0] for question in questions], questions[0].metric, book.lookup
    scale = people.scale_for(metric.unit, [row.compared.value for row in rows])
    drawn, benchmarks = bars(lookup, palette, rows, scale), counted(len(questions), "benchmark")
    trials = [trial for row in rows for trial in row.trials]
    found = book.evidence.cite(trials, f"{metric.title} in {benchmarks}")
    about = "configurations, each with a benchmark of its own"
    levels = enumerated([f"{palette.called[row.configuration]} {scale.text(row.compared)}" for row in rows])
    costs = (cost_lines(book, row.benchmark, metric, [row.configuration])[:1] for row in rows[:MAX_BARS])
    return Card(
        question=metric_title(metric),
        of=benchmarks,
        benchmark=benchmarks,
        metric=metric.name,
        href=book.href("benchmarks"),
        state="open",
        answer="Not compared",
        sentence=f"{metric_title(metric)} in {benchmarks}: {levels}",
        before="",
        number=f"{len(rows):,}",
        about=about,
        interval="",
        after="",
        sure="",
        caution="",
        events=(),
        faults=(),
        costs=tuple(line for lines in costs for line in lines),
        bars=drawn,
        more=len(rows) - len(drawn) if drawn else 0,
        label=counted(len(set(trials)), "trial"),
        evidence=book.href(found.anchor) if found else None,
        coverage=None,
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


MAX_COMMANDS = 2


@dataclass(frozen=True)
class Repair:
    """What is above the verdict where trials cannot be used."""

    text: str
    then: str
    commands: tuple[str, ...]


def repair(lookup: Lookup, folder: str = DIR) -> Repair | None:
    """None if all trials can be used, or nobody here can repeat them."""
    trials = [row for row in lookup[TrialRow] if row.state != "not needed"]
    usable = sum(row.counts for row in trials)
    if usable == len(trials) or lookup.study.source is not None:
        return None
    found = (one.command(folder) for cell in lookup[UsableCell] for one in cell.unusable)
    commands = unique(one for one in found if one)
    why = ", ".join(lost(trials))
    then = f"{why[:1].upper()}{why[1:]}." if why else ""
    if commands:
        then += f" To repair it{', where DIR is the folder of the results' if folder == DIR else ''}:"
    said = f"Usable: {usable:,} of {counted(len(trials), 'trial')}."
    return Repair(said, then.strip(), tuple(commands[:MAX_COMMANDS]))


def curve(
    question: Question, scale: Scale, names: Sequence[str], palette: Palette, series: Sequence[Series]
) -> Curve | None:
    """Args: `names`: of the configurations with a bar. None where the benchmark is no step, or no line has two."""
    benchmark = question.benchmark.benchmark
    steps = next((one for one in series if any(row.benchmark == benchmark for _, row in one.rows)), None)
    if steps is None:
        return None
    lookup, per_cpu = question.lookup, question.view == "per CPU"
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for at, row in steps.rows:
        for one in lookup.statistics_of(row.benchmark, question.metric.name, per_cpu=per_cpu):
            if one.configuration in found:
                found[one.configuration].append((at, one.compared.value))
    drawn = {name: points for name, points in found.items() if len(points) >= _LEAST_POINTS}
    highest = max((value for points in drawn.values() for _, value in points), default=0.0)
    if highest <= 0:
        return None
    loads = [at for points in drawn.values() for at, _ in points]
    lines = tuple(
        CurveLine(palette.called[name], palette.colour(name), _points(points, max(loads), highest))
        for name, points in drawn.items()
    )
    ends = f"{min(loads):,.15g} to {max(loads):,.15g} {steps.axis}"
    return Curve(lines, f"{ends}, up to {scale.text(highest)}")


def _points(points: Sequence[tuple[float, float]], most: float, highest: float) -> str:
    return " ".join(f"{100 * at / most:.1f},{30 - 30 * value / highest:.1f}" for at, value in sorted(points))


def bars(lookup: Lookup, palette: Palette, rows: Sequence[Statistic], scale: Scale) -> tuple[Bar, ...]:
    """A bar for each of the first rows, in their order. Empty where a bar from zero would say nothing."""
    shown = rows[:MAX_BARS]
    longest = max((row.compared.high for row in shown), default=0.0)
    if longest <= 0 or any(row.compared.low < 0 for row in shown):
        return ()
    return tuple(_bar(lookup, palette, row, scale, longest) for row in shown)


def _bar(lookup: Lookup, palette: Palette, row: Statistic, scale: Scale, longest: float) -> Bar:
    count = len(lookup.configurations)
    place = lookup.configurations.index(row.configuration)
    level = row.compared
    low, middle, high = (round(100 * value / longest, 2) for value in (level.low, level.value, level.high))
    glyph = theme.glyph(place, count) if palette.by == "configuration" else ""
    colour = palette.colour(row.configuration)
    name, about = palette.called[row.configuration], f"n = {row.n}; {lines_text([row])}"
    return Bar(name, scale.text(level.value), middle, low, high, colour, glyph, line_of(row), about)
