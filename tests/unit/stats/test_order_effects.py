"""Order effects: SciPy's Kruskal-Wallis, level under no effect, power under drift."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from nephoscope.stats import order
from nephoscope.stats.order import group_effect, serial_effect, standardised
from nephoscope.stats.samples import Floats


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=4, max_size=40))
def test_the_statistic_of_groups_is_scipy_s_kruskal_wallis(pairs: list[tuple[int, int]]) -> None:
    values, groups = [float(v) for v, _ in pairs], [g for _, g in pairs]
    if len(set(groups)) < 2 or len(set(values)) < 2:
        return
    expected = scipy_stats.kruskal(*[[v for v, g in pairs if g == group] for group in sorted(set(groups))])
    found = group_effect(np.array(values), groups, [0] * len(values), seed=1)
    assert found is not None
    assert found.statistic == pytest.approx(float(expected.statistic), rel=1e-9, abs=1e-9)


def test_values_without_a_group_each_are_refused() -> None:
    with pytest.raises(ValueError, match="3 values but 2 groups"):
        group_effect(np.array([1.0, 2.0, 3.0]), [0, 1], [0, 0, 0], seed=1)


def test_standardised_values_have_mean_0_and_deviation_1() -> None:
    scores = standardised([1.0, 2.0, 3.0, 10.0])
    assert scores is not None
    assert scores.mean() == pytest.approx(0, abs=1e-12)
    assert scores.std(ddof=1) == pytest.approx(1)
    assert standardised([1.0, 2.0]) is None
    assert standardised([0.1, 0.1, 0.1]) is None


def study(generator: np.random.Generator, drift: float, cells: int = 6, blocks: int = 6) -> tuple[Floats, list[int]]:
    """Standardised values of cells, one per block, in the order of blocks; and the cell of each."""
    rows = [standardised(generator.normal(0, 1, blocks) + drift * np.arange(blocks)) for _ in range(cells)]
    return np.array(rows).T.ravel(), list(range(cells)) * blocks


def test_no_effect_is_found_in_about_5_percent_of_studies_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "PERMUTATIONS", 199)
    generator = np.random.default_rng(5)
    found = {"block": 0, "serial": 0}
    for repeat in range(400):
        values, cells = study(generator, 0.0)
        blocks = [place // 6 for place in range(36)]
        block = group_effect(values, blocks, cells, seed=repeat)
        serial = serial_effect(values.reshape(6, 6).T)
        assert block is not None
        assert serial is not None
        found["block"] += block.p_value <= 0.05
        found["serial"] += serial.p_value <= 0.05
    assert max(found.values()) / 400 <= 0.08
    assert min(found.values()) / 400 >= 0.02


def test_a_drift_is_found_by_block_and_by_autocorrelation_and_the_seed_decides_everything() -> None:
    values, cells = study(np.random.default_rng(1), 0.8)
    blocks = [place // 6 for place in range(36)]
    block, serial = group_effect(values, blocks, cells, seed=1), serial_effect(values.reshape(6, 6).T)
    assert block is not None
    assert serial is not None
    assert block.p_value < 0.01
    assert serial.p_value < 0.02
    assert serial.statistic > 0.2
    assert group_effect(values, blocks, cells, seed=1) == block


def test_nothing_to_ask() -> None:
    values = np.array([1.0, -1.0, 0.0])
    assert group_effect(values, [1, 1, 1], [0, 0, 0], seed=1) is None
    assert serial_effect(values[None, :]) is None
    assert serial_effect(np.zeros((3, 8))) is None


def test_rows_that_mirror_each_other_say_no_more_than_one() -> None:
    row = np.random.default_rng(3).standard_normal(9)
    row -= row.mean()
    one, two = serial_effect(row[None, :]), serial_effect(np.array([row, -row]))
    assert one is not None
    assert two is not None
    assert two.p_value == one.p_value
    assert two.statistic == pytest.approx(one.statistic)
