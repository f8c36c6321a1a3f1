"""The critical values that plans read are those that SciPy computes."""

import math

import numpy as np
import pytest

from nephoscope.stats.detectable_table import critical_values, detectable_share
from nephoscope.stats.leaderboard import errors_to_exclude
from nephoscope.stats.studentized_range import MAX_GROUPS
from tests.docs.critical_values import computed
from tests.support.generated import STALE


def test_the_stored_values_are_the_computed_ones() -> None:
    stored, now = critical_values(), computed()
    assert stored.keys() == now.keys()
    for name, value in now.items():
        found = np.array(stored[name])  # type: ignore[literal-required]
        assert found == pytest.approx(np.array(value), rel=1e-9), STALE


@pytest.mark.parametrize(
    ("configurations", "replicates"),
    [(2, 3), (2, 33), (2, 90), (3, 3), (7, 6), (41, 4), (175, 12), (2001, 3), (5000, 5)],
)
def test_a_plan_says_what_the_analysis_would(configurations: int, replicates: int) -> None:
    freedom = (configurations - 1) * (replicates - 1)
    errors = errors_to_exclude(configurations, freedom)
    expected = math.expm1(errors * 0.02 * math.sqrt(2 / replicates))
    assert detectable_share(configurations, replicates, 0.02) == pytest.approx(expected, rel=2e-4)


def test_more_configurations_than_the_table_has_count_as_its_last() -> None:
    assert detectable_share(2 * MAX_GROUPS, 400, 0.02) == pytest.approx(detectable_share(MAX_GROUPS, 400, 0.02), 1e-6)
