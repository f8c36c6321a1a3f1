"""Small stand-ins for the parameter models of benchmarks, and a study that uses them."""

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from nephoscope.model.frozen import Frozen
from nephoscope.model.subjects import Subject
from nephoscope.study.model import KnownBenchmark, Stated

ROOT = Path(__file__).parents[3]
LAPTOP = ROOT / "studies" / "laptop.toml"


class StressNg(Frozen):
    stressor: Literal["matrix", "cpu"] = "matrix"
    method: str | None = None
    duration_s: float = Field(default=60, gt=0)


class Job(Frozen):
    name: str = Field(min_length=1)
    mode: Literal["randread", "randwrite"]
    block_size_kib: int = Field(ge=1, le=1024)
    queue_depth: int = Field(default=1, ge=1)
    fsync_every: int = Field(default=0, ge=0)
    duration_s: float = Field(default=60, gt=0)


class Fio(Frozen):
    file_size_mib: int = Field(default=1024, ge=1)
    jobs: tuple[Job, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _job_names_are_unique(self) -> "Fio":
        if len({job.name for job in self.jobs}) < len(self.jobs):
            raise ValueError("two jobs have the same name")
        return self


class Tpcc(Frozen):
    warehouses: int = Field(default=10, ge=1)
    ramp_s: float = Field(default=10, ge=0)
    duration_s: float = Field(default=60, gt=0)


class PointSelect(Frozen):
    rows: int = Field(default=1_000_000, ge=1)
    ramp_s: float = Field(default=10, ge=0)
    duration_s: float = Field(default=60, gt=0)


class Memory(Frozen):
    sample_ms: int = Field(default=20, ge=1)
    largest_bytes: int | None = None


KNOWN: dict[str, KnownBenchmark] = {
    "stress-ng": Stated(StressNg, Subject.CPU),
    "memory": Stated(Memory, Subject.MEMORY),
    "fio": Stated(Fio, Subject.STORAGE),
    "tpcc": Stated(Tpcc, Subject.DATABASE),
    "point-select": Stated(PointSelect, Subject.DATABASE),
}

MINIMAL = """\
name = "s"
[[configurations]]
name = "a"
[[benchmarks]]
uses = "tpcc"
"""
