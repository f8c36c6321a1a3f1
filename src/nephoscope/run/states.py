"""A trial's states, and what to do after a failure. Pure: no clock, no machine, no database.

Planned, leased, provisioning, preparing, verified, running, collected, destroying; then done, invalid, gave up or out
of budget. An infrastructure failure leads from destroying back to planned, and so does the repeat of a rejected trial
from invalid.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from nephoscope.model.control import State, StateRecord
from nephoscope.model.errors import (
    CapacityLacking,
    InfrastructureFailure,
    MachineLost,
    MachinePreempted,
    MachineUnsupported,
    QuotaReached,
    Throttled,
    UnknownAnswer,
)

ENDS = frozenset({State.DONE, State.INVALID, State.GAVE_UP})
STOPS = ENDS | {State.OUT_OF_BUDGET}
"""The states in which a trial stays until the study runs again."""
_IN_ORDER = (
    State.PLANNED,
    State.LEASED,
    State.PROVISIONING,
    State.PREPARING,
    State.VERIFIED,
    State.RUNNING,
    State.COLLECTED,
    State.DESTROYING,
)


def may_follow(before: State | None, after: State) -> bool:
    """True if a trial may go from one state to the other; `None`: it has none yet.

    Forward by one step, and from each step to DESTROYING: machines are deleted whatever happens. From there it ends or
    restarts. A dead controller may leave any state: the next one restarts the trial (PLANNED), or continues on machines
    that outlived the controller (PROVISIONING finds them).
    """
    if after is State.PLANNED:
        return True
    if before is None or before in STOPS:
        return False
    if after in STOPS:
        return before in {State.PLANNED, State.DESTROYING}
    if after is State.DESTROYING:
        return before is not State.PLANNED
    step = _IN_ORDER.index(after) - _IN_ORDER.index(before)
    return step == 1 or (after is State.PROVISIONING and step < 0) or (before, after) in _RE_ATTACHED


_RE_ATTACHED = frozenset({(State.PROVISIONING, State.RUNNING), (State.PROVISIONING, State.COLLECTED)})
"""A measurement that is already running is not prepared again, and one that has ended does not run again."""


def repeat_is_open(states: Sequence[StateRecord], finished: Sequence[int]) -> bool:
    """True if a finished trial is to be measured again: its repeat is planned, or started and has not ended.

    A controller that decides to repeat a rejected trial records PLANNED after INVALID, before anything starts. From
    then on every controller of the folder continues the repeat, until the trial ends again.

    Args:
        states: of the trial, in order.
        finished: numbers of its finished attempts, in order.
    """
    if not states or not finished:
        return False
    last = states[-1]
    return last.state not in STOPS and (last.state == State.PLANNED or last.attempt > finished[-1])


def repeats_made(states: Sequence[StateRecord], finished: Sequence[int]) -> int:
    """How many attempts at repeating a trial have ended, finished or failed; retries after lost machines do not count.

    Args:
        states: of the trial, in order.
        finished: numbers of its finished attempts, in order.
    """
    ended = {record.attempt for record in states if record.state in ENDS} | {*finished}
    return sum(number > finished[0] for number in ended) if finished else 0


@dataclass(frozen=True)
class Patience:
    """How long and how often a trial waits for machines."""

    retries: int = 3
    """How many new clusters after machines were lost."""
    waits: int = 40
    """How many waits for capacity, quota or an answer."""
    first_wait_s: float = 30.0
    longest_wait_s: float = 900.0

    def wait_s(self, waited: int) -> float:
        """Wait before the next try; doubles with each."""
        return float(min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(waited, 30)))


@dataclass(frozen=True)
class Failure:
    """How one attempt failed."""

    failure_class: str
    zone: str | None = None


@dataclass(frozen=True)
class Decision:
    """What happens to a trial after an attempt: it ends, or is PLANNED again after a wait, perhaps in another zone."""

    state: State
    wait_s: float = 0.0
    zone: str | None = None
    reason: str = ""


_WAITS = frozenset({CapacityLacking.failure_class, QuotaReached.failure_class, Throttled.failure_class})
_LOST = frozenset(kind.failure_class for kind in (MachineLost, MachinePreempted, InfrastructureFailure, UnknownAnswer))
_ENDED: Mapping[str, State] = {MachineUnsupported.failure_class: State.INVALID}


def after_failure(failures: Sequence[Failure], zones: Sequence[str | None], patience: Patience) -> Decision:
    """What to do after these failures, oldest first; `zones` are those listed, in order of preference.

    Only infrastructure failures are retried: lost machines at most `patience.retries` times, each time on a new
    cluster, but an answer that is not known once; missing capacity at once in the next listed zone, and after the last
    one later again; a zone that does not offer the machine type is never tried again. Any failure of the measurement
    itself ends the trial: retrying until it works would select results.
    """
    last = failures[-1]
    without = {one.zone for one in failures if one.failure_class == MachineUnsupported.failure_class}
    zones = [zone for zone in zones if zone not in without]
    if last.failure_class in _LOST:
        return _new_machines(failures, patience)
    if last.failure_class not in _WAITS:
        return _not_there(last, zones)
    waited = sum(failure.failure_class in _WAITS for failure in failures)
    if waited > patience.waits:
        return Decision(State.GAVE_UP, reason=f"{last.failure_class}: gave up after {waited} tries")
    if last.failure_class == CapacityLacking.failure_class:
        return _next_zone(failures, zones, patience)
    return Decision(State.PLANNED, patience.wait_s(waited - 1), last.zone, f"waiting: {last.failure_class}")


def _new_machines(failures: Sequence[Failure], patience: Patience) -> Decision:
    lost = sum(failure.failure_class in _LOST for failure in failures)
    if sum(failure.failure_class == UnknownAnswer.failure_class for failure in failures) > 1:
        return Decision(State.GAVE_UP, reason="refused twice by an answer that nephoscope does not know")
    if lost > patience.retries:
        return Decision(State.GAVE_UP, reason=f"machines were lost {lost} times")
    return Decision(State.PLANNED, zone=failures[-1].zone, reason="new machines")


def _not_there(last: Failure, zones: Sequence[str | None]) -> Decision:
    """A machine type may be offered in another of the zones that are left; everything else ends the trial."""
    if last.failure_class == MachineUnsupported.failure_class and zones:
        return Decision(State.PLANNED, zone=zones[0], reason=f"no such machine type: trying zone {zones[0]}")
    return Decision(_ENDED.get(last.failure_class, State.GAVE_UP), reason=last.failure_class)


def _next_zone(failures: Sequence[Failure], zones: Sequence[str | None], patience: Patience) -> Decision:
    """After the last listed zone comes the first one again, and only then a wait."""
    last = failures[-1].zone
    place = zones.index(last) + 1 if last in zones else 0
    if place < len(zones):
        return Decision(State.PLANNED, zone=zones[place], reason=f"no capacity: trying zone {zones[place]}")
    rounds = sum(failure.failure_class == CapacityLacking.failure_class for failure in failures) // max(1, len(zones))
    return Decision(
        State.PLANNED, patience.wait_s(max(0, rounds - 1)), zones[0] if zones else None, "waiting for capacity"
    )


BENCHMARKS = "benchmarks"
_STEPS: Mapping[str, str] = {
    State.PROVISIONING: "getting machines",
    State.PREPARING: "checking machines",
    State.VERIFIED: "databases and data",
    State.RUNNING: BENCHMARKS,
    State.DESTROYING: "returning machines",
}
"""What a trial does in a state; in all others it waits or is stored."""


@dataclass(frozen=True)
class TimeSpent:
    """Seconds of one run."""

    elapsed_s: float
    """From the first change of a state to the last."""
    by_step_s: Mapping[str, float]
    """Added up over trials, which may run beside each other; the longest first."""


def time_spent(trials: Iterable[Sequence[StateRecord]], since_unix_ms: int) -> TimeSpent | None:
    """Where the time went since a moment; None: nothing has happened since.

    Args:
        trials: the states of each trial, in order.
        since_unix_ms: when the run began. What an earlier run left open began before and is not counted.
    """
    spent: defaultdict[str, float] = defaultdict(float)
    moments: list[int] = []
    for states in trials:
        own = [record for record in states if record.at_unix_ms >= since_unix_ms]
        moments += [record.at_unix_ms for record in own]
        for before, after in pairwise(own):
            if before.state in _STEPS:
                spent[_STEPS[before.state]] += (after.at_unix_ms - before.at_unix_ms) / 1000
    if not moments:
        return None
    longest_first = dict(sorted(spent.items(), key=lambda step: -step[1]))
    return TimeSpent((max(moments) - min(moments)) / 1000, longest_first)
