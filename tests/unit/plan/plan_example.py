"""Stand-in benchmarks and studies for plans."""

from typing import Any

from pydantic import Field

from nephoscope.benchmarks.base import Benchmark, Needs, RawOutput, Site
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Direction, Measurement, Metric
from nephoscope.model.subjects import Extent, Subject
from nephoscope.study.model import BenchmarkEntry, Configuration, Study


class Parameters(Frozen):
    duration_s: float = Field(default=60, gt=0)
    depth: int = 1


class Standin(Benchmark):
    """Takes twice its duration; has one headline metric."""

    name = "standin"
    title = "Standin"
    subject = Subject.CPU
    parameters = Parameters

    def __init__(self, version: int = 1, machines: int = 1) -> None:
        self.version = version
        self.machines = machines

    def extent_of(self, parameters: Parameters) -> Extent:
        return Extent(machines=self.machines, volumes=False)

    def metrics(self, parameters: Parameters) -> tuple[Metric, ...]:
        first = Metric(name="ops", unit="1/s", direction=Direction.HIGHER, title="Operations", headline=True)
        return (first, Metric(name="p99", unit="s", direction=Direction.LOWER, title="99th percentile"))

    def needs(self, parameters: Parameters) -> Needs:
        return Needs(machines=self.machines)

    def expected_duration_s(self, parameters: Parameters) -> float:
        return 2 * parameters.duration_s

    async def run(self, site: Site, parameters: Parameters) -> None:
        raise NotImplementedError

    def parse(self, raw: RawOutput, parameters: Parameters) -> list[Measurement]:
        raise NotImplementedError


BENCHMARKS: dict[str, Benchmark] = {"cpu": Standin(), "disk": Standin(version=3)}


def study(**changes: Any) -> Study:
    """Two configurations, two benchmarks, six replicates."""
    values: dict[str, Any] = {
        "name": "s",
        "seed": 7,
        "configurations": [
            Configuration(name="small", price_usd_per_hour=0.5),
            Configuration(name="large", price_usd_per_hour=2, region="elsewhere"),
        ],
        "benchmarks": [BenchmarkEntry(uses="cpu"), BenchmarkEntry(uses="disk", parameters={"duration_s": 300})],
    }
    return Study.model_validate(values | changes)


def configurations(*names: str) -> list[Configuration]:
    """Configurations that differ in what is measured."""
    return [Configuration(name=name, zone=name) for name in names]
