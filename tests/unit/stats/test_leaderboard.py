"""Questions of a leaderboard: equal to the tests they contain, unmoved by what must not matter, and no crash."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from bench.leaderboards import LIMIT_S, cpu_s
from nephoscope.stats.leaderboard import (
    Contrast,
    Leaderboard,
    contrast,
    differences,
    possible_best,
    possible_ranks,
    ties,
)
from nephoscope.stats.samples import Floats, Indices
from nephoscope.stats.studentized_range import critical_range

ALPHA = 0.05


def ranks_on(board: Leaderboard, among: list[int] | None = None) -> tuple[Indices, Indices]:
    rows = np.arange(board.logs.shape[0]) if among is None else np.array(among)
    return possible_ranks(differences(board, ALPHA, rows))


def board_values(k: int, n: int, seed: int, holes: float, wide: float) -> Floats:
    generator = np.random.default_rng(seed)
    logs = generator.standard_normal((k, n)) * np.linspace(1, wide, k)[:, None] + generator.normal(0, 2, (k, 1))
    logs[generator.random((k, n)) < holes] = np.nan
    logs[0, 0] = 0.0
    return logs


BOARDS = st.builds(
    board_values,
    st.integers(2, 9),
    st.integers(3, 7),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.15]),
    st.sampled_from([1.0, 4.0]),
)


def even_noise(k: int) -> Floats:
    """Noise of six replicates whose spreads are alike, so that all is pooled."""
    noise = np.random.default_rng(12).standard_normal((k, 6))
    return np.asarray((noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, keepdims=True))


def test_thousands_of_configurations_are_compared_at_once() -> None:
    levels = np.r_[5.0, np.zeros(2000)]
    logs = levels[:, None] + np.random.default_rng(1).normal(0, 0.1, (2001, 3))
    assert possible_best(Leaderboard.of(logs, blocked=True), ALPHA).tolist() == [0]


def answers(board: Leaderboard) -> list[list[int]]:
    first, last = ranks_on(board)
    return [possible_best(board, ALPHA).tolist(), first.tolist(), last.tolist()]


def known(answer: Contrast | None) -> Contrast:
    assert answer is not None
    return answer


@pytest.mark.parametrize("holes", [False, True])
def test_two_within_blocks_are_the_paired_t_test(holes: bool) -> None:
    generator = np.random.default_rng(1)
    logs = generator.standard_normal((2, 9)) + 3 * generator.standard_normal(9) + np.array([[0.8], [0.0]])
    if holes:
        logs[0, 2] = logs[1, 6] = np.nan
    whole = ~np.isnan(logs).any(axis=0)
    exact = scipy_stats.ttest_rel(logs[0, whole], logs[1, whole])
    found = known(contrast(Leaderboard.of(logs, blocked=True), [(0, 1)]))
    assert (found.estimate / found.error, found.freedom) == pytest.approx((exact.statistic, exact.df))
    assert found.p_value == pytest.approx(exact.pvalue)
    assert found.interval(0.95) == pytest.approx(tuple(exact.confidence_interval()))


def test_two_without_blocks_are_welchs_t_test() -> None:
    generator = np.random.default_rng(2)
    logs = generator.standard_normal((2, 9)) * np.array([[1.0], [4.0]])
    logs[0, 5:] = np.nan
    exact = scipy_stats.ttest_ind(logs[0, :5], logs[1], equal_var=False)
    found = known(contrast(Leaderboard.of(logs, blocked=False), [(0, 1)]))
    assert (found.estimate / found.error, found.freedom) == pytest.approx((exact.statistic, exact.df))
    assert found.p_value == pytest.approx(exact.pvalue)


def test_equal_spreads_without_blocks_are_tukeys_test() -> None:
    logs = even_noise(4) + np.array([[0.0], [0.5], [2.6], [3.0]])
    board = Leaderboard.of(logs, blocked=False)
    assert np.isinf(board.spreads.borrowed)
    tukey = scipy_stats.tukey_hsd(*logs)
    assert np.array_equal(differences(board, ALPHA, np.arange(4)), (tukey.pvalue < ALPHA) & (tukey.statistic > 0))


def test_the_step_down_excludes_what_a_single_step_keeps() -> None:
    noise = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    logs = np.vstack([noise, -noise, np.roll(noise, 1), -np.roll(noise, 1)])
    freedom = 4 * 5
    spread = math.sqrt(6 / 5 / 6)
    near = float(critical_range(2, freedom, ALPHA) + critical_range(4, freedom, ALPHA)) / 2 * spread
    board = Leaderboard.of(logs + np.array([[0.0], [-near], [-40.0], [-40.0]]), blocked=False)
    assert not differences(board, ALPHA, np.arange(4))[0, 1]
    assert possible_best(board, ALPHA).tolist() == [0]


def test_a_contrast_by_hand() -> None:
    logs = np.random.default_rng(5).standard_normal((4, 6)) * np.array([[1.0], [2.0], [0.5], [1.0]])
    found = known(contrast(Leaderboard.of(logs, blocked=False), [(0, 1), (2, 3)]))
    parts = logs.var(axis=1, ddof=1) / 4 / 6
    freedom = parts.sum() ** 2 / (parts**2 / 5).sum()
    assert found.estimate == pytest.approx(np.array([0.5, -0.5, 0.5, -0.5]) @ logs.mean(axis=1))
    assert found.error == pytest.approx(math.sqrt(parts.sum()))
    assert found.freedom == pytest.approx(freedom)
    assert found.p_value == pytest.approx(2 * scipy_stats.t.sf(abs(found.estimate) / found.error, freedom))
    half = scipy_stats.t.ppf(0.975, freedom) * found.error
    assert found.interval(0.95) == pytest.approx((found.estimate - half, found.estimate + half))


def test_a_contrast_of_one_noisy_configuration_is_as_wide_as_its_noise() -> None:
    logs = even_noise(20) * np.where(np.arange(20) == 0, 5.0, 1.0)[:, None]
    found = known(contrast(Leaderboard.of(logs, blocked=False), [(0, 1)]))
    assert found.error == pytest.approx(math.sqrt((25 + 1) / 5))
    assert found.freedom == pytest.approx(26**2 / (25**2 / 5 + 1 / 5))


@pytest.mark.parametrize("blocked", [True, False])
def test_all_pairs_at_once_are_each_pair(blocked: bool) -> None:
    board = Leaderboard.of(board_values(6, 6, 1, 0.15, 4.0), blocked=blocked)
    errors, freedom = board.of_pairs
    for i, j in ((0, 1), (2, 5), (4, 3)):
        found = known(contrast(board, [(i, j)]))
        assert (errors[i, j], freedom[i, j]) == pytest.approx((found.error, found.freedom))


def test_a_configuration_on_both_sides_of_a_contrast_cancels() -> None:
    board = Leaderboard.of(np.random.default_rng(6).standard_normal((4, 6)), blocked=True)
    chain, ends = known(contrast(board, [(0, 1), (1, 2)])), known(contrast(board, [(0, 2)]))
    assert chain.estimate == pytest.approx(ends.estimate / 2)
    assert chain.error == pytest.approx(ends.error / 2)


def test_pairs_with_too_few_values_are_left_out_of_a_contrast() -> None:
    logs = np.random.default_rng(7).standard_normal((4, 6))
    logs[3, 1:] = np.nan
    board = Leaderboard.of(logs, blocked=False)
    assert contrast(board, [(0, 1), (2, 3)]) == contrast(board, [(0, 1)])
    assert contrast(board, [(2, 3)]) is None
    assert contrast(board, []) is None


def test_ranks_of_clear_groups() -> None:
    noise = even_noise(5)
    board = Leaderboard.of(noise + np.array([[0.0], [0.0], [100.0], [100.0], [50.0]]), blocked=True)
    first, last = ranks_on(board)
    assert first.tolist() == [4, 4, 1, 1, 3]
    assert last.tolist() == [5, 5, 2, 2, 3]
    among_first, among_last = ranks_on(board, [0, 1, 4])
    assert (among_first.tolist(), among_last.tolist()) == ([2, 2, 1], [3, 3, 1])
    assert possible_best(board, ALPHA, np.array([4, 0, 1])).tolist() == [4]


def test_a_tie_is_an_interval_within_the_margin() -> None:
    noise = np.random.default_rng(9).standard_normal((3, 6)) * 0.001
    board = Leaderboard.of(noise + np.array([[0.0], [0.0], [0.1]]), blocked=True)
    expected = [[False, True, False], [True, False, False], [False, False, False]]
    assert ties(board, ALPHA, 0.015).tolist() == expected
    assert not ties(board, ALPHA, 0.001).any()
    assert ties(board, ALPHA, 0.2).sum() == 6
    with pytest.raises(ValueError, match="margin"):
        ties(board, ALPHA, 0.0)


def test_dividing_by_a_constant_per_configuration_is_the_same_as_dividing_the_values() -> None:
    logs, offsets = board_values(6, 6, 3, 0.15, 4.0), np.linspace(-2, 1, 6)
    shifted = Leaderboard.of(logs, blocked=True).shifted(offsets)
    again = Leaderboard.of(logs + offsets[:, None], blocked=True)
    assert shifted.gaps == pytest.approx(again.gaps)
    assert answers(shifted) == answers(again)
    offsets[2] = np.nan
    without = Leaderboard.of(logs, blocked=True).shifted(offsets)
    assert not without.decidable[2]
    assert 2 in possible_best(without, ALPHA)


@given(BOARDS, st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_configurations_does_not_matter(
    logs: Floats, blocked: bool, random: "np.random.Generator"
) -> None:
    order: Indices = np.array(random.sample(range(len(logs)), len(logs)))  # type: ignore[attr-defined]
    before, after = Leaderboard.of(logs, blocked=blocked), Leaderboard.of(logs[order], blocked=blocked)
    assert np.array_equal(
        np.isin(order, possible_best(before, ALPHA)), np.isin(range(len(logs)), possible_best(after, ALPHA))
    )
    for old, new in zip(ranks_on(before), ranks_on(after), strict=True):
        assert old[order].tolist() == new.tolist()


@given(BOARDS, st.booleans(), st.floats(-5, 5), st.floats(0.01, 100))
def test_another_unit_or_base_of_logarithms_does_not_matter(
    logs: Floats, blocked: bool, unit: float, base: float
) -> None:
    before, after = Leaderboard.of(logs, blocked=blocked), Leaderboard.of(unit + base * logs, blocked=blocked)
    assert answers(before) == answers(after)


@given(BOARDS, st.integers(0, 2**32 - 1))
def test_what_a_block_adds_to_all_does_not_matter(logs: Floats, seed: int) -> None:
    before = Leaderboard.of(logs, blocked=True)
    drift = np.random.default_rng(seed).normal(0, 10, logs.shape[1])
    after = Leaderboard.of(logs + drift, blocked=True)
    if before.fit.blocked:
        assert answers(before) == answers(after)


@given(BOARDS, st.booleans(), st.sampled_from([0.01, 0.05, 0.2]), st.sampled_from([0.01, 0.05, 0.2]))
def test_a_larger_alpha_excludes_no_less(logs: Floats, blocked: bool, one: float, other: float) -> None:
    board = Leaderboard.of(logs, blocked=blocked)
    low, high = sorted((one, other))
    assert set(possible_best(board, high).tolist()) <= set(possible_best(board, low).tolist())
    assert (differences(board, low, np.arange(len(logs))) <= differences(board, high, np.arange(len(logs)))).all()


@given(BOARDS, st.booleans())
def test_answers_do_not_contradict_each_other(logs: Floats, blocked: bool) -> None:
    board = Leaderboard.of(logs, blocked=blocked)
    best, (first, last) = possible_best(board, ALPHA), ranks_on(board)
    assert best.size >= 1
    assert set(best.tolist()) <= set(np.flatnonzero(first == 1).tolist())
    assert (first <= last).all()
    above = differences(board, ALPHA, np.arange(len(logs)))
    assert not (above & above.T).any()


def test_one_configuration_is_the_best() -> None:
    for logs in (np.array([[1.0, 2.0, 3.0]]), np.array([[1.0]]), np.array([[np.nan, np.nan]])):
        board = Leaderboard.of(logs, blocked=True)
        assert answers(board) == [[0], [1], [1]]
        assert not ties(board, ALPHA, 0.015).any()


@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("values", [1, 2])
def test_one_or_two_values_each_decide_nothing(values: int, blocked: bool) -> None:
    noise = 0.01 * np.random.default_rng(2).standard_normal((3, values))
    board = Leaderboard.of(np.array([[1.0], [5.0], [9.0]]) + noise, blocked=blocked)
    assert answers(board) == [[0, 1, 2], [1, 1, 1], [3, 3, 3]]
    assert not ties(board, ALPHA, 0.5).any()
    assert contrast(board, [(0, 2)]) is None
    assert not board.discrete


@pytest.mark.parametrize("blocked", [True, False])
def test_values_without_any_spread_are_discrete(blocked: bool) -> None:
    board = Leaderboard.of(np.repeat([[1.0], [1.0], [2.0]], 6, axis=1), blocked=blocked)
    assert board.discrete
    assert known(contrast(board, [(0, 1)])).p_value == 1.0
    assert known(contrast(board, [(2, 1)])).p_value == 0.0
    assert possible_best(board, ALPHA).tolist() == [2]


def test_rows_without_values_take_part_in_no_claim_and_keep_every_rank() -> None:
    logs = np.full((4, 6), np.nan)
    logs[[0, 2, 3]] = np.random.default_rng(4).standard_normal((3, 6)) + np.array([[0.0], [50.0], [100.0]])
    board = Leaderboard.of(logs, blocked=True)
    assert answers(board) == [[1, 3], [3, 1, 2, 1], [4, 4, 3, 2]]
    empty = Leaderboard.of(np.full((3, 2), np.nan), blocked=True)
    assert answers(empty) == [[0, 1, 2], [1, 1, 1], [3, 3, 3]]


def test_a_hundred_configurations_of_20_metrics_take_far_less_than_3_cpu_seconds() -> None:
    assert cpu_s(100, 6) < LIMIT_S / 2
