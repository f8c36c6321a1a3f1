"""What `nephoscope-load memory` prints: the machine, a line for each point with its samples, and how many there are."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen

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
