"""fio's JSON (version 3) -> measurements of one job; and its log of I/O rates -> the job's rate over time. Pure.

Latencies are fio's `lat_ns`: from the moment an I/O is handed over until it is done, submission included. Percentiles
come from fio's histogram, whose buckets are 1.6 % wide; they are left out below ten I/Os in the tail.

In the log, each thread writes a line for each of its directions and steps, once the step is over, and none for a step
without I/O.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from nephoscope.benchmarks.storage.fio_jobs import FioJob
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.quantities import Bounded
from nephoscope.model.records import Series
from nephoscope.model.units import MS_PER_SECOND
from nephoscope.parsers.fio import FioJob as FioDone
from nephoscope.parsers.fio import FioLatency, FioLogRow, FioSide, parse_fio, parse_fio_log

PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
FURTHER_PERCENTILES = {"p90": 90.0, "p9999": 99.99}
"""Of the editions' tables; older outputs do not have them."""
_MIN_IN_TAIL = 10
_MIN_SHARE_OF_DURATION = 0.9


def values_of(output: bytes, job: FioJob) -> dict[str, Bounded]:
    """Numbers of one job: iops (1/s), bandwidth (B/s), latency_* and fsync_latency_* (s), queue_depth.

    Of a job that reads and writes, iops and bandwidth are of both together, and the names of everything else begin with
    `read_` and `write_`.

    Args:
        output: fio's stdout; text before and after the JSON is skipped.
        job: as it was run.

    Raises:
        OutputUnreadable: no JSON, another version, another job, an error inside, nothing done, or an early end.
    """
    found = the_job(output, job.name)
    ran = {name: found.options.get(name) for name in job.asked}
    if found.name != job.name or ran != job.asked:
        raise OutputUnreadable(f"fio job {job.name}: the output is of {found.name!r} with {ran}, not {job.asked}")
    sides = {name: _side(found, name, job) for name in sides_of(job)}
    values: dict[str, Bounded] = {
        "iops": math.fsum(side.ios_per_s for side, _ in sides.values()),
        "bandwidth": math.fsum(side.bytes_per_s for side, _ in sides.values()),
    }
    for name, (side, latency) in sides.items():
        prefix = f"{name}_" if len(sides) > 1 else ""
        if prefix:
            values |= {f"{prefix}iops": side.ios_per_s, f"{prefix}bandwidth": side.bytes_per_s}
        values |= _latencies(f"{prefix}latency", latency)
    if job.fsync_every:
        if found.sync is None:
            raise OutputUnreadable(f"fio job {job.name}: no fsync was done")
        values |= _latencies("fsync_latency", found.sync)
    if job.latency_target and found.depth_found:
        values["queue_depth"] = found.depth_found
    return values


def sides_of(job: FioJob) -> tuple[str, ...]:
    """`read`, `write` or both."""
    return ("read", "write") if job.mode == "randrw" else ("read",) if job.reads else ("write",)


def _side(found: FioDone, name: str, job: FioJob) -> tuple[FioSide, FioLatency]:
    side = found.read if name == "read" else found.write
    if side is None or side.total is None:
        raise OutputUnreadable(f"fio job {job.name}: no I/O was done")
    if side.duration_s < job.duration_s * _MIN_SHARE_OF_DURATION:
        raise OutputUnreadable(f"fio job {job.name}: ended after {side.duration_s:g} s instead of {job.duration_s} s")
    return side, side.total


def _latencies(prefix: str, latency: FioLatency) -> dict[str, Bounded]:
    """Mean, longest, and each percentile that has at least ten values above it."""
    values: dict[str, Bounded] = {f"{prefix}_mean": latency.mean_s, f"{prefix}_max": latency.maximum_s}
    count = latency.count or 0
    for name, percent in {**PERCENTILES, **FURTHER_PERCENTILES}.items():
        if round(count * (100 - percent) / 100, 6) < _MIN_IN_TAIL:
            continue
        if percent in latency.percentiles_s:
            values[f"{prefix}_{name}"] = latency.percentiles_s[percent]
        elif name in PERCENTILES:
            raise OutputUnreadable(f"fio: no percentile {percent:g} of {count} values")
    return values


def the_job(output: bytes, name: str) -> FioDone:
    """The one job in an output.

    Raises:
        OutputUnreadable: no job, several jobs, or not version 3.
    """
    text = output.decode(errors="replace")
    if not text.strip():
        raise OutputUnreadable(f"fio job {name}: it wrote nothing")
    report = parse_fio(text)
    if not report.version.startswith("3."):
        raise OutputUnreadable(f"fio job {name}: the output is from {report.version}; only version 3 is supported")
    if len(report.jobs) != 1:
        raise OutputUnreadable(f"fio job {name}: its output contains {len(report.jobs)} jobs instead of one")
    return report.jobs[0]


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
