"""How far a machine's clock is from the controller's, with bounds that hold for any network delay."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import MachineLost, ToolMissing, TrialFailure
from nephoscope.model.quantities import MOST_S

GOOD_BOUND_S = 0.05
"""A bound this tight needs no further reading: it is a fifth of the check's limit."""
TRIES = 5
_TIMEOUT_S = 10.0
_ARGV = ("date", "+%s.%N")


@dataclass(frozen=True)
class ClockOffset:
    """The machine's clock minus the controller's."""

    offset_s: float
    bound_s: float
    """Its maximum error: half the duration of the reading."""


async def clock_offset(machine: MachineHandle, now_s: Callable[[], float] = time.time) -> ClockOffset | None:
    """Reads the clock until an answer comes quickly enough, at most `TRIES` times; None: it cannot be read.

    The machine's reading lies between the moments before and after the call. Steps of the controller's clock in
    between, which are rare and short, would show as an offset.

    Raises:
        MachineLost: the machine disappeared.
    """
    best: ClockOffset | None = None
    for _ in range(TRIES):
        asked_s = now_s()
        try:
            done = await machine.remote.execute(Command(_ARGV, timeout_s=_TIMEOUT_S, pinned=False))
        except MachineLost:
            raise
        except (ToolMissing, TrialFailure):
            return best
        answered_s = now_s()
        found = _between(done.stdout, asked_s, answered_s)
        if found is None:
            return best
        if best is None or found.bound_s < best.bound_s:
            best = found
        if best.bound_s <= GOOD_BOUND_S:
            break
    return best


def _between(said: bytes, asked_s: float, answered_s: float) -> ClockOffset | None:
    try:
        read_s = float(said.decode(errors="replace").strip())
    except ValueError:
        return None
    if not abs(read_s) <= MOST_S:  # NaN is no time either
        return None
    return ClockOffset(read_s - (asked_s + answered_s) / 2, (answered_s - asked_s) / 2)
