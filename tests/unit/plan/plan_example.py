"""Stand-in benchmarks and studies for plans."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from nephoscope.benchmarks.base import Needs
from nephoscope.model.extents import Extent
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Direction, Metric
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.plan.expand import Plannable
from nephoscope.study.model import BenchmarkEntry, Configuration, Study


class Parameters(Frozen):
    duration_s: float = Field(default=60, gt=0)
    depth: int = 1


class Standin:
    """Takes twice its duration; has one headline metric."""

    parameters = Parameters

    def __init__(self, version: int = 1, machines: int = 1) -> None:
        self.version = version
        self.machines = machines

    def version_of(self, parameters: Mapping[str, Any]) -> int:
        return self.version

    def subject_of(self, parameters: Parameters) -> Subject:
        return Subject.CPU

    def extent_of(self, parameters: Parameters) -> Extent:
        return Extent(machines=self.machines, volumes=False)

    def database_load_of(self, parameters: Parameters) -> DatabaseLoad | None:
        return None

    def metrics(self, parameters: Parameters) -> tuple[Metric, ...]:
        first = Metric(name="ops", unit="1/s", direction=Direction.HIGHER, title="Operations", headline=True)
        return (first, Metric(name="p99", unit="s", direction=Direction.LOWER, title="99th percentile"))

    def needs(self, parameters: Parameters) -> Needs:
        return Needs(machines=self.machines)

    def expected_duration_s(self, parameters: Parameters) -> float:
        return 2 * parameters.duration_s


BENCHMARKS: dict[str, Plannable] = {"cpu": Standin(), "disk": Standin(version=3)}


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
