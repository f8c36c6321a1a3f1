"""What the trials so far say: a card for each headline metric, provisional until the study has ended."""

from dataclasses import dataclass

from nephoscope.analysis.best import best_of
from nephoscope.analysis.boards import Board, boards_of
from nephoscope.analysis.cells import Cell, cells_of
from nephoscope.app.live.index import View
from nephoscope.insights.bests import told
from nephoscope.insights.words import say
from nephoscope.model.numbers import quantity
from nephoscope.model.records import Direction
from nephoscope.model.scopes import OVERALL, Scope
from nephoscope.stats.median import median_interval

MAX_BARS = 8
"""Configurations that a card shows, the best ones first."""


@dataclass(frozen=True)
class Bar:
    """One configuration on a card; places are shares of the card's width."""

    name: str
    n: int
    value: str
    at: float
    low: float
    high: float


@dataclass(frozen=True)
class LiveCard:
    """One headline metric."""

    title: str
    text: str
    bars: list[Bar]
    more: int
    """Configurations that are not shown."""


def cards_of(view: View, *, margin_percent: float) -> list[LiveCard]:
    """A card for each headline metric with a value, in the order of the benchmarks.

    Args:
        view: the study now.
        margin_percent: its equivalence margin.
    """
    trials = [one.row for one in view.ended if one.row is not None]
    measurements = [found for one in view.ended for found in one.headlines]
    titles = {(row.benchmark, metric.name): metric.title for row in view.benchmarks for metric in row.metrics}
    metrics = {row.benchmark: row.metrics for row in view.benchmarks}
    cells = [cell for cell in cells_of(trials, measurements, metrics) if not cell.per_cpu]
    cards = []
    for board in boards_of(cells, blocked=not view.imported):
        title = titles[board.benchmark, board.metric]
        bars = _bars(board)
        more = len(board.cells) - len(bars)
        cards.append(LiveCard(f"{board.benchmark}: {title}", _text(board, title, margin_percent), bars, more))
    return cards


def _scopes(members: tuple[str, ...]) -> dict[Scope, tuple[str, ...]]:
    return {OVERALL: members} if len(members) > 1 else {}


def _text(board: Board, title: str, margin_percent: float) -> str:
    rows = best_of([board], _scopes, margin_percent=margin_percent)
    if not rows:
        return f"Only {board.names[0]} has a value so far."
    answer = told(rows[0])
    words = {"title": title, **answer.words}
    text = say("live", "answer", answer.template, numbers=answer.numbers, trials=[], **words).text
    return text if answer.template.startswith("{names}") else text[:1].upper() + text[1:]


def _bars(board: Board) -> list[Bar]:
    found = [(cell, median_interval(cell.values)) for cell in board.cells]
    sign = -1 if board.direction is Direction.HIGHER else 1
    shown = sorted(found, key=lambda one: (sign * one[1].median, one[0].configuration))[:MAX_BARS]
    scale = max(interval.high for _, interval in shown)
    return [_bar(cell, board.unit, scale) for cell, _ in shown]


def _bar(cell: Cell, unit: str, scale: float) -> Bar:
    interval = median_interval(cell.values)
    return Bar(
        name=cell.configuration,
        n=len(cell.values),
        value=quantity(interval.median, unit),
        at=interval.median / scale,
        low=interval.low / scale,
        high=interval.high / scale,
    )
