"""What `run` and `status` say last: how many trials can be used, and which command repairs the others."""

from collections.abc import Sequence

from nephoscope.model.usable import UsableCell, sentence

MAX_LINES = 10


def usable_of(cells: Sequence[UsableCell]) -> str:
    """'usable: 44 of 48 trials'."""
    return f"usable: {sum(cell.usable for cell in cells):,} of {sum(cell.planned for cell in cells):,} trials"


def repairs(cells: Sequence[UsableCell], folder: str) -> list[str]:
    """One line for each cell that lost trials, the worst first; at most ten, and a line about the others."""
    lost = sorted((cell for cell in cells if cell.unusable), key=lambda cell: cell.usable / cell.planned)
    lines = [sentence(cell, folder) for cell in lost[:MAX_LINES]]
    more = len(lost) - MAX_LINES
    return [*lines, f"{more:,} more cells lost trials: see the report"] if more > 0 else lines
