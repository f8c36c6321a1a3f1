"""What `run` and `status` say last: how many trials can be used, and which command repairs the others."""

from collections.abc import Sequence

from nephoscope.model.usable import UsableCell, sentence, worst_first
from nephoscope.model.words import counted

MAX_LINES = 10


def lines(cells: Sequence[UsableCell], folder: str, *, waiting: bool = False) -> list[str]:
    """One line for each cell that lost trials, the worst first, at most ten; then how many trials can be used.

    Args:
        cells: of a study.
        folder: its results folder, as the user names it.
        waiting: trials that have not started are not lost: the study is running, or has stopped early.
    """
    found = [_without_waiting(cell) for cell in cells] if waiting else cells
    return [*_repairs(found, folder), _usable_of(cells)]


def _without_waiting(cell: UsableCell) -> UsableCell:
    return cell.model_copy(update={"unusable": [one for one in cell.unusable if not one.is_waiting]})


def _repairs(cells: Sequence[UsableCell], folder: str) -> list[str]:
    lost = worst_first(cells)
    more = len(lost) - MAX_LINES
    last = [f"{counted(more, 'more cell')} lost trials: see the report"] if more > 0 else []
    return [*(sentence(cell, folder) for cell in lost[:MAX_LINES]), *last]


def _usable_of(cells: Sequence[UsableCell]) -> str:
    """'usable: 44 of 48 trials'."""
    return f"usable: {sum(cell.usable for cell in cells):,} of {counted(sum(cell.planned for cell in cells), 'trial')}"
