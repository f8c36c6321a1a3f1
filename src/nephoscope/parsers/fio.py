"""fio's JSON, versions 2 and 3, with text around it; and the lines of its logs.

Version 2 writes latencies in microseconds (`clat`), rates in KiB/s and amounts in KiB; version 3 nanoseconds
(`clat_ns`) and bytes. What is there decides, not the version's name: some builds name a commit. A direction in which
nothing was done is None: its zeros are no measurements. fio's `iops_mean` depends on options of its logs: not read.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Literal

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.quantities import Bounded
from nephoscope.model.units import KIB
from nephoscope.model.words import counted
from nephoscope.parsers.documents import json_documents
from nephoscope.parsers.latencies import FIO, latencies
from nephoscope.parsers.text import INTEGER, LenientModel, build, require_close, shown, validate, whole_lines

_WHAT = "fio JSON"
_NS, _US, _MS = 1e-9, 1e-6, 1000.0
_ROUNDED = 0.01
_LATENCIES = ("slat", "clat", "lat")
_ALL_CLIENTS = "All clients"
_CLOCK_S = 2.0
"""Reports have the second of their time."""


class FioLatency(Frozen):
    """Of one phase of an I/O."""

    minimum_s: float = Field(ge=0)
    mean_s: float = Field(ge=0)
    maximum_s: float = Field(ge=0)
    deviation_s: float | None = Field(ge=0)
    count: int | None = Field(gt=0, description="None: not written (version 2)")
    percentiles_s: dict[float, Bounded] = Field(description="percent -> seconds; empty: not written")
    counts: dict[int, int] = Field(
        default={}, description="nanoseconds -> I/Os of that bucket, at most 1.6 % wide; empty: not written"
    )

    def longer_than(self, limit_ns: int) -> int:
        """I/Os in the buckets beyond a time."""
        return sum(ios for at_ns, ios in self.counts.items() if at_ns > limit_ns)


class FioSide(Frozen):
    """One direction of one job."""

    bytes_done: int = Field(gt=0)
    ios: int | None = Field(gt=0, description="None: not written (2.1)")
    duration_s: float = Field(gt=0)
    ios_per_s: float = Field(gt=0)
    bytes_per_s: float = Field(gt=0)
    submission: FioLatency | None = Field(description="fio's slat: until the kernel accepts it")
    completion: FioLatency | None = Field(description="fio's clat: from then until it completes")
    total: FioLatency | None = Field(description="fio's lat: both")


class FioJob(Frozen):
    """One job, or one group of equal ones."""

    name: str
    options: dict[str, str] = Field(description="of the job, on top of the global ones; a flag is ''")
    read: FioSide | None
    write: FioSide | None
    trim: FioSide | None
    mixed: FioSide | None = Field(default=None, description="all directions at once, of `unified_rw_reporting`")
    sync: FioLatency | None = Field(description="of fsync and fdatasync")
    depth_found: int | None = Field(default=None, ge=0, description="queue depth that kept to a latency target")
    begun_unix_ms: float | None = Field(
        default=None, description="when what is measured began, within some 10 ms, by the machine's clock"
    )

    @property
    def direct(self) -> bool | None:
        """Past the page cache? None: the options do not say, and fio's default is not."""
        said = self.options.get("direct", {"1": "0", "0": "1"}.get(self.options.get("buffered", "")))
        return None if said is None else said not in {"0", "false"}


class FioReport(Frozen):
    """One document."""

    version: str
    jobs: tuple[FioJob, ...] = Field(min_length=1)


class _Latency(LenientModel):
    min_: float = Field(alias="min", ge=0)
    max_: float = Field(alias="max", ge=0)
    mean: float | None = Field(ge=0, description="None: fio printed nan")
    stddev: float | None = Field(default=None, ge=0)
    count: int | None = Field(default=None, alias="N", ge=0)
    percentile: dict[str, float | None] = {}
    bins: dict[int, int] = {}


class _Side(LenientModel):
    io_bytes: int = Field(ge=0)
    io_kbytes: int | None = None
    bw: float = Field(ge=0)
    bw_bytes: float | None = Field(default=None, ge=0)
    iops: float = Field(ge=0)
    runtime: int = Field(ge=0)
    total_ios: int | None = Field(default=None, ge=0)
    slat_ns: _Latency | None = None
    clat_ns: _Latency | None = None
    lat_ns: _Latency | None = None
    slat: _Latency | None = None
    clat: _Latency | None = None
    lat: _Latency | None = None


class _Sync(LenientModel):
    lat_ns: _Latency | None = None
    lat: _Latency | None = None


class _Job(LenientModel):
    jobname: str
    job_start: int | None = None
    error: int = 0
    options: dict[str, str] = Field(default={}, alias="job options")
    read: _Side | None = None
    write: _Side | None = None
    trim: _Side | None = None
    mixed: _Side | None = None
    sync: _Sync | None = None
    latency_depth: int | None = Field(default=None, ge=0)


class _Document(LenientModel):
    version: str = Field(alias="fio version")
    global_options: dict[str, str] = Field(default={}, alias="global options")
    jobs: list[_Job] = []
    client_stats: list[_Job] = []
    timestamp: int | None = None
    timestamp_ms: int | None = None

    @property
    def begun_unix_ms(self) -> float | None:
        """The report is written when the last job has ended, and tells no other time of the measurement."""
        longest_ms = max((side.runtime for side in self.sides), default=0)
        return None if self.timestamp_ms is None else float(self.timestamp_ms - longest_ms)

    @property
    def reported(self) -> list[_Job]:
        """Of several clients their sum, as fio made it: a job of one of them is a part of the load."""
        jobs = self.jobs or self.client_stats
        whole = [one for one in jobs if one.jobname == _ALL_CLIENTS]
        names = {one.jobname for one in jobs} - {_ALL_CLIENTS}
        return [one.model_copy(update={"jobname": ", ".join(sorted(names)) or one.jobname}) for one in whole] or jobs

    def continues(self, earlier: "_Document") -> bool:
        """Is it a later report of the same run? Versions before 3.34 do not say when a job began."""
        starts = [(one.version, [(job.jobname, job.job_start) for job in one.reported]) for one in (earlier, self)]
        done = [sum(side.io_bytes for side in one.sides) for one in (earlier, self)]
        lengths_s = [max((side.runtime for side in one.sides), default=0) / _MS for one in (earlier, self)]
        if starts[0] != starts[1] or done[0] > done[1] or lengths_s[0] >= lengths_s[1]:
            return False
        if all(job.job_start for job in self.reported):
            return True
        passed_s = (self.timestamp or 0) - (earlier.timestamp or 0)
        return abs(passed_s - (lengths_s[1] - lengths_s[0])) <= _CLOCK_S

    @property
    def sides(self) -> list[_Side]:
        """Every direction of every job."""
        return [side for job in self.reported for name in _SIDES if (side := getattr(job, name))]


def parse_fio(text: str) -> FioReport:
    """Reads the document, or the last of those that one run of `--status-interval` wrote, which covers all of it.

    Raises:
        OutputUnreadable: as `parse_fio_reports`; or no I/O was done.
    """
    report = parse_fio_reports(text)[-1]
    for job in report.jobs:
        if not (job.read or job.write or job.trim or job.mixed):
            raise OutputUnreadable(f"{_WHAT}: job {job.name[:60]!r}: no I/O was done")
    return report


def parse_fio_reports(text: str) -> tuple[FioReport, ...]:
    """Reads all documents of one run of `--status-interval`, each of which covers the time since its start.

    Raises:
        OutputUnreadable: no JSON of fio's, several runs, a run or job that failed, no job, or numbers that contradict
            each other.
    """
    documents = json_documents(text, _WHAT).values
    if any("fio version" not in document for document in documents):
        raise OutputUnreadable(f"{_WHAT}: no 'fio version' in it")
    reports = [validate(_Document, document, _WHAT) for document in documents]
    if not all(later.continues(earlier) for earlier, later in pairwise(reports)):
        raise OutputUnreadable(
            f"{_WHAT}: {counted(len(reports), 'document')} of different runs; expected one: split it"
        )
    return tuple(_report(one) for one in reports)


def _report(found: _Document) -> FioReport:
    if not found.reported:
        raise OutputUnreadable(f"{_WHAT}: no job in it")
    recent = not re.match(r"fio-[0-2]\.", found.version)
    return build(
        FioReport,
        _WHAT,
        version=found.version.removeprefix("fio-"),
        jobs=tuple(_job(job, found, recent=recent) for job in found.reported),
    )


def _job(job: _Job, report: _Document, *, recent: bool) -> FioJob:
    where = f"{_WHAT}: job {job.jobname[:60]!r}"
    if job.error:
        raise OutputUnreadable(f"{where}: it failed with error {job.error}, after a part of its time")
    sides = {name: _side(getattr(job, name), f"{where}: {name}", recent=recent) for name in _SIDES}
    sync = job.sync and (_latency(job.sync.lat_ns, _NS, where) or _latency(job.sync.lat, _US, where))
    return build(
        FioJob,
        where,
        name=job.jobname,
        options={**report.global_options, **job.options},
        sync=sync,
        depth_found=job.latency_depth,
        begun_unix_ms=report.begun_unix_ms,
        **sides,
    )


def _side(side: _Side | None, where: str, *, recent: bool) -> FioSide | None:
    if side is None or (side.io_bytes == 0 and side.iops == 0 and not side.total_ios):
        return None
    in_bytes = side.io_kbytes is not None or side.bw_bytes is not None
    bytes_done = side.io_bytes if in_bytes else side.io_bytes * KIB
    rate = side.bw_bytes if side.bw_bytes is not None else side.bw * KIB
    seconds = side.runtime / _MS
    if seconds <= 0:
        raise OutputUnreadable(f"{where}: I/O but no elapsed time")
    # Times are whole milliseconds, and version 2 writes whole KiB and whole I/Os a second.
    relative = _ROUNDED + 2 / side.runtime
    require_close(rate, bytes_done / seconds, relative=relative, absolute=2 * KIB, what=f"{where}: bandwidth")
    if side.total_ios is not None:
        require_close(side.iops, side.total_ios / seconds, relative=relative, absolute=1, what=f"{where}: I/O rate")
    if recent and (side.lat or side.clat or not (side.lat_ns or side.clat_ns)):
        raise OutputUnreadable(f"{where}: version 3 writes lat_ns and clat_ns, but other keys are present")
    phases = {
        name: _latency(getattr(side, f"{name}_ns"), _NS, where) or _latency(getattr(side, name), _US, where)
        for name in _LATENCIES
    }
    return build(
        FioSide,
        where,
        bytes_done=bytes_done,
        ios=side.total_ios,
        duration_s=seconds,
        ios_per_s=side.iops,
        bytes_per_s=rate,
        submission=phases["slat"],
        completion=phases["clat"],
        total=phases["lat"],
    )


def _latency(found: _Latency | None, unit_s: float, where: str) -> FioLatency | None:
    """None: nothing of this phase was measured; fio then writes zeros."""
    if found is None or found.count == 0 or found.mean is None or (found.max_ == 0 and found.mean == 0):
        return None
    if not found.min_ <= found.mean * (1 + _ROUNDED) + 1 or not found.mean <= found.max_ * (1 + _ROUNDED) + 1:
        raise OutputUnreadable(f"{where}: a mean latency of {found.mean:g} outside {found.min_:g} to {found.max_:g}")
    return build(
        FioLatency,
        where,
        minimum_s=found.min_ * unit_s,
        mean_s=found.mean * unit_s,
        maximum_s=found.max_ * unit_s,
        deviation_s=None if found.stddev is None else found.stddev * unit_s,
        count=found.count,
        percentiles_s=latencies(
            where,
            FIO,
            _percentiles(found.percentile, unit_s, where),
            mean_s=found.mean * unit_s,
            maximum_s=found.max_ * unit_s,
        ).percentiles_s,
        counts=found.bins if unit_s == _NS else {},
    )


def _percentiles(found: Mapping[str, float | None], unit_s: float, where: str) -> dict[float, float]:
    """Without the places that version 2 fills up: "0.00" with 0, several times."""
    try:
        percents = {
            float(name): value * unit_s for name, value in found.items() if value is not None and float(name) > 0
        }
    except ValueError as error:
        raise OutputUnreadable(f"{where}: a percentile is not a number: {error}") from error
    if any(not 0 < percent <= 100 for percent in percents):
        raise OutputUnreadable(f"{where}: a percentile above 100")
    return percents


class FioLogRow(Frozen):
    """One line of a log that `--log_avg_msec` made: the mean of one interval."""

    at_s: float = Field(ge=0, description="end of the interval")
    value: float = Field(ge=0, description="KiB/s of a bandwidth log, I/O/s, or ns of a latency log (version 3)")
    direction: Literal["read", "write", "trim"]


_SIDES = ("read", "write", "trim", "mixed")
_DIRECTIONS: tuple[Literal["read", "write", "trim"], ...] = ("read", "write", "trim")


def parse_fio_log(text: str) -> tuple[FioLogRow, ...]:
    """Reads a log of `--write_bw_log`, `--write_iops_log` or `--write_lat_log`, in its order.

    If several threads write one log, it lists them one after the other, so times may start over.

    Raises:
        OutputUnreadable: it is empty or cut off, or has an unexpected line.
    """
    return tuple(_log_row(line, number) for number, line in enumerate(_log_lines(text), start=1))


def _log_lines(text: str) -> list[str]:
    return [line for line in whole_lines(text, "fio log") if line.strip()]


def _log_row(line: str, number: int) -> FioLogRow:
    cells = [cell.strip() for cell in line.split(",")]
    known = len(cells) in {3, 4, 5, 6} and all(re.fullmatch(INTEGER, cell) for cell in cells[:3])
    if not known or int(cells[2]) >= len(_DIRECTIONS):
        raise OutputUnreadable(f"fio log: line {number}: {shown(line)}")
    direction = _DIRECTIONS[int(cells[2])]
    return build(FioLogRow, "fio log", at_s=int(cells[0]) / _MS, value=float(cells[1]), direction=direction)
