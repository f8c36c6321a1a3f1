"""What dips cost a mean, in series of any length."""

from collections.abc import Sequence

import pytest

from nephoscope.stats.dips import Dip, dips, finest_steps


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


@pytest.mark.parametrize(
    ("counts", "factor", "values", "low"),
    [
        ([100, 101, 99, 0, 100], 1, [100, 101, 99, 0, 100], 0.5),
        ([100, 112, 88, 100, 112, 88, 0], 1, [100, 112, 88, 100, 112, 88, 0], None),  # noise lowers what is a dip
        ([100, 200, 100, 200, 0, 0, 150], 2, [300, 300, 0], 0.5),  # in single steps a dip would be noise
        ([15, 15, 15, 15, 0], 2, [30, 30], 0.5),  # so few that single ones may be empty by chance
        ([10, 200, 100, 20, 2, 90], 5, [332], 0.5),  # of the longest, any spread is good enough
        ([3, 3, 3, 3, 3], None, [], None),
        ([], None, [], None),
    ],
)
def test_steps_are_as_short_as_noise_allows(
    counts: Sequence[float], factor: int | None, values: Sequence[float], low: float | None
) -> None:
    steps = finest_steps(counts, (1, 2, 5), 20)
    assert (steps and steps.factor, steps.values if steps else []) == (factor, values)
    if steps is not None:
        assert 0.05 <= steps.low < 0.5 if low is None else steps.low == low
