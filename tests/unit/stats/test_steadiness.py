"""Warm-up and drift of a series."""

import numpy as np
import pytest

from nephoscope.stats.steadiness import steadiness
from tests.support.series import Noise


def test_a_warm_up_is_cut_off() -> None:
    chance = np.random.default_rng(1)
    values = [*np.linspace(200, 1000, 50), *Noise(300, 0.0, 0.02).draw(chance)]
    found = steadiness([float(value) for value in values])
    assert found
    assert found.came_to_rest
    assert 30 <= found.warm_up <= 60
    assert not found.drifts


def test_a_series_that_keeps_rising_drifts() -> None:
    chance = np.random.default_rng(2)
    values = Noise(300, 0.0, 0.02).draw(chance) * np.linspace(1, 1.3, 300)
    found = steadiness([float(value) for value in values])
    assert found
    assert found.drifts
    assert found.drift > 0.1


@pytest.mark.parametrize("dependence", [0.0, 0.5, 0.7])
def test_the_interval_of_the_drift_holds_0_on_nearly_all_steady_series(dependence: float) -> None:
    chance = np.random.default_rng(3)
    found = [steadiness([float(v) for v in Noise(400, dependence, 0.02).draw(chance)]) for _ in range(200)]
    assert sum(one.drifts for one in found if one) <= 0.08 * 200


def test_too_few_values_or_none_at_all() -> None:
    assert steadiness([1.0] * 49) is None
    assert steadiness([0.0] * 100) is None
    flat = steadiness([5.0] * 100)
    assert flat
    assert not flat.drifts
