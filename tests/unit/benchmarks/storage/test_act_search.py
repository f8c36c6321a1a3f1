"""The search for the highest load: what it finds on devices whose limits are known, and how long it takes."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.benchmarks.storage.act_search import ActSearch, Ask, Purpose


@dataclass(frozen=True)
class Device:
    """Up to which load it passes, for an hour and for a day, and up to which it keeps up with what is asked."""

    an_hour: float
    a_day: float
    keeps_up: float = float("inf")

    def passes(self, ask: Ask) -> bool:
        limits = {Purpose.PROBE: self.an_hour, Purpose.WHOLE: self.a_day, Purpose.STRESS: self.keeps_up}
        return ask.times <= limits[ask.purpose]


def searched(device: Device, first: float = 1, most: float = 1024) -> tuple[ActSearch, list[Ask]]:
    search, asked = ActSearch(first, most, step=1.1), list[Ask]()
    while (ask := search.next) is not None:
        assert ask not in asked, "nothing is tried twice"
        asked.append(ask)
        search = search.observed(ask, passed=device.passes(ask))
    return search, asked


def test_doubles_then_narrows_then_runs_the_whole_time_and_under_stress() -> None:
    search, asked = searched(Device(an_hour=11, a_day=11))
    assert [ask.times for ask in asked] == [1, 2, 4, 8, 16, 11, 13, 12, 11, 22]
    assert [ask.purpose for ask in asked[-2:]] == [Purpose.WHOLE, Purpose.STRESS]
    assert search.found == 11


def test_a_device_that_tires_gets_what_it_keeps_for_the_whole_time() -> None:
    search, asked = searched(Device(an_hour=11, a_day=6))
    assert 6 / 1.1 <= search.found <= 6
    assert sum(ask.purpose is Purpose.WHOLE for ask in asked) > 1


def test_a_load_counts_only_if_twice_of_it_is_kept_up_with() -> None:
    search, _ = searched(Device(an_hour=11, a_day=11, keeps_up=10))
    assert 5 / 1.1 <= search.found <= 5


def test_a_slow_device_is_tried_below_the_first_load() -> None:
    assert searched(Device(an_hour=0.3, a_day=0.3))[0].found == pytest.approx(0.3, rel=0.1)


def test_a_device_that_passes_nothing_has_found_nothing() -> None:
    search, asked = searched(Device(an_hour=0, a_day=0))
    assert search.found == 0
    assert [ask.times for ask in asked] == [1, 0.5, 0.25, 0.12]


def test_the_most_is_not_exceeded_except_under_stress() -> None:
    search, asked = searched(Device(an_hour=1000, a_day=1000), most=6)
    assert search.found == 6
    assert max(ask.times for ask in asked if ask.purpose is not Purpose.STRESS) == 6


def test_what_was_found_is_not_told_before_the_end() -> None:
    with pytest.raises(ValueError, match="not ended"):
        _ = ActSearch(1, 1024, 1.1).found


@given(st.floats(0.15, 500), st.floats(0.1, 1), st.floats(1, 4))
def test_finds_what_holds_in_every_respect_to_a_step(an_hour: float, tires: float, keeps_up: float) -> None:
    device = Device(an_hour, an_hour * tires, an_hour * keeps_up)
    limit = min(device.an_hour, device.a_day, device.keeps_up / 2)
    search, asked = searched(device)
    assert search.found <= limit
    if limit > 0.15:
        assert search.found >= limit / 1.18, "a step, and the rounding to two digits"
    assert len(asked) < 40
