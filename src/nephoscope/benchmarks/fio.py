"""Storage: fio jobs on one file of the measured disk, with direct I/O.

The file is written once in full, with random data: blocks that are only allocated are read as zeros without touching
the disk. Sizes are given to fio as plain bytes, as fio takes `KiB` and `MiB` for powers of ten unless told otherwise
(`kb_base`, fio's HOWTO).
"""

import math
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from nephoscope.benchmarks.base import Needs, RawOutput, Site
from nephoscope.benchmarks.fio_output import PERCENTILES, values_of
from nephoscope.databases.base import Endpoint
from nephoscope.errors import NoSpaceOnMachine, OutputUnreadable, ToolFailed
from nephoscope.frozen import Frozen
from nephoscope.machines.remote import Completed, MachineHandle
from nephoscope.observations import Observations, Reads
from nephoscope.parsers.fio import parse_fio, parse_fio_log
from nephoscope.records import Direction, Measurement, Metric
from nephoscope.units import KIB, MIB, SECTOR_BYTES

_GRACE_S = 60.0
_LOG_MS = 1000
"""Of fio's log of I/O rates: one line for each thread."""
_SLOW_DISK_BYTES_PER_S = 10 * MIB
"""Slower disks than this are given up on while the file is written."""
_USUAL_DISK_BYTES_PER_S = 200 * MIB
_JobName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")]


class FioJob(Frozen):
    """One fio process: it does one thing for a time."""

    name: _JobName
    mode: Literal["read", "write", "randread", "randwrite"]
    block_size_kib: int = Field(ge=1, le=65_536)
    queue_depth: int = Field(default=1, ge=1, le=4096, description="of each thread")
    threads: int = Field(default=1, ge=1, le=1024, description="that do the same on the same file")
    fsync_every: int = Field(default=0, ge=0, description="writes; 0: never")
    duration_s: int = Field(default=10, ge=1, le=86_400)
    direct: bool = Field(default=True, description="past the page cache (O_DIRECT)")

    @model_validator(mode="after")
    def _makes_sense(self) -> "FioJob":
        if self.fsync_every and self.mode.endswith("read"):
            raise ValueError(f"job {self.name!r} reads: fsync_every is for writes")
        if self.queue_depth > 1 and not self.direct:
            raise ValueError(f"job {self.name!r}: libaio holds more than one I/O in flight only with direct = true")
        return self


class FioParameters(Frozen):
    """A file and the jobs on it, one after the other."""

    file_size_mib: int = Field(default=512, ge=1, le=16 * 1024 * 1024)
    jobs: tuple[FioJob, ...] = Field(
        default=(
            FioJob(name="random-read", mode="randread", block_size_kib=4, queue_depth=32),
            FioJob(name="random-write", mode="randwrite", block_size_kib=4, queue_depth=32),
            FioJob(name="log-write", mode="write", block_size_kib=8, fsync_every=1),
        ),
        min_length=1,
    )

    @model_validator(mode="after")
    def _jobs_fit(self) -> "FioParameters":
        names = [job.name for job in self.jobs]
        if len(set(names)) < len(names):
            raise ValueError("two jobs have the same name")
        for job in self.jobs:
            if self.file_size_mib * MIB % (job.block_size_kib * KIB):
                raise ValueError(f"job {job.name!r}: file_size_mib must be a multiple of its block size")
        return self


class Fio:
    """The jobs of a storage profile."""

    name = "fio"
    version = 1
    title = "Storage (fio)"
    parameters = FioParameters

    def metrics(self, parameters: FioParameters) -> tuple[Metric, ...]:
        """Of every job: I/O rate (headline), bandwidth, latency; fsync latency where it syncs."""
        return tuple(metric for job in parameters.jobs for metric in _metrics_of(job))

    def needs(self, parameters: FioParameters) -> Needs:
        """fio, and room for the file."""
        return Needs(tools=("fio",), disk_bytes=parameters.file_size_mib * MIB)

    def expected_duration_s(self, parameters: FioParameters) -> float:
        """The jobs' times and starts; writing the file, once per disk, is counted for every trial."""
        layout_s = parameters.file_size_mib * MIB / _USUAL_DISK_BYTES_PER_S
        return layout_s + sum(job.duration_s + 0.7 for job in parameters.jobs)

    async def prepare(self, site: Site, parameters: FioParameters) -> Endpoint | None:
        """Writes the file in full, unless an earlier trial did.

        Raises:
            ToolMissing: fio is not there.
            NoSpaceOnMachine: the disk is full.
            ToolFailed: the file could not be written, or is sparse all the same.
        """
        machine, size = site.cluster.database[0], parameters.file_size_mib * MIB
        path = _path(machine, parameters)
        if await _is_written(machine, path, size):
            return None
        site.progress(f"writing {parameters.file_size_mib} MiB")
        timeout_s = _GRACE_S + size / _SLOW_DISK_BYTES_PER_S
        done = await site.execute(machine, "fio-layout", _layout_argv(path, size, site.data_seed), timeout_s=timeout_s)
        _require(done)
        moved = await machine.remote.execute(["mv", f"{path}.part", path], timeout_s=_GRACE_S, pinned=False)
        moved.require()
        if not await _is_written(machine, path, size):
            raise ToolFailed(f"{path} is not {size} bytes on the disk after fio wrote it")
        return None

    async def run(self, site: Site, parameters: FioParameters) -> None:
        """One fio process per job, in the study's order, on the first database machine.

        Raises:
            ToolFailed: a job ended with an error.
        """
        machine = site.cluster.database[0]
        path = _path(machine, parameters)
        for job in parameters.jobs:
            site.progress(job.name)
            argv = ["fio", *_options(job), *_surroundings(path, parameters.file_size_mib * MIB, site.seed)]
            argv += [f"--write_iops_log={path}-log", f"--log_avg_msec={_LOG_MS}", "--per_job_logs=0"]
            log = f"{path}-log_iops.log"
            await machine.remote.execute(["rm", "-f", log], timeout_s=_GRACE_S, pinned=False)
            _require(await site.execute(machine, _raw_name(job), argv, timeout_s=job.duration_s + _GRACE_S))
            await machine.remote.download(log, site.raw_dir / _log_name(job))
            await machine.remote.execute(["rm", "-f", log], timeout_s=_GRACE_S, pinned=False)

    def parse(self, raw: RawOutput, parameters: FioParameters) -> list[Measurement]:
        """Numbers of every job; a percentile with fewer than ten I/Os beyond it is left out.

        Raises:
            OutputUnreadable: a job's output is missing or not what fio 3 writes for this job.
        """
        measurements: list[Measurement] = []
        for job in parameters.jobs:
            output = raw.get(f"{_raw_name(job)}.stdout")
            if output is None:
                raise OutputUnreadable(f"fio job {job.name}: its output is not there")
            values = values_of(
                output,
                job=job.name,
                options={"rw": job.mode, "bs": str(job.block_size_kib * KIB)},
                duration_s=job.duration_s,
                fsync=job.fsync_every > 0,
            )
            measurements += [
                Measurement(metric=metric.name, unit=metric.unit, value=values[key], role="database")
                for metric in _metrics_of(job)
                if (key := metric.name.removeprefix(f"{job.name}.")) in values
            ]
            measurements += _each_second(raw.get(_log_name(job)), job)
        return measurements

    def observations(self, raw: RawOutput, parameters: FioParameters) -> Observations:
        """What jobs that read say of their reads.

        Raises:
            OutputUnreadable: as `parse`.
        """
        files_bytes = parameters.file_size_mib * MIB
        found: list[Reads] = []
        for job in parameters.jobs:
            (done,) = parse_fio(raw.get(f"{_raw_name(job)}.stdout", b"").decode(errors="replace")).jobs
            if done.read is not None:
                median_s = done.read.total.percentiles_s.get(50.0) if done.read.total else None
                one = Reads(
                    job=job.name,
                    direct=job.direct,
                    files_bytes=files_bytes,
                    bytes_per_s=done.read.bytes_per_s,
                    latency_median_s=median_s,
                )
                found.append(one)
        return Observations(reads=found)


def _each_second(log: bytes | None, job: FioJob) -> list[Measurement]:
    """The I/O rate of each second, all threads together; none for what was measured before there were logs."""
    if not log:
        return []
    by_second: dict[int, list[float]] = {}
    for row in parse_fio_log(log.decode(errors="replace")):
        by_second.setdefault(math.floor(row.at_s + 0.5), []).append(row.value)
    # The last second may be cut, and a thread may have ended before the others.
    whole = {at_s: values for at_s, values in by_second.items() if len(values) == job.threads and at_s > 0}
    return [
        Measurement(metric=f"{job.name}.iops", unit="IO/s", value=sum(values), role="database", at_s=float(at_s))
        for at_s, values in sorted(whole.items())
    ]


def _log_name(job: FioJob) -> str:
    return f"{_raw_name(job)}.iops.log"


def _raw_name(job: FioJob) -> str:
    return f"fio-{job.name}"


def _path(machine: MachineHandle, parameters: FioParameters) -> str:
    return f"{machine.data_dir}/nephoscope-fio-{parameters.file_size_mib}-mib"


def _metrics_of(job: FioJob) -> list[Metric]:
    lower, higher = Direction.LOWER, Direction.HIGHER
    clock = "from handing the I/O over until it is done (fio lat_ns)"
    made = [
        Metric(
            name=f"{job.name}.iops",
            unit="IO/s",
            direction=higher,
            title=f"{job.name}: I/O rate",
            clock="I/Os completed / fio's own running time",
            headline=True,
        ),
        Metric(
            name=f"{job.name}.bandwidth",
            unit="B/s",
            direction=higher,
            title=f"{job.name}: bandwidth",
            clock="bytes of I/Os completed / fio's own running time",
        ),
    ]
    kinds = [("latency", "latency", clock)]
    if job.fsync_every:
        kinds.append(("fsync_latency", "fsync latency", "the fsync call alone"))
    for kind, title, measured in kinds:
        made += [
            Metric(
                name=f"{job.name}.{kind}_{which}",
                unit="s",
                direction=lower,
                title=f"{job.name}: {title}, {which}",
                clock=measured,
            )
            for which in ("mean", *PERCENTILES)
        ]
    return made


def _options(job: FioJob) -> list[str]:
    return [
        f"--name={job.name}",
        f"--rw={job.mode}",
        f"--bs={job.block_size_kib * KIB}",
        f"--iodepth={job.queue_depth}",
        f"--numjobs={job.threads}",
        f"--direct={int(job.direct)}",
        f"--runtime={job.duration_s}",
        *([f"--fsync={job.fsync_every}"] if job.fsync_every else []),
    ]


def _filename(path: str) -> str:
    r"""fio ends a file name at a colon that has no `\` before it (HOWTO); it leaves every other `\` alone."""
    escaped = path.replace(":", "\\:")
    return f"--filename={escaped}"


def _surroundings(path: str, size: int, seed: int) -> list[str]:
    percentiles = ":".join(f"{percent:g}" for percent in PERCENTILES.values())
    return [
        _filename(path),
        f"--size={size}",
        "--ioengine=libaio",
        "--thread",
        "--time_based=1",
        f"--randseed={seed}",
        "--allow_file_create=0",
        "--group_reporting=1",
        "--clat_percentiles=0",
        "--lat_percentiles=1",
        f"--percentile_list={percentiles}",
        "--output-format=json",
    ]


def _layout_argv(path: str, size: int, seed: int) -> list[str]:
    """Writes every block, of random data; into a second name, so that an interrupted file is never taken for whole."""
    return [
        "fio",
        "--name=layout",
        _filename(f"{path}.part"),
        f"--size={size}",
        "--rw=write",
        f"--bs={MIB}",
        "--ioengine=libaio",
        "--iodepth=4",
        "--direct=1",
        "--thread",
        "--fallocate=none",
        "--end_fsync=1",
        "--refill_buffers=1",
        f"--randseed={seed}",
        "--output-format=json",
    ]


async def _is_written(machine: MachineHandle, path: str, size: int) -> bool:
    """True when the file has its size and as many sectors on the disk. Not recorded: it only looks."""
    looked = await machine.remote.execute(["stat", "-c", "%s %b", path], timeout_s=_GRACE_S, pinned=False)
    if looked.exit_code != 0:
        return False
    found, sectors = (int(number) for number in looked.stdout.split())
    return found == size and sectors * SECTOR_BYTES >= size


def _require(done: Completed) -> None:
    if done.exit_code == 0:
        return
    said = (done.stderr or done.stdout).decode(errors="replace")
    if "No space left" in said:
        raise NoSpaceOnMachine("fio: the measured disk is full", hint="free some room, or make `file_size_mib` smaller")
    if "Invalid argument" in said:
        raise ToolFailed(
            f"fio ended with exit code {done.exit_code}: {said.strip()[-300:]}",
            hint="the filesystem may refuse direct I/O (tmpfs does): measure a folder on a disk",
        )
    done.require()
