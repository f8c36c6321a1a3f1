"""Borrowing spread: all of it where spreads agree, little where they do not, and never more certainty than there is."""

import numpy as np
import pytest
from scipy import special  # type: ignore[import-untyped]

from nephoscope.stats.moderation import CAUTION, Spreads, completed, moderated
from nephoscope.stats.samples import Floats
from nephoscope.stats.studentized_range import critical_range


def squares_of(spreads: Floats, freedom: float, seed: int) -> Floats:
    return np.asarray(spreads**2 * np.random.default_rng(seed).chisquare(freedom, spreads.size))


def test_equal_spreads_are_pooled() -> None:
    squares, freedom = np.array([5.0, 4.0, 6.0, 5.5]), np.full(4, 5.0)
    found = moderated(squares, freedom, paired=False)
    assert np.isinf(found.borrowed)
    assert found.variances == pytest.approx(np.full(4, squares.sum() / 20))
    assert found.freedom.tolist() == [20] * 4
    assert found.total == 20


def test_spreads_that_differ_keep_their_own_variance_for_the_most_part() -> None:
    spreads = np.geomspace(0.1, 10, 30)
    squares = squares_of(spreads, 5, seed=1)
    found = moderated(squares, np.full(30, 5.0), paired=False)
    assert found.borrowed < 2
    noisy = spreads > 2
    assert found.variances[noisy] == pytest.approx(squares[noisy] / 5, rel=0.3)
    assert (found.freedom < 7).all()


def test_some_freedom_is_borrowed_where_spreads_differ_a_little() -> None:
    generator = np.random.default_rng(3)
    spreads = np.sqrt(8 / generator.chisquare(8, 400))
    found = moderated(squares_of(spreads, 5, seed=4), np.full(400, 5.0), paired=False)
    assert 4 < found.borrowed <= 9, "the truth is 8; with caution rather less than more"
    assert found.freedom == pytest.approx(np.full(400, found.borrowed + 5))


def test_the_borrowed_freedom_solves_smyths_equation() -> None:
    freedom = np.full(40, 5.0)
    squares = squares_of(np.geomspace(0.5, 2, 40), 5, seed=5)
    found = moderated(squares, freedom, paired=False)
    scatter = np.log(squares).var(ddof=1) * 39 / special.chdtri(39, CAUTION)
    assert special.polygamma(1, found.borrowed / 2) == pytest.approx(scatter - special.polygamma(1, 2.5))


def test_with_equal_freedom_each_configuration_counts_alike() -> None:
    squares, freedom = squares_of(np.geomspace(0.5, 2, 41), 5, seed=5), np.full(41, 5.0)
    found = moderated(squares, freedom, paired=False)
    centred = np.log(squares / freedom) - special.digamma(freedom / 2) + np.log(freedom / 2)
    half = found.borrowed / 2
    prior = np.exp(float(np.mean(centred)) + special.digamma(half) - np.log(half))
    shrunk = (found.borrowed * prior + squares) / np.maximum(found.borrowed + freedom, 1e-12)
    floor = np.median(squares / freedom * freedom / special.chdtri(freedom, 0.5))
    assert found.variances.tolist() == np.maximum(shrunk, floor).tolist(), "to the last bit: stored results stay"


def test_configurations_that_were_dropped_early_take_nothing_from_what_is_known_of_the_others() -> None:
    kept, with_dropped, unweighted = [], [], []
    for seed in range(60):
        squares = np.concatenate([squares_of(np.ones(25), 9, seed), squares_of(np.ones(70), 2, seed + 1000)])
        freedom = np.repeat([9.0, 2.0], [25, 70])
        kept.append(moderated(squares[:25], freedom[:25], paired=False).borrowed)
        with_dropped.append(moderated(squares, freedom, paired=False).borrowed)
        unweighted.append(moderated(squares[25:], freedom[25:], paired=False).borrowed)
    assert np.median(with_dropped) > np.median(kept) > 1.3 * np.median(unweighted)


def test_a_configuration_with_close_values_is_not_taken_for_precise() -> None:
    squares = squares_of(np.geomspace(0.3, 3, 20), 5, seed=2)
    squares[7] = 1e-12
    found = moderated(squares, np.full(20, 5.0), paired=False)
    assert found.variances.min() > 0.2 * np.median(squares / 5)
    assert found.variances[7] == found.variances.min()


def test_two_within_blocks_have_one_variance_and_two_without_have_two() -> None:
    squares, freedom = np.array([2.0, 8.0]), np.array([2.5, 2.5])
    assert moderated(squares, freedom, paired=True).variances == pytest.approx([2, 2])
    alone = moderated(squares, freedom, paired=False)
    assert alone.variances == pytest.approx([0.8, 3.2])
    assert alone.freedom == pytest.approx([2.5, 2.5])
    assert alone.borrowed == 0


def test_without_freedom_nothing_is_known_of_a_spread() -> None:
    none = moderated(np.zeros(3), np.zeros(3), paired=False)
    assert np.isnan(none.variances).all()
    assert none.total == 0
    part = moderated(np.array([0.0, 4.0]), np.array([0.0, 4.0]), paired=False)
    assert np.isnan(part.variances).tolist() == [True, False]


def test_values_that_are_all_equal_have_no_variance() -> None:
    assert moderated(np.zeros(3), np.full(3, 4.0), paired=False).variances.tolist() == [0, 0, 0]


def test_without_dropped_configurations_nothing_is_completed() -> None:
    squares, freedom = squares_of(np.geomspace(0.5, 2, 40), 5, seed=5), np.full(40, 5.0)
    assert (
        completed(squares, freedom, paired=False).variances.tolist()
        == moderated(squares, freedom, paired=False).variances.tolist()
    )
    few, uneven = np.array([3.0, 5.0]), np.array([5.0, 2.0])
    assert completed(few, uneven, paired=True).variances.tolist() == [8 / 7] * 2


def test_a_study_that_dropped_most_configurations_borrows_nearly_as_much_as_one_in_full() -> None:
    """94 configurations with ten values each, or 74 of them with three: how often is an interval 5 % wider at the end?"""
    generator = np.random.default_rng(6)
    freedom = np.where(np.arange(94) < 20, 9.0, 2.0)
    wider = {"moderated": 0, "completed": 0}
    for _ in range(100):
        parts = generator.chisquare(2, 94), generator.chisquare(7, 94)
        kept = parts[0] + np.where(freedom == 9, parts[1], 0)
        in_full = _limit(moderated(parts[0] + parts[1], np.full(94, 9.0), paired=False))
        wider["moderated"] += _limit(moderated(kept, freedom, paired=False)) > 1.05 * in_full
        wider["completed"] += _limit(completed(kept, freedom, paired=False)) > 1.05 * in_full
    assert wider["moderated"] > 20
    assert wider["completed"] < 0.6 * wider["moderated"]


def _limit(found: Spreads) -> float:
    """How far the first of ten equal configurations may be below another."""
    return float(critical_range(10, found.freedom[0], 0.05) * np.sqrt(found.variances[0]))


def test_a_configuration_that_spreads_more_keeps_its_own_variance_when_others_are_dropped() -> None:
    freedom = np.where(np.arange(60) < 12, 9.0, 2.0)
    spreads = np.where(np.arange(60) % 2 == 0, 4.0, 1.0)
    found = completed(spreads**2 * np.random.default_rng(9).chisquare(freedom), freedom, paired=False)
    assert np.isfinite(found.borrowed)
    assert found.borrowed < 9
