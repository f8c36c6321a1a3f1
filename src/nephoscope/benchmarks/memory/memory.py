"""Memory: bandwidth over working sets, the time of a load, and the way from one core's cache to another's.

Bytes are counted as STREAM counts them (McCalpin 1995): a copied byte is read and written, and what a cache fetches
before it is written is not counted. Loads follow a random cycle through all lines of a working set, as in lmbench's
`lat_mem_rd -t` (McVoy & Staelin 1996), so that no prefetcher foresees them.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import median
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, RawOutput, Site
from nephoscope.benchmarks.presets import Scaled
from nephoscope.machines.remote import LOAD, Command
from nephoscope.model import numbers as people
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.subjects import ONE_MACHINE, Subject
from nephoscope.model.units import GIB, KIB, MIB, MS_PER_SECOND

Operation = Literal["read", "write", "copy"]
Pages = Literal["small", "large"]
_Positive = Annotated[float, Field(gt=0)]
_Samples = Annotated[list[_Positive], Field(min_length=1)]
_Bytes = Annotated[int, Field(gt=0)]


class Cache(Frozen):
    """Caches of one level and size, without those of instructions."""

    level: int = Field(ge=1)
    bytes: _Bytes
    instances: int = Field(ge=1)


class Machine(Frozen):
    """The machine as its kernel shows it."""

    cpus: list[int] = Field(min_length=1)
    nodes: dict[str, list[int]]
    caches: list[Cache]
    line_bytes: _Bytes
    available_bytes: int = Field(ge=0)
    large_pages: bool


class Started(Frozen):
    """The first line."""

    event: Literal["started"]
    version: str
    machine: Machine


class _OnNodes(Frozen):
    cpu_node: int | None = None
    """None: every thread had memory of its own node."""
    memory_node: int | None = None


class Bandwidth(_OnNodes):
    """Bytes per second of all threads together."""

    event: Literal["bandwidth"]
    operation: Operation
    threads: int = Field(ge=1)
    working_set_bytes: _Bytes = Field(description="of each thread")
    samples_bytes_per_s: _Samples


class Latency(_OnNodes):
    """Seconds of a load whose address is the result of the one before."""

    event: Literal["latency"]
    pages: Pages
    large_page_bytes: int = Field(ge=0)
    working_set_bytes: _Bytes
    samples_s: _Samples


class CoreToCore(Frozen):
    """Seconds of one way between two CPUs."""

    event: Literal["core-to-core"]
    cpus: list[int] = Field(min_length=2, max_length=2)
    samples_s: _Samples


class Finished(Frozen):
    """The last line."""

    event: Literal["finished"]
    points: int = Field(ge=0)


Point = Bandwidth | Latency | CoreToCore
_LINE: TypeAdapter[Started | Point | Finished] = TypeAdapter(
    Annotated[Started | Point | Finished, Field(discriminator="event")]
)


def read(content: bytes) -> tuple[Machine, list[Point]]:
    """The machine and its points, in the order of measurement.

    Raises:
        OutputUnreadable: a line is damaged, or the output is cut.
    """
    try:
        lines = [_LINE.validate_json(line, strict=True) for line in content.splitlines()]
    except ValidationError as error:
        raise OutputUnreadable(f"memory: {error.errors(include_url=False)[0]['msg']}") from error
    points = [line for line in lines[1:-1] if not isinstance(line, Started | Finished)]
    if not lines or not isinstance(lines[0], Started) or not isinstance(lines[-1], Finished):
        raise OutputUnreadable("memory: the output does not begin with `started` and end with `finished`")
    if len(points) != lines[-1].points or len(points) != len(lines) - 2:
        raise OutputUnreadable(f"memory: {len(points)} points where {lines[-1].points} were measured")
    return lines[0].machine, points


_OPERATIONS: tuple[Operation, ...] = ("read", "write", "copy")
_THREADS = {"single": "one thread", "half": "a thread on every second CPU", "multi": "a thread on each CPU"}
_PAGES: tuple[Pages, ...] = ("small", "large")
_SIZES_BYTES = tuple(16 * KIB << doubling for doubling in range(19))
"""Working sets from 16 KiB to 4 GiB: four times the largest caches that are sold."""
_CURVES = ("single", "multi")
"""Threads whose bandwidth is reported at every working set, not in memory alone."""
_USUAL_POINTS = 120
_SAMPLES = 12
"""Of a point, with the one that warms up: half of the points of a virtual machine do not agree at once."""
_PREPARED_S = 2.0
"""Large working sets are touched, and a way through them drawn, before they are measured."""
_LONGEST_S = 900.0
"""Large working sets take their time however short the samples are: a chain through 4 GiB is made in 16 s."""
_USUAL_CACHE_BYTES = 32 * MIB
"""Of all caches of the last level together, where the kernel shows none."""


class MemoryParameters(Scaled):
    """How long it samples, and how much memory it uses."""

    sample_ms: int = Field(
        default=20, ge=1, le=60_000, description="of each sample; a point has 5 to 20, until they vary by at most 2 %"
    )
    largest_bytes: int | None = Field(
        default=None,
        ge=16 * KIB,
        le=4 * GIB,
        description="largest working set of a thread; default: four times the last level's caches",
    )

    @property
    def taken_ms(self) -> int:
        """Milliseconds of a sample, scaled."""
        return self.scaled(self.sample_ms, minimum=1)


class Memory(Benchmark):
    """See the module's text."""

    name = "memory"
    version = 1
    title = "Memory bandwidth and latency"
    subject = Subject.MEMORY
    extent = ONE_MACHINE
    parameters = MemoryParameters
    tools = (LOAD,)

    @override
    def metrics(self, parameters: MemoryParameters) -> tuple[Metric, ...]:
        """In memory, then over working sets."""
        del parameters
        return (*_IN_MEMORY, *_OVER_SIZES, *_BETWEEN_NODES, *_CORES, *_PAIRS, *_CACHES)

    @override
    def expected_duration_s(self, parameters: MemoryParameters) -> float:
        """Of a machine with two CPUs."""
        return _PREPARED_S + _USUAL_POINTS * _SAMPLES * parameters.taken_ms / MS_PER_SECOND

    @override
    async def run(self, site: Site, parameters: MemoryParameters) -> None:
        """Raises `ToolFailed` if there is too little memory."""
        argv = [site.load_program, "memory", "--sample-ms", str(parameters.taken_ms)]
        argv += [] if parameters.largest_bytes is None else ["--largest-bytes", str(parameters.largest_bytes)]
        site.progress("memory: bandwidth, latency, core to core")
        command = Command(argv, timeout_s=_LONGEST_S + 2 * self.expected_duration_s(parameters))
        (await site.execute(site.cluster.database[0], "memory", command)).require()

    @override
    def parse(self, raw: RawOutput, parameters: MemoryParameters) -> list[Measurement]:
        """The median of each point's samples.

        Raises:
            OutputUnreadable: the output is damaged, or of a machine that it cannot be of.
        """
        machine, points = read(raw.get("memory.stdout", b""))
        values = dict(_values(machine, points))
        known = {metric.name: metric for metric in self.metrics(parameters)}
        if not values:
            raise OutputUnreadable("memory: no point was measured")
        return [Measurement.of(name, metric.unit, values[name]) for name, metric in known.items() if name in values]

    @override
    def notes(self, parameters: MemoryParameters) -> list[str]:
        return [
            "Bytes are counted as STREAM counts them: a copied byte is read and written.",
            "In memory: working sets are together larger than all caches of the last level, mostly four times.",
            "Reads and writes use the vectors that every CPU of the architecture has, copies those of the C library.",
            *parameters.notes(),
        ]


def _values(machine: Machine, points: Sequence[Point]) -> Iterator[tuple[str, float]]:
    """Metric -> value; the largest working set of a kind comes last and is the one in memory, if no cache holds it."""
    cached_bytes = _cached_bytes(machine)
    between: dict[str, list[float]] = {}
    of_cores: dict[tuple[int, int], float] = {}
    for point in points:
        if isinstance(point, CoreToCore):
            of_cores[point.cpus[0], point.cpus[1]] = median(point.samples_s)
        elif point.cpu_node is not None:
            which = "own-node" if point.cpu_node == point.memory_node else "other-node"
            bandwidth = isinstance(point, Bandwidth)
            samples = point.samples_bytes_per_s if isinstance(point, Bandwidth) else point.samples_s
            between.setdefault(f"read-{which}.bandwidth" if bandwidth else f"{which}.latency", []).append(
                median(samples)
            )
        elif isinstance(point, Bandwidth):
            yield from _of_bandwidth(point, len(machine.cpus), cached_bytes)
        else:
            yield from _of_latency(point, cached_bytes)
    yield from ((name, median(values)) for name, values in between.items())
    if of_cores:
        ends = (min(of_cores.values()), median(of_cores.values()), max(of_cores.values()))
        yield from ((metric.name, value) for metric, value in zip(_CORES, ends, strict=True))
        places = {cpu: place for place, cpu in enumerate(sorted({cpu for pair in of_cores for cpu in pair}), start=1)}
        yield from ((pair_name(places[here], places[there]), value) for (here, there), value in of_cores.items())
    yield from ((f"cache.level_{one.level}_size", float(one.bytes)) for one in machine.caches)


def _cached_bytes(machine: Machine) -> int:
    """What all caches of the last level hold together."""
    last = max((one.level for one in machine.caches), default=None)
    return sum(one.bytes * one.instances for one in machine.caches if one.level == last) or _USUAL_CACHE_BYTES


def _of_bandwidth(point: Bandwidth, cpus: int, cached_bytes: int) -> Iterator[tuple[str, float]]:
    """One thread is half of two CPUs, and all of one CPU, so that every machine has the same metrics."""
    threads = {"single": 1, "half": -(-cpus // 2), "multi": cpus}
    kinds = [kind for kind, number in threads.items() if number == point.threads]
    if not kinds:
        raise OutputUnreadable(f"memory: {point.threads} threads on {cpus} CPUs")
    value = median(point.samples_bytes_per_s)
    for kind in kinds:
        if point.threads * point.working_set_bytes > cached_bytes:
            yield f"{point.operation}-{kind}.bandwidth", value
        yield f"{point.operation}-{kind}.bandwidth_in_{point.working_set_bytes}_bytes", value


def _of_latency(point: Latency, cached_bytes: int) -> Iterator[tuple[str, float]]:
    # The kernel gives large pages if it has them: what it did is what counts.
    if point.pages == "large" and point.large_page_bytes < point.working_set_bytes / 2:
        return
    value = median(point.samples_s)
    if point.working_set_bytes > cached_bytes:
        yield f"{point.pages}-pages.latency", value
    yield f"{point.pages}-pages.latency_in_{point.working_set_bytes}_bytes", value


def _bandwidth(name: str, title: str, *, headline: bool = False, per_cpu: bool = False) -> Metric:
    return Metric.higher(
        name,
        "B/s",
        title,
        "bytes that each thread touched / its time, summed over the threads; median of the samples",
        headline=headline,
        per_cpu=per_cpu,
    )


def _latency(name: str, title: str, *, headline: bool = False) -> Metric:
    return Metric.lower(
        name,
        "s",
        title,
        "time / loads, each of an address that the load before read; median of the samples",
        headline=headline,
    )


def _in_memory() -> Iterator[Metric]:
    for operation in _OPERATIONS:
        for kind in reversed(_THREADS):
            title, headline = f"memory {operation} by {_THREADS[kind]}", (operation, kind) == ("read", "multi")
            yield _bandwidth(f"{operation}-{kind}.bandwidth", title, headline=headline, per_cpu=kind == "multi")
    for pages in _PAGES:
        yield _latency(f"{pages}-pages.latency", f"load from memory, {pages} pages", headline=pages == "small")


def _over_sizes() -> Iterator[Metric]:
    for size in _SIZES_BYTES:
        for operation in _OPERATIONS:
            for kind in _CURVES:
                title = f"{operation} in working sets of {people.byte_size(size)} by {_THREADS[kind]}"
                yield _bandwidth(f"{operation}-{kind}.bandwidth_in_{size}_bytes", title)
        for pages in _PAGES:
            title = f"load in a working set of {people.byte_size(size)}, {pages} pages"
            yield _latency(f"{pages}-pages.latency_in_{size}_bytes", title)


def _between_nodes() -> Iterator[Metric]:
    for name, words in (("own-node", "its own NUMA node"), ("other-node", "another NUMA node")):
        yield _bandwidth(f"read-{name}.bandwidth", f"memory read from {words} by the CPUs of one")
        yield _latency(f"{name}.latency", f"load from memory of {words}")


_BETWEEN_CPUS = "half of a round trip of one word between two threads, median of the samples of a pair of CPUs"


def pair_name(here: int, there: int) -> str:
    """The metric of two of the CPUs that were measured, counted from 1 in the kernel's order."""
    return f"core-to-core.pair_{min(here, there)}_{max(here, there)}"


_IN_MEMORY = tuple(_in_memory())
_OVER_SIZES = tuple(_over_sizes())
_BETWEEN_NODES = tuple(_between_nodes())
_CORES = tuple(
    Metric.lower(
        f"core-to-core.{name}",
        "s",
        f"way from CPU to CPU, {title}",
        _BETWEEN_CPUS,
    )
    for name, title in (("shortest", "nearest pair"), ("median", "median pair"), ("longest", "farthest pair"))
)
_MOST_CORES = 8
"""CPUs of which every pair is measured; of more, so many that lie apart."""
_PAIRS = tuple(
    Metric.lower(
        pair_name(here, there), "s", f"way between the CPUs {here} and {there} of those measured", _BETWEEN_CPUS
    )
    for here, there in combinations(range(1, _MOST_CORES + 1), 2)
)
_CACHES = tuple(
    Metric.higher(
        f"cache.level_{level}_size",
        "B",
        f"cache of level {level}, as the kernel says",
        "of one cache, not counted over CPUs",
    )
    for level in range(1, 5)
)
