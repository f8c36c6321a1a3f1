"""How many replicates a precision needs."""

import numpy as np
import pytest

from nephoscope.stats.precision import replicates_for_precision


def test_noisier_machines_need_more_replicates() -> None:
    generator = np.random.default_rng(3)
    calm, wild = 100 + generator.normal(0, 0.5, 80), 100 + generator.normal(0, 2, 80)
    few, many = replicates_for_precision(calm, 0.01, seed=1), replicates_for_precision(wild, 0.01, seed=1)
    assert few is not None
    assert many is not None
    assert 6 <= few < many
    assert replicates_for_precision(wild, 0.001, seed=1) is None
    assert replicates_for_precision([1.0] * 5, 0.01, seed=1) is None
    assert replicates_for_precision([1.0] * 9, 0.01, seed=1) == 6
    with pytest.raises(ValueError, match="precision"):
        replicates_for_precision(calm, 0.0, seed=1)
