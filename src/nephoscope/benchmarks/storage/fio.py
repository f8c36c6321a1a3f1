"""Storage: fio jobs on one file of the measured disk, with direct I/O."""

from collections import Counter

from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Needs, RawOutput, Site
from nephoscope.benchmarks.storage.fio_jobs import FioJob, FioParameters
from nephoscope.benchmarks.storage.fio_output import (
    FURTHER_PERCENTILES,
    PERCENTILES,
    rates_by_second,
    sides_of,
    step_ms,
    the_job,
    values_of,
    work_by_step,
)
from nephoscope.benchmarks.storage.target import GRACE_S, Target, filename, require_done, target_of, write_target
from nephoscope.databases.base import Endpoint
from nephoscope.machines.remote import Command
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.quantities import LowerBound
from nephoscope.model.records import Measurement, Metric, Observations, Reads, Series
from nephoscope.model.subjects import ONE_MACHINE_WITH_VOLUMES, Subject
from nephoscope.model.units import KIB
from nephoscope.parsers.fio import FioJob as FioDone

_LATENCIES = ("mean", *sorted({**PERCENTILES, **FURTHER_PERCENTILES}), "max")


class Fio(Benchmark):
    """The jobs of a storage profile."""

    name = "fio"
    version = 1
    subject = Subject.STORAGE
    extent = ONE_MACHINE_WITH_VOLUMES
    resumable = True
    title = "Storage (fio)"
    parameters = FioParameters

    @override
    def metrics(self, parameters: FioParameters) -> tuple[Metric, ...]:
        """Of every job: I/O rate, bandwidth, latency; fsync latency where it syncs.

        Ranked by the I/O rate, large sequential I/Os by the bandwidth; with an edition as its publication ranks.
        """
        told = Counter(job.title for job in parameters.jobs)
        titles = {job.name: job.title + (f" ({job.name})" if told[job.title] > 1 else "") for job in parameters.jobs}
        return parameters.as_reported(
            metric for job in parameters.jobs for metric in _metrics_of(job, titles[job.name])
        )

    @override
    def needs(self, parameters: FioParameters) -> Needs:
        return parameters.needs

    @override
    def expected_duration_s(self, parameters: FioParameters) -> float:
        """The jobs' times and starts; writing the file, once per disk, is counted for every trial."""
        return parameters.layout_s + sum(job.ramp_s + job.duration_s + 0.7 for job in parameters.runs)

    @override
    def is_watched(self, parameters: FioParameters) -> bool:
        return parameters.promised_iops is not None

    @override
    async def prepare(self, site: Site, parameters: FioParameters) -> Endpoint | None:
        await write_target(site, parameters)
        return None

    @override
    async def run(self, site: Site, parameters: FioParameters) -> None:
        """One fio process per job, in the study's order, on the first database machine.

        Raises:
            InputError: the device is not there, or something uses it.
            ToolFailed: a job ended with an error.
        """
        machine = site.cluster.database[0]
        target = await target_of(machine, parameters)
        for job in parameters.runs:
            site.progress(job.name)
            stem = f"{machine.data_dir}/nephoscope-{_raw_name(job)}"
            log = f"{stem}_iops.log"
            argv = ["fio", *_options(job, target), *_surroundings(target, parameters, site.seed)]
            step = step_ms(job.duration_s, watched=self.is_watched(parameters))
            argv += [f"--write_iops_log={stem}", f"--log_avg_msec={step}", "--per_job_logs=0"]
            if not site.resumed:
                await machine.remote.execute(Command(["rm", "-f", log], timeout_s=GRACE_S, pinned=False))
            timeout_s = job.ramp_s + job.duration_s + GRACE_S
            require_done(await site.execute(machine, _raw_name(job), Command(argv, timeout_s=timeout_s)))
            await machine.remote.download(log, site.raw_dir / _log_name(job))

    @override
    def parse(self, raw: RawOutput, parameters: FioParameters) -> list[Measurement]:
        """Numbers of every job; a percentile with fewer than ten I/Os beyond it is left out.

        Raises:
            OutputUnreadable: a job's output is missing or not what fio 3 writes for this job.
        """
        measurements: list[Measurement] = []
        for job in parameters.runs:
            output = raw.get(f"{_raw_name(job)}.stdout")
            if output is None:
                raise OutputUnreadable(f"fio job {job.name}: its output is missing")
            values = values_of(output, job)
            measurements += [
                Measurement.of(metric.name, metric.unit, values[key])
                for metric in _metrics_of(job, job.title)
                if (key := metric.name.removeprefix(f"{job.name}.")) in values
            ]
            measurements += _each_second(raw.get(_log_name(job)), job)
        return measurements

    @override
    def observations(self, raw: RawOutput, parameters: FioParameters) -> Observations:
        """What jobs that read say of their reads, and the work of each job in short steps."""
        done = [(job, the_job(raw.get(f"{_raw_name(job)}.stdout", b""), job.name)) for job in parameters.runs]
        work = [_work(raw.get(_log_name(job)), job, ended) for job, ended in done]
        return Observations(
            reads=[_reads(job, ended) for job, ended in done if job.reads],
            work=[series for series in work if series is not None],
        )


def _reads(job: FioJob, done: FioDone) -> Reads:
    size = done.options.get("size", "")
    if done.read is None or not size.isdecimal():
        raise OutputUnreadable(f"fio job {job.name}: nothing was read, or the output does not give the block size")
    median_s = done.read.total.percentiles_s.get(50.0) if done.read.total else None
    return Reads(
        job=job.name,
        direct=job.direct,
        files_bytes=int(size) * (job.threads if job.apart else 1),
        bytes_per_s=done.read.bytes_per_s,
        latency_median_s=None if isinstance(median_s, LowerBound) else median_s,
    )


def _each_second(log: bytes | None, job: FioJob) -> list[Measurement]:
    """The I/O rate of each second; none for what was measured before there were logs."""
    return [
        Measurement.of(f"{job.name}.iops", "IO/s", rate, at_s=float(second))
        for second, rate in (rates_by_second(log, job.threads * len(sides_of(job))) if log else ())
    ]


def _work(log: bytes | None, job: FioJob, done: FioDone) -> Series | None:
    return work_by_step(log, f"{job.name}.iops", done.begun_unix_ms) if log else None


def _log_name(job: FioJob) -> str:
    return f"{_raw_name(job)}.iops.log"


def _raw_name(job: FioJob) -> str:
    return f"fio-{job.name}"


def _metrics_of(job: FioJob, name: str) -> list[Metric]:
    """`name` is the job's for a reader."""
    made = _rates(job, name, "", headline="bandwidth" if job.is_stream else "iops")
    sides = sides_of(job)
    for side in sides:
        prefix, title = (f"{side}_", f"{side} ") if len(sides) > 1 else ("", "")
        if prefix:
            made += _rates(job, name, prefix)
        clock = "from submitting the I/O until it completes (fio lat_ns)"
        made += _latencies_of(job, f"{prefix}latency", f"{name}: {title}latency", clock)
    if job.fsync_every:
        made += _latencies_of(job, "fsync_latency", f"{name}: fsync latency", "only the fsync call")
    if job.latency_target:
        made.append(
            Metric.higher(f"{job.name}.queue_depth", "I/Os", f"{name}: I/Os in flight that meet the latency target")
        )
    return made


def _rates(job: FioJob, name: str, side: str, *, headline: str = "") -> list[Metric]:
    """Of the I/Os and of their bytes; `headline` is the name of the one that ranks."""
    title, time = f"{name}: {side.replace('_', ' ')}", "running time measured by fio"
    return [
        Metric.higher(f"{job.name}.{side}{kind}", unit, f"{title}{what}", f"{of} / {time}", headline=kind == headline)
        for kind, unit, what, of in (
            ("iops", "IO/s", "I/O rate", "completed I/Os"),
            ("bandwidth", "B/s", "throughput", "bytes of completed I/Os"),
        )
    ]


def _latencies_of(job: FioJob, kind: str, title: str, clock: str) -> list[Metric]:
    return [Metric.lower(f"{job.name}.{kind}_{which}", "s", f"{title}, {which}", clock) for which in _LATENCIES]


def _options(job: FioJob, target: Target) -> list[str]:
    block = job.block_size_kib * KIB
    size = target.size // job.threads // block * block if job.apart else target.size
    found = [f"--{name}={value}" for name, value in {"name": job.name, **job.asked}.items()]
    found += [
        f"--size={size}",
        f"--iodepth={job.queue_depth}",
        f"--numjobs={job.threads}",
        f"--direct={int(job.direct)}",
        f"--runtime={job.duration_s}",
    ]
    if job.apart:
        found.append(f"--offset_increment={size}")
    if job.ramp_s:
        found.append(f"--ramp_time={job.ramp_s}")
    if job.fsync_every:
        found.append(f"--fsync={job.fsync_every}")
    if job.latency_target:
        found += [
            f"--latency_target={job.latency_target.target_ms}ms",
            f"--latency_window={job.latency_target.window_ms}ms",
            f"--latency_percentile={job.latency_target.percent:g}",
        ]
    return found


def _surroundings(target: Target, parameters: FioParameters, seed: int) -> list[str]:
    percentiles = ":".join(f"{percent:g}" for percent in sorted({**PERCENTILES, **FURTHER_PERCENTILES}.values()))
    return [
        filename(target.path),
        "--ioengine=libaio",
        "--thread",
        "--time_based=1",
        f"--randseed={seed}",
        f"--random_generator={parameters.generator}",
        "--fadvise_hint=0",
        "--allow_file_create=0",
        "--group_reporting=1",
        "--clat_percentiles=0",
        "--lat_percentiles=1",
        f"--percentile_list={percentiles}",
        "--output-format=json",
    ]
