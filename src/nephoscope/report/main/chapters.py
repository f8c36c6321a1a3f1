"""The chapters of the main page: CPU, network, storage, OLTP, single-row operations and cost."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise

from nephoscope.analysis.answers import Question, answered, questions_of
from nephoscope.analysis.lookup import Lookup, MetricKey, grouped, unique
from nephoscope.insights.answers import Writer
from nephoscope.insights.names import names_benchmark, names_of, title_in_sentence, title_with_benchmark
from nephoscope.insights.standing import memory_place_of, memory_sentence, memory_source, place_of, placed, sentence
from nephoscope.model.numbers import quantity, scale_for
from nephoscope.model.price_rows import CostRow
from nephoscope.model.questions import BestRow
from nephoscope.model.rows import BenchmarkRow
from nephoscope.model.standing import MemoryStanding, PublicMemory, PublicResult, Standing, StandingRow
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.model.words import capitalised, counted, provider_name, scope_name
from nephoscope.report.figures.results import Steps, steps_of
from nephoscope.report.figures.row_charts import OWN, strip
from nephoscope.report.figures.searches import qualification
from nephoscope.report.figures.spec import Spec
from nephoscope.report.figures.steps import best_over_warehouses
from nephoscope.report.figures.storage import storage_shares
from nephoscope.report.main import chapter_figures, cost_figures, curves, outages
from nephoscope.report.main.advertised import delivered_over_time, measured_of_advertised
from nephoscope.report.main.boards import TOP_OF_CHAPTER, Board, boards_of, in_order, main_board
from nephoscope.report.main.core_pairs import core_pairs
from nephoscope.report.main.cost_figures import operation_costs
from nephoscope.report.main.money import cheapest
from nephoscope.report.main.palette import Palette, for_machines, palette_of
from nephoscope.report.parts import (
    Book,
    Cell,
    Column,
    Figure,
    Link,
    Row,
    Table,
    evidence_cell,
    filled,
    level_cell,
    rank_cell,
    section_anchor,
)
from nephoscope.report.wording import candidates_text, title_with_unit

MAX_FIGURES = 3
MAX_SAID = 3
"""Sentences about what was paid for; the others are on the evidence page."""
TITLES = {
    "cpu": "CPU",
    "memory": "Memory",
    "network": "Network",
    "storage": "Storage",
    "oltp": "OLTP",
    "key-value": "Single-row operations",
    "faults": "Faults",
}
"""Chapters in their order."""
Draw = Callable[[Book], Figure | None]


@dataclass(frozen=True)
class Opening:
    """A sentence at the start of a chapter, with its trials."""

    text: str
    label: str
    href: str | None


@dataclass(frozen=True)
class Chapter:
    """One subject: an opening sentence, at most three figures, one table, and of databases what an operation costs."""

    anchor: str
    title: str
    opening: Opening | None
    paid_for: tuple[Opening, ...] = ()
    """What was measured of what providers advertise."""
    figures: tuple[Figure, ...] = ()
    table: Table | None = None
    also: Table | None = None
    """Of faults: what has no room beside how long clients waited."""
    costs: Table | None = None
    more: tuple[Link, ...] = ()
    """Where the rest is."""
    is_folded: bool = False
    """The table repeats what the figures show, with intervals and evidence: a reader who wants that unfolds it."""
    is_half: bool = False
    """It shares a row with the chapter before or after it, where the window is wide."""

    @property
    def columns(self) -> int:
        """Figures side by side, where the window is wide: two, or a narrow one beside one with two panels."""
        panels = [figure.columns for figure in self.figures]
        if sorted(panels) == [1, 2]:
            return sum(panels)
        return max(1, min(2, panels.count(1)))

    @property
    def place(self) -> int:
        """How many of such places share the width of the page."""
        return 2 if self.is_half else self.columns


def chapters(book: Book, on_cards: Collection[tuple[str, str]] = ()) -> list[Chapter]:
    """The chapters of which the study has results.

    Args:
        book: of the page.
        on_cards: (benchmark, metric) of which a card shows every bar: chapters do not draw them again.
    """
    palette = palette_of(book.lookup)
    found: list[Chapter | None] = []
    for key, rows in _by_chapter(book.lookup).items():
        boards = [board for row in rows for board in boards_of(book.lookup, row)]
        if boards:
            found.append(book.section(f"chapter {TITLES[key]}", _chapter, key, rows, boards, palette, on_cards))
    found += [book.section("chapter Cost", _cost, palette), book.section("chapter Among cloud types", _standing)]
    return _beside([chapter for chapter in found if chapter])


def _beside(found: Sequence[Chapter]) -> list[Chapter]:
    """Two chapters that follow each other stand side by side if each is one small figure."""
    halves: set[int] = set()
    for place, pair in enumerate(pairwise(found)):
        if place not in halves and all(one.columns == 1 and one.is_folded for one in pair):
            halves |= {place, place + 1}
    return [replace(one, is_half=place in halves) for place, one in enumerate(found)]


def chapter_of(row: BenchmarkRow) -> str:
    """The chapter of a benchmark, by the subject and the load that it declares, and whether it inflicts faults."""
    if outages.inflicts(row):
        return "faults"
    if row.subject is Subject.DATABASE:
        return (row.database_load or DatabaseLoad.OLTP).value
    return row.subject.value


def _by_chapter(lookup: Lookup) -> dict[str, list[BenchmarkRow]]:
    """Benchmarks of each chapter that has any, in the order of the page: that of the study's headline leads its own."""
    asked = lookup.study.headline
    ordered = sorted(lookup.study.benchmarks, key=lambda row: asked is None or row.benchmark != asked.benchmark)
    found = {key: [row for row in ordered if chapter_of(row) == key] for key in TITLES}
    return {key: rows for key, rows in found.items() if rows}


def _chapter(
    book: Book,
    key: str,
    rows: Sequence[BenchmarkRow],
    boards: Sequence[Board],
    palette: Palette,
    on_cards: Collection[tuple[str, str]],
) -> Chapter:
    if key == "faults":
        return _of_faults(book, rows, palette)
    names = [row.benchmark for row in rows]
    palette = for_machines(palette, book.lookup, names)
    asked = book.lookup.study.headline
    divided = asked is not None and asked.view == "per CPU" and asked.benchmark == names[0]
    steps = [one for one in steps_of(rows) if one.per_cpu]
    of_steps = {row.benchmark for one in steps for _, row in one.rows}
    boards = [board for board in boards if board.row.benchmark not in of_steps] or boards
    first, per_cpu = boards[0], [one for one in boards if one.metric.per_cpu]
    ranking_per_cpu = partial(chapter_figures.ranking, boards=per_cpu, palette=palette, per_cpu=True)
    second = ranking_per_cpu if key == "cpu" else partial(_course, rows=rows, steps=steps, palette=palette)
    qualified = qualification(book, rows) if len(rows) > 1 else None
    known = all(board.key in on_cards for board in boards)
    ranking = partial(chapter_figures.ranking, boards=boards, palette=palette)
    wanted: list[Draw] = [
        *((ranking_per_cpu,) if divided else ()),
        *(() if known or (divided and steps) else (ranking,)),
        partial(delivered_over_time, rows=rows, palette=palette),
        partial(measured_of_advertised, rows=rows, palette=palette),
        second,
        partial(_differences, benchmarks=names),
        partial(chapter_figures.winners, board=first, palette=palette),
        *(partial(draw, row=row, palette=palette) for row in rows for draw in (core_pairs, curves.response_times)),
    ]
    return Chapter(
        anchor=f"chapter-{key}",
        title=TITLES[key],
        opening=_opening(book, boards),
        paid_for=tuple(_said(book, names, ("promised", "advertised"))),
        figures=() if qualified else _drawn(book, wanted) or _drawn(book, [ranking]),
        table=qualified or chapter_table(book, boards, palette.called),
        costs=operation_costs(book, rows, palette.called) if key in {load.value for load in DatabaseLoad} else None,
        is_folded=qualified is None and len(book.lookup.configurations) <= FEW,
        more=tuple(Link(row.benchmark, book.href(section_anchor(row.benchmark))) for row in rows),
    )


def _of_faults(book: Book, rows: Sequence[BenchmarkRow], palette: Palette) -> Chapter:
    """What clients saw, what was lost, and what that costs."""
    names = [row.benchmark for row in rows]
    waited, done = outages.faults_tables(book, rows, palette)
    return Chapter(
        anchor="chapter-faults",
        title=TITLES["faults"],
        opening=None,
        paid_for=tuple(_said(book, names, ("losses", "outage_costs"))),
        figures=_drawn(book, [partial(outages.courses, rows=rows, palette=palette)]),
        table=waited,
        also=done,
        costs=outages.costs_table(book, rows, palette),
        more=tuple(Link(name, book.href(section_anchor(name))) for name in names),
    )


def _differences(book: Book, benchmarks: Sequence[str]) -> Figure | None:
    return chapter_figures.contrasts(book, benchmarks) or chapter_figures.families(book, benchmarks)


def _course(book: Book, rows: Sequence[BenchmarkRow], steps: Sequence[Steps], palette: Palette) -> Figure | None:
    """The best over the loads of a series of benchmarks; else the first curve that one of the chapter measured."""
    found = (best_over_warehouses(book, one, called=palette.called) for one in steps)
    curve = (curves.curve(book, row, palette) for row in rows)
    return next((figure for figure in chain(found, curve) if figure), None)


def _drawn(book: Book, wanted: Iterable[Draw]) -> tuple[Figure, ...]:
    """The first figures that exist; no others are made, as each takes a number.

    A wide one stands before or behind the two that share a row.
    """
    found: list[Figure] = []
    for draw in wanted:
        if len(found) < MAX_FIGURES:
            found += book.figures(draw)
    between = [figure.columns > 1 for figure in found] == [False, True, False]
    return book.reordered([found[0], found[2], found[1]]) if between else tuple(found)


def _opening(book: Book, boards: Sequence[Board]) -> Opening | None:
    """The answer about the first headline metric of which one is decided, else about the first; as on its card."""
    questions: dict[MetricKey, Question] = {}
    for one in questions_of(book.lookup, in_order(book.lookup)):
        questions.setdefault(one.key, one)  # of two views of the study's headline, the one that it asks for
    wanted = (questions[board.key] for board in boards if board.key in questions)
    asked = [(question, answer) for question in wanted if (answer := answered(question))]
    found = next((one for one in asked if one[1].state != "open"), next(iter(asked), None))
    if found is None:
        return None
    question, answer = found
    writer = Writer(answer, names_of(book.lookup))
    return _cited(book, " ".join(filter(None, (writer.sentence, writer.words.after))), question.trials)


def _said(book: Book, benchmarks: Sequence[str], rules: Sequence[str]) -> Iterator[Opening]:
    """Sentences of these rules about these benchmarks."""
    found = [one for one in book.lookup.study.insights if one.rule in rules and one.benchmark in benchmarks]
    for one in sorted(found, key=lambda one: rules.index(one.rule))[:MAX_SAID]:
        yield _cited(book, str(one.text), one.trials)


def _cited(book: Book, text: str, trials: Sequence[str]) -> Opening:
    evidence = book.evidence.cite(trials, text)
    label = counted(len(set(trials)), "trial")
    return Opening(text, label, book.href(evidence.anchor) if evidence else None)


def _cost(book: Book, palette: Palette) -> Chapter | None:
    """None when nothing has a price."""
    board = main_board(book.lookup)
    if board is None or not board.prices(book.lookup):
        return None
    said = cheapest(book.lookup, board.row.benchmark, board.metric)
    name = "" if names_benchmark(board.metric, board.row.benchmark) else f" ({board.row.benchmark})"
    return Chapter(
        anchor="chapter-cost",
        title="Cost",
        opening=_cited(
            book,
            f"{title_in_sentence(board.metric)}{name}: {said.clause}.",
            said.trials,
        )
        if said
        else None,
        figures=_drawn(book, _cost_figures(board, palette)),
        table=cost_figures.table(book, board, palette),
        is_folded=True,
        more=(Link("every price with its formula", book.href("costs")),),
    )


def _standing(book: Book) -> Chapter | None:
    """Among public results; None unless a machine that exists ran what they are of, CPUs in the same version."""
    found = placed(book.lookup.study)
    if found is None or not (found.rows or found.memory):
        return None
    said = [*([sentence(found)] if found.rows else []), *([memory_sentence(found)] if found.memory else [])]
    return Chapter(
        anchor="chapter-standing",
        title="Among cloud types",
        opening=Opening(" ".join(said), "", None),
        figures=tuple(figure for draw in (_strip_figure, _memory_strip) for figure in book.figures(draw, found)),
    )


def _cost_figures(board: Board, palette: Palette) -> Iterator[Draw]:
    yield partial(cost_figures.per_unit, board=board, palette=palette)
    yield partial(cost_figures.whole, board=board, palette=palette)
    yield partial(_shares, palette=palette)
    yield partial(cost_figures.transfer, palette=palette)


def _shares(book: Book, palette: Palette) -> Figure | None:
    """A bar for the month of each configuration with volumes; of more than have room, shares by kind of storage."""
    priced = [row for row in book.lookup[CostRow] if row.storage_share and row.basis == book.lookup.basis]
    if len(priced) > TOP_OF_CHAPTER:
        return storage_shares(book, only=book.lookup.basis)
    return cost_figures.months(book, palette)


FEW = 8
MAX_COLUMNS = 4
MAX_WINNERS = 6
MAX_NAMED = 3


def chapter_table(book: Book, boards: Sequence[Board], called: Mapping[str, str]) -> Table | None:
    """None when there is nothing beyond what the figures say."""
    if len(book.lookup.configurations) <= FEW:
        return _levels(book, boards[:MAX_COLUMNS], called)
    return _winners(book, boards, called)


def _levels(book: Book, boards: Sequence[Board], called: Mapping[str, str]) -> Table:
    """A row for each configuration, a column for each headline metric; ordered by the one that most have."""
    lead = max(boards, key=lambda board: len(board.ranked(book.lookup)))
    by = title_with_benchmark(lead.metric, lead.row.benchmark)
    columns = [Column("Configuration"), Column("Rank", numeric=True, hint=f"By {by}; a range if uncertain.")]
    for board in boards:
        scale = book.lookup.scale(board.row.benchmark, board.metric)
        columns.append(Column(title_with_unit(board.metric, scale), numeric=True, hint=board.row.benchmark))
    columns.append(Column("n", numeric=True, hint=f"Valid replicates of {by}."))
    ranks = book.lookup.ranks.get((*lead.key, "plain", None), {})
    body = []
    for name in unique(
        name for board in (lead, *boards) for name in book.lookup.ranked(board.row.benchmark, board.metric)
    ):
        found = book.lookup.of_configuration(*lead.key, name)
        cells = [
            Cell(called[name], tone="name"),
            rank_cell(ranks.get(name)),
            *(_level(book, board, name) for board in boards),
        ]
        body.append(Row((*cells, Cell(str(found[0].n) if found else "0"))))
    return Table("Levels and their intervals", tuple(columns), tuple(body), compact=True)


def _level(book: Book, board: Board, configuration: str) -> Cell:
    found = book.lookup.of_configuration(board.row.benchmark, board.metric.name, configuration)
    if not found and not book.lookup.trials_of(board.row.benchmark, configuration):
        return Cell("not measured", tone="quiet")
    if not found:
        return Cell("no valid trial", tone="warn")
    one, scale = found[0], book.lookup.scale(board.row.benchmark, board.metric)
    return level_cell(book, one, scale, f"{one.benchmark} on {configuration}", with_unit=False)


def _winners(book: Book, boards: Sequence[Board], called: Mapping[str, str]) -> Table | None:
    """The best of each metric overall, then of clouds and sizes where all of them fit; None where nothing was decided.

    A table that had one cloud and not the others would answer a question that nobody asked.
    """
    wanted = {board.key: board for board in boards}
    rows = [
        one
        for one in book.lookup[BestRow]
        if one.view == "plain" and one.method != "none" and (one.benchmark, one.metric) in wanted
    ]
    if not rows:
        return None
    order = list(wanted)
    rows = sorted(rows, key=lambda one: order.index((one.benchmark, one.metric)))
    shown: list[BestRow] = []
    for kind in grouped(rows, lambda one: one.scope.kind).values():
        if shown and len(shown) + len(kind) > MAX_WINNERS:
            break
        shown += kind[:MAX_WINNERS]
    shown.sort(key=rows.index)

    def best(one: BestRow) -> Cell:
        about = f"{one.benchmark}: {one.metric}, {scope_name(one.scope)}"
        return evidence_cell(book, _named(one, called), one.trials, about)

    more = len(rows) - len(shown)
    return filled(
        "The best, overall and of each kind",
        shown,
        (
            Column("Metric"),
            lambda one: Cell(chapter_figures.title_among(wanted[one.benchmark, one.metric], boards), tone="name"),
        ),
        (Column("Among"), lambda one: f"{scope_name(one.scope)}, {counted(one.of, 'configuration')}"),
        (Column("The best"), best),
        (
            Column("Worse", numeric=True, hint="Configurations that were shown not to be the best."),
            lambda one: str(one.excluded),
        ),
        note=f"{counted(more, 'more answer')} on the evidence page." if more > 0 else "",
    )


def _named(row: BestRow, called: Mapping[str, str]) -> str:
    if not row.excluded:
        return f"any of {row.of - len(row.open)}" + (f"; {len(row.open)} unknown" if row.open else "")
    unknown = f"; {len(row.open)} unknown" if row.open else ""
    return candidates_text([called[name] for name in row.best], MAX_NAMED) + unknown


def _strip_figure(book: Book, standing: Standing) -> Figure | None:
    """CPUs; None if none is placed while all of its machine work."""
    whole = [row for row in standing.rows if not row.alone]
    if not whole:
        return None
    days = sorted(one.date for one in standing.among)
    places = " ".join(place_of(row, standing) for row in whole[:3])
    return book.figure(
        "Where these machines stand among cloud types",
        f"stress-ng {standing.version}, method div16: a line for each machine type.",
        f"Measured by others, once on one machine of each type, between {days[0]} and {days[-1]}: {standing.source}, "
        f"{standing.licence}. All are of one version of stress-ng, but Arm and x86 need different builds. "
        + (f"{capitalised(standing.why_not)}." if standing.why_not else ""),
        [("", places, _strip(standing.among, whole, "bogo-ops/s"))],
    )


def _memory_strip(book: Book, standing: Standing) -> Figure | None:
    """Memory; None if none is placed."""
    if not standing.memory:
        return None
    places = " ".join(memory_place_of(row, standing) for row in standing.memory[:3])
    return book.figure(
        "Where memory stands among cloud types",
        "Read by all CPUs together, per CPU, in working sets larger than caches: a line for each machine type.",
        memory_source(standing),
        [("", places, _strip(standing.memory_among, standing.memory, "B/s"))],
    )


def _strip(
    among: Sequence[PublicResult] | Sequence[PublicMemory],
    own: Sequence[StandingRow] | Sequence[MemoryStanding],
    unit: str,
) -> Spec:
    scale = scale_for(unit, [one.per_vcpu_per_s for one in among])

    def mark(row: str, name: str, per_cpu: float, cpus: int) -> dict[str, object]:
        text = f"{quantity(per_cpu, unit)} per CPU, on {counted(cpus, 'CPU')}"
        return {"row": row, "name": name, "value": scale.value(per_cpu), "text": text}

    types = [mark(provider_name(one.provider), one.type, one.per_vcpu_per_s, one.vcpus) for one in among]
    machines = [mark(OWN, row.configuration, row.per_vcpu_per_s, row.cpus) for row in own]
    providers = sorted(unique(str(one["row"]) for one in types))
    return strip(providers, types, machines, f"{scale.unit} per CPU, higher is better")
