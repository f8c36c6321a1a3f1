"""Burst, baseline and the fall between them, told apart by the stolen CPU time of each second."""

import numpy as np
import pytest

from nephoscope.stats.credits import credit_phase

CHANCE = np.random.default_rng(4)


def around(level: float, seconds: int, deviation: float = 0.02) -> list[float]:
    return [float(value) for value in np.clip(CHANCE.normal(level, deviation, seconds), 0, 1)]


@pytest.mark.parametrize(
    ("stolen", "kind"),
    [
        ([], "burst"),
        ([0.0] * 120, "burst"),
        (around(0.6, 120), "baseline"),
        (around(0.8, 90), "baseline"),
        (around(0.6, 59), "too short"),
        ([*([0.0] * 60), *around(0.6, 60)], "ran out"),
        (around(0.4, 120, 0.3), "unsteady"),
        ([*around(0.6, 60), *([0.0] * 60)], "unsteady"),
    ],
)
def test_phases(stolen: list[float], kind: str) -> None:
    assert credit_phase(stolen, 0.02).kind == kind


def test_the_moment_when_credits_ran_out_is_known_with_both_levels() -> None:
    found = credit_phase([*([0.0] * 80), *([0.6] * 60)], 0.02)
    assert (found.kind, found.start, found.stolen_before) == ("ran out", 80, 0.0)
    assert found.stolen_after == pytest.approx(0.6)
