"""How many replicates a precision needs."""

import numpy as np
import pytest

from nephoscope.stats.median import least_n
from nephoscope.stats.precision import MOST_TRIED, replicates_for_precision


def test_noisier_machines_need_more_replicates() -> None:
    generator = np.random.default_rng(3)
    calm, wild = 100 + generator.normal(0, 0.5, 80), 100 + generator.normal(0, 2, 80)
    few, many = (replicates_for_precision(values, [0.01], seed=1)[0.01] for values in (calm, wild))
    assert few is not None
    assert many is not None
    assert 6 <= few < many
    assert replicates_for_precision([1.0] * 5, [0.01], seed=1) == {0.01: None}
    assert replicates_for_precision([1.0] * 9, [0.01], seed=1) == {0.01: 6}
    with pytest.raises(ValueError, match="precision"):
        replicates_for_precision(calm, [0.01, 0.0], seed=1)


def test_several_precisions_are_what_each_of_them_is_alone() -> None:
    wild = 100 + np.random.default_rng(3).normal(0, 2, 80)
    shares = (0.001, 0.005, 0.01, 0.05)
    together = replicates_for_precision(wild, shares, seed=1)
    assert together == {share: replicates_for_precision(wild, [share], seed=1)[share] for share in shares}
    assert together[0.001] is None
    assert together[0.05] == 6


def test_of_thousands_of_values_not_every_number_of_replicates_is_tried() -> None:
    many = 100 + np.random.default_rng(3).normal(0, 2, 4 * MOST_TRIED)
    least = replicates_for_precision(many, [0.05], seed=1)[0.05]
    assert least is not None
    assert least <= least_n() + 4
