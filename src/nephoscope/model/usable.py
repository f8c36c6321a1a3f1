"""How many trials of each cell (a benchmark on a configuration) can be used, and what repairs the others."""

from collections.abc import Iterable

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.model.sentence import Sentence

RUN = "nephoscope run DIR"
"""The command that continues or repeats; DIR stands for the results folder."""


class Unusable(Frozen):
    """Trials of one cell that cannot be used, all for the same reason."""

    trials: list[str]
    why: Sentence = Field(description="'rejected by foreign-load', 'failed', 'not started'")
    advice: Sentence = Field(
        description="'Repeat', 'Lift the CPU quota; then repeat'; whole sentences without a command"
    )
    is_waiting: bool = Field(default=False, description="they have not started, or run now")
    command: str | None = Field(default=None, description="that continues or repeats: 'nephoscope run DIR'")

    @property
    def repair(self) -> str:
        """What to do: a whole sentence, with the command if there is one."""
        return str(self.advice) if self.command is None else f"{self.advice}: `{self.command}`."


class UsableCell(Frozen):
    """One benchmark on one configuration."""

    benchmark: str
    configuration: str
    planned: int
    usable: int
    unusable: list[Unusable]


def worst_first(cells: Iterable[UsableCell]) -> list[UsableCell]:
    """The cells that lost trials: first those that lost the largest share."""
    lost = [cell for cell in cells if cell.unusable]
    return sorted(lost, key=lambda cell: (cell.usable / cell.planned, cell.benchmark, cell.configuration))


def sentence(cell: UsableCell, folder: str = "DIR") -> str:
    """'tpcc on c6i.xlarge: 2 of 6 usable (4 rejected by foreign-load). Repeat: `nephoscope run ...`.'."""
    why = ", ".join(f"{len(one.trials)} {one.why}" for one in cell.unusable)
    repair = " ".join(dict.fromkeys(one.repair for one in cell.unusable)).replace(RUN, RUN.replace("DIR", folder))
    return f"{cell.benchmark} on {cell.configuration}: {cell.usable} of {cell.planned} usable ({why}). {repair}"
