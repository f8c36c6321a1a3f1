"""Finds machines that differ in kind from most of their configuration, so that their trials are repeated on new ones.

What is usual is known only once several machines were seen, so it is decided after each block, stored with each attempt
and judged by the check `equal-machines`: `parse` finds the same. It decides again with every further machine.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from nephoscope.checks.kinds import EqualMachines, most_common
from nephoscope.checks.registry import CHECKS
from nephoscope.checks.repeatable import Circumstances
from nephoscope.checks.verdicts import measured_of
from nephoscope.model.kinds import MachineKind
from nephoscope.model.records import Facts, PlannedTrial, TrialIntent
from nephoscope.run.derive import evidence_of_machines
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import Trial
from nephoscope.study.managed import plain_as_provided

_JUDGE = EqualMachines()
_PLACES = {check.name: place for place, check in enumerate(CHECKS)}
"""So that `parse` finds the verdicts in the same order."""


def judge_kinds(rows: Iterable[tuple[PlannedTrial, Trial]], placement: str, *, ties: bool) -> None:
    """Judges all finished attempts on machines that were created for them.

    Args:
        rows: every planned trial of some configurations, whatever part of the plan runs.
        placement: of the study.
        ties: see `most_common`; True once no further machines are planned that could decide a tie.

    Raises:
        StorageFailed: a verdict could not be stored.
    """
    by_configuration: dict[str, list[tuple[TrialIntent, Attempt]]] = defaultdict(list)
    for planned, trial in rows:
        intent = planned.intent
        if Circumstances.of(plain_as_provided(intent.configuration), placement).other_machine:
            found = [(intent, attempt) for attempt in trial.finished_attempts()]
            by_configuration[intent.configuration_name] += found
    for attempts in by_configuration.values():
        kind = most_common([facts for _, attempt in attempts for facts in _database_machines(attempt)], ties=ties)
        if kind is None:
            continue
        for intent, attempt in attempts:
            earlier = attempt.usual_kind()
            if earlier is None or earlier.facts != kind.facts:
                _judge(intent, attempt, kind)


def equal_trials(rows: Iterable[tuple[PlannedTrial, Trial]]) -> Counter[tuple[str, str]]:
    """Configuration and benchmark -> trials that are valid, and so not on a machine of another kind."""
    decisive = ((planned, trial.decisive_attempt()) for planned, trial in rows)
    return Counter(cell_of(planned) for planned, attempt in decisive if attempt is not None and attempt.valid())


def cell_of(planned: PlannedTrial) -> tuple[str, str]:
    """Configuration and benchmark."""
    return planned.intent.configuration_name, planned.intent.benchmark.name


def _judge(intent: TrialIntent, attempt: Attempt, kind: MachineKind) -> None:
    evidence = evidence_of_machines(attempt, intent, {}).model_copy(update={"usual_kind": kind})
    verdict = _JUDGE(evidence)
    others = [one for one in attempt.verdicts() if one.check != _JUDGE.name]
    found = [*others, *([verdict] if verdict is not None else [])]
    attempt.judge_again(sorted(found, key=lambda one: _PLACES.get(one.check, len(_PLACES))), kind)


def _database_machines(attempt: Attempt) -> list[Facts]:
    started = attempt.started()
    found = {record.machine: record.before for record in attempt.facts()}
    return [found[name] for name in measured_of(found, started.load_machines if started else ())]
