"""Whether rounds decide a bar, where others used the machine during some of them."""

import pytest

from bench.harness import bars
from bench.harness.bars import Ratios, Verdict


def of(*rounds: tuple[float, float | None]) -> Ratios:
    """A ratio and what both runs lost, a round each."""
    return bars.ratios((value, lost, lost) for value, lost in rounds)


@pytest.mark.parametrize(
    ("rounds", "verdict"),
    [
        ([(1.1, 0.0), (1.2, 0.3)], Verdict.MET),
        ([(1.4, 0.0), (1.5, 0.3)], Verdict.MISSED),
        ([(1.2, 0.0), (1.25, 0.0), (1.4, 0.0)], Verdict.MET),
        ([(1.2, 0.0), (1.35, 0.0), (1.4, 0.0)], Verdict.MISSED),
        ([(1.2, 0.0), (1.25, 0.0), (1.4, 0.2)], Verdict.UNDECIDED),
        ([(1.2, 0.0), (1.25, 0.0), (1.29, 0.0), (1.4, 0.2), (1.5, 0.2)], Verdict.MET),
        ([(1.2, None), (1.25, None), (1.4, None)], Verdict.MET),
        ([(1.2, 0.0), (1.5, 0.0)], Verdict.MISSED),
        ([], Verdict.NOT_MEASURED),
    ],
)
def test_a_median_is_decided_by_all_rounds_or_by_quiet_ones(
    rounds: list[tuple[float, float | None]], verdict: Verdict
) -> None:
    assert bars.at_most("x", of(*rounds), 1.3).verdict == verdict


@pytest.mark.parametrize(
    ("rounds", "verdict"),
    [
        ([(0.9, 0.0), (0.99, 0.3)], Verdict.MET),
        ([(0.9, 0.0), (1.01, 0.0)], Verdict.MISSED),
        ([(0.9, 0.0), (0.9, 0.0), (0.9, 0.0), (1.01, 0.3)], Verdict.UNDECIDED),
    ],
)
def test_a_bar_for_every_round_is_missed_by_a_quiet_one(
    rounds: list[tuple[float, float | None]], verdict: Verdict
) -> None:
    assert bars.at_most("x", of(*rounds), 1.0, every=True).verdict == verdict


def test_runs_of_unequal_loss_are_not_compared() -> None:
    found = bars.ratios([(1.0, 0.0, 0.05), (9.0, 0.0, 0.06), (2.0, 0.2, 0.22)])
    assert ([ratio.value for ratio in found.equal], found.unequal) == ([1.0, 2.0], 1)
    assert bars.at_most("x", found, 3).row() == "| x | ≤ 3 × | 1.50 (1.00..2.00); 1 of 3 rounds of unequal loss | met |"
    nothing = bars.ratios([(9.0, 0.0, 0.5)])
    assert bars.at_most("x", nothing, 3).row() == "| x | ≤ 3 × | –; 1 of 1 rounds of unequal loss | undecided |"


def test_a_bar_may_ask_for_at_least_so_much() -> None:
    assert bars.at_least("x", of((1.2, 0.0)), 1.0).verdict == Verdict.MET
    assert bars.at_least("x", of((0.9, 0.0)), 1.0).verdict == Verdict.MISSED
    assert "not measured" in bars.of_spread("x", None, 1, "MiB", 0).row()
