"""The offset of a clock: of a fake machine by a fake clock, and of this one, which has none."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from nephoscope.machines.facts import TRIES, ClockOffset, clock_offset
from nephoscope.machines.fake import Answer, FakeRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import MachineLost, NephoscopeError, ToolTimedOut
from nephoscope.run.clock import FakeClock
from tests.support.local_remote import this_machine


def asked(
    takes_s: Sequence[float], off_s: float, error: NephoscopeError | None = None
) -> tuple[ClockOffset | None, int]:
    """What is found, and how often it was asked: each asking takes its time, and the answer is read in the middle."""
    clock, waits = FakeClock(unix_ms=1_700_000_000_000), iter(takes_s)

    def now_s() -> float:
        return clock.unix_ms() / 1000 + clock.monotonic_s() % 0.001

    def date(_argv: Sequence[str], _stdin: bytes) -> Answer:
        took_s = next(waits)
        clock.elapse(took_s / 2)
        return Answer(f"{now_s() + off_s:.9f}\n".encode(), takes_s=took_s / 2, error=error)

    remote = FakeRemote({"date": date}, clock)
    found = asyncio.run(clock_offset(MachineHandle("m", remote, "192.0.2.1", (0,), "/"), now_s))
    return found, len(remote.executed)


def test_a_quick_answer_is_enough() -> None:
    found, times = asked([0.02], 3.5)
    assert found is not None
    assert [found.offset_s, found.bound_s] == pytest.approx([3.5, 0.01], abs=1e-3)
    assert times == 1


def test_slow_answers_are_asked_for_again_and_the_tightest_counts() -> None:
    found, times = asked([0.8, 0.4, 0.6, 0.5, 0.7, 0.01], -0.2)
    assert found is not None
    assert [found.offset_s, found.bound_s] == pytest.approx([-0.2, 0.2], abs=1e-3)
    assert times == TRIES


def test_a_machine_that_does_not_tell_the_time() -> None:
    assert asked([0.1], 0.0, ToolTimedOut("date hangs"))[0] is None
    with pytest.raises(MachineLost):
        asked([0.1], 0.0, MachineLost("gone"))
    answers = (b"what?", b"nan", b"inf", b"1e300", b"9" * 5_000)

    def saying(said: bytes) -> FakeRemote:
        return FakeRemote({"date": lambda _argv, _stdin: Answer(said)}, FakeClock())

    for remote in (*map(saying, answers), FakeRemote({}, FakeClock())):
        assert asyncio.run(clock_offset(MachineHandle("m", remote, "192.0.2.1", (0,), "/"))) is None


def test_this_machine_agrees_with_itself(tmp_path: Path) -> None:
    found = asyncio.run(clock_offset(this_machine(tmp_path)))
    assert found is not None
    assert abs(found.offset_s) <= found.bound_s + 1e-6
