"""Storage as the Cloud Reports of 2018 and 2020 measured it: sysbench `fileio` on many files, through the page cache.

Each write is followed by an fsync. Reads come from the disk only if the page cache is small compared with the files: a
control group limits the memory of everything that sysbench does, including `prepare`, so that data does not stay in
memory. sysbench fills its files with zeros, which favours disks that compress.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Needs, RawOutput, Site
from nephoscope.benchmarks.presets import AS_TUPLE, EDITION, EditionParameters, Presets, published
from nephoscope.databases.base import Endpoint
from nephoscope.machines.memory_limit import MemoryGroup, memory_limited
from nephoscope.machines.remote import Command, MachineHandle, Tool
from nephoscope.model.errors import NoSpaceOnMachine, OutputUnreadable, ToolFailed
from nephoscope.model.quantities import Bounded
from nephoscope.model.records import Measurement, Metric, Observations, Reads
from nephoscope.model.subjects import ONE_MACHINE_WITH_VOLUMES, Subject
from nephoscope.model.units import KIB, MIB, SECTOR_BYTES
from nephoscope.parsers.sysbench_fileio import FileioSection, parse_fileio_intervals, parse_fileio_run

_SYSBENCH = Tool("sysbench", "sysbench")
_GRACE_S = 120.0
_SLOW_DISK_BYTES_PER_S = 10 * MIB
_USUAL_DISK_BYTES_PER_S = 200 * MIB
_MIN_LIMIT_MIB = 64
"""sysbench with 64 threads takes 15 MiB; below this the kernel kills it now and then."""
_MIN_SHARE_OF_DURATION = 0.9
_MODES = {"write": ("rndwr", "random write"), "read": ("rndrd", "random read")}
"""Kind -> what sysbench takes, what it prints."""


class SysbenchFileioParameters(EditionParameters):
    """Files, and what is done to them by so many threads, one number after the other. An edition fills in the rest."""

    presets: ClassVar[Presets] = published("sysbench-fileio")

    edition: Literal["cr2018", "cr2020"] | None = EDITION
    files_size_mib: int = Field(default=4096, ge=64, le=16 * 1024 * 1024, description="total size of all files")
    write_size_mib: int | None = Field(
        default=None,
        ge=64,
        description="how much of the files writes may touch, from the start of each file; default: all",
    )
    files: int = Field(default=16, ge=1, le=1024)
    block_size_kib: int = Field(default=16, ge=1, le=65_536)
    tests: Annotated[tuple[Literal["write", "read"], ...], Field(min_length=1), AS_TUPLE] = Field(
        default=("write", "read"), description="kinds of random access, each tested with every number of threads"
    )
    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=1024)], ...], Field(min_length=1), AS_TUPLE] = (1, 16)
    duration_s: int = Field(default=10, ge=1, le=86_400, description="duration of each test")
    pause_s: int = Field(default=0, ge=0, le=3600, description="pause after each test")
    fsync_all: bool = Field(default=True, description="fsync after each write")
    memory_limit_mib: int = Field(
        default=500,
        ge=0,
        description="memory limit for sysbench and its page cache, by control group (needs root); 0: none",
    )

    @property
    def run_s(self) -> int:
        """Seconds of one test, scaled."""
        return self.scaled(self.duration_s, minimum=2)

    @property
    def limit_bytes(self) -> int:
        """The memory limit, scaled; 0: none."""
        return self.scaled(self.memory_limit_mib, minimum=_MIN_LIMIT_MIB) * MIB

    def size_bytes(self, kind: str) -> int:
        """Of the files that a kind of test touches, scaled, and whole blocks of every file."""
        size = self.write_size_mib if kind == "write" and self.write_size_mib else self.files_size_mib
        step = self.files * self.block_size_kib * KIB
        return max(1, self.scaled(size, minimum=64) * MIB // step) * step


@dataclass(frozen=True)
class _Test:
    """One run of sysbench."""

    kind: Literal["write", "read"]
    threads: int

    @property
    def name(self) -> str:
        """`write-16`: what its metrics begin with."""
        return f"{self.kind}-{self.threads}"

    @property
    def raw(self) -> str:
        """Of its raw output."""
        return f"sysbench-{self.name}"


class SysbenchFileio(Benchmark):
    """See the module's text."""

    name = "sysbench-fileio"
    version = 1
    subject = Subject.STORAGE
    extent = ONE_MACHINE_WITH_VOLUMES
    title = "Storage through the page cache (sysbench fileio)"
    parameters = SysbenchFileioParameters

    @override
    def metrics(self, parameters: SysbenchFileioParameters) -> tuple[Metric, ...]:
        """Of every test: I/O rate, bandwidth, latency. Ranked by the most threads of each kind."""
        most = max(parameters.threads)
        return tuple(
            metric for test in _tests(parameters) for metric in _metrics_of(test, headline=test.threads == most)
        )

    @override
    def needs(self, parameters: SysbenchFileioParameters) -> Needs:
        return Needs(tools=(_SYSBENCH,), disk_bytes=parameters.size_bytes("read"))

    @override
    def expected_duration_s(self, parameters: SysbenchFileioParameters) -> float:
        """Tests with their pauses; writing the files, once per disk, is counted for every trial."""
        tests = len(parameters.tests) * len(parameters.threads)
        layout_s = parameters.size_bytes("read") / _USUAL_DISK_BYTES_PER_S
        return layout_s + tests * (parameters.run_s + _pause_s(parameters) + 0.3)

    @override
    async def prepare(self, site: Site, parameters: SysbenchFileioParameters) -> Endpoint | None:
        """Writes the files, unless an earlier trial did.

        Raises:
            ToolMissing: sysbench is not there.
            EnvironmentProblem: no memory limit can be set.
            NoSpaceOnMachine: the disk is full.
            ToolFailed: the files could not be written.
        """
        machine = site.cluster.database[0]
        folder, size = _folder(machine, parameters), parameters.size_bytes("read")
        if await _written_bytes(machine, folder) >= size:
            return None
        await machine.remote.execute(Command(["mkdir", "-p", folder], timeout_s=_GRACE_S, pinned=False))
        site.progress(f"writing {size // MIB} MiB")
        argv = [*_sysbench(parameters, size), "prepare"]
        async with _limited(machine, parameters) as group:
            done = await site.execute(
                machine,
                "sysbench-prepare",
                Command(_inside(group, folder, argv), timeout_s=_GRACE_S + size / _SLOW_DISK_BYTES_PER_S),
            )
        if b"No space left" in done.stdout + done.stderr:
            raise NoSpaceOnMachine("sysbench: the measured disk is full", hint="make `files_size_mib` smaller")
        done.require()
        if await _written_bytes(machine, folder) < size:
            raise ToolFailed(f"{folder} holds less than {size} bytes on the disk after sysbench wrote them")
        return None

    @override
    async def run(self, site: Site, parameters: SysbenchFileioParameters) -> None:
        """Each kind of test with each number of threads, on the first database machine.

        Raises:
            EnvironmentProblem: no memory limit can be set.
            ToolFailed: a test ended with an error.
        """
        machine = site.cluster.database[0]
        folder = _folder(machine, parameters)
        await machine.remote.execute(Command(["sh", "-c", _FORGET, "sh", folder], timeout_s=_GRACE_S, pinned=False))
        async with _limited(machine, parameters) as group:
            for test in _tests(parameters):
                site.progress(test.name)
                argv = _inside(group, folder, _run_argv(test, parameters, site.seed))
                done = await site.execute(machine, test.raw, Command(argv, timeout_s=parameters.run_s + _GRACE_S))
                done.require()
                await asyncio.sleep(_pause_s(parameters))

    @override
    def parse(self, raw: RawOutput, parameters: SysbenchFileioParameters) -> list[Measurement]:
        """Numbers of every test, and its I/O rate of each second.

        Raises:
            OutputUnreadable: a test's output is missing or not of this test.
        """
        found: list[Measurement] = []
        for test in _tests(parameters):
            section = _section(raw, test, parameters)
            values: dict[str, Bounded | None] = {
                "iops": section.operations_per_s,
                "bandwidth": section.bytes_per_s,
                "latency_mean": section.latency_mean_s,
                "latency_p95": section.latency_p95_s,
                "latency_max": section.latency_maximum_s,
            }
            found += [
                Measurement.of(metric.name, metric.unit, value)
                for metric in _metrics_of(test, headline=False)
                if (value := values[metric.name.rpartition(".")[2]]) is not None
            ]
            found += _each_second(raw, test, section)
        return found

    @override
    def observations(self, raw: RawOutput, parameters: SysbenchFileioParameters) -> Observations:
        """Evidence about the reads: they go through the page cache, whose size the limit bounds."""
        return Observations(
            reads=[
                Reads(
                    job=test.name,
                    direct=False,
                    files_bytes=section.files_bytes,
                    memory_bytes=parameters.limit_bytes or None,
                    bytes_per_s=section.bytes_per_s,
                    latency_median_s=None,
                )
                for test in _tests(parameters)
                if test.kind == "read"
                for section in (_section(raw, test, parameters),)
            ]
        )


_FORGET = 'for file in "$1"/test_file.*; do dd if="$file" iflag=nocache count=0 status=none; done'
"""Asks the kernel to drop what it holds of the files: an earlier trial's pages are outside the new control group."""


def _tests(parameters: SysbenchFileioParameters) -> Iterator[_Test]:
    for kind in parameters.tests:
        for threads in parameters.threads:
            yield _Test(kind, threads)


def _folder(machine: MachineHandle, parameters: SysbenchFileioParameters) -> str:
    size = parameters.size_bytes("read") // MIB
    return f"{machine.data_dir}/nephoscope-sysbench-{parameters.files}-files-{size}-mib"


def _pause_s(parameters: SysbenchFileioParameters) -> float:
    return parameters.pause_s * parameters.scale


def _sysbench(parameters: SysbenchFileioParameters, size: int) -> list[str]:
    return ["sysbench", "fileio", f"--file-total-size={size}", f"--file-num={parameters.files}"]


def _run_argv(test: _Test, parameters: SysbenchFileioParameters, seed: int) -> list[str]:
    return [
        *_sysbench(parameters, parameters.size_bytes(test.kind)),
        f"--file-test-mode={_MODES[test.kind][0]}",
        f"--time={parameters.run_s}",
        "--max-requests=0",
        f"--file-block-size={parameters.block_size_kib * KIB}",
        *(["--file-fsync-all"] if parameters.fsync_all else []),
        f"--threads={test.threads}",
        f"--rand-seed={seed % 2**31 or 1}",
        "--report-interval=1",
        "run",
    ]


@asynccontextmanager
async def _limited(machine: MachineHandle, parameters: SysbenchFileioParameters) -> AsyncIterator[MemoryGroup | None]:
    if not parameters.limit_bytes:
        yield None
        return
    async with memory_limited(machine, parameters.limit_bytes) as group:
        yield group


def _inside(group: MemoryGroup | None, folder: str, argv: list[str]) -> list[str]:
    """sysbench works in its current folder."""
    there = ["env", f"--chdir={folder}", *argv]
    return group.around(there) if group else there


async def _written_bytes(machine: MachineHandle, folder: str) -> int:
    """On the disk, of the files; 0 without any. Not recorded: it only looks."""
    argv = ["sh", "-c", 'stat -c "%s %b" "$1"/test_file.*', "sh", folder]
    looked = await machine.remote.execute(Command(argv, timeout_s=_GRACE_S, pinned=False))
    if looked.exit_code != 0:
        return 0
    rows = [[int(number) for number in line.split()] for line in looked.stdout.splitlines()]
    return sum(min(size, sectors * SECTOR_BYTES) for size, sectors in rows)


def _section(raw: RawOutput, test: _Test, parameters: SysbenchFileioParameters) -> FileioSection:
    output = raw.get(f"{test.raw}.stdout")
    if output is None:
        raise OutputUnreadable(f"sysbench {test.name}: its output is missing")
    sections = parse_fileio_run(output.decode(errors="replace"))
    if len(sections) != 1:
        raise OutputUnreadable(f"sysbench {test.name}: its output contains {len(sections)} runs instead of one")
    (section,) = sections
    ran = (section.mode, section.threads, section.block_bytes)
    asked = (_MODES[test.kind][1], test.threads, parameters.block_size_kib * KIB)
    if ran != asked:
        raise OutputUnreadable(f"sysbench {test.name}: the output is of {ran}, not {asked}")
    if section.duration_s is None or section.duration_s < parameters.run_s * _MIN_SHARE_OF_DURATION:
        raise OutputUnreadable(
            f"sysbench {test.name}: ended after {section.duration_s} s instead of {parameters.run_s} s"
        )
    return section


def _each_second(raw: RawOutput, test: _Test, section: FileioSection) -> list[Measurement]:
    rows = parse_fileio_intervals(raw[f"{test.raw}.stdout"].decode(errors="replace"))
    return [
        Measurement.of(
            f"{test.name}.iops",
            "IO/s",
            (row.read_bytes_per_s + row.written_bytes_per_s) / section.block_bytes,
            at_s=row.at_s,
        )
        for row in rows
        if section.duration_s is not None and row.at_s <= section.duration_s
    ]


def _metrics_of(test: _Test, *, headline: bool) -> list[Metric]:
    threads = f"{test.kind}s by {test.threads} {'thread' if test.threads == 1 else 'threads'}"
    clock = "from calling the operation until it returns" + (", its fsync included" if test.kind == "write" else "")
    rates = [
        Metric.higher(
            f"{test.name}.iops",
            "IO/s",
            f"{threads}: I/O rate",
            f"{test.kind}s / running time measured by sysbench",
            headline=headline,
        ),
        Metric.higher(
            f"{test.name}.bandwidth",
            "B/s",
            f"{threads}: bandwidth",
            f"bytes of {test.kind}s / running time measured by sysbench",
        ),
    ]
    return rates + [
        Metric.lower(f"{test.name}.latency_{which}", "s", f"{threads}: latency, {which}", clock)
        for which in ("mean", "p95", "max")
    ]
