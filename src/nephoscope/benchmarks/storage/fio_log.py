"""The log of I/O rates that fio writes beside a job's output -> the job's rate over time. Pure.

Each thread writes a line for each of its directions and steps, once the step is over, and none for a step without I/O.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from nephoscope.model.records import Series
from nephoscope.model.units import MS_PER_SECOND
from nephoscope.parsers.fio import FioLogRow, parse_fio_log

_STEP_S = 0.1
_STEPS = 10
"""In a second."""
_LONGEST_S = 600
"""Longer jobs log seconds, so that a day's log stays small."""
_CUT = 0.1
"""Of a step: the last one may lack so much, as lines end some milliseconds early; one that lacks more is left out."""
_LATE = 1.5
"""Steps: a line that comes later after the one before follows others without I/O, or fio itself stood still."""


def step_ms(duration_s: float, *, watched: bool) -> int:
    """Time that a line of the log of such a job stands for; `watched`: its stalls are results, and spoil nothing."""
    return round((1.0 if watched or duration_s > _LONGEST_S else _STEP_S) * MS_PER_SECOND)


def rates_by_second(log: bytes, lines: int) -> list[tuple[int, float]]:
    """The I/O rate (1/s) of each whole second, all threads and directions together; the last one may lack a step.

    Args:
        log: as `--write_iops_log` made it.
        lines: of a step: of each direction of each thread.

    Raises:
        OutputUnreadable: it is not a log of fio's.
    """
    rows = _rows(log)
    fine = _rates_by_step(rows)
    if fine is not None:
        whole = (len(fine) + 1) // _STEPS
        return [(at + 1, fmean(fine[_STEPS * at : _STEPS * (at + 1)])) for at in range(whole)]
    by_second: dict[int, list[float]] = {}
    for row in rows:
        by_second.setdefault(math.floor(row.at_s + 0.5), []).append(row.value)
    # The last second may be cut, and a thread may have ended before the others.
    complete = {second: sum(rates) for second, rates in by_second.items() if len(rates) == lines and second > 0}
    # A second between others that no thread has a line of is one in which nothing was completed.
    between = range(min(complete, default=0), max(complete, default=0))
    return sorted({**{second: 0.0 for second in between if second not in by_second}, **complete}.items())


def work_by_step(log: bytes, metric: str, begun_unix_ms: float | None = None) -> Series | None:
    """The I/O rate (1/s) in steps of 0.1 s, all threads and directions together; None if the log has seconds.

    Raises:
        OutputUnreadable: it is not a log of fio's.
    """
    rates = _rates_by_step(_rows(log))
    if rates is None:
        return None
    return Series(metric=metric, unit="1/s", step_s=_STEP_S, values=rates, at_unix_ms=begun_unix_ms)


def _rows(log: bytes) -> Sequence[FioLogRow]:
    return parse_fio_log(log.decode(errors="replace"))


def _rates_by_step(rows: Sequence[FioLogRow]) -> list[float] | None:
    """See `work_by_step`."""
    writers = [windows for lines in _writers(rows) if (windows := list(_windows(lines)))]
    steps = min((math.floor(windows[-1].to_s / _STEP_S + _CUT) for windows in writers), default=0)
    if steps < _STEPS or any(windows[0].usual_s > _LATE * _STEP_S for windows in writers):
        return None
    counts = [0.0] * steps
    for window in (window for windows in writers for window in windows):
        for step in range(math.floor(window.from_s / _STEP_S), min(steps, math.ceil(window.to_s / _STEP_S))):
            counts[step] += window.count_between(step * _STEP_S, (step + 1) * _STEP_S)
    # Times are rounded to floats: what remains of them in an empty step is nothing.
    return [round(count / _STEP_S, 3) for count in counts]


@dataclass(frozen=True)
class _Window:
    """What one thread completed in one direction, by one line of the log."""

    from_s: float
    to_s: float
    count: float
    usual_s: float
    """Length of most windows of this log."""

    def count_between(self, from_s: float, to_s: float) -> float:
        """The part of its count, as if it had been completed evenly."""
        within_s = min(self.to_s, to_s) - max(self.from_s, from_s)
        return self.count * max(0.0, within_s) / (self.to_s - self.from_s)


def _writers(log: Sequence[FioLogRow]) -> Iterator[Sequence[FioLogRow]]:
    """The lines of each direction of each thread; threads follow each other, and the time of each begins anew."""
    unfinished: dict[str, list[FioLogRow]] = {}
    for row in log:
        rows = unfinished.setdefault(row.direction, [])
        if rows and row.at_s <= rows[-1].at_s:
            yield rows
            rows = unfinished[row.direction] = []
        rows.append(row)
    yield from unfinished.values()


def _windows(rows: Sequence[FioLogRow]) -> Iterator[_Window]:
    """A late line has the mean of a usual step, after steps without I/O, or else of all the time since the last one.

    The log does not say which. The second is so if fio stood still, and then no more was completed than usually is.
    """
    ends_s = [0.0, *(row.at_s for row in rows)]
    gaps_s = [later - earlier for earlier, later in pairwise(ends_s)]
    usual_s = median(gaps_s)
    usual = median(row.value for row in rows) * usual_s
    for row, gap_s in zip(rows, gaps_s, strict=True):
        length_s = gap_s if gap_s <= _LATE * usual_s else usual_s
        count = min(row.value * gap_s, max(row.value * length_s, usual))
        if length_s > 0:
            yield _Window(row.at_s - length_s, row.at_s, count, usual_s)
