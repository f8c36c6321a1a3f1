"""fio's JSON (version 3) -> measurements of one job. Pure.

Latencies are fio's `lat_ns`: from the moment an I/O is handed over until it is done, submission included. Percentiles
come from fio's histogram, whose buckets are 1.6 % wide; they are left out below ten I/Os in the tail.
"""

from nephoscope.errors import OutputUnreadable
from nephoscope.parsers.fio import FioJob, FioLatency, parse_fio

PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
_LEAST_IN_TAIL = 10
_LEAST_SHARE_OF_DURATION = 0.9


def values_of(output: bytes, *, job: str, options: dict[str, str], duration_s: float, fsync: bool) -> dict[str, float]:
    """Numbers of one job: iops (1/s), bandwidth (B/s), latency_* and fsync_latency_* (s).

    Args:
        output: fio's stdout; text before and after the JSON is passed over.
        job: name the job must have.
        options: options it must have been run with; among them `rw`.
        duration_s: how long it was to last.
        fsync: it must have called fsync.

    Raises:
        OutputUnreadable: no JSON, another version, another job, an error inside, nothing done, or an early end.
    """
    found = _job(output, job)
    if found.error != 0:
        raise OutputUnreadable(f"fio job {job}: error {found.error} inside its output")
    ran = {name: found.options.get(name) for name in options}
    if found.name != job or ran != options:
        raise OutputUnreadable(f"fio job {job}: the output is of {found.name!r} with {ran}, not {options}")
    side = found.read if options["rw"].endswith("read") else found.write
    if side is None or side.total is None:
        raise OutputUnreadable(f"fio job {job}: no I/O was done")
    if side.duration_s < duration_s * _LEAST_SHARE_OF_DURATION:
        raise OutputUnreadable(f"fio job {job}: ended after {side.duration_s:g} s of {duration_s} s")
    values = {"iops": side.ios_per_s, "bandwidth": side.bytes_per_s, **_latencies("latency", side.total)}
    if fsync:
        if found.sync is None:
            raise OutputUnreadable(f"fio job {job}: no fsync was done")
        values |= _latencies("fsync_latency", found.sync)
    return values


def _latencies(prefix: str, latency: FioLatency) -> dict[str, float]:
    """Mean, and each percentile that has at least ten values above it."""
    values = {f"{prefix}_mean": latency.mean_s}
    count = latency.count or 0
    for name, percent in PERCENTILES.items():
        if round(count * (100 - percent) / 100, 6) < _LEAST_IN_TAIL:
            continue
        if percent not in latency.percentiles_s:
            raise OutputUnreadable(f"fio: no percentile {percent:g} of {count} values")
        values[f"{prefix}_{name}"] = latency.percentiles_s[percent]
    return values


def _job(output: bytes, job: str) -> FioJob:
    text = output.decode(errors="replace")
    if not text.strip():
        raise OutputUnreadable(f"fio job {job}: it wrote nothing")
    report = parse_fio(text)
    if not report.version.startswith("3."):
        raise OutputUnreadable(f"fio job {job}: version 3 is known, this is {report.version}")
    if len(report.jobs) != 1:
        raise OutputUnreadable(f"fio job {job}: {len(report.jobs)} jobs in its output")
    return report.jobs[0]
