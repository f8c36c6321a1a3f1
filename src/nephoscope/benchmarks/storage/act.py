"""Aerospike's qualification of devices: at how many times the standard load do small reads stay fast for a day?

The load is that of act_storage (github.com/aerospike/act): small reads and, for the records that are written, reads and
writes of large blocks, each at a fixed rate whatever the device does. One time that load is 2,000 reads and 1,000
records written per second. A load passes if, in the worst hour, fewer than 5 % of the reads take more than 1 ms, 1 %
more than 8 ms and 0.1 % more than 64 ms, and the device never lags behind by ten seconds.

fio runs it, in its rate mode: one call for each load, which reports each hour. `act_search` says which loads.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Needs, RawOutput, Site
from nephoscope.benchmarks.presets import EDITION, Presets, published
from nephoscope.benchmarks.storage.act_output import (
    LARGE_KIB,
    LARGE_PER_S,
    LARGE_READS,
    LARGE_WRITES,
    READS,
    READS_PER_S,
    RECORD_BYTES,
    THRESHOLDS_MS,
    Hour,
    hours_of,
    small_reads,
)
from nephoscope.benchmarks.storage.act_search import ActSearch, Ask, Purpose
from nephoscope.benchmarks.storage.target import (
    GRACE_S,
    Target,
    TargetParameters,
    filename,
    require_done,
    target_of,
    write_target,
)
from nephoscope.databases.base import Endpoint
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import conflict
from nephoscope.model.numbers import TIMES
from nephoscope.model.quantities import LowerBound
from nephoscope.model.records import Measurement, Metric, Observations, Reads
from nephoscope.model.subjects import ONE_MACHINE_WITH_VOLUMES, Subject
from nephoscope.model.units import KIB, SECONDS_PER_HOUR

_THREADS_PER_CPU = 5
_MAX_LAG_S = 10.0
_MIN_LAG_S = 0.5
"""Of a short hour: starting fio's threads takes a part of it."""
_USUAL_PROBES = 8
_SECTORS = (512, 4096)
"""Bytes that a device can read directly, at least."""
_AFTER_S = 1
"""To the end of fio after its last hourly report, so that the two never are at one moment."""


class ActParameters(TargetParameters):
    """The device, the hours, and where to search. The edition fills in what is not given."""

    presets: ClassVar[Presets] = published("act")

    edition: Literal["act-6"] | None = EDITION
    hours: int = Field(default=6, ge=1, le=1000, description="hours for which the load found must pass")
    hour_s: int = Field(default=60, ge=2, le=3600, description="seconds that stand for an hour: the time scale")
    probe_hours: int = Field(default=1, ge=1, le=24, description="hours of each load that the search tries")
    first_times: float = Field(default=1.0, ge=0.1, le=1024, description="the load to try first, as a multiple of 1x")
    most_times: float = Field(default=1024.0, ge=0.1, le=1024, description="the highest load to try")
    step_percent: float = Field(
        default=10, ge=1, le=100, description="the search ends when the loads that pass and fail differ by less"
    )
    threads: int | None = Field(
        default=None, ge=1, le=1024, description="threads that do the small reads; default: 5 for each CPU"
    )

    @model_validator(mode="after")
    def _in_order(self) -> "ActParameters":
        if self.first_times > self.most_times:
            raise conflict(f"`first_times` {self.first_times:g} is above `most_times` {self.most_times:g}")
        return self

    @property
    @override
    def largest_block_kib(self) -> int:
        return LARGE_KIB

    @property
    def slice_s(self) -> int:
        """What stands for an hour, scaled."""
        return self.scaled(self.hour_s, minimum=2)

    @property
    def max_lag_s(self) -> float:
        """By how much the device may lag behind: ten seconds where an hour is one."""
        return max(_MIN_LAG_S, _MAX_LAG_S * self.slice_s / SECONDS_PER_HOUR)

    @property
    def search(self) -> ActSearch:
        """Before anything was tried."""
        return ActSearch(self.first_times, self.most_times, 1 + self.step_percent / 100)

    def hours_of(self, ask: Ask) -> int:
        """How long a load is tried."""
        return self.probe_hours if ask.purpose is Purpose.PROBE else self.hours

    @override
    def notes(self) -> list[str]:
        scale = SECONDS_PER_HOUR / self.slice_s
        told = f"An hour of the qualification is {self.slice_s} s here, a time scale of 1 to {scale:g}"
        slow = "a device that slows down after hours of writing is not found so"
        return super().notes() + ([f"{told}: {slow}."] if scale > 1 else [])


class Act(Benchmark):
    """See the module's text."""

    name = "act"
    version = 1
    subject = Subject.STORAGE
    extent = ONE_MACHINE_WITH_VOLUMES
    resumable = True
    title = "Storage under Aerospike's qualification (act)"
    parameters = ActParameters

    @override
    def metrics(self, parameters: ActParameters) -> tuple[Metric, ...]:
        """The load that passes, and the shares of slow reads at it."""
        times = Metric.higher(
            "times",
            TIMES,
            "highest load that passes the qualification",
            "multiple of 2,000 reads and 1,000 records written per second; 0: none passed",
            headline=True,
        )
        return times, *map(_over, THRESHOLDS_MS)

    @override
    def needs(self, parameters: ActParameters) -> Needs:
        return parameters.needs

    @override
    def expected_duration_s(self, parameters: ActParameters) -> float:
        """A usual search, the load found and the stress; writing the file is counted for every trial."""
        hours = _USUAL_PROBES * parameters.probe_hours + 2 * parameters.hours
        return parameters.layout_s + hours * parameters.slice_s + (_USUAL_PROBES + 2) * 2.0

    @override
    def is_watched(self, parameters: ActParameters) -> bool:
        return True

    @override
    async def prepare(self, site: Site, parameters: ActParameters) -> Endpoint | None:
        await write_target(site, parameters)
        return None

    @override
    async def run(self, site: Site, parameters: ActParameters) -> None:
        """One load after the other, on the first database machine.

        Raises:
            InputError: the device is not there, or something uses it.
            ToolFailed: fio ended with an error.
        """
        machine = site.cluster.database[0]
        target = await target_of(machine, parameters)
        threads = parameters.threads or _THREADS_PER_CPU * len(machine.cpus)
        sector = await _sector_bytes(machine, target)
        search = parameters.search
        while (ask := search.next) is not None:
            seconds = parameters.hours_of(ask) * parameters.slice_s
            site.progress(f"{ask.times:g}x for {seconds:,} s")
            argv = _argv(ask, target, parameters, threads, sector, site.seed)
            done = await site.execute(machine, _raw_name(ask), Command(argv, timeout_s=seconds + GRACE_S))
            require_done(done)
            search = search.observed(ask, passed=_passes(ask, _hours(done.stdout, ask, parameters), parameters))

    @override
    def parse(self, raw: RawOutput, parameters: ActParameters) -> list[Measurement]:
        """Searches again in what was stored.

        Raises:
            OutputUnreadable: a load's output is missing, or not what fio 3 writes for it.
        """
        search, hours = _searched(raw, parameters)
        times, *overs = self.metrics(parameters)
        most = search.found >= parameters.most_times
        made = [times.measured(LowerBound(above=search.found, or_equal=True) if most else search.found)]
        for ms, metric in zip(THRESHOLDS_MS, overs, strict=True):
            made.append(metric.measured(max(hour.over[ms] for hour in hours)))
            made += [metric.measured(hour.over[ms], at_s=hour.at_s) for hour in hours]
        return made

    @override
    def observations(self, raw: RawOutput, parameters: ActParameters) -> Observations:
        """What the load found says of its small reads."""
        side, size = small_reads(_output(raw, _decisive(_searched(raw, parameters)[0])))
        return Observations(
            reads=[Reads(job=READS, direct=True, files_bytes=size, bytes_per_s=side.bytes_per_s, latency_median_s=None)]
        )


def _over(ms: int) -> Metric:
    return Metric.lower(
        f"over_{ms}_ms_share",
        "share",
        f"reads that took more than {ms} ms, in the worst hour",
        "at the load found, of the small reads; from calling the read until it returns (fio lat_ns)",
    )


def _raw_name(ask: Ask) -> str:
    return f"act-{ask.purpose}-{ask.times:g}"


def _output(raw: RawOutput, ask: Ask) -> bytes:
    output = raw.get(f"{_raw_name(ask)}.stdout")
    if output is None:
        raise OutputUnreadable(f"act: the output of {_raw_name(ask)} is missing")
    return output


def _searched(raw: RawOutput, parameters: ActParameters) -> tuple[ActSearch, Sequence[Hour]]:
    """The search at its end, and the hours of the load that it found, or of the lowest if none passed."""
    search, seen = parameters.search, dict[Ask, Sequence[Hour]]()
    while (ask := search.next) is not None:
        seen[ask] = _hours(_output(raw, ask), ask, parameters)
        search = search.observed(ask, passed=_passes(ask, seen[ask], parameters))
    return search, seen[_decisive(search)]


def _hours(output: bytes, ask: Ask, parameters: ActParameters) -> Sequence[Hour]:
    return hours_of(output, ask.times, parameters.hours_of(ask))


def _passes(ask: Ask, hours: Sequence[Hour], parameters: ActParameters) -> bool:
    kept = all(hour.lag_s <= parameters.max_lag_s for hour in hours)
    return kept and (ask.purpose is Purpose.STRESS or all(hour.is_fast for hour in hours))


def _decisive(search: ActSearch) -> Ask:
    """Of an ended search: what ran for the whole time and passed, or the lowest load if none did."""
    return Ask(search.found, Purpose.WHOLE) if search.found else min(search.failed, key=lambda ask: ask.times)


async def _sector_bytes(machine: MachineHandle, target: Target) -> int:
    """The smallest direct read that the device allows, found as act_storage does: by reading. Not recorded."""
    for size in _SECTORS[:-1]:
        argv = ["dd", f"if={target.path}", "of=/dev/null", f"bs={size}", "count=1", "iflag=direct", "status=none"]
        if (await machine.remote.execute(Command(argv, timeout_s=GRACE_S, pinned=False))).exit_code == 0:
            return size
    return _SECTORS[-1]


def _argv(ask: Ask, target: Target, parameters: ActParameters, threads: int, sector: int, seed: int) -> list[str]:
    read_bytes = -(-RECORD_BYTES // sector) * sector
    large_bytes = LARGE_KIB * KIB
    reads = round(READS_PER_S * ask.times * read_bytes / threads)
    large = round(LARGE_PER_S * ask.times * large_bytes)
    return [
        "fio",
        filename(target.path),
        f"--size={target.size}",
        "--direct=1",
        "--ioengine=psync",
        "--thread",
        "--time_based=1",
        f"--runtime={parameters.hours_of(ask) * parameters.slice_s + _AFTER_S}",
        f"--status-interval={parameters.slice_s}",
        "--norandommap=1",
        f"--randseed={seed}",
        "--fadvise_hint=0",
        "--allow_file_create=0",
        "--group_reporting=1",
        "--clat_percentiles=0",
        "--lat_percentiles=1",
        "--output-format=json+",
        *(f"--name={READS}", "--rw=randread", f"--bs={read_bytes}", f"--blockalign={sector}"),
        *(f"--numjobs={threads}", f"--rate={reads}"),
        *(f"--name={LARGE_READS}", "--new_group", "--rw=randread", f"--bs={large_bytes}", f"--rate={large}"),
        *(f"--name={LARGE_WRITES}", "--new_group", "--rw=randwrite", f"--bs={large_bytes}", f"--rate={large}"),
        *("--sync=dsync", "--refill_buffers=1"),
    ]
