"""What fio's log of I/O rates tells of each second, and of each tenth of one."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.benchmarks.storage.fio_output import rates_by_second, step_ms, work_by_step

STEPS = 30
RATE = 4000


def log_of(lines: Sequence[tuple[int, float, int]]) -> bytes:
    return "".join(f"{at_ms}, {rate:.0f}, {direction}, 0, 0\n" for at_ms, rate, direction in lines).encode()


def steady(*, threads: int = 1, directions: int = 1, without: tuple[int, ...] = ()) -> list[tuple[int, float, int]]:
    """Lines as fio writes them; in the steps `without` nothing is completed, so that they have no line."""
    steps = [step for step in range(1, STEPS + 1) if step not in without]
    return [(100 * step, RATE, side) for _ in range(threads) for step in steps for side in range(directions)]


@pytest.mark.parametrize(("threads", "directions"), [(1, 1), (2, 1), (3, 2)])
def test_the_lines_of_all_threads_and_directions_add_up(threads: int, directions: int) -> None:
    log, lines = log_of(steady(threads=threads, directions=directions)), threads * directions
    work = work_by_step(log, "iops", 5000.0)
    assert work is not None
    assert (work.step_s, work.at_unix_ms) == (0.1, 5000.0)
    assert work.values == pytest.approx([lines * RATE] * STEPS)
    assert dict(rates_by_second(log, lines)) == pytest.approx(dict.fromkeys((1, 2, 3), lines * RATE))


def test_steps_without_a_line_are_empty_while_a_disk_stands_still() -> None:
    work = work_by_step(log_of(steady(without=(11, 12, 13))), "iops")
    assert work is not None
    assert work.values[10:13] == [0, 0, 0]
    assert sum(work.values) == pytest.approx((STEPS - 3) * RATE)


def test_a_late_line_of_a_fio_that_stood_still_counts_what_it_completed_once() -> None:
    """Recorded of fio 3.33, stopped by a signal for 0.35 s: its next line is the mean of 0.43 s."""
    lines = [*((100 * step, RATE, 0) for step in range(1, 16)), (1944, 565, 0)]
    lines += [(1944 + 100 * step, RATE, 0) for step in range(1, 11)]
    work = work_by_step(log_of(lines), "iops")
    assert work is not None
    cut_s = 0.044  # of the last step, which is not whole
    assert sum(work.values) * 0.1 == pytest.approx((2.5 - cut_s) * RATE + 0.444 * 565)
    assert work.values[15:18] == [0, 0, 0]


@pytest.mark.parametrize(("last_ms", "steps"), [(2905, 29), (2940, 29), (2985, 29), (2995, 30), (3004, 30)])
def test_a_last_step_that_is_cut_is_no_dip(last_ms: int, steps: int) -> None:
    work = work_by_step(log_of([*steady()[:-1], (last_ms, RATE, 0)]), "iops")
    assert work is not None
    assert len(work.values) == steps
    assert min(work.values) > 0.9 * RATE
    seconds = dict(rates_by_second(log_of([*steady()[:-1], (last_ms, RATE, 0)]), 1))
    assert seconds == pytest.approx(dict.fromkeys((1, 2, 3), RATE), rel=0.02)


def test_a_thread_that_ended_first_ends_the_series() -> None:
    lines = steady() + steady()[:-7]
    work = work_by_step(log_of(lines), "iops")
    assert work is not None
    assert len(work.values) == STEPS - 7


@given(st.lists(st.integers(-9, 9), min_size=STEPS, max_size=STEPS))
def test_lines_that_come_late_lose_nothing(late_ms: list[int]) -> None:
    ends = [100 * step + late for step, late in enumerate(late_ms, 1)]
    counts = [RATE * (to - since) / 1000 for since, to in zip([0, *ends], ends, strict=False)]
    work = work_by_step(log_of([(end, RATE, 0) for end in ends]), "iops")
    assert work is not None
    assert sum(work.values) * 0.1 == pytest.approx(sum(counts), rel=0.01)
    assert min(work.values[:-1]) > 0.9 * RATE


def test_a_log_of_seconds_tells_seconds() -> None:
    log = log_of(
        [(1000, 100, 1), (2000, 80, 1), (4000, 60, 1), (4500, 5, 1), (1001, 90, 1), (2000, 70, 1), (4001, 1, 1)]
    )
    assert work_by_step(log, "iops") is None
    assert rates_by_second(log, 2) == [(1, 190), (2, 150), (3, 0), (4, 61)]


def test_a_line_at_the_very_beginning_stands_for_nothing() -> None:
    for log in (log_of([(0, RATE, 0)]), log_of([(0, RATE, 0), *steady()])):
        work = work_by_step(log, "iops")
        assert work is None or work.values == pytest.approx([RATE] * STEPS)


def test_the_log_of_a_long_job_has_seconds() -> None:
    long = [step_ms(duration_s, watched=False) for duration_s in (2, 600, 601, 86_400)]
    assert (long, step_ms(60, watched=True)) == ([100, 100, 1000, 1000], 1000)
