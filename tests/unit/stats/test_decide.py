"""Corrections, verdicts, and what an open verdict needs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from nephoscope.stats.decide import (
    benjamini_hochberg,
    holm,
    minimum_detectable_share,
    pooled_log_deviation,
    relation,
    replicates_to_decide,
)
from nephoscope.stats.ratio import RatioInterval, interval_rank
from tests.support.ratios import compare

P_VALUES = st.lists(st.floats(0, 1), max_size=30)


def test_holm_by_hand() -> None:
    # sorted: 0.005 x 4 = 0.02, 0.01 x 3 = 0.03, 0.03 x 2 = 0.06, 0.04 x 1 -> at least the one before, 0.06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(P_VALUES)
def test_benjamini_hochberg_agrees_with_scipy(p_values: list[float]) -> None:
    expected = list(scipy_stats.false_discovery_control(p_values)) if p_values else []
    assert benjamini_hochberg(p_values) == pytest.approx(expected)


@given(P_VALUES)
def test_corrections_only_raise_and_keep_the_order(p_values: list[float]) -> None:
    for adjusted in (holm(p_values), benjamini_hochberg(p_values)):
        assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
        by_p = [q for _, q in sorted(zip(p_values, adjusted, strict=True))]
        assert by_p == sorted(by_p)
    assert all(b <= h + 1e-12 for b, h in zip(benjamini_hochberg(p_values), holm(p_values), strict=True))


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_refuses_what_is_no_probability(wrong: float) -> None:
    with pytest.raises(ValueError, match="p-value"):
        holm([wrong])


@pytest.mark.parametrize(
    ("low", "high", "p", "expected"),
    [
        (0.99, 1.01, 0.5, "tie"),
        (1.001, 1.01, 0.001, "tie"),  # certain, and too small to matter
        (1.01, 1.03, 0.001, "above"),
        (0.90, 0.95, 0.001, "below"),
        (1.01, 1.03, 0.06, "unresolved"),  # does not survive the correction
        (0.97, 1.04, 0.4, "unresolved"),
        (0.98, 1.04, 0.001, "unresolved"),  # the interval includes 1
    ],
)
def test_verdicts_in_their_order(low: float, high: float, p: float, expected: str) -> None:
    assert relation(RatioInterval(low, high, 0.95), p, equivalence_margin=0.015) == expected


def test_no_interval_is_unresolved_and_a_margin_must_be_positive() -> None:
    assert relation(None, 0.0, equivalence_margin=0.015) == "unresolved"
    with pytest.raises(ValueError, match="margin"):
        relation(None, 0.0, equivalence_margin=0.0)


@given(st.floats(0.5, 2), st.floats(0.5, 2), st.floats(0, 1))
def test_swapping_sides_mirrors_the_verdict(one: float, other: float, p: float) -> None:
    low, high = sorted((one, other))
    verdict = relation(RatioInterval(low, high, 0.95), p, equivalence_margin=0.1)
    swapped = relation(RatioInterval(1 / high, 1 / low, 0.95), p, equivalence_margin=0.1000001)
    if verdict in {"above", "below"}:
        assert swapped == {"above": "below", "below": "above"}[verdict]
    elif verdict == "tie":
        assert swapped == "tie"


def test_pooled_deviation_of_logarithms() -> None:
    left, right = np.exp([0.0, 0.1, 0.2]), np.exp([1.0, 1.1, 1.2])
    assert pooled_log_deviation(left, right) == pytest.approx(0.1)
    assert pooled_log_deviation([1.0], [2.0, 3.0]) is None
    assert pooled_log_deviation([0.1] * 6, [3.0] * 6) == 0.0


def test_the_detectable_difference_is_detected_in_about_80_percent() -> None:
    share = minimum_detectable_share(0.01, 6, 6)
    assert share is not None
    generator = np.random.default_rng(80)
    left = generator.normal(math.log1p(share), 0.01, (4000, 6))
    right = generator.normal(0, 0.01, (4000, 6))
    differences = np.sort((left[:, :, None] - right[:, None, :]).reshape(4000, -1), axis=1)
    rank = interval_rank(6, 6)
    seen = ((differences[:, rank - 1] > 0) | (differences[:, -rank] < 0)).mean()
    assert 0.75 <= seen <= 0.87


def test_nothing_is_detectable_without_spread_known_or_with_too_few() -> None:
    assert minimum_detectable_share(None, 6, 6) is None
    assert minimum_detectable_share(0.0, 6, 6) is None
    assert minimum_detectable_share(0.01, 3, 3) is None


@pytest.mark.parametrize(("ratio", "deviation"), [(1.0, 0.02), (1.01, 0.02), (0.95, 0.1), (1.03, 0.03)])
def test_the_estimated_replicates_mostly_decide(ratio: float, deviation: float) -> None:
    n = replicates_to_decide(ratio, deviation, equivalence_margin=0.015)
    assert n is not None
    generator = np.random.default_rng(n)
    decided = 0
    for _ in range(150):
        found = compare(
            np.exp(generator.normal(math.log(ratio), deviation, n)), np.exp(generator.normal(0, deviation, n))
        )
        decided += relation(found.interval, found.p_value, equivalence_margin=0.015) != "unresolved"
    assert decided >= 0.7 * 150


def test_replicates_respect_the_least_p_value_and_what_is_unknown() -> None:
    assert replicates_to_decide(2.0, 0.001, equivalence_margin=0.015) == 4
    assert replicates_to_decide(2.0, 0.001, equivalence_margin=0.015, alpha=0.05 / 24) == 7
    assert replicates_to_decide(2.0, None, equivalence_margin=0.015) is None
    assert replicates_to_decide(1.007, 50.0, equivalence_margin=0.015) is None
