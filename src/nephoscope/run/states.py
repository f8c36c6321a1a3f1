"""A trial's states, and what follows from a failure. Pure: no clock, no machine, no database.

Planned, leased, provisioning, preparing, verified, running, collected, destroying; then done, invalid, gave up or out
of budget. A failure of the infrastructure leads from destroying back to planned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from nephoscope.model.errors import (
    CapacityLacking,
    InfrastructureFailure,
    MachineLost,
    MachineUnsupported,
    QuotaReached,
    Throttled,
)


class State(StrEnum):
    """Where a trial stands."""

    PLANNED = "planned"
    LEASED = "leased"
    PROVISIONING = "provisioning"
    PREPARING = "preparing"
    VERIFIED = "verified"
    RUNNING = "running"
    COLLECTED = "collected"
    DESTROYING = "destroying"
    DONE = "done"
    """It counts."""
    INVALID = "invalid"
    """Kept as data and not counted: a check refused it, or there is no such machine."""
    GAVE_UP = "gave up"
    """It has no number: something failed that trying again would not change, or too often."""
    OUT_OF_BUDGET = "out of budget"
    """It was not begun, or was ended on its machines, as the budget has no more; a larger one begins it anew."""


ENDS = frozenset({State.DONE, State.INVALID, State.GAVE_UP})
STOPS = ENDS | {State.OUT_OF_BUDGET}
"""Where a trial stays until somebody runs the study again."""
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
    """True when a trial may come from one state into the other; `None`: it has none yet.

    Forward by one step, and from each step to DESTROYING: what was begun is given back, however it went. From there it
    ends, or begins anew. A controller that died leaves any state behind: the next one begins anew (PLANNED), or goes
    on with what runs on machines that outlived it (PROVISIONING finds them).
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
"""A measurement that runs already is not prepared again, and one that has ended is not run again."""


@dataclass(frozen=True)
class Patience:
    """How long and how often a trial waits for machines."""

    retries: int = 3
    """New clusters after machines were lost."""
    waits: int = 40
    """For capacity, quota or an answer."""
    first_wait_s: float = 30.0
    longest_wait_s: float = 900.0

    def wait_s(self, waited: int) -> float:
        """Before the next try; doubles with each."""
        return float(min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(waited, 30)))


@dataclass(frozen=True)
class Failure:
    """How one attempt failed."""

    failure_class: str
    zone: str | None = None


@dataclass(frozen=True)
class Decision:
    """What becomes of a trial after an attempt: an end, or PLANNED again after a wait, perhaps in another zone."""

    state: State
    wait_s: float = 0.0
    zone: str | None = None
    reason: str = ""


_WAITS = frozenset({CapacityLacking.failure_class, QuotaReached.failure_class, Throttled.failure_class})
_LOST = frozenset({MachineLost.failure_class, InfrastructureFailure.failure_class})
_ENDED: Mapping[str, State] = MappingProxyType({MachineUnsupported.failure_class: State.INVALID})


def after_failure(failures: Sequence[Failure], zones: Sequence[str | None], patience: Patience) -> Decision:
    """What follows when attempts failed so, oldest first; `zones` are those listed, in order of preference.

    Only failures of the infrastructure are tried again: machines lost at most `patience.retries` times, each time on a
    new cluster; capacity in the next listed zone at once, and after the last one later again. Whatever a measurement
    itself failed of ends the trial: trying until it works would choose what counts.
    """
    last = failures[-1]
    if last.failure_class in _LOST:
        lost = sum(failure.failure_class in _LOST for failure in failures)
        if lost > patience.retries:
            return Decision(State.GAVE_UP, reason=f"machines were lost {lost} times")
        return Decision(State.PLANNED, zone=last.zone, reason="new machines")
    if last.failure_class not in _WAITS:
        return Decision(_ENDED.get(last.failure_class, State.GAVE_UP), reason=last.failure_class)
    waited = sum(failure.failure_class in _WAITS for failure in failures)
    if waited > patience.waits:
        return Decision(State.GAVE_UP, reason=f"{last.failure_class}: tried {waited} times")
    if last.failure_class == CapacityLacking.failure_class:
        return _next_zone(failures, zones, patience)
    return Decision(State.PLANNED, patience.wait_s(waited - 1), last.zone, f"waits: {last.failure_class}")


def _next_zone(failures: Sequence[Failure], zones: Sequence[str | None], patience: Patience) -> Decision:
    """After the last listed zone the first one again, and only then a wait."""
    last = failures[-1].zone
    place = zones.index(last) + 1 if last in zones else 0
    if place < len(zones):
        return Decision(State.PLANNED, zone=zones[place], reason=f"capacity: on to zone {zones[place]}")
    rounds = sum(failure.failure_class == CapacityLacking.failure_class for failure in failures) // max(1, len(zones))
    return Decision(State.PLANNED, patience.wait_s(max(0, rounds - 1)), zones[0] if zones else None, "waits: capacity")
