"""Loads without a fault: how often chance alone makes what follows the moment of a fault seem worse."""

import pytest

from bench.no_fault import BASELINE_S, CELLS, LIMIT, Cell, Worse, page, worse
from nephoscope.benchmarks.faults.outages import FaultedLoad
from nephoscope.benchmarks.load import output as load_output
from tests.support.faulted_load import fault, faulted

LOADS = 300
"""bench/NO_FAULT.md has 1,000 of each, and more kinds."""


@pytest.mark.parametrize("cell", [CELLS[0], CELLS[1], CELLS[3]], ids=str)
def test_a_phase_without_a_fault_is_called_worse_in_at_most_5_of_100_loads(cell: Cell) -> None:
    assert worse(cell, LOADS).any <= LOADS * LIMIT


def test_a_server_that_stops_for_half_a_second_is_still_called_slower() -> None:
    (effect,) = FaultedLoad(
        load_output.read(faulted(BASELINE_S + 20, [(60, 64)])), (fault(BASELINE_S, 7),), baseline_s=BASELINE_S
    ).effects
    assert effect.usual_again_s == pytest.approx(1.5)
    assert effect.zero_s == pytest.approx(0.5)


def test_the_page_says_what_was_counted() -> None:
    said = page([(Cell(200, "poisson"), Worse(zero=1, slow=2, unusual=30, any=31, of=1_000))])
    assert "| 200 | poisson | 0.1% | 0.2% | 3.0% | **3.1%** | 2.1% to 4.4% |" in said
