"""Stored steal under another `disturbance`: read-only, so that the folder's evidence and verdicts stay as they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from nephoscope.checks.steal import Steal
from nephoscope.model.disturbance import Disturbance
from nephoscope.model.records import Evidence, StartedRecord, TrialIntent, Verdict
from nephoscope.run.derive import TELEMETRY_PREFIX, evidence_of_machines
from nephoscope.store.attempt import Attempt


@dataclass(frozen=True)
class StealJudge:
    """Judges the steal of stored attempts as one `disturbance` demands."""

    disturbance: Disturbance

    def read(self, attempt: Attempt, intent: TrialIntent) -> Attempt:
        """The attempt, with its verdict on steal made again from its telemetry, if it has one."""
        return _JudgedAgain(attempt, intent, self.disturbance)


class _JudgedAgain(Attempt):
    def __init__(self, attempt: Attempt, intent: TrialIntent, disturbance: Disturbance) -> None:
        super().__init__(attempt.folder)
        self._intent = intent
        self._disturbance = disturbance

    @cached_property
    def _evidence(self) -> Evidence:
        logs = sorted(self.raw_dir.glob(f"{TELEMETRY_PREFIX}*"))
        found = evidence_of_machines(self, self._intent, {path.name: path.read_bytes() for path in logs})
        return found.model_copy(update={"disturbance": self._disturbance})

    @cached_property
    def _verdicts(self) -> Sequence[Verdict]:
        stored = super().verdicts()
        judged = any(verdict.check == Steal.name for verdict in stored)
        new = Steal()(self._evidence) if judged else None
        return [new if new and verdict.check == new.check else verdict for verdict in stored]

    def verdicts(self) -> list[Verdict]:
        return list(self._verdicts)

    def started(self) -> StartedRecord | None:
        stored = super().started()
        return stored.model_copy(update={"disturbance": self._disturbance}) if stored else None
