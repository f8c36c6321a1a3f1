"""Where the time of a run went, by the state that its trials were in. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from nephoscope.model.control import State, StateRecord

BENCHMARKS = "benchmarks"
_STEPS: Mapping[str, str] = MappingProxyType(
    {
        State.PROVISIONING: "getting machines",
        State.PREPARING: "checking machines",
        State.VERIFIED: "databases and data",
        State.RUNNING: BENCHMARKS,
        State.DESTROYING: "returning machines",
    }
)
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
