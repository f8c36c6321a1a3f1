"""What `run` and `status` say last: how many trials can be used, and which command repairs the others."""

from collections.abc import Sequence

from nephoscope.analysis.usable import UsableCell, sentence, worst_first
from nephoscope.model.numbers import duration
from nephoscope.model.words import counted
from nephoscope.run.states import TimeSpent

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


_LEAST_S = 0.5
"""A step that took less is not worth a word."""


def in_one_line(spent: TimeSpent) -> str:
    """'took 5 min 40 s: benchmarks 4 min 38 s (82%), checking machines 28 s, databases and data 25 s, the rest 9 s'.

    Clusters that are in use at the same time spend more than has elapsed; then there is no rest, and no share of it.
    """
    total_s = sum(spent.by_step_s.values())
    beside = total_s > spent.elapsed_s
    share_of_s = total_s if beside else spent.elapsed_s
    steps = [
        f"{step} {duration(round(seconds))}" + (f" ({seconds / share_of_s:.0%})" if place == 0 else "")
        for place, (step, seconds) in enumerate(spent.by_step_s.items())
        if seconds >= _LEAST_S
    ]
    rest_s = spent.elapsed_s - total_s
    if rest_s >= _LEAST_S:
        steps.append(f"the rest {duration(round(rest_s))}")
    said = f"took {duration(round(spent.elapsed_s))}"
    if not steps:
        return said
    return f"{said}: {', '.join(steps)}" + (", added up over clusters" if beside else "")
