"""fio's JSON (version 3) -> measurements of one job. Pure.

Latencies are fio's `lat_ns`: from the moment an I/O is handed over until it is done, submission included. Percentiles
come from fio's histogram, whose buckets are 1.6 % wide; they are left out below ten I/Os in the tail.
"""

import math

from nephoscope.benchmarks.storage.fio_jobs import FioJob
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.quantities import Bounded
from nephoscope.parsers.fio import FioJob as FioDone
from nephoscope.parsers.fio import FioLatency, FioSide, parse_fio

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
