"""Which trials of each cell (a benchmark on a configuration) can be used, and which command repairs it. Pure."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field, model_validator

from nephoscope.analysis.table import Table, Workings
from nephoscope.checks.repeatable import Cause, Circumstances, Repair, repair_of
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Verdict, VerdictKind
from nephoscope.model.rows import TrialRow
from nephoscope.model.sentence import Sentence
from nephoscope.study.managed import as_provided
from nephoscope.study.model import Study

DIR = "DIR"
"""Stands for the results folder in a command, where nobody says which it is."""


class Unusable(Frozen):
    """Trials of one cell that cannot be used, all for the same reason."""

    trials: list[str]
    why: Sentence = Field(description="'rejected by foreign-load', 'failed', 'not started'")
    advice: Sentence = Field(
        description="'Repeat', 'Lift the CPU quota; then repeat'; whole sentences without a command"
    )
    is_waiting: bool = Field(default=False, description="they have not started, or run now")
    options: list[str] | None = Field(
        default=None, description="of `nephoscope run`, which continues or repeats; None: no command helps"
    )

    @model_validator(mode="before")
    @classmethod
    def _read_old(cls, row: Any) -> Any:
        """Earlier files have the whole command: 'nephoscope run DIR --retry-rejected'."""
        if not isinstance(row, dict) or "command" not in row:
            return row
        command = row["command"]
        kept = {key: value for key, value in row.items() if key != "command"}
        return kept | {"options": None if command is None else command.split(" ")[3:]}

    def command(self, folder: str = DIR) -> str | None:
        """That continues or repeats: 'nephoscope run DIR'; None: no command helps."""
        return None if self.options is None else " ".join(("nephoscope run", shlex.quote(folder), *self.options))

    def repair(self, folder: str = DIR) -> str:
        """What to do: a whole sentence, with the command if there is one."""
        command = self.command(folder)
        return str(self.advice) if command is None else f"{self.advice}: `{command}`."


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


def sentence(cell: UsableCell, folder: str = DIR) -> str:
    """'tpcc on c6i.xlarge: 2 of 6 usable (4 rejected by foreign-load). Repeat: `nephoscope run ...`.'."""
    why = ", ".join(f"{len(one.trials)} {one.why}" for one in cell.unusable)
    repair = " ".join(dict.fromkeys(one.repair(folder) for one in cell.unusable))
    return f"{cell.benchmark} on {cell.configuration}: {cell.usable} of {cell.planned} usable ({why}). {repair}"


_WAITING = {"planned": "not started", "running": "running now"}
_Options = tuple[str, ...] | None
"""Of `nephoscope run`; None: no command helps."""
_THEN: Mapping[str, tuple[str, _Options]] = {
    "running": ("", None),
    "altered": ("Restore its files from a copy, or delete the folder of the attempt and measure it again", ()),
}
"""State -> advice and options, where that is not to continue."""


def usable_cells(
    study: Study, trials: Sequence[TrialRow], verdicts: Mapping[str, Sequence[Verdict]]
) -> list[UsableCell]:
    """Every cell of a study, in the order of its first trial.

    Args:
        study: whose configurations the trials name.
        trials: all of the plan.
        verdicts: trial id -> the verdicts on the attempt that is used, at least of trials that finished and are not
            valid.
    """
    where = {
        one.name: Circumstances.of(as_provided(one).model_dump(include={"provider", "rented"}), study.placement)
        for one in study.configurations
    }
    rows: dict[tuple[str, str], list[TrialRow]] = defaultdict(list)
    needed = (row for row in trials if row.state != "not needed")
    for row in sorted(needed, key=lambda row: row.position):
        rows[row.benchmark, row.configuration].append(row)
    return [
        UsableCell(
            benchmark=benchmark,
            configuration=configuration,
            planned=len(found),
            usable=sum(row.counts for row in found),
            unusable=_unusable(found, verdicts, where.get(configuration)),
        )
        for (benchmark, configuration), found in rows.items()
    ]


def _unusable(
    rows: Sequence[TrialRow], verdicts: Mapping[str, Sequence[Verdict]], where: Circumstances | None
) -> list[Unusable]:
    groups: dict[tuple[bool, str, str, _Options], list[str]] = defaultdict(list)
    for row in rows:
        if row.counts:
            continue
        repair = repair_of(verdicts.get(row.trial, ()), where) if row.state == "finished" and where else None
        if repair is None:
            why, then = _WAITING.get(row.state, row.state), _THEN.get(row.state, ("Continue", ()))
            groups[row.state in _WAITING, why, *then].append(row.trial)
        else:
            groups[False, _said(repair, row), *_how(repair)].append(row.trial)
    return [
        Unusable(
            trials=ids,
            why=why,
            advice=advice,
            options=None if options is None else list(options),
            is_waiting=is_waiting,
        )
        for (is_waiting, why, advice, options), ids in groups.items()
    ]


def _said(repair: Repair, row: TrialRow) -> str:
    if not repair.checks:
        return "without a verdict"
    kind = "without evidence for" if row.verdict is VerdictKind.UNKNOWN else "rejected by"
    return f"{kind} {' and '.join(repair.checks)}"


def _how(repair: Repair) -> tuple[str, _Options]:
    """What to do, and the options if a repeat can help."""
    options = ("--retry-rejected", *(word for name in repair.checks for word in ("--check", name)))
    if repair.repeat:
        return "Repeat", options
    advice = f" {repair.advice}." if repair.advice else ""
    if repair.on_request:
        return f"{repair.advice}; then repeat", options
    if repair.cause is Cause.OUTCOME:
        return f"A repeat would select results: {repair.why}.{advice}", None
    return f"It is never repeated: {repair.why}.{advice}", None


def _lost(of: Workings) -> list[UsableCell]:
    """Cells with trials that cannot be used; an import is all that there is of its study."""
    if of.inputs.source is not None:
        return []
    return worst_first(usable_cells(of.inputs.study, of.inputs.trials, of.inputs.verdicts))


LOST = Table("lost", UsableCell, _lost, has_columns=False)
