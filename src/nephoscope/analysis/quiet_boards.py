"""Leaderboards of the quiet trials, beside those of all trials: the second view of a study that recorded steal."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from nephoscope.analysis.boards import Board, boards_of, by_dollars
from nephoscope.analysis.cells import Cell
from nephoscope.analysis.delivered import CellKey, disturbed, quiet_of
from nephoscope.analysis.one_question import cells
from nephoscope.analysis.table import Workings
from nephoscope.model.questions import View

BoardKey = tuple[str, str, View, str | None]
"""Benchmark, metric, view, price basis."""
PAIR = 2
"""So many configurations are compared with each other, not ranked among many."""
MAX_NOTES = 3
"""Further ones are counted."""


@dataclass(frozen=True)
class QuietBoards:
    """The boards that disturbed trials touch, without these trials. Empty: no trial is disturbed."""

    disturbed: AbstractSet[str] = frozenset()
    """Ids of trials, see `delivered.disturbed_trials`."""
    boards: Mapping[BoardKey, Board | None] = field(default_factory=dict)
    """A configuration without any quiet trial is in here as it delivered. None: no value is left."""
    strict: Mapping[BoardKey, Board | None] = field(default_factory=dict)
    """The same without the configurations that were never quiet."""

    def touch(self, board: Board) -> bool:
        """Whether a disturbed trial is on this board."""
        return key_of(board) in self.boards

    def of(self, board: Board, competing: int) -> Board | None:
        """The second view of a touched board; None: no value is left.

        Args:
            board: as delivered.
            competing: number of configurations that the question is about. Of two, both need quiet trials, as in their
                comparison.
        """
        return (self.boards if competing > PAIR else self.strict)[key_of(board)]

    def never_quiet(self, trials: Sequence[str], competing: int) -> bool:
        """Whether all of a configuration's trials are disturbed, and stand for both views nonetheless."""
        return competing > PAIR and self.disturbed >= {*trials}


def key_of(board: Board) -> BoardKey:
    """What a board is about."""
    return board.benchmark, board.metric, board.view, board.basis


def quiet_boards(
    cells: Sequence[Cell],
    disturbed: AbstractSet[str],
    priced: Callable[[Sequence[Board]], list[Board]],
    *,
    blocked: bool,
) -> QuietBoards:
    """Second views of the headline metrics that disturbed trials touch; nothing is computed if there are none.

    A machine that loses CPU time in every trial has no quiet view that could deny what it delivers. So its values as
    delivered stand for both views where one configuration is compared with many, as it would leave all of them open;
    what compares two sides (`strict`) remains undecided without quiet trials of both.

    Args:
        cells: values of all trials that count.
        disturbed: ids, see `delivered.disturbed_trials`.
        priced: plain boards -> their boards per dollar.
        blocked: see `boards_of`.
    """
    if not disturbed:
        return QuietBoards()
    hit = {
        (cell.benchmark, cell.metric, cell.per_cpu)
        for cell in cells
        if cell.headline and not disturbed.isdisjoint(cell.trials)
    }
    touched = [cell for cell in cells if (cell.benchmark, cell.metric, cell.per_cpu) in hit]

    def by_key(of: Sequence[Cell]) -> dict[BoardKey, Board]:
        boards = boards_of(of, blocked=blocked)
        return {key_of(board): board for board in (*boards, *priced(boards))}

    def quiet(*, standing_in: bool) -> dict[BoardKey, Board]:
        kept = (cell if standing_in and disturbed >= {*cell.trials} else quiet_of(cell, disturbed) for cell in touched)
        return by_key([cell for cell in kept if cell is not None])

    strict = quiet(standing_in=False)
    any_never = any(disturbed >= {*cell.trials} for cell in touched)
    boards = quiet(standing_in=True) if any_never else strict
    keys = by_key(touched)
    return QuietBoards(
        disturbed=disturbed,
        boards={key: boards.get(key) for key in keys},
        strict={key: strict.get(key) for key in keys},
    )


def notes_of(benchmark: str, metric: str, view: View, names: Sequence[str], notes: Mapping[CellKey, str]) -> str:
    """What to add about those of the configurations of which steal rejected much: see `delivered.rejection_notes`.

    Args:
        benchmark: with `metric` and `view`, what the answer is about; per dollar means the notes of the plain metric.
        metric: its name.
        view: plain, per CPU or per dollar.
        names: configurations that the answer is about.
        notes: by benchmark, metric, per CPU and configuration.
    """
    if not notes:
        return ""
    keys = ((benchmark, metric, view == "per CPU", name) for name in sorted({*names}))
    found = [notes[key] for key in keys if key in notes]
    more = [f"and much of {len(found) - MAX_NOTES} more"] if len(found) > MAX_NOTES else []
    return "; ".join([*found[:MAX_NOTES], *more])


def quiet(of: Workings) -> QuietBoards:
    """The boards without disturbed trials."""
    return quiet_boards(of(cells), of(disturbed), of(by_dollars), blocked=of.inputs.source is None)
