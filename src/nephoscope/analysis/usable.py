"""Which trials can be used, and which command repairs which cell. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from nephoscope.analysis.table import Table, Workings
from nephoscope.checks.repeatable import Cause, Circumstances, Repair, repair_of
from nephoscope.model.records import Verdict, VerdictKind
from nephoscope.model.rows import TrialRow
from nephoscope.model.usable import RUN, Unusable, UsableCell, worst_first
from nephoscope.study.managed import as_provided
from nephoscope.study.model import Study

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
