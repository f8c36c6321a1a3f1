"""Trials that were disturbed one after the other: then the next one waits until the machine is quiet. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.checks.repeatable import Circumstances, repair_of
from nephoscope.model.records import Verdict

PAUSE_AFTER = 3
"""Trials in a row that others disturbed: one or two may be chance."""
PAUSE_S = 120.0
"""How long the next one waits at most, by default."""


@dataclass(frozen=True)
class Streak:
    """The latest trials that one check rejected for work of others on the machine."""

    check: str = ""
    trials: int = 0
    why: str = ""
    """Reason of the last rejection, which names programs."""

    def after(self, verdicts: Sequence[Verdict], where: Circumstances) -> "Streak":
        """With one more trial that ended; one that was not disturbed ends the streak."""
        repair = repair_of(verdicts, where)
        if repair is None or not repair.wait_for_quiet:
            return Streak()
        check = repair.checks[0]
        why = next(str(row.reason) for row in verdicts if row.check == check)
        return Streak(check, self.trials + 1 if check == self.check else 1, why)

    @property
    def is_long(self) -> bool:
        """Another trial now would very likely be rejected, too."""
        return self.trials >= PAUSE_AFTER
