"""Which trials of each cell (a benchmark on a configuration) can be used, and which command repairs it. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from nephoscope.analysis.table import Table, Workings
from nephoscope.checks.repeatable import Cause, Circumstances, Repair, repair_of
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Verdict, VerdictKind
from nephoscope.model.rows import TrialRow
from nephoscope.model.sentence import Sentence
from nephoscope.study.managed import as_provided
from nephoscope.study.model import Study

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


_WAITING = {"planned": "not started", "running": "running now"}
_THEN: Mapping[str, tuple[str, str | None]] = {
    "running": ("", None),
    "altered": (
        "Restore its files from a copy, or delete the folder of the attempt and measure it again",
        RUN,
    ),
}
"""State -> advice and command, where that is not to continue."""


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
    groups: dict[tuple[bool, str, str, str | None], list[str]] = defaultdict(list)
    for row in rows:
        if row.counts:
            continue
        repair = repair_of(verdicts.get(row.trial, ()), where) if row.state == "finished" and where else None
        if repair is None:
            why, then = _WAITING.get(row.state, row.state), _THEN.get(row.state, ("Continue", RUN))
            groups[row.state in _WAITING, why, *then].append(row.trial)
        else:
            groups[False, _said(repair, row), *_how(repair)].append(row.trial)
    return [
        Unusable(trials=ids, why=why, advice=advice, command=command, is_waiting=is_waiting)
        for (is_waiting, why, advice, command), ids in groups.items()
    ]


def _said(repair: Repair, row: TrialRow) -> str:
    if not repair.checks:
        return "without a verdict"
    kind = "without evidence for" if row.verdict is VerdictKind.UNKNOWN else "rejected by"
    return f"{kind} {' and '.join(repair.checks)}"


def _how(repair: Repair) -> tuple[str, str | None]:
    """What to do, and the command if a repeat can help."""
    command = f"{RUN} --retry-rejected" + "".join(f" --check {name}" for name in repair.checks)
    if repair.repeat:
        return "Repeat", command
    advice = f" {repair.advice}." if repair.advice else ""
    if repair.on_request:
        return f"{repair.advice}; then repeat", command
    if repair.cause is Cause.OUTCOME:
        return f"A repeat would select results: {repair.why}.{advice}", None
    return f"It is never repeated: {repair.why}.{advice}", None


def _lost(of: Workings) -> list[UsableCell]:
    """Cells with trials that cannot be used; an import is all that there is of its study."""
    if of.inputs.source is not None:
        return []
    return worst_first(usable_cells(of.inputs.study, of.inputs.trials, of.inputs.verdicts))


LOST = Table("lost", UsableCell, _lost, has_columns=False)
