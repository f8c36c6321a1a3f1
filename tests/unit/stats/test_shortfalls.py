"""Shortfalls of a promised rate: none on quiet days, planted ones with both ends, and what they cost."""

import numpy as np
import pytest

from bench.simulations.quiet_days import NOISES, Noise, false_of, found_of, is_found, planted
from nephoscope.stats.shortfalls import Shortfall, kept, shortfalls


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_a_quiet_day_has_no_shortfall(noise: Noise) -> None:
    assert false_of(noise, 2) == 0


@pytest.mark.slow
def test_a_hundred_quiet_days_have_at_most_one() -> None:
    assert [false_of(noise, 100) <= 1 for noise in NOISES] == [True] * len(NOISES)


@pytest.mark.parametrize("noise", NOISES[:3], ids=lambda noise: noise.name)
def test_stalls_and_slow_hours_are_found_and_timed(noise: Noise) -> None:
    found, planted_ones = found_of(noise, 1)
    assert found == planted_ones == len(list(planted()))


def test_the_ends_are_those_of_the_low_seconds() -> None:
    shares = [1.0] * 50 + [0.0] * 2 + [1.0] * 40 + [0.7] * 30 + [1.0] * 20
    assert [(one.start, one.end, round(one.share, 9)) for one in shortfalls(shares)] == [(50, 52, 0.0), (92, 122, 0.7)]
    assert not is_found(Shortfall(53, 56, 0.0), shortfalls(shares)), "the simulations would see a wrong time"


def test_half_a_second_without_anything_is_one_and_a_slow_second_is_none() -> None:
    assert [len(shortfalls([1.0] * 30 + [low] + [1.0] * 30)) for low in (0.3, 0.6)] == [1, 0]
    assert shortfalls([1.0] * 30 + [0.5, 0.5] + [1.0] * 30) == (Shortfall(30, 32, 0.5),)


def test_a_volume_that_falls_for_good_was_throttled_then() -> None:
    found = kept([1.2] * 100 + [0.25] * 300)
    assert found.throttled_after == 100
    assert found.longest_s == 300
    assert found.share_at_least == 0.25
    assert found.lacking == pytest.approx(0.75 * 0.75), "the time above the promise makes up for nothing"
    assert kept([1.0] * 100 + [0.25] * 30).throttled_after is None, "it may have come back"
    assert kept([1.0] * 400).shortfalls == ()
    assert kept([0.5] * 400).throttled_after == 0


def test_noise_around_the_limit_needs_more_to_be_one() -> None:
    chance = np.random.default_rng(3)
    wild = (1 + 0.15 * chance.standard_normal(3600)).tolist()
    assert len(shortfalls(wild)) <= 1
    wild[1000:1060] = [0.0] * 60
    assert is_found(Shortfall(1000, 1060, 0.0), shortfalls(wild))


def test_no_seconds_keep_nothing() -> None:
    with pytest.raises(ValueError, match="there are none"):
        kept([])
