"""What sections consist of: tables, figures and badges, as values that the templates print."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, partial
from itertools import count
from typing import Concatenate, ParamSpec, TypeVar

from nephoscope.analysis.lookup import Lookup
from nephoscope.analysis.usable import DIR
from nephoscope.model.missing import MissingPart, contained
from nephoscope.model.numbers import MISSING, Scale, coverage
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import BenchmarkRow, Comparison, ComparisonVerdict, RankRow, Statistic, TrialRow
from nephoscope.model.words import NOT_DECIDED
from nephoscope.report.figures import theme
from nephoscope.report.figures.settled import settled
from nephoscope.report.figures.spec import Spec, is_plain, packed
from nephoscope.report.wording import interval_text, line_of, range_text

P = ParamSpec("P")
Made = TypeVar("Made")
Item = TypeVar("Item")


_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True)
class EvidenceSet:
    """The trials behind one or more numbers."""

    anchor: str
    label: str
    about: str
    trials: tuple[str, ...]


@dataclass
class EvidenceBook:
    """Gives each distinct set of trials one anchor, numbered in order of first use."""

    sets: dict[tuple[str, ...], EvidenceSet] = field(default_factory=dict)

    def cite(self, trials: Sequence[str], about: str) -> EvidenceSet | None:
        """The set of these trials in any order; None when there are none, or the page is full."""
        key = tuple(sorted(set(trials)))
        if not key or (key not in self.sets and len(self.sets) == MAX_SETS):
            return None
        if key not in self.sets:
            number = len(self.sets) + 1
            self.sets[key] = EvidenceSet(f"evidence-{number}", f"E{number}", about, key)
        return self.sets[key]


def slug(text: str) -> str:
    """A name as part of an anchor: safe characters only; a hash keeps names distinct when characters are replaced."""
    safe = _UNSAFE.sub("-", text)
    if safe == text:
        return safe
    return f"{safe.strip('-')}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def trial_anchor(trial: str) -> str:
    """Anchor of a trial's row."""
    return f"trial-{slug(trial)}"


FIRST_ROWS = 10
"""Visible rows of a long table before a reader unfolds it."""
FOLDED_FROM = 16
"""A table or group with fewer rows is shown in full: folding it would not be worth a click."""
MAX_TRIALS = 1_000
"""Listed trials: excluded ones first, then in plan order. The others link to their folders."""
MAX_SETS = 1_000
"""Sets of trials behind numbers, in the order in which the page uses them; later numbers have no link."""
MAX_LINKS = 100
"""Trials of one set or with one reason that get a link each."""
MAX_DRAWN_VALUES = 3_000
"""Values of headline metrics; with more, charts show medians, intervals and extremes instead of every trial."""
MAX_METRIC_ROWS = 600
"""Rows of one benchmark's table of all metrics."""
MAX_METRIC_ROWS_IN_ALL = 3_000
"""Rows of these tables of all benchmarks together."""


@dataclass(frozen=True)
class Badge:
    """A verdict: a sign and a word; never colour alone."""

    sign: str
    word: str
    tone: str


@dataclass(frozen=True)
class Link:
    """Linked text; plain text without `href`."""

    text: str
    href: str | None


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    text: str = ""
    href: str | None = None
    note: str = ""
    tone: str = ""
    title: str = ""
    badges: tuple[Badge, ...] = ()
    links: tuple[Link, ...] = ()
    lines: tuple[str, ...] = ()
    folded: str = ""
    """Text of several lines, of which only the first is visible at once."""
    code: bool = False


@dataclass(frozen=True)
class Column:
    """The head of a column; numbers are right-aligned."""

    title: str
    numeric: bool = False
    hint: str = ""
    is_aside: bool = False
    """Left out on a telephone."""

    @property
    def kinds(self) -> str:
        """Classes of its cells."""
        return " ".join(filter(None, ("n" if self.numeric else "", "aside" if self.is_aside else "")))


@dataclass(frozen=True)
class Row:
    """A row; `group` makes it a heading for the rows below."""

    cells: tuple[Cell, ...] = ()
    anchor: str | None = None
    group: Link | None = None
    group_note: str = ""


@dataclass(frozen=True)
class Chunk:
    """Rows of a table that are visible at once, and those that a reader must unfold."""

    shown: tuple[Row, ...]
    folded: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table with its caption; the first cell of each row is the row heading."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    anchor: str | None = None
    note: str = ""
    compact: bool = False

    @property
    def chunks(self) -> list[Chunk]:
        """The rows by group, each folded when it is long."""
        if len(self.rows) < FOLDED_FROM:
            return [Chunk(self.rows)]
        starts = [index for index, row in enumerate(self.rows) if row.group or index == 0]
        groups = [self.rows[start:end] for start, end in zip(starts, [*starts[1:], len(self.rows)], strict=True)]
        return [_chunk(group) for group in groups]


def filled(
    caption: str,
    rows: Iterable[Item],
    *columns: tuple[Column, Callable[[Item], Cell | str]],
    note: str = "",
    compact: bool = True,
) -> Table:
    """A table with a row for each item: each column has its head, and what makes a cell of an item."""
    made = [[make(item) for _, make in columns] for item in rows]
    body = tuple(Row(tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in cells)) for cells in made)
    return Table(caption, tuple(column for column, _ in columns), body, note=note, compact=compact)


def _chunk(rows: tuple[Row, ...]) -> Chunk:
    heads = 1 if rows[0].group else 0
    if len(rows) - heads < FOLDED_FROM:
        return Chunk(rows)
    return Chunk(rows[: heads + FIRST_ROWS], rows[heads + FIRST_ROWS :])


@dataclass(frozen=True)
class KeyEntry:
    """One line of a figure's key."""

    sign: str
    colour: str
    text: str


@dataclass(frozen=True)
class Panel:
    """One chart of a figure."""

    anchor: str
    title: str
    alt: str
    script: str

    @property
    def kind(self) -> str:
        """Media type of the script."""
        return "application/json" if is_plain(self.script) else "application/gzip"


@dataclass(frozen=True)
class Figure:
    """Charts with a title, a key, a caption and their data as a table."""

    number: int
    anchor: str
    title: str
    subtitle: str
    caption: str
    panels: tuple[Panel, ...]
    key: tuple[KeyEntry, ...] = ()
    table: Table | None = None
    table_link: Link | None = None
    columns: int = 1
    listed: Table | None = None
    """What the signs in the chart stand for: below it, on paper, too."""

    def numbered(self, number: int) -> "Figure":
        """The same with another number."""
        anchor = f"figure-{number}"
        panels = tuple(replace(panel, anchor=f"{anchor}-{index}") for index, panel in enumerate(self.panels, 1))
        return replace(self, number=number, anchor=anchor, panels=panels)


class Page(StrEnum):
    """The two pages of a report, by file name."""

    MAIN = "index.html"
    EVIDENCE = "evidence.html"


@dataclass(frozen=True)
class Book:
    """What the sections of both pages share while a report is being built: rows, evidence, figure numbers."""

    lookup: Lookup
    evidence: EvidenceBook = field(default_factory=EvidenceBook)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    page: Page = Page.EVIDENCE
    """The page that is being built."""
    mark: str = ""
    """What every figure says before its subtitle, such as that its data is simulated."""
    folder: str = DIR
    """The results folder as a command names it, where readers may know."""
    missing: list[MissingPart] = field(default_factory=list)
    """Figures and sections that raised, in the order of the pages."""
    drawn: list["Figure"] = field(default_factory=list)
    """Every figure of both pages, by its number."""

    @cached_property
    def listed(self) -> frozenset[str]:
        """The trials that have their own row on the page."""
        first = sorted(self.lookup[TrialRow], key=lambda row: (row.counts, row.position))
        return frozenset(row.trial for row in first[:MAX_TRIALS])

    @cached_property
    def draws_values(self) -> bool:
        """Whether charts of headline metrics show every trial."""
        boards = ((benchmark, metric.name) for benchmark, metric in self.lookup.headlines())
        return sum(len(self.lookup.values.get(board, ())) for board in boards) <= MAX_DRAWN_VALUES

    def section(
        self, name: str, make: Callable[Concatenate["Book", P], Made], *args: P.args, **kwargs: P.kwargs
    ) -> Made | None:
        """What `make` makes of this book; None where it raises, which adds a section to `missing`."""
        with contained(self.missing, "section", name):
            return make(self, *args, **kwargs)
        return None

    def figures(
        self,
        draw: Callable[Concatenate["Book", P], "Figure | Iterable[Figure | None] | None"],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> list["Figure"]:
        """The figures that `draw` draws, of which any may have nothing to show.

        Where it raises, the ones before stay, and a figure is added to `missing`.
        """
        drawn: list[Figure] = []
        with contained(self.missing, "figure", _named(draw, args)):
            found = draw(self, *args, **kwargs)
            each = [found] if found is None or isinstance(found, Figure) else found
            drawn.extend(figure for figure in each if figure is not None)
        return drawn

    def reordered(self, figures: Sequence["Figure"]) -> tuple["Figure", ...]:
        """These figures, whose numbers become those of their new order."""
        places = sorted(self.drawn.index(figure) for figure in figures)
        numbers = [self.drawn[place].number for place in places]
        for place, number, figure in zip(places, numbers, figures, strict=True):
            self.drawn[place] = figure.numbered(number)
        return tuple(self.drawn[place] for place in places)

    def turned_to(self, page: Page) -> "Book":
        """The same book, with the same evidence and figure numbers, for the sections of another page."""
        return replace(self, page=page)

    def href(self, anchor: str) -> str:
        """A link to an anchor of evidence.html, which has all rows of evidence, trials and full tables."""
        return f"#{anchor}" if self.page is Page.EVIDENCE else f"{Page.EVIDENCE}#{anchor}"

    def figure(
        self,
        title: str,
        subtitle: str,
        caption: str,
        panels: Sequence[tuple[str, str, Spec]],
        *,
        key: Sequence[KeyEntry] = (),
        table: Table | None = None,
        table_link: Link | None = None,
        listed: Table | None = None,
        columns: int | None = None,
        apart: bool = False,
    ) -> Figure:
        """A figure with the next number; each panel is (title, alternative text, specification).

        Two of them stand side by side, unless `columns` says another number.

        Its panels get common axes, unless they show quantities `apart`, and whole labels, and none is taller than a
        screen: see `figures.settled`.
        """
        settled_panels = [(one.title, one.alt, packed(one.spec)) for one in settled(panels, apart=apart)]
        number = next(self.numbers)  # now that nothing can fail: a figure that is missing leaves no gap
        anchor = f"figure-{number}"
        drawn = tuple(Panel(f"{anchor}-{index}", *panel) for index, panel in enumerate(settled_panels, 1))
        below = " · ".join(filter(None, (self.mark, subtitle)))
        self.drawn.append(
            Figure(
                number=number,
                anchor=anchor,
                title=title,
                subtitle=below,
                caption=caption,
                panels=drawn,
                key=tuple(key),
                table=table,
                table_link=table_link,
                columns=min(2, len(panels)) if columns is None else columns,
                listed=listed,
            )
        )
        return self.drawn[-1]

    def configuration_key(self, drawn: Collection[str]) -> tuple[KeyEntry, ...]:
        """Colour and sign of each configuration that is drawn, if there are few enough to tell apart by colour."""
        return configuration_key(self.lookup.configurations, drawn)


def configuration_key(names: Sequence[str], drawn: Collection[str]) -> tuple[KeyEntry, ...]:
    """Colour and sign of each of these configurations that is drawn; empty if colours cannot tell them apart."""
    if len(names) > theme.MAX_COLOURS:
        return ()
    return tuple(
        KeyEntry(theme.glyph(place, len(names)), theme.colour(place, len(names)), name)
        for place, name in enumerate(names)
        if name in drawn
    )


def _named(draw: Callable[..., object], arguments: Iterable[object]) -> str:
    """'tops.best_of_clouds of tpcc'; of a benchmark as far as one is among the arguments."""
    if isinstance(draw, partial):
        return _named(draw.func, (*draw.args, *draw.keywords.values()))
    benchmarks = [one.benchmark for one in arguments if isinstance(one, BenchmarkRow)]
    name = f"{draw.__module__.rpartition('.')[2]}.{draw.__qualname__}"
    return " of ".join([name, *benchmarks[:1]])


def validity_key(counts: Iterable[bool], valid: str = "valid", others: str = "excluded") -> list[KeyEntry]:
    """What filled and hollow signs mean, as far as there are any."""
    drawn = set(counts)
    entries = {
        True: KeyEntry("●", "var(--ink)", f"filled: {valid}"),
        False: KeyEntry("○", "var(--muted)", f"hollow: {others}"),
    }
    return [entry for kind, entry in entries.items() if kind in drawn]


def line_key(rows: Sequence[Statistic]) -> list[KeyEntry]:
    """What solid and dashed lines around levels are, as far as there are any."""
    lines = {line_of(row) for row in rows}
    solid = [KeyEntry("─", "var(--ink)", "95 % interval")] if "interval" in lines else []
    return [*solid, *([KeyEntry("┄", "var(--ink)", range_text(rows))] if "range" in lines else [])]


SIGNS = {
    ComparisonVerdict.BETTER: ("▲", "better", "good"),
    ComparisonVerdict.WORSE: ("▼", "worse", "bad"),
    ComparisonVerdict.TIE: ("=", "tie", "even"),
    ComparisonVerdict.UNRESOLVED: ("?", NOT_DECIDED, "doubt"),
}


def verdict_badge(verdict: ComparisonVerdict) -> Badge:
    """Better, worse, tie or not decided."""
    return Badge(*SIGNS[verdict])


def state_badge(row: TrialRow) -> Badge:
    """The outcome of a trial in one word."""
    if row.state != "finished":
        return Badge(
            "✕" if row.state == "failed" else "\N{EN DASH}", row.state, "bad" if row.state == "failed" else "even"
        )
    if row.verdict is VerdictKind.VALID:
        return Badge("✓", "valid", "good")
    if row.verdict is VerdictKind.INVALID:
        return Badge("✕", "rejected", "bad")
    return Badge("?", "unknown", "doubt")


def trial_links(trials: Sequence[str], book: Book) -> tuple[Link, ...]:
    """Links to the rows of the first hundred trials, and the number of the others."""
    known = [trial for trial in trials if trial in book.lookup.trials]
    more = len(known) - MAX_LINKS
    rest = (Link(f"and {more:,} more", None),) if more > 0 else ()
    return (*(Link(trial, trial_href(trial, book)) for trial in known[:MAX_LINKS]), *rest)


def trial_href(trial: str, book: Book) -> str | None:
    """Links to the row of a trial; None when the page does not list it."""
    return book.href(trial_anchor(trial)) if trial in book.listed else None


def trial_cell(trial: str, book: Book) -> Cell:
    """A trial's id, linked to its row."""
    return Cell(trial, href=trial_href(trial, book), code=True, tone="name")


def evidence_cell(book: Book, text: str, trials: Sequence[str], about: str, note: str = "") -> Cell:
    """A number that links to the list of its trials."""
    found = book.evidence.cite(trials, about)
    return Cell(text, href=book.href(found.anchor) if found else None, note=note)


def level_cell(book: Book, row: Statistic, scale: Scale, about: str, *, with_unit: bool = True) -> Cell:
    """A level that links to the list of its trials, with its interval below it."""
    text = scale.text(row.compared) if with_unit else scale.number(row.compared)
    note = interval_text(row.compared, scale) if row.n > 1 else "measured once"
    return evidence_cell(book, text, row.trials, about, note)


MOST_TIES = 2
"""Named below a rank; more are counted."""


def section_anchor(benchmark: str) -> str:
    """Anchor of a benchmark's section."""
    return f"benchmark-{slug(benchmark)}"


def comparison_anchor(row: Comparison) -> str:
    """Anchor of a comparison's row."""
    tail = "-per-cpu" if row.per_cpu else ""
    return f"compare-{slug(row.benchmark)}-{slug(row.metric)}-{slug(row.left)}-{slug(row.right)}{tail}"


def interval_cells(row: Statistic, scale: Scale) -> tuple[Cell, Cell]:
    """Interval of the median and its coverage; one value has neither."""
    if row.n == 1:
        return Cell("one value", tone="warn"), Cell(MISSING)
    return Cell(interval_text(row, scale)), Cell(coverage(row.coverage))


def rank_cell(rank: RankRow | None) -> Cell:
    """A rank, as a range when it is not certain, with ties marked."""
    if rank is None:
        return Cell(MISSING)
    text = str(rank.first) if rank.first == rank.last else f"{rank.first} \N{EN DASH} {rank.last}"
    few = len(rank.ties) <= MOST_TIES
    note = f"= {', '.join(rank.ties) if few else f'{len(rank.ties)} ties'}" if rank.ties else ""
    note = "; ".join(filter(None, (note, str(rank.note))))
    return Cell(text, note=note, title=f"A tie with {', '.join(rank.ties)}" if rank.ties else "")
