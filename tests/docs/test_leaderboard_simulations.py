"""The questions of a leaderboard are wrong in at most 5 % of studies, and find what there is: by simulation."""

from collections import Counter

import pytest
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from bench.simulations import stopping
from bench.simulations.noises import NOISES, Noise
from bench.simulations.stored import Stored, load
from bench.simulations.studies import (
    CELLS,
    CONFIGURATIONS,
    ERROR_CELLS,
    POWER_CELLS,
    REPLICATES,
    WORLD_CELLS,
    ErrorCell,
    PowerCell,
    fingerprint,
    simulate,
)
from bench.simulations.tables import BAR, LENIENT_BAR, QUESTIONS, worst

STUDIES = 200
FEW_STUDIES = 40
COMPLETE = 4000
"""From this number of studies on a share is what it is; with fewer, chance is allowed for."""
CHANCE = 1e-4
"""That a share which is exactly at the bar fails a test."""
DEPENDENT = "AR(1) of 0.5 within a configuration"
ONE_FAR_OFF = "one value 30 % too low"
KEY_NOISES = ("log-normal", "two levels, 50 : 50", "one with 3 times the spread", "the same, 15 % missing")


def stored_counts() -> Stored:
    stored = load()
    assert stored is not None
    return stored


def bar_of(cell: ErrorCell) -> float:
    return LENIENT_BAR if cell.noise.lenient else BAR


def holds(share: float, bar: float, studies: int) -> bool:
    """True unless this share is too large to be chance if the true one is at the bar."""
    return bool(share * studies <= scipy_stats.binom.isf(CHANCE, studies, bar))


def assert_errors_hold(cell: ErrorCell, studies: int) -> None:
    fresh = Stored([])
    fresh.add(cell.key, studies, simulate(cell, 0, studies))
    bar = bar_of(cell)
    for question in QUESTIONS:
        share = worst(fresh, cell, question)
        assert share is not None
        assert holds(share, bar, studies), f"{question}: {share:.1%} in {cell.key}"


def assert_power_holds(cell: PowerCell, studies: int) -> None:
    found = simulate(cell, 0, studies)["found"]
    assert cell.bar is not None
    assert holds(1 - found / studies, 1 - cell.bar, studies), f"{found} of {studies} in {cell.key}"


def test_the_stored_counts_are_those_of_the_procedure() -> None:
    stored = stored_counts()
    assert stored.fingerprint == pytest.approx(fingerprint(), rel=1e-5), "stale: run make simulate"
    assert set(stored.studies) == {cell.key for cell in CELLS}


def test_the_stored_counts_hold_every_bar() -> None:
    stored, missed = stored_counts(), []
    for cell in ERROR_CELLS:
        studies = stored.studies[cell.key]
        bar = bar_of(cell)
        for question in QUESTIONS:
            share = worst(stored, cell, question)
            assert share is not None
            if share > bar if studies >= COMPLETE else not holds(share, bar, studies):
                missed.append(f"{question}: {share:.1%} in {cell.key}")
    assert missed == []
    weak = [cell.key for cell in POWER_CELLS if cell.bar and (stored.share(cell.key, "found") or 0) < cell.bar]
    assert weak == []


def test_the_stored_counts_of_worlds_hold_what_the_page_says_of_them() -> None:
    stored, missed = stored_counts(), []
    for cell in WORLD_CELLS:
        studies, lost = stored.studies[cell.key], stored.share(cell.key, "equal: one lost") or 0
        found = stored.share(cell.key, "apart: found") or 0
        if not (cell.noise.name == DEPENDENT and (cell.configurations == 2 or cell.replicates == 6)):
            missed += [cell.key] * (not holds(lost, BAR, studies))
        if cell.noise.name == ONE_FAR_OFF:
            missed += [cell.key] * (not holds(1 - found, 0.02, studies))
    assert missed == []


@pytest.mark.parametrize("noise", [noise for noise in NOISES if noise.name in KEY_NOISES], ids=lambda noise: noise.name)
def test_answers_are_rarely_wrong_in_key_cells(noise: Noise) -> None:
    """In few studies: thousands are stored, with a fingerprint of the procedure; `make test-all` draws more, too."""
    for configurations, replicates in ((2, 6), (20, 4)):
        assert_errors_hold(ErrorCell(noise, configurations, replicates), FEW_STUDIES)
    assert_errors_hold(ErrorCell(noise, 100, 6), FEW_STUDIES // 4)


@pytest.mark.parametrize("cell", [cell for cell in POWER_CELLS if cell.bar and cell.drift], ids=lambda cell: cell.key)
def test_one_winner_of_a_hundred_is_found(cell: PowerCell) -> None:
    assert_power_holds(cell, STUDIES // 2)


@pytest.mark.slow
@pytest.mark.parametrize("configurations", CONFIGURATIONS)
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)
def test_answers_are_rarely_wrong(noise: Noise, configurations: int) -> None:
    for replicates in REPLICATES:
        assert_errors_hold(ErrorCell(noise, configurations, replicates), STUDIES)


def test_studies_add_up_by_number_whatever_the_runs() -> None:
    cell = ERROR_CELLS[0]
    assert simulate(cell, 0, 30) == simulate(cell, 0, 11) + simulate(cell, 11, 30)


def test_the_stored_studies_that_stop_are_those_of_the_procedure() -> None:
    stored, pair = stopping.load(), next(world for world in stopping.WORLDS if world.configurations == 2)
    assert stored.keys() == {world.key for world in stopping.WORLDS}
    counts, found = stored[pair.key], sum((pair.study(number) for number in range(100)), Counter[str]())
    shares = {what: (count / counts["studies"], found[what] / 100) for what, count in counts.items()}
    assert shares["sets"] == (1.0, 1.0)
    assert all(abs(ours - theirs) <= 0.15 * max(1.0, theirs) for theirs, ours in shares.values()), shares


def test_studies_that_stop_hold_what_the_page_says_of_them() -> None:
    for world in stopping.WORLDS:
        counts = stopping.load()[world.key]
        assert counts.get("three or more", 0) <= 0.0025 * counts["sets"], world
        if world.spreads in {"alike", "from 1 to 3"}:
            lost = counts.get("overall: best lost", 0) / counts["studies"]
            assert holds(lost, BAR, counts["studies"]), world
