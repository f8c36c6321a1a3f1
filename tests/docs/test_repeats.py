"""Repeating for disturbances from outside does not bend medians, and the simulation would show it if it did."""

import pytest

from tests.docs.repeats import OWN_SHARE, SHARES, medians

STUDIES = 4_000
ERROR = 0.001
"""The median of six values with a CV of 2 % has a standard error of 1 %; that of the mean of 4,000 is 0.02 %."""


@pytest.mark.parametrize("share", SHARES)
def test_repeating_what_was_disturbed_from_outside_bends_no_median_and_keeps_more_trials(share: float) -> None:
    found = medians(share, studies=STUDIES)
    assert found.repeated_error == pytest.approx(0, abs=ERROR)
    assert found.left_out_error == pytest.approx(0, abs=ERROR)
    assert found.repeated_n == pytest.approx(6 * (1 - share**3), abs=0.05)
    assert found.left_out_n == pytest.approx(6 * (1 - share), abs=0.05)
    assert found.counted_error < -0.002


def test_the_same_simulation_shows_the_bend_where_the_disturbance_is_the_machines_own() -> None:
    found = medians(OWN_SHARE, own=True, studies=STUDIES)
    assert found.counted_error == pytest.approx(0, abs=0.01)
    assert found.repeated_error > 0.05
