"""What dips cost a mean, in series of any length."""

from collections.abc import Sequence

import pytest

from nephoscope.stats.dips import Dip, dips


@pytest.mark.parametrize(
    ("values", "cost", "each"),
    [
        ([100.0, 100.0], 0.0, []),
        ([100.0, 0.0], 0.5, [Dip(1, 1, 1, 1)]),
        ([20192, 18100, 19691, 507, 0, 0, 0, 0], 0.622, [Dip(3, 5, 4.974, 4)]),
        ([100.0, 60.0, 100.0, 100.0], 0.0, []),
        ([0.0, 100.0, 40.0, 100.0, 100.0, 0.0], 2.6 / 6, [Dip(0, 1, 1, 1), Dip(2, 1, 0.6, 0), Dip(5, 1, 1, 1)]),
        ([100.0 - at % 50 for at in range(200)], 0.0, []),
    ],
)
def test_dips_cost_what_the_mean_lacks(values: Sequence[float], cost: float, each: list[Dip]) -> None:
    seen = dips(values)
    assert seen is not None
    assert seen.cost == pytest.approx(cost, abs=1e-3)
    assert [Dip(one.start, one.length, round(one.lost, 3), one.zeros) for one in seen.each] == each


@pytest.mark.parametrize("values", [[], [0.0, 0.0]])
def test_a_series_without_a_usual_value_has_no_dips(values: Sequence[float]) -> None:
    assert dips(values) is None
