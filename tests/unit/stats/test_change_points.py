"""Change points: quiet on steady series, exact on steps, and right on two machines that ran for a day."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.stats.change_points import MIN_VALUES, Plateau, plateaus, throttling
from tests.support.series import Noise, alarms, hits, oracle_hits
from tests.support.shared_data import shared

PAGE = Path(__file__).resolve().parents[3] / "docs" / "concepts" / "detectors.md"
CELLS = [Noise(length, dependence, 0.02) for length in (60, 120, 240) for dependence in (0.0, 0.5, 0.7)]
CELLS += [Noise(length, dependence, 0.05) for length in (240, 1440) for dependence in (0.0, 0.5, 0.7)]
CELLS += [Noise(1440, 0.7, 0.02), Noise(240, 0.9, 0.05)]
REPEATS = 200
_ORACLE_UP_TO = 240
"""Values: beyond, a matrix of all shapes is large, and nothing is lost there."""


def a_day_of(name: str) -> list[float]:
    text = shared(f"tool-outputs/inspector/{name}_stressnglongrun_parsed.csv.txt").read_text()
    return [float(line.split(",")[2]) for line in text.splitlines()]


def test_a_day_of_a_steady_machine_is_steady() -> None:
    (found,) = plateaus(a_day_of("aws_c7g.large"))
    assert (found.start, found.end) == (0, 1440)
    assert found.level == pytest.approx(3043.56, abs=0.01)


def test_a_day_of_a_throttled_machine_tells_minute_and_level() -> None:
    values = a_day_of("hcloud_cx22")
    found = throttling(values, plateaus(values))
    assert found
    assert found.start == 1160
    assert found.burst_level == pytest.approx(1979, rel=0.01)
    assert found.sustained_level == pytest.approx(458, rel=0.01)


@pytest.mark.parametrize("noise", [Noise(240, 0.0, 0.02), Noise(240, 0.5, 0.02), Noise(240, 0.7, 0.02)], ids=str)
def test_few_alarms_and_nearly_all_steps(noise: Noise) -> None:
    assert alarms(noise, 60, seed=1) <= 3
    assert hits(noise, 60, seed=2) >= 57


def test_a_change_in_values_that_depend_on_each_other_is_found_at_its_jump() -> None:
    """By sums of squares alone the wandering of the noise hides it."""
    noise = Noise(240, 0.7, 0.02)
    values = noise.draw(np.random.default_rng(5)) * np.where((np.arange(240) >= 100) & (np.arange(240) < 124), 0.9, 1.0)
    assert [one.start for one in plateaus(values.tolist())] == [0, 100, 124]


@pytest.mark.slow
@pytest.mark.parametrize("noise", CELLS, ids=str)
def test_the_page_shows_what_the_simulation_gives(noise: Noise) -> None:
    false, found = alarms(noise, REPEATS, seed=1), hits(noise, REPEATS, seed=2)
    possible = "" if noise.length > _ORACLE_UP_TO else str(oracle_hits(noise, REPEATS, seed=2))
    row = f"| {noise.length} | {noise.dependence:g} | {noise.spread * 100:g} % | {false} | {found} | {possible} |"
    assert row in PAGE.read_text(), row


def test_the_page_keeps_what_was_asked_for() -> None:
    rows = re.findall(r"^\| (\d+) \| [\d.]+ \| ([\d.]+) % \| (\d+) \| (\d+) \| \d* \|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == len(CELLS)
    for length, spread_percent, false, found in rows:
        assert int(false) <= 0.05 * REPEATS
        if int(length) >= 1440 or (int(length) >= 240 and float(spread_percent) <= 2):
            assert int(found) >= 0.95 * REPEATS


def test_noise_that_wanders_is_no_change() -> None:
    """By each value's own news alone a quarter of these are alarms; one level that wanders explains them as well."""
    assert alarms(Noise(200, 0.95, 0.05), 60, seed=1) <= 3


def test_a_dip_is_a_change_and_no_throttling() -> None:
    values = [100.0 + at % 3 for at in range(60)] + [80.0 + at % 3 for at in range(40)] + [101.0, 100.0] * 30
    found = plateaus(values)
    assert [(one.start, one.end, round(one.level)) for one in found] == [(0, 60, 101), (60, 100, 81), (100, 160, 100)]
    assert throttling(values, found) is None


def test_a_rise_is_no_throttling() -> None:
    assert throttling([100.0] * 50 + [140.0] * 50, (Plateau(0, 50, 100.0), Plateau(50, 100, 140.0))) is None


def test_of_several_falls_the_deepest_counts_and_levels_are_medians_over_time() -> None:
    levels = (Plateau(0, 10, 90.0), Plateau(10, 100, 100.0), Plateau(100, 120, 40.0), Plateau(120, 200, 35.0))
    found = throttling([one.level for one in levels for _ in range(one.start, one.end)], levels)
    assert found
    assert (found.start, found.burst_level, found.sustained_level) == (100, 100.0, 35.0)


def test_single_outliers_and_small_changes_are_no_levels() -> None:
    values = [100.0 + at % 5 / 10 for at in range(200)]
    values[50], values[120] = 5.0, 900.0
    assert len(plateaus(values)) == 1
    assert len(plateaus(values[:100] + [0.97 * value for value in values[100:]])) == 1


def test_short_constant_and_impossible_series() -> None:
    assert len(plateaus([1.0, 9.0] * (MIN_VALUES // 2 - 1))) == 1
    assert plateaus([7.0] * 100) == (Plateau(0, 100, 7.0),)
    assert [one.start for one in plateaus([7.0] * 50 + [3.0] * 50)] == [0, 50]
    assert len(plateaus([0.0] * 40)) == 1
    for wrong in ([], [1.0, float("nan")], [float("inf")]):
        with pytest.raises(ValueError, match="finite"):
            plateaus(wrong)


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=80), st.floats(1e-3, 1e3))
def test_plateaus_cover_the_series_and_do_not_depend_on_its_unit(values: list[float], unit: float) -> None:
    found = plateaus(values)
    assert found[0].start == 0
    assert found[-1].end == len(values)
    assert all(left.end == right.start for left, right in pairwise(found))
    throttling(values, found)


def test_the_unit_does_not_matter() -> None:
    values = [100.0 + at % 7 for at in range(100)] + [60.0 + at % 7 for at in range(60)]
    bounds = [(one.start, one.end) for one in plateaus(values)]
    assert bounds == [(one.start, one.end) for one in plateaus([8e9 * value for value in values])]


def test_a_long_series_is_found_by_bins() -> None:
    values = [100.0 + at % 7 for at in range(6000)] + [80.0 + at % 7 for at in range(3000)]
    (_, second) = plateaus(values)
    assert abs(second.start - 6000) <= 9
