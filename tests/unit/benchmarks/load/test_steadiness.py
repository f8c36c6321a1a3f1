"""The longest pause and the share of slow seconds, on seconds that are made up."""

from collections.abc import Sequence

import pytest

from nephoscope.benchmarks.base import Ended
from nephoscope.benchmarks.load.metrics import PAUSE, SLOW_SECONDS, steadiness


def seconds(*counts: Sequence[int]) -> dict[str, float]:
    """Of so many operations in each 100 ms of each second."""
    parts = [Ended(1000.0 * at, 1000.0 * (at + 1), sum(steps), steps) for at, steps in enumerate(counts)]
    return {row.metric: row.value for row in steadiness(parts)}


STEADY = [10] * 10


def test_a_pause_goes_over_the_edge_of_a_second() -> None:
    stopping, starting = [10] * 6 + [0] * 4, [0] * 3 + [10] * 7
    assert seconds(STEADY, stopping, starting, STEADY)[PAUSE.name] == pytest.approx(0.7)
    assert seconds(stopping, STEADY, starting)[PAUSE.name] == pytest.approx(0.4)
    assert seconds(STEADY, STEADY)[PAUSE.name] == 0


def test_slow_seconds_are_those_below_half_of_the_median() -> None:
    slow, hardly = [4] * 10, [5] * 10
    assert seconds(STEADY, slow, STEADY, STEADY)[SLOW_SECONDS.name] == 0.25
    assert seconds(STEADY, hardly, STEADY, STEADY)[SLOW_SECONDS.name] == 0
    assert SLOW_SECONDS.name not in seconds(STEADY, slow), "two seconds have no usual rate"


def test_what_earlier_versions_did_not_record_is_no_pause_of_0() -> None:
    parts = [Ended(1000.0 * at, 1000.0 * (at + 1), 100) for at in range(3)]
    assert [row.metric for row in steadiness(parts)] == [SLOW_SECONDS.name]
    assert not list(steadiness([]))
