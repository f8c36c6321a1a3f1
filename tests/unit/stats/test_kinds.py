"""Two kinds: found where there is a gap, named where they are, and never the reason of a claim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.stats.leaderboard import Leaderboard, contrast, differences, half_widths, possible_best, ties
from nephoscope.stats.samples import Floats
from nephoscope.stats.unlike import kinds_of

TWO_KINDS = [0.01, -0.11, 0.0, 0.01, -0.01, -0.09, 0.0, 0.01, -0.1, 0.01]


def centred(values: list[float]) -> Floats:
    row = np.array(values)
    return np.asarray(row - np.nanmean(row))


def test_by_hand() -> None:
    low = [0.0, 0.1, -0.1]
    high = [5.0, 5.1, 4.9, 5.0]
    found = kinds_of(centred([*low, *high])[None, :])
    assert found.lower.tolist() == [3]
    assert found.apart == pytest.approx([5.0])
    assert found.low.tolist() == [0.0]
    assert found.high == pytest.approx([5.0 - np.mean([*low, *high])])


def test_two_kinds_as_frequent_as_each_other_are_both_considered() -> None:
    found = kinds_of(centred([0.0, 0.1, -0.1, 5.0, 5.1, 4.9])[None, :])
    assert found.low == pytest.approx([-2.5])
    assert found.high == pytest.approx([2.5])


@pytest.mark.parametrize("values", [[0.0, 0.0, 5.0, 5.0, 5.0], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [0.1, 9.0], [1.0]])
def test_steps_even_values_and_few_values_are_of_one_kind(values: list[float]) -> None:
    assert not kinds_of(centred(values)[None, :]).several.any()


def test_normal_values_are_rarely_of_two_kinds() -> None:
    values = np.random.default_rng(1).standard_normal((4000, 8))
    alone = [kinds_of(row[None, :] - row.mean()).several[0] for row in values[:1000]]
    assert np.mean(alone) < 0.035
    assert kinds_of(values - values.mean(axis=1, keepdims=True)).several.mean() < 0.002, "beside others it is rarer"


@pytest.mark.parametrize("k", [2, 3, 6])
def test_within_blocks_the_one_that_came_in_two_kinds_is_named(k: int) -> None:
    logs = 0.004 * np.random.default_rng(k).standard_normal((k, 10))
    logs[1] = TWO_KINDS
    kinds = Leaderboard.of(logs, blocked=True).kinds
    assert kinds.lower[1] == 3
    assert kinds.several.sum() == 1
    assert kinds.apart[1] == pytest.approx(0.105, abs=0.01)


def test_a_claim_must_hold_for_the_more_frequent_kind_too() -> None:
    noise = 0.002 * np.random.default_rng(7).standard_normal((3, 10))
    logs = noise + np.array([[0.0], [0.005], [-0.3]])
    logs[0] += TWO_KINDS
    board = Leaderboard.of(logs, blocked=True)
    assert board.gaps[1, 0] > 0.02
    assert board.sure_gaps[1, 0] == 0
    assert 0 in possible_best(board, 0.05)
    assert 2 not in possible_best(board, 0.05), "it is below both kinds"


@given(st.integers(2, 5), st.integers(4, 12), st.integers(0, 2**32 - 1), st.booleans())
def test_two_kinds_only_take_claims_away(k: int, n: int, seed: int, blocked: bool) -> None:
    generator = np.random.default_rng(seed)
    logs = 0.3 * generator.standard_normal((k, n)) - 5 * (generator.random((k, n)) < 0.3)
    board = Leaderboard.of(logs, blocked=blocked)
    assert (np.abs(board.sure_gaps) <= np.abs(board.gaps) + 1e-12).all()
    assert (board.sure_gaps * board.gaps >= 0).all()
    above, half = differences(board, 0.05, np.arange(k)), half_widths(board, 0.05, np.arange(k))
    known = ~np.isnan(half)
    assert (board.gaps[above & known] >= half[above & known] - 1e-9).all(), "what is above has an interval above 0"
    assert not (ties(board, 0.05, 0.1) & above).any()
    answer = contrast(board, [(0, 1)])
    if answer is not None:
        low, high = answer.interval(0.95)
        assert low <= answer.estimate <= high
        assert (answer.p_value < 0.05) <= (not low <= 0 <= high)
