"""fio's JSON (version 3) -> measurements of one job. Pure.

Latencies are fio's `lat_ns`: from the moment an I/O is handed over until it is done, submission included. Percentiles
come from fio's histogram, whose buckets are 1.6 % wide; they are left out below ten I/Os in the tail.
"""

import json
import re
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from nephoscope.errors import OutputUnreadable
from nephoscope.frozen import Frozen
from nephoscope.units import NANOSECONDS_PER_SECOND

PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
_LEAST_IN_TAIL = 10
_LEAST_SHARE_OF_DURATION = 0.9
_MILLISECONDS_PER_SECOND = 1000


class _Output(Frozen):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, strict=True)


class _Latency(_Output):
    mean: float = Field(ge=0)
    count: int = Field(alias="N", ge=0)
    percentile: dict[str, float] = Field(default={})


class _Side(_Output):
    total_ios: int = Field(ge=0)
    iops: float = Field(ge=0)
    bytes_per_s: int = Field(alias="bw_bytes", ge=0)
    runtime_ms: int = Field(alias="runtime", ge=0)
    latency: _Latency = Field(alias="lat_ns")


class _Sync(_Output):
    latency: _Latency = Field(alias="lat_ns")


class _Job(_Output):
    jobname: str
    error: int
    options: dict[str, str] = Field(alias="job options")
    read: _Side
    write: _Side
    sync: _Sync


class _Document(_Output):
    version: str = Field(alias="fio version")
    jobs: list[_Job] = Field(min_length=1, max_length=1)


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
    found = _document(output, job)
    if found.error != 0:
        raise OutputUnreadable(f"fio job {job}: error {found.error} inside its output")
    ran = {name: found.options.get(name) for name in options}
    if found.jobname != job or ran != options:
        raise OutputUnreadable(f"fio job {job}: the output is of {found.jobname!r} with {ran}, not {options}")
    side = found.read if options["rw"].endswith("read") else found.write
    if not (side.total_ios and side.iops and side.bytes_per_s and side.latency.count):
        raise OutputUnreadable(f"fio job {job}: no I/O was done")
    if side.runtime_ms < duration_s * _MILLISECONDS_PER_SECOND * _LEAST_SHARE_OF_DURATION:
        raise OutputUnreadable(f"fio job {job}: ended after {side.runtime_ms} ms of {duration_s} s")
    values = {"iops": side.iops, "bandwidth": float(side.bytes_per_s), **_latencies("latency", side.latency)}
    if fsync:
        if not found.sync.latency.count:
            raise OutputUnreadable(f"fio job {job}: no fsync was done")
        values |= _latencies("fsync_latency", found.sync.latency)
    return values


def _latencies(prefix: str, latency: _Latency) -> dict[str, float]:
    """Mean, and each percentile that has at least ten values above it."""
    values = {f"{prefix}_mean": latency.mean / NANOSECONDS_PER_SECOND}
    for name, percent in PERCENTILES.items():
        if round(latency.count * (100 - percent) / 100, 6) < _LEAST_IN_TAIL:
            continue
        nanoseconds = latency.percentile.get(f"{percent:.6f}")
        if nanoseconds is None:
            raise OutputUnreadable(f"fio: no percentile {percent:g} of {latency.count} values")
        values[f"{prefix}_{name}"] = nanoseconds / NANOSECONDS_PER_SECOND
    return values


def _document(output: bytes, job: str) -> _Job:
    text = output.decode(errors="replace")
    start = re.search(r"^\{", text, re.MULTILINE)
    if start is None:
        raise OutputUnreadable(f"fio job {job}: {'no JSON in its output' if text.strip() else 'it wrote nothing'}")
    try:
        whole: Any = json.JSONDecoder().raw_decode(text, start.start())[0]
    except (ValueError, RecursionError) as error:
        raise OutputUnreadable(f"fio job {job}: damaged JSON: {error}") from error
    version = str(whole.get("fio version", "nothing that says its version"))
    if not re.match(r"fio-3\.", version):
        raise OutputUnreadable(f"fio job {job}: version 3 is known, this is {version}")
    try:
        return _Document.model_validate(whole).jobs[0]
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise OutputUnreadable(f"fio job {job}: {where}: {problem['msg']}") from error
