"""Memory beside STREAM and sysbench: their outputs, and the page.

STREAM's output was recorded on 2026-11-28 from stream.c 5.10, compiled with `cc -O2 -fopenmp`; sysbench's from Debian's
1.0.20.
"""

import pytest

from bench.harness.measure import Ran
from bench.memory import Best, page, stream_copy, sysbench_rate
from nephoscope.model.units import MIB

STREAM = """\
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           30434.7     0.020588     0.008820     0.040272
Scale:          34934.4     0.019981     0.007684     0.047072
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""
SYSBENCH = "Total operations: 156 (   51.60 per second)\n\n19968.00 MiB transferred (6605.05 MiB/sec)\n"


def test_their_outputs_are_read() -> None:
    assert stream_copy(STREAM) == pytest.approx(30.4347e9)
    assert sysbench_rate(Ran(SYSBENCH, "", 0, 1.0, 1.0, 0)) == pytest.approx(6605.05 * MIB)


@pytest.mark.parametrize("text", [STREAM.replace("Validates", "fails"), STREAM.replace("Copy:", "Cop"), ""])
def test_a_result_that_stream_does_not_vouch_for_is_none(text: str) -> None:
    with pytest.raises(RuntimeError, match="no valid result"):
        stream_copy(text)


def rows(copies: list[float], lost: list[float]) -> list[str]:
    rounds = [
        {("copy", 1): Best(copy * 1e9, share), ("STREAM Copy", 1): Best(10e9, 0.0), ("read", 1): Best(5e9, share)}
        for copy, share in zip(copies, lost, strict=True)
    ]
    return page(rounds, MIB, "here").splitlines()


def test_a_copy_must_be_as_fast_as_streams_on_either_side() -> None:
    assert "| copy / STREAM's Copy, 1 thread | 1 ± 0.05 | 1.00 (0.98..1.04) | met |" in rows([10, 9.8, 10.4], [0] * 3)
    for far in (10.6, 9.4):
        (row,) = [line for line in rows([far] * 3, [0] * 3) if line.startswith("| copy / ")]
        assert row.endswith("**missed** |")


def test_rounds_of_unequal_loss_are_not_compared_and_what_was_not_run_is_not_judged() -> None:
    lines = rows([10, 3, 10], [0, 0.5, 0])
    assert any("1.00 (1.00..1.00); 1 of 3 rounds of unequal loss" in line for line in lines)
    assert "| read / sysbench read, 1 thread |  | – | not measured |" in lines
    assert "| read | 1 thread | 5.0 (5.0..5.0) |" in lines
