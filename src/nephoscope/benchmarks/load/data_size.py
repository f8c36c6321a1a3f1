"""A data set sized by memory: how many times what the server's machine has, or its control group allows it.

The number of rows is decided on the machine, once per trial, and kept beside the raw output: a plan does not know it.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

from pydantic import Field, ValidationError, model_validator

from nephoscope.benchmarks.base import RawOutput, Site
from nephoscope.benchmarks.declared import declared_metrics
from nephoscope.model.errors import InputError, NoSpaceOnMachine, OutputUnreadable
from nephoscope.model.frozen import Frozen, conflict
from nephoscope.model.records import Facts, Measurement, Metric
from nephoscope.model.units import GIB

DATA_SIZE = "load-data.json"
"""Name of the raw file that says how large the data set became, and why."""
_METRICS = declared_metrics("data")
TIMES_MEMORY = _METRICS["data_times_memory"]
_COPIES = 2
"""Of the data on disk: what was loaded, and the copy that the trial works on."""


class SizedByMemory(Frozen):
    """Parameters of a workload whose data set may be sized by the memory of the machine."""

    counted: ClassVar[str] = "rows"
    """The parameter that says how much is loaded."""

    data_times_memory: float | None = Field(
        default=None,
        gt=0,
        le=100,
        exclude_if=lambda times: times is None,  # so that trials keep the ids that they had without it
        description="size of the data set as a multiple of the memory of the database machine, or of the limit of its "
        "control group, in place of a number of rows or warehouses; above 1 it is read from the disk",
    )

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        if self.data_times_memory is not None and self.counted in self.model_fields_set:
            raise conflict(f"`data_times_memory` decides how much is loaded: remove `{self.counted}`")
        return self


class DataSize(Frozen):
    """How large a data set is, of a trial that sizes it by memory."""

    memory_bytes: int = Field(gt=0, description="of the database machine that has least, or its limit")
    data_bytes: int = Field(gt=0, description="estimated: rows times the size of one, as measured once")
    count: int = Field(gt=0, description="rows or warehouses")


def size_data(site: Site, parameters: Any, data_bytes: int) -> None:
    """Decides how large the data set becomes, and writes it down; nothing where rows or warehouses are given.

    Args:
        site: with what was observed of the database's machines.
        parameters: of the benchmark.
        data_bytes: what their default number of rows or warehouses takes on disk.

    Raises:
        InputError: the memory is not known.
        NoSpaceOnMachine: the data would not fit on the disk twice.
    """
    times = getattr(parameters, "data_times_memory", None)
    if times is None:
        return
    memory = [found.memory_bytes for found in site.database_facts if found.memory_bytes is not None]
    if not memory:
        raise InputError(
            "`data_times_memory` needs the memory of the database's machine, which was not observed",
            hint=f"give `{parameters.counted}` in its place",
        )
    one_bytes = data_bytes / getattr(parameters, parameters.counted)
    count = math.ceil(times * min(memory) / one_bytes)
    size = DataSize(memory_bytes=min(memory), data_bytes=round(count * one_bytes), count=count)
    _require_room(site.database_facts, size)
    (site.raw_dir / DATA_SIZE).write_text(size.model_dump_json() + "\n", encoding="utf-8")


def as_sized(parameters: Any, stored: bytes | None) -> Any:
    """The parameters with the rows or warehouses of this trial; as they are where the study gives these.

    Raises:
        OutputUnreadable: what was written down is missing or damaged.
    """
    if getattr(parameters, "data_times_memory", None) is None:
        return parameters
    return parameters.model_copy(update={parameters.counted: _read(stored).count})


def size_metrics(parameters: Any) -> tuple[Metric, ...]:
    """What `size_measured` may yield."""
    return (TIMES_MEMORY,) if getattr(parameters, "data_times_memory", None) is not None else ()


def size_measured(raw: RawOutput) -> Iterator[Measurement]:
    """What the data set became, of a trial that sizes it."""
    if DATA_SIZE in raw:
        size = _read(raw[DATA_SIZE])
        yield TIMES_MEMORY.measured(size.data_bytes / size.memory_bytes)


def _read(stored: bytes | None) -> DataSize:
    try:
        return DataSize.model_validate_json(stored or b"")
    except ValidationError as error:
        raise OutputUnreadable(f"{DATA_SIZE} is missing or damaged: {error.errors()[0]['msg']}") from error


def _require_room(facts: Sequence[Facts], size: DataSize) -> None:
    free = min((found.disk.free_bytes for found in facts if found.disk.free_bytes is not None), default=None)
    if free is not None and free < _COPIES * size.data_bytes:
        needed, there = _COPIES * size.data_bytes / GIB, free / GIB
        raise NoSpaceOnMachine(
            f"a data set of {size.data_bytes / size.memory_bytes:g} times the memory, and the copy of a trial, take "
            f"{needed:.1f} GiB, but the disk has {there:.1f} GiB free",
            hint="make `data_times_memory` smaller, or give the machine a larger disk or less memory",
        )
