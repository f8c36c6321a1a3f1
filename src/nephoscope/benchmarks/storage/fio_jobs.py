"""The fio jobs, and those of published methods."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints, model_validator
from typing_extensions import override

from nephoscope.benchmarks.presets import AS_TUPLE, EDITION, Defect, Preset, Presets, presets
from nephoscope.benchmarks.storage.target import TargetParameters
from nephoscope.model.frozen import Frozen
from nephoscope.model.units import KIB, MIB

_JobName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")]
_Split = Annotated[str, StringConstraints(pattern=r"^[0-9]+k/[0-9]+([:,][0-9]+k/[0-9]+)*$")]


_LARGE_KIB = 256
_MODES = {
    "read": "Sequential reads",
    "write": "Sequential writes",
    "randread": "Random reads",
    "randwrite": "Random writes",
    "randrw": "Random reads and writes",
}


def _size(kib: int) -> str:
    return f"{kib} KiB" if kib % 1024 else f"{kib // 1024} MiB"


class LatencyTarget(Frozen):
    """fio looks for the queue depth at which so many I/Os keep to a latency."""

    target_ms: int = Field(ge=1)
    percent: float = Field(gt=0, le=100, description="share of I/Os that must meet it")
    window_ms: int = Field(ge=1, description="time for which each queue depth is tried")

    def __str__(self) -> str:
        return f"{self.target_ms} ms for {self.percent:g} % in {self.window_ms / 1000:g} s"


class FioJob(Frozen):
    """One fio process: it does one thing for a time."""

    name: _JobName
    mode: Literal["read", "write", "randread", "randwrite", "randrw"]
    block_size_kib: int = Field(ge=1, le=65_536)
    block_split: _Split | None = Field(
        default=None,
        description="sizes with their percents instead of one size, as fio's bssplit ('4k/70:8k/30'); reads, a comma, "
        "writes for randrw",
    )
    queue_depth: int = Field(default=1, ge=1, le=65_536, description="queue depth of each thread")
    threads: int = Field(default=1, ge=1, le=1024, description="threads that do the same on the same file")
    apart: bool = Field(default=False, description="each thread works on its own part of the file")
    fsync_every: int = Field(default=0, ge=0, description="number of writes between two fsyncs; 0: no fsync")
    ramp_s: int = Field(default=0, ge=0, le=3600, description="time before the measurement")
    duration_s: int = Field(default=10, ge=1, le=86_400)
    direct: bool = Field(default=True, description="bypass the page cache (O_DIRECT)")
    latency_target: LatencyTarget | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> "FioJob":
        if self.fsync_every and self.mode.endswith("read"):
            raise ValueError(f"job {self.name!r} only reads: fsync_every needs writes")
        return self

    @property
    def reads(self) -> bool:
        """Also where it writes, too."""
        return self.mode in {"read", "randread", "randrw"}

    @property
    def title(self) -> str:
        """'Random reads of 4 KiB, queue depth 16', '..., 8 threads', '..., fsync after every 128'."""
        size = "mixed sizes" if self.block_split else _size(self.block_size_kib)
        parts = [f"{_MODES[self.mode]} of {size}"]
        parts += [f"queue depth {self.queue_depth}"] if self.queue_depth > 1 else []
        parts += [f"{self.threads} threads"] if self.threads > 1 else []
        if self.fsync_every:
            parts.append("fsync after each" if self.fsync_every == 1 else f"fsync after every {self.fsync_every}")
        parts += [str(self.latency_target)] if self.latency_target else []
        return ", ".join(parts)

    @property
    def is_stream(self) -> bool:
        """Large sequential I/Os: bytes count, not operations."""
        return self.mode in {"read", "write"} and self.block_split is None and self.block_size_kib >= _LARGE_KIB

    @property
    def asked(self) -> dict[str, str]:
        """Options by which its output is known."""
        sizes = {"bssplit": self.block_split} if self.block_split else {"bs": str(self.block_size_kib * KIB)}
        return {"rw": self.mode, **sizes}


def _jobs(depth: int, target: LatencyTarget | None) -> tuple[FioJob, ...]:
    """The jobs of 2021; `depth` is 1 on network disks, 16 on local SSDs.

    Without a target those of 2022, with the block sizes of CockroachDB under TPC-C.
    """
    bandwidth, iops, latency = 64 * depth, 512 * depth, 16 * depth

    def job(name: str, mode: Literal["read", "write", "randread", "randwrite", "randrw"], **more: object) -> FioJob:
        return FioJob.model_validate(
            {"name": name, "mode": mode, "block_size_kib": 4, "ramp_s": 2, "duration_s": 120, **more}
        )

    writes = (
        job("wr-bw", "write", block_size_kib=1024, queue_depth=bandwidth, threads=8, apart=True),
        job("wr-iops", "randwrite", queue_depth=iops),
        job("wr-latency", "randwrite", queue_depth=latency),
    )
    reads = (
        job("rd-bw", "read", block_size_kib=1024, queue_depth=bandwidth, threads=8, apart=True),
        job("rd-iops", "randread", queue_depth=iops, threads=4),
        job("rd-latency", "randread", queue_depth=latency),
    )
    if target is not None:
        return (*writes, *reads, job("target", "randread", queue_depth=8192, latency_target=target))
    return (
        *writes,
        job("wr-iops-tpcc", "randwrite", queue_depth=iops, block_split=_WRITES),
        job("wr-iops-tpcc-fsync", "randwrite", direct=False, fsync_every=128),
        *reads,
        job("rd-iops-tpcc", "randread", queue_depth=iops, threads=4, block_split=_READS),
        job("rd-wr-iops-tpcc", "randrw", queue_depth=iops, threads=4, block_split=f"{_READS},{_WRITES}"),
    )


_WRITES = "4k/70:8k/20:12k/3:16k/1:20k/1:24k/1:28k/1:32k/1:36k/1:44k/1"
_READS = "8k/28:12k/23:4k/23:16k/7:20k/2:32k/17"
_OF_A_FILE = 20 * 1024
"""MiB. The editions filled whole volumes of 1,000 and 2,500 GB."""
_ASKED_NOBODY = Defect("fio.sh wrote to /mnt/data1's device without asking, and its flag -f set an unused variable")
_DRAWS = Defect(
    "each run drew its own offsets (randrepeat=0); here the study's seed decides, the same for all configurations"
)
_SOURCE = "direct I/O by libaio, 2 s of ramp and 2 minutes a job, after the device was filled"


def _of_2021(edition: str, which: str, depth: int, target: LatencyTarget) -> Preset:
    return Preset(
        edition=edition,
        source=f"cloud-report v2021.1.0, fio.cfg{which}: {_SOURCE}",
        parameters={"file_size_mib": _OF_A_FILE, "jobs": _jobs(depth, target)},
        defects=(_ASKED_NOBODY, _DRAWS),
    )


def _of_2022(edition: str, which: str, depth: int) -> Preset:
    jobs = _jobs(depth, None)
    one_by_one = tuple(
        job.model_copy(update={"queue_depth": 512 * depth}) if job.name == "wr-iops-tpcc-fsync" else job for job in jobs
    )
    return Preset(
        edition=edition,
        source=f"cloud-report HEAD, fio.cfg since 7440b27{which}: {_SOURCE}; random_generator tausworthe64",
        parameters={"file_size_mib": _OF_A_FILE, "jobs": jobs, "generator": "tausworthe64"},
        defects=(
            Defect(
                f"wr-iops-tpcc-fsync requests {512 * depth} I/Os in flight without direct I/O, where libaio does one "
                "after the other",
                {"jobs": one_by_one},
            ),
            _ASKED_NOBODY,
            _DRAWS,
        ),
        reported=("wr-iops-tpcc-fsync.iops", "rd-iops-tpcc.iops", "wr-iops-tpcc.iops"),
    )


_ONE_SECOND = LatencyTarget(target_ms=1000, percent=95, window_ms=10_000)
_TEN_MS = LatencyTarget(target_ms=10, percent=99, window_ms=100)
_LOCAL = " with -s (16 times the queue depths)"


class FioParameters(TargetParameters):
    """A file (or a device) and the jobs on it, one after the other. An edition fills in what is not given."""

    presets: ClassVar[Presets] = presets(
        _of_2021("cr2021", "", 1, _ONE_SECOND),
        _of_2021("cr2021-local-ssd", _LOCAL, 16, _TEN_MS),
        _of_2022("cr2022", "", 1),
        _of_2022("cr2022-local-ssd", _LOCAL, 16),
    )
    free: ClassVar[frozenset[str]] = TargetParameters.free | {"promised_iops"}

    edition: Literal["cr2021", "cr2021-local-ssd", "cr2022", "cr2022-local-ssd"] | None = EDITION
    promised_iops: Annotated[float, Field(gt=0)] | Literal["provisioned"] | None = Field(
        default=None,
        description="I/Os per second that the volume must deliver in each second of every job, so jobs should run for "
        "hours: the report shows when it did not. 'provisioned': what the study orders, else what the volume's kind "
        "and size have",
    )
    generator: Literal["tausworthe", "lfsr", "tausworthe64"] = Field(
        default="tausworthe", description="fio's random_generator"
    )
    jobs: Annotated[tuple[FioJob, ...], Field(min_length=1), AS_TUPLE] = (
        FioJob(name="random-read", mode="randread", block_size_kib=4, queue_depth=32),
        FioJob(name="random-write", mode="randwrite", block_size_kib=4, queue_depth=32),
        FioJob(name="log-write", mode="write", block_size_kib=8, fsync_every=1),
    )

    @model_validator(mode="after")
    def _jobs_fit(self) -> "FioParameters":
        names = [job.name for job in self.jobs]
        if len(set(names)) < len(names):
            raise ValueError("two jobs have the same name")
        for job in self.jobs:
            if self.file_size_mib * MIB % (job.block_size_kib * KIB):
                raise ValueError(f"job {job.name!r}: file_size_mib must be a multiple of its block size")
            if job.queue_depth > 1 and not job.direct and self.mode != "faithful":
                raise ValueError(f"job {job.name!r}: libaio keeps more than one I/O in flight only with direct = true")
        return self

    @property
    @override
    def largest_block_kib(self) -> int:
        return max(job.block_size_kib for job in self.jobs)

    @property
    def runs(self) -> tuple[FioJob, ...]:
        """The jobs with their times scaled."""
        return tuple(self._scaled(job) for job in self.jobs)

    def _scaled(self, job: FioJob) -> FioJob:
        target = job.latency_target
        if target:
            window_ms = self.scaled(target.window_ms, minimum=100)
            target = target.model_copy(update={"window_ms": window_ms})
        times = {"duration_s": self.scaled(job.duration_s, minimum=2), "ramp_s": self.scaled(job.ramp_s, minimum=0)}
        return job.model_copy(update={**times, "latency_target": target})
