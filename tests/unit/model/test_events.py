"""Events of trials, as files hold them and as people read them."""

import pytest

from nephoscope.model.events import Event


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (
            Event("stall", 1, first_s=4.0, length_s=2.0, cost=0.25, metric="randread.iops"),
            "nothing was completed for 2 s, from 4 s on, at a cost of 25 % of the mean",
        ),
        (
            Event("dips", 3, first_s=1.5, length_s=9.0),
            "less than half of the usual rate was completed 3 times, for 9 s together, first after 1.5 s",
        ),
        (Event("stop", 1, first_s=0.5, length_s=5.5), "the load generator stood still for 5.5 s, from 0.5 s on"),
        (Event("lost-connections", 17), "17 connections were lost and made again"),
    ],
)
def test_an_event_is_read_as_it_was_written_and_says_when_and_how_long(event: Event, said: str) -> None:
    assert Event.read(str(event)) == event
    assert event.clause == said


@pytest.mark.parametrize("stored", ["", "nap times=1", "stall when=3"])
def test_another_text_is_no_event(stored: str) -> None:
    with pytest.raises(ValueError, match="is no event"):
        Event.read(stored)
