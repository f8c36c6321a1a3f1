"""Repeats of rejected trials: at the end of each block, and again at the end of the study.

Which rejections are repeated is decided in `checks.repeatable`; how often, and within which time and money, is decided
here. A repeat is a new attempt beside the old ones, and the first valid attempt is used. That a trial is to be repeated
is one of its states, written before anything starts, so another controller of the folder continues where this one
stopped. A controller repeats only trials that its own folder holds, so two controllers never repeat the same trial.

Trials on machines that differ in kind from most of their configuration are repeated on new ones. What is usual is known
only once several machines were seen, so it is decided after each block, stored with each attempt and judged by the
check `equal-machines`: `parse` finds the same. It decides again with every further machine.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nephoscope.benchmarks.base import Benchmark
from nephoscope.checks.kinds import EqualMachines, most_common
from nephoscope.checks.registry import CHECKS
from nephoscope.checks.repeatable import Circumstances, Repair, repair_of
from nephoscope.checks.verdicts import measured_of
from nephoscope.model.records import Facts, MachineKind, PlannedTrial
from nephoscope.run.ledger import ended_usd, trial_usd
from nephoscope.run.states import repeat_is_open, repeats_made
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder, Trial
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


TIMES_PLANNED = 1.9
"""With its repeats, a study may take twice as long as its plan; the last twentieth is for what no trial counts as its
time, such as starting a server.
"""

MIN_QUIET_S, MAX_QUIET_S = 3.0, 120.0
"""A repeat waits for a quiet machine half as long as the trial is expected to take, within these limits."""


@dataclass(frozen=True)
class RepeatRules:
    """How a study repeats rejected trials."""

    most: int = 2
    """Repeats of one trial."""
    times_planned: float | None = TIMES_PLANNED
    """All attempts may take this many times as long as the plan; `None`: there is no limit."""
    on_request: bool = False
    """Somebody asked for these repeats: earlier ones do not count."""
    equal_machines: int | None = None
    """Trials on a machine of an unusual kind are repeated until so many of a configuration and benchmark are valid."""
    checks: frozenset[str] = frozenset()
    """Only trials that these checks rejected; empty: of all checks. On request, their cause is said to be gone."""


def due(trial: Trial) -> bool:
    """True if `run` must still measure it: it has not finished, or its repeat is planned and has not ended."""
    finished = trial.finished_attempts()
    return not finished or repeat_is_open(trial.states(), [attempt.number for attempt in finished])


def repair_for(planned: PlannedTrial, trial: Trial, placement: str, repaired: Collection[str] = ()) -> Repair | None:
    """What can be done about a trial; `None`: it is valid, or did not finish."""
    attempt = trial.decisive_attempt()
    if attempt is None or not attempt.finished():
        return None
    where = Circumstances.of(plain_as_provided(planned.intent.configuration), placement)
    return repair_of(attempt.verdicts(), where, repaired)


def quiet_within_s(planned: PlannedTrial, trial: Trial, placement: str) -> float:
    """How long the next attempt may wait for a quiet machine: only the repeat of a disturbed one waits."""
    repair = repair_for(planned, trial, placement)
    if repair is None or not repair.wait_for_quiet:
        return 0.0
    return min(MAX_QUIET_S, max(MIN_QUIET_S, planned.expected_duration_s / 2))


class Candidates:
    """Which finished trials of a folder may be repeated now.

    Reads the folder each time, but remembers what ended trials took and cost: it is asked after every replicate.
    """

    def __init__(
        self,
        folder: ResultsFolder,
        placement: str,
        rules: RepeatRules,
        max_usd: float | None,
        benchmarks: Mapping[str, Benchmark],
    ) -> None:
        """Candidates of a folder.

        Args:
            folder: of the study.
            placement: of the study.
            rules: how it repeats.
            max_usd: its budget.
            benchmarks: that this nephoscope has; it cannot repeat trials of others, or of other versions of them.
        """
        self._placement = placement
        self._kinds = KindJudge(placement)
        self._rules = rules
        self._max_usd = max_usd
        self._benchmarks = benchmarks
        self._rows = list(folder.planned())
        self._places = {planned.intent.id: place for place, (planned, _) in enumerate(self._rows)}
        self._whole = list(folder.whole_plan())
        self._of_configuration: dict[str, list[tuple[PlannedTrial, Trial]]] = defaultdict(list)
        for planned, trial in self._whole:
            self._of_configuration[planned.intent.configuration_name].append((planned, trial))
        self._known: dict[str, _Took] = {}
        """What trials took and cost that have ended, by id."""
        earlier = self._rows if rules.on_request else []
        self._before = {planned.intent.id: _made(trial) for planned, trial in earlier}
        """Repeats of earlier runs, which do not count."""

    def repair(self, planned: PlannedTrial, trial: Trial) -> Repair | None:
        """What a repeat would be for; `None`: there is nothing to repeat in this trial.

        Neither the number of repeats nor time and money are considered.
        """
        repaired = self._rules.checks if self._rules.on_request else frozenset()
        repair = None if due(trial) else repair_for(planned, trial, self._placement, repaired)
        if repair is None or not repair.repeat:
            return None
        return repair if not self._rules.checks or self._rules.checks & {*_not_valid(trial)} else None

    def left(self, planned: PlannedTrial, trial: Trial) -> int:
        """How many repeats the rules still allow."""
        return self._rules.most - _made(trial) + self._before.get(planned.intent.id, 0)

    def is_repeated(self, trial_id: str) -> None:
        """A trial gets a further attempt: forgets what the others took."""
        self._known.pop(trial_id, None)

    def now(
        self, now_unix_ms: int, trials: Collection[str] | None = None, *, first: bool = False
    ) -> tuple[list[tuple[PlannedTrial, Repair]], dict[str, str]]:
        """Trials to repeat, in the plan's order, and for the others that could be repeated, why they are not.

        Args:
            now_unix_ms: clusters that are held cost money until then.
            trials: only these, by id; `None`: all.
            first: only those that were not repeated yet.
        """
        places = sorted(
            self._places.values() if trials is None else (self._places[one] for one in trials if one in self._places)
        )
        # The others are looked at after their own replicates: a large study has thousands of trials, and as many of
        # these moments.
        concerned = {self._rows[place][0].intent.configuration_name for place in places}
        configurations = self._of_configuration.keys() if trials is None else concerned
        equal = self._equal(configurations, still_to_come=first)
        found: list[tuple[PlannedTrial, Repair]] = []
        refused: dict[str, str] = {}
        limit: _Limit | None = None
        for planned, trial in (self._rows[place] for place in places):
            repair = self.repair(planned, trial)
            left = self.left(planned, trial) if repair else 0
            if repair is None or left <= 0 or (first and left < self._rules.most):
                continue
            of_kind = repair.checks == (EqualMachines.name,)
            if of_kind and equal[cell_of(planned)] >= (self._rules.equal_machines or 0):
                continue
            use = planned.intent.benchmark
            known = self._benchmarks.get(use.uses)
            if known is None or known.version_of(use.parameters) != use.version:
                refused[planned.intent.id] = f"this nephoscope has another version of the benchmark {use.uses!r}"
                continue
            limit = limit or self._limit(now_unix_ms)
            why_not = limit.take(planned, trial, quiet_within_s(planned, trial, self._placement))
            if why_not:
                refused[planned.intent.id] = why_not
            else:
                found.append((planned, repair))
                equal[cell_of(planned)] += of_kind
        return found, refused

    def _limit(self, now_unix_ms: int) -> "_Limit":
        took = {planned.intent.id: self._took(planned, trial) for planned, trial in self._whole}
        usd = (
            trial_usd(trial, now_unix_ms) if (cost := took[planned.intent.id].usd) is None else cost
            for planned, trial in self._whole
        )
        spent_usd = 0.0 if self._max_usd is None else sum(usd)
        rows = [(planned, took[planned.intent.id]) for planned, _ in self._rows]
        return _Limit.of(rows, self._rules, self._max_usd, spent_usd)

    def _took(self, planned: PlannedTrial, trial: Trial) -> "_Took":
        known = self._known.get(planned.intent.id)
        if known is not None:
            return known
        found = _Took.of(trial)
        if found.finished and not due(trial):
            self._known[planned.intent.id] = found
        return found

    def _equal(self, configurations: Collection[str], *, still_to_come: bool) -> Counter[tuple[str, str]]:
        """Configuration and benchmark -> trials that are valid; also those that later blocks measure, if asked for.

        Judges all machines of these configurations before.

        An unusual machine is exchanged only where the later blocks cannot give enough equal ones.
        """
        if self._rules.equal_machines is None:
            return Counter()
        judged = [row for name in sorted(configurations) for row in self._of_configuration[name]]
        self._kinds.judge(judged, ties=not still_to_come)
        rows = [(planned, trial) for planned, trial in judged if planned.intent.id in self._places]
        equal = equal_trials(rows)
        if still_to_come:
            equal.update(cell_of(planned) for planned, trial in rows if not trial.finished())
        return equal


@dataclass(frozen=True)
class _Took:
    """What the attempts of a trial took and cost."""

    finished: bool
    all_s: float
    first_s: float
    """Of the first attempt that finished."""
    usd: float | None
    """None: one has not ended."""

    @classmethod
    def of(cls, trial: Trial) -> "_Took":
        """From its folder."""
        finished = trial.finished_attempts()
        first = finished[0].status() if finished else None
        first_s = (first.duration_s or 0.0) if first is not None else 0.0
        return cls(bool(finished), sum(_durations_s(trial)), first_s, ended_usd(trial))


class _Limit:
    """Time and money that repeats may still take: first attempts that are left come first."""

    def __init__(self, left_s: float | None, left_usd: float | None) -> None:
        self._left_s = left_s
        self._left_usd = left_usd

    @classmethod
    def of(
        cls,
        rows: Sequence[tuple[PlannedTrial, _Took]],
        rules: RepeatRules,
        max_usd: float | None,
        spent_usd: float,
    ) -> "_Limit":
        """From what the folder's attempts took and cost, and what the plan expects of the rest."""
        waiting = [planned for planned, took in rows if not took.finished]
        left_s = left_usd = None
        if rules.times_planned is not None:
            planned_s = sum(planned.expected_duration_s for planned, _ in rows)
            expected_s = sum(planned.expected_duration_s for planned in waiting)
            took_s, first_s = sum(took.all_s for _, took in rows), sum(took.first_s for _, took in rows)
            done_s = planned_s - expected_s
            slower = max(1.0, first_s / done_s) if done_s > 0 else 1.0
            left_s = rules.times_planned * planned_s - took_s - slower * expected_s
        if max_usd is not None:
            left_usd = max_usd - spent_usd - sum(planned.price_usd or 0.0 for planned in waiting)
        return cls(left_s, left_usd)

    def take(self, planned: PlannedTrial, trial: Trial, waits_s: float) -> str:
        """Takes one repeat off; why it does not fit, if it does not."""
        last_s = max(_durations_s(trial), default=0.0)
        takes_s = max(planned.expected_duration_s, last_s) + waits_s
        if self._left_s is not None and takes_s > self._left_s:
            return "with more repeats the study could take over twice as long as planned"
        costs_usd = (planned.price_usd or 0.0) * takes_s / max(planned.expected_duration_s, 1.0)
        if self._left_usd is not None and (planned.price_usd is None or costs_usd > self._left_usd):
            return "the budget does not allow it"
        self._left_s = None if self._left_s is None else self._left_s - takes_s
        self._left_usd = None if self._left_usd is None else self._left_usd - costs_usd
        return ""


def _made(trial: Trial) -> int:
    return repeats_made(trial.states(), [attempt.number for attempt in trial.finished_attempts()])


def _not_valid(trial: Trial) -> list[str]:
    """Checks that rejected it, or lacked evidence."""
    attempt = trial.decisive_attempt()
    return [row.check for row in attempt.verdicts() if row.verdict != "valid"] if attempt else []


def _durations_s(trial: Trial) -> list[float]:
    ended = (attempt.status() for attempt in trial.attempts())
    return [status.duration_s for status in ended if status is not None and status.duration_s is not None]
