"""The one table of a chapter: every number of a few configurations, or the winners among many."""

from collections.abc import Mapping, Sequence

from nephoscope.analysis.lookup import unique
from nephoscope.insights.names import metric_title
from nephoscope.model.questions import BestRow
from nephoscope.model.words import counted, scope_name
from nephoscope.report.main.boards import Board
from nephoscope.report.parts import Book, Cell, Column, Row, Table, evidence_cell
from nephoscope.report.tables.statistics import rank_cell
from nephoscope.report.wording import candidates_text, interval_text, title_with_unit

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
    by = f"{lead.row.benchmark}: {metric_title(lead.metric)}"
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
    note = interval_text(one.compared, scale) if one.n > 1 else "measured once"
    return evidence_cell(book, scale.number(one.compared), one.trials, f"{one.benchmark} on {configuration}", note)


def _winners(book: Book, boards: Sequence[Board], called: Mapping[str, str]) -> Table | None:
    """The best overall, of each cloud and of each size, for the first metrics; None where nothing was decided."""
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
    columns = (
        Column("Metric"),
        Column("Among"),
        Column("The best"),
        Column("Worse", numeric=True, hint="Configurations that were shown not to be the best."),
    )
    body = tuple(
        Row(
            (
                Cell(_title(wanted[one.benchmark, one.metric], boards), tone="name"),
                Cell(f"{scope_name(one.scope)}, {counted(one.of, 'configuration')}"),
                evidence_cell(
                    book, _named(one, called), one.trials, f"{one.benchmark}: {one.metric}, {scope_name(one.scope)}"
                ),
                Cell(str(one.excluded)),
            )
        )
        for one in rows[:MAX_WINNERS]
    )
    more = len(rows) - MAX_WINNERS
    note = f"{counted(more, 'more answer')} on the evidence page." if more > 0 else ""
    return Table("The best, overall and of each kind", columns, body, note=note, compact=True)


def _title(board: Board, boards: Sequence[Board]) -> str:
    """With the benchmark, if there are several."""
    several = len({one.row.benchmark for one in boards}) > 1
    title = metric_title(board.metric)
    return f"{board.row.benchmark}: {title}" if several else title


def _named(row: BestRow, called: Mapping[str, str]) -> str:
    if not row.excluded:
        return f"any of {row.of - len(row.open)}" + (f"; {len(row.open)} unknown" if row.open else "")
    unknown = f"; {len(row.open)} unknown" if row.open else ""
    return candidates_text([called[name] for name in row.best], MAX_NAMED) + unknown
