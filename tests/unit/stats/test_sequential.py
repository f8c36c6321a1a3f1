"""Looks at a growing study: levels, when a question closes, and simulated studies against those with all trials."""

from typing import get_args

import numpy as np
import pytest
from scipy.special import ndtri  # type: ignore[import-untyped]

from bench.simulations.growing import Shape, drawn, grown
from nephoscope.stats.leaderboard import Leaderboard, possible_best
from nephoscope.stats.sequential import (
    EARLY_LEVEL,
    FIRST_LOOK,
    Stage,
    State,
    levels,
    look_at_contrast,
    look_for_best,
    references,
)


def stage(block: int, last: int, level: float = 0.001) -> Stage:
    return Stage(block=block, last=last, level=level, last_level=0.049, margin=0.015)


def board(truth: list[float], blocks: int, cv: float = 0.005, seed: int = 1) -> Leaderboard:
    noise = cv * np.random.default_rng(seed).standard_normal((len(truth), blocks))
    return Leaderboard.of(np.log(truth)[:, None] + noise, blocked=True)


EVERY = np.arange(3)


@pytest.mark.parametrize("last", [4, 6, 10])
def test_all_levels_together_spend_the_error_rate_and_no_more(last: int) -> None:
    taken: list[tuple[int, float]] = []
    for block in range(FIRST_LOOK, last + 1):
        taken.append((block, levels(taken, block, last, 0.05)[0]))
    assert [level for _, level in taken[:-1]] == [EARLY_LEVEL] * (last - FIRST_LOOK)
    steps = np.random.default_rng(3).standard_normal((200_000, last)).cumsum(axis=1)
    crossed = [np.abs(steps[:, block - 1]) / np.sqrt(block) > -ndtri(level / 2) for block, level in taken]
    assert np.any(crossed, axis=0).mean() == pytest.approx(0.05, abs=0.0015)


def test_a_single_look_has_the_whole_error_rate() -> None:
    assert levels([], 3, 3, 0.05) == pytest.approx((0.05, 0.05), rel=1e-3)


def test_more_blocks_after_the_last_look_spend_only_what_is_left() -> None:
    before = [(3, EARLY_LEVEL), (4, 0.04)]
    _, last_level = levels(before, 5, 8, 0.05)
    assert 0 < last_level < 0.02
    assert levels([(3, 0.001), (4, 0.05)], 5, 8, 0.05) == (0.0, 0.0)
    with pytest.raises(ValueError, match="in the order of their blocks"):
        levels(before, 4, 8, 0.05)


def test_a_question_is_decided_when_one_is_left_and_nobody_comes_back() -> None:
    found = look_for_best(board([1.0, 0.9, 0.8], 5), EVERY, stage(5, 10))
    assert (found.state, found.kept.tolist(), found.chance) == ("decided", [0], 0.0)
    back = look_for_best(board([0.8, 0.9, 1.0], 6), np.array([0, 1]), stage(6, 10))
    assert 2 not in back.kept


def test_what_the_blocks_left_may_decide_stays_open() -> None:
    found = look_for_best(board([1.0, 0.985, 0.8], 6, cv=0.01), EVERY, stage(6, 10))
    assert (found.state, found.kept.tolist()) == ("open", [0, 1])
    assert 0.1 < found.chance < 1


def test_equal_ones_close_as_a_tie_or_out_of_reach_and_at_the_end_undecided() -> None:
    narrow = look_for_best(board([1.0, 0.8, 1.0], 8, cv=0.003), EVERY, stage(8, 10))
    assert (narrow.state, narrow.kept.tolist()) == ("tie", [0, 2])
    wide = look_for_best(board([1.0, 0.2, 1.0], 8, cv=0.02, seed=5), EVERY, stage(8, 10))
    assert (wide.state, wide.kept.tolist()) == ("out of reach", [0, 2])
    assert look_for_best(board([1.0, 0.2, 1.0], 10, cv=0.02, seed=5), EVERY, stage(10, 10, 0.049)).state == "undecided"


def test_without_a_level_left_nobody_is_excluded() -> None:
    empty = Stage(block=3, last=10, level=0.0, last_level=0.0, margin=0.015)
    found = look_for_best(board([1.0, 0.9, 0.8], 3), EVERY, empty)
    assert (found.state, found.kept.size) == ("out of reach", 3)


def test_one_with_too_few_values_and_values_in_steps_keep_a_question_open() -> None:
    logs = board([1.0, 0.8, 1.0], 6).logs.copy()
    logs[2, 1:] = np.nan
    found = look_for_best(Leaderboard.of(logs, blocked=True), EVERY, stage(6, 10))
    assert (found.state, found.kept.tolist()) == ("open", [0, 2])
    steps = Leaderboard.of(np.log(np.repeat([[4.0], [5.0], [6.0]], 3, axis=1)), blocked=False)
    assert look_for_best(steps, EVERY, stage(3, 10)).state == "open"


def test_references_are_few_and_do_not_depend_on_values() -> None:
    assert [references(count).size for count in (2, 7, 20, 94)] == [0, 0, 2, 10]
    assert set(references(20)) < set(references(94))


def test_contrasts_are_decided_tied_out_of_reach_or_open() -> None:
    pairs = [(0, 1), (2, 3)]
    states = {
        look_at_contrast(board([1.0, b, 0.5, 0.5 * b], blocks, cv), pairs, stage(blocks, 10)).state
        for b, blocks, cv in ((0.9, 3, 0.005), (1.0, 8, 0.003), (1.0, 9, 0.03), (0.985, 3, 0.01))
    }
    assert states == {"decided", "tie", "out of reach", "open"}
    assert look_at_contrast(board([1.0, 1.0], 10, 0.03), [(0, 1)], stage(10, 10, 0.049)).state == "undecided"
    assert look_at_contrast(board([1.0, 0.9], 3), [], stage(3, 10)).state == "open"


def simulated(shape: Shape, studies: int, *, count: int, cv: float) -> dict[str, float]:
    shares, ends = [], []
    for number in range(studies):
        generator = np.random.default_rng([17, number])
        share, ended = grown(drawn(generator, shape, count=count, blocks=10, cv=cv))
        shares.append(share)
        ends += ended
    assert {one.state for one in ends} <= {*get_args(State)} - {"open"}
    return {
        "trials": float(np.mean(shares)),
        "same": float(np.mean([one.same for one in ends])),
        "slightly larger": float(np.mean([one.slightly_larger for one in ends])),
        "much larger": float(np.mean([one.much_larger for one in ends])),
        "lost": float(np.mean([one.lost for one in ends])),
    }


@pytest.mark.parametrize("shape", ["three clouds", "ten within 3 %"])
def test_few_studies_of_20_end_as_they_would_in_full(shape: Shape) -> None:
    found = simulated(shape, 30, count=20, cv=0.005)
    assert found["same"] >= 0.85
    assert found["slightly larger"] >= 0.94
    assert found["lost"] <= 0.05
    assert found["trials"] <= 0.75


@pytest.mark.parametrize("number", [23, 52, 126, 202, 333])
def test_a_set_at_the_limit_does_not_end_larger_by_three(number: int) -> None:
    """Each of these studies of 94 kept three to five more than in full, with a spread that is 3 % wider."""
    generator = np.random.default_rng([17, number])
    _, ended = grown(drawn(generator, "ten within 3 %", count=94, blocks=10, cv=0.015))
    assert not any(one.much_larger for one in ended)


def test_a_study_that_dropped_nothing_ends_with_the_set_of_a_leaderboard() -> None:
    gaps = [1.0, 0.999, 0.981, 0.98, 0.979, 0.978, 0.977, 0.5]
    in_full = [board(gaps, 10, cv=0.015, seed=seed) for seed in range(20)]
    ends = [look_for_best(one, np.arange(8), stage(10, 10, 0.049)).kept.tolist() for one in in_full]
    assert ends == [possible_best(one, 0.049).tolist() for one in in_full]
    assert len({len(names) for names in ends}) > 2


@pytest.mark.parametrize("count", [2, 20])
def test_the_best_of_equal_ones_is_lost_over_all_looks_in_five_percent_of_studies(count: int) -> None:
    found = simulated("all equal", 300 if count == 2 else 60, count=count, cv=0.01)
    assert found["lost"] <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "cv", "same"),
    [
        ("three clouds", 0.005, 0.96),
        ("ten within 3 %", 0.005, 0.94),
        ("ten within 3 %", 0.01, 0.92),
        ("ten within 3 %", 0.015, 0.89),
    ],
)
def test_studies_of_94_end_as_they_would_in_full_with_less_than_half_of_the_trials(
    shape: Shape, cv: float, same: float
) -> None:
    found = simulated(shape, 200, count=94, cv=cv)
    assert found["same"] >= same
    assert found["slightly larger"] >= 0.94
    assert found["much larger"] <= 0.002
    assert found["lost"] <= 0.05
    assert found["trials"] <= 0.5
