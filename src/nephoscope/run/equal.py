"""Finds machines that differ in kind from most of their configuration, so that their trials are repeated on new ones.

What is usual is known only once several machines were seen, so it is decided after each block, stored with each attempt
and judged by the check `equal-machines`: `parse` finds the same. It decides again with every further machine.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nephoscope.checks.kinds import EqualMachines, most_common
from nephoscope.checks.registry import CHECKS
from nephoscope.checks.repeatable import Circumstances
from nephoscope.checks.verdicts import measured_of
from nephoscope.model.records import Facts, MachineKind, PlannedTrial
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import Trial
from nephoscope.study.managed import plain_as_provided

_JUDGE = EqualMachines()
_PLACES = {check.name: place for place, check in enumerate(CHECKS)}
"""So that `parse` finds the verdicts in the same order."""


class KindJudge:
    """Judges the kinds of machines of a folder's finished attempts.

    It is asked after every replicate, so it remembers what they saw of their machines, which does not change.
    """

    def __init__(self, placement: str) -> None:
        """Knows no attempt yet; `placement` is the study's."""
        self._placement = placement
        self._machines: dict[Path, _Machines] = {}
        self._judged: dict[Path, Mapping[str, str]] = {}
        """Attempt -> the facts of the usual kind that it was judged by last."""

    def judge(self, rows: Iterable[tuple[PlannedTrial, Trial]], *, ties: bool) -> None:
        """Judges all finished attempts on machines that were created for them.

        Args:
            rows: every planned trial of some configurations, whatever part of the plan runs.
            ties: see `most_common`; True once no further machines are planned that could decide a tie.

        Raises:
            StorageFailed: a verdict could not be stored.
        """
        by_configuration: dict[str, list[Attempt]] = defaultdict(list)
        for planned, trial in rows:
            intent = planned.intent
            if Circumstances.of(plain_as_provided(intent.configuration), self._placement).other_machine:
                by_configuration[intent.configuration_name] += trial.finished_attempts()
        for attempts in by_configuration.values():
            machines = [facts for attempt in attempts for facts in self._seen(attempt).measured()]
            kind = most_common(machines, ties=ties)
            if kind is not None:
                for attempt in attempts:
                    self._judge(attempt, kind)

    def _seen(self, attempt: Attempt) -> "_Machines":
        if attempt.folder not in self._machines:
            started = attempt.started()
            facts = {record.machine: record.before for record in attempt.facts()}
            self._machines[attempt.folder] = _Machines(facts, tuple(started.load_machines if started else ()))
        return self._machines[attempt.folder]

    def _judge(self, attempt: Attempt, kind: MachineKind) -> None:
        if attempt.folder not in self._judged:
            earlier = attempt.usual_kind()
            self._judged[attempt.folder] = earlier.facts if earlier else {}
        if self._judged[attempt.folder] == kind.facts:
            return
        seen = self._seen(attempt)
        verdict = _JUDGE.judged(seen.facts, seen.load_machines, kind)
        others = [one for one in attempt.verdicts() if one.check != _JUDGE.name]
        verdicts = [*others, *([verdict] if verdict is not None else [])]
        attempt.judge_again(sorted(verdicts, key=lambda row: _PLACES.get(row.check, len(_PLACES))), kind)
        self._judged[attempt.folder] = kind.facts


@dataclass(frozen=True)
class _Machines:
    """What an attempt saw of its machines before it, by name."""

    facts: Mapping[str, Facts]
    load_machines: tuple[str, ...]

    def measured(self) -> list[Facts]:
        """Of the database machines."""
        return [self.facts[name] for name in measured_of(self.facts, self.load_machines)]


def equal_trials(rows: Iterable[tuple[PlannedTrial, Trial]]) -> Counter[tuple[str, str]]:
    """Configuration and benchmark -> trials that are valid, and so not on a machine of another kind."""
    decisive = ((planned, trial.decisive_attempt()) for planned, trial in rows)
    return Counter(cell_of(planned) for planned, attempt in decisive if attempt is not None and attempt.valid())


def cell_of(planned: PlannedTrial) -> tuple[str, str]:
    """Configuration and benchmark."""
    return planned.intent.configuration_name, planned.intent.benchmark.name
