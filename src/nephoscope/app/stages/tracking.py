"""The progress of a study, and the clusters that it left at its providers."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nephoscope.app.remaining import Remaining
from nephoscope.benchmarks.load.benchmark import FIXTURE
from nephoscope.checks.registry import overall
from nephoscope.model.control import Lease, State
from nephoscope.model.records import PlannedTrial, VerdictKind
from nephoscope.run.cleaning import CleanupResult, account_of, clean, find, stored_configurations
from nephoscope.run.ledger import spent_usd
from nephoscope.run.repeats import due
from nephoscope.run.states import ENDS, STOPS
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder, Trial


@dataclass(frozen=True)
class StudyProgress:
    """The progress of a study."""

    states: dict[str, State]
    """By trial, without those that no open question needs."""
    not_needed: int
    """Planned trials that no open question needs."""
    left_s: float
    """Remaining time, estimated from the plan and from how long finished trials took."""
    spent_usd: float | None
    """`None`: no price is known."""

    @property
    def ended(self) -> int:
        """Number of trials that have ended."""
        return sum(state in ENDS for state in self.states.values())

    @property
    def words(self) -> str:
        """'3 done, 2 running'."""
        counts = Counter(self.states.values())
        words = [f"{counts[state]} {state}" for state in State if counts[state]]
        return ", ".join([*words, f"{self.not_needed} not needed"] if self.not_needed else words)


@dataclass(frozen=True)
class TrialProgress:
    """What the progress of a study needs to know of one trial."""

    planned: PlannedTrial
    state: State
    took_s: float | None = None
    """`None`: it has not finished, or how long it took is not known."""
    load_s: float = 0.0
    """How much of it was the load of its data set."""
    began_s: float | None = None
    """When the attempt that runs was leased, in seconds of Unix time; `None`: none runs."""


def progress(folder: ResultsFolder, now_unix_ms: int) -> StudyProgress:
    """The progress of a study, read from its folder alone; a controller may be running it."""
    rows = _rows(folder)
    priced = any(planned.price_usd is not None for planned, _ in rows)
    trials = [trial_progress(planned, trial) for planned, trial in rows]
    return StudyProgress(
        states={one.planned.intent.id: one.state for one in trials},
        not_needed=len(folder.plan().trials) - len(rows),
        left_s=_remaining(folder, trials).seconds(now_unix_ms / 1000),
        spent_usd=spent_usd(folder, now_unix_ms) if priced else None,
    )


def trial_progress(planned: PlannedTrial, trial: Trial) -> TrialProgress:
    """The progress of one trial, read from its folder."""
    state = state_of(trial)
    if state in ENDS:
        attempt = trial.decisive_attempt()
        status = attempt.status() if attempt else None
        if attempt is None or status is None or status.state != "finished":
            return TrialProgress(planned, state)
        loads_s = [one.duration_s for one in attempt.commands() if one.output == FIXTURE]
        return TrialProgress(planned, state, took_s=status.duration_s, load_s=math.fsum(loads_s))
    if state not in STOPS and state is not State.PLANNED:
        return TrialProgress(planned, state, began_s=_began_s(trial))
    return TrialProgress(planned, state)


def state_of(trial: Trial) -> State:
    """The state of a trial. A finished one has ended even if its controller died before recording that."""
    states = trial.states()
    last = states[-1].state if states else State.PLANNED
    if last in ENDS or due(trial):
        return last
    attempt = trial.decisive_attempt()
    valid = attempt is not None and overall(attempt.verdicts()) is VerdictKind.VALID
    return State.DONE if valid else State.INVALID


def remaining(folder: ResultsFolder) -> Remaining:
    """What is left of a study that nobody runs, with what its finished trials teach."""
    found = [(trial_progress(row, trial), due(trial)) for row, trial in _rows(folder)]
    return _remaining(folder, [replace(one, state=State.PLANNED if is_due else State.DONE) for one, is_due in found])


def _rows(folder: ResultsFolder) -> list[tuple[PlannedTrial, Trial]]:
    """Without trials that no open question needs."""
    not_needed = folder.not_needed()
    return [(row, trial) for row, trial in folder.planned() if row.intent.id not in not_needed or trial.attempts()]


def _remaining(folder: ResultsFolder, trials: Sequence[TrialProgress]) -> Remaining:
    waiting = (one.planned for one in trials if one.state not in ENDS)
    found = Remaining(waiting, stops=folder.plan().stop == "decided", looked=bool(folder.looks()))
    for one in trials:
        if one.state in ENDS and one.took_s is not None:
            found.ended(one.planned, one.took_s, one.load_s)
        elif one.state not in ENDS and one.state is not State.PLANNED and one.began_s is not None:
            found.started(one.planned, one.began_s)
    return found


def _began_s(trial: Trial) -> float:
    """When the attempt that runs was leased, in seconds of Unix time."""
    leased = [one.at_unix_ms for one in trial.states() if one.state == State.LEASED]
    return (leased[-1] if leased else trial.states()[-1].at_unix_ms) / 1000


async def clean_up(folder: ResultsFolder, world: World) -> CleanupResult:
    """Deletes every cluster of the folder's study that any provider of its trials still lists.

    Raises:
        NephoscopeError: a provider cannot be asked.
    """
    key, configurations = folder.study_key(), stored_configurations(folder)
    names = sorted({one.provider for one in configurations})
    providers = [world.providers[name] for name in names if name in world.providers]
    unreachable = await find(providers, key, configurations)
    accounts = {one.name: await account_of(one, key) for one in providers}
    elsewhere = {
        lease.cluster
        for lease in _leases(folder)
        if lease.account and (now := accounts.get(lease.provider)) and now != lease.account
    }
    cleaned = await clean(providers, key, world.clock)
    return replace(cleaned, unreachable=unreachable, elsewhere=sorted(elsewhere))


def created(folder: ResultsFolder) -> int:
    """Clusters that the folder's attempts asked for."""
    return len({lease.cluster for lease in _leases(folder)})


def _leases(folder: ResultsFolder) -> Iterator[Lease]:
    leases = (attempt.lease() for _, trial in folder.planned() for attempt in trial.attempts())
    return (lease for lease in leases if lease is not None)
