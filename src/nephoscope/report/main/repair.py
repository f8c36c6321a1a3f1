"""How many trials can be used, if not all, and the commands that repair it."""

from dataclasses import dataclass

from nephoscope.analysis.lookup import Lookup, unique
from nephoscope.model.rows import TrialRow
from nephoscope.model.usable import UsableCell
from nephoscope.model.words import counted
from nephoscope.report.sections.trials import lost

MAX_COMMANDS = 2


@dataclass(frozen=True)
class Repair:
    """What is above the verdict where trials cannot be used."""

    text: str
    then: str
    commands: tuple[str, ...]


def repair(lookup: Lookup) -> Repair | None:
    """None if all trials can be used, or nobody here can repeat them."""
    trials = [row for row in lookup[TrialRow] if row.state != "not needed"]
    usable = sum(row.counts for row in trials)
    if usable == len(trials) or lookup.study.source is not None:
        return None
    commands = unique(one.command for cell in lookup[UsableCell] for one in cell.unusable if one.command)
    why = ", ".join(lost(trials))
    then = f"{why[:1].upper()}{why[1:]}." if why else ""
    if commands:
        then += " To repair it, where DIR is the folder of the results:"
    said = f"Usable: {usable:,} of {counted(len(trials), 'trial')}."
    return Repair(said, then.strip(), tuple(commands[:MAX_COMMANDS]))
