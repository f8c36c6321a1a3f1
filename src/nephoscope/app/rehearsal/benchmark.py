"""A benchmark whose numbers are invented: it runs no program, and reports the metrics of the real one."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError
from typing_extensions import override

from nephoscope.app.rehearsal.levels import measurements
from nephoscope.app.rehearsal.machines import SimulatedMachine
from nephoscope.benchmarks.base import Benchmark, Needs, RawOutput, Site
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.databases.base import Endpoint
from nephoscope.machines.fake import Answer
from nephoscope.machines.remote import Command
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.extents import Extent
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.plan.preparation import HasDataSet
from nephoscope.providers.base import Cluster

PROGRAM = "nephoscope-rehearsal"
_OUTPUT = "rehearsal"
_MEASUREMENTS = TypeAdapter(list[Measurement])


@dataclass(frozen=True)
class SimulatedBenchmark(Benchmark):
    """Replaces `real`: same name, version, parameters and metrics, but no tools, no data and no database load."""

    real: Benchmark
    load: Callable[[Cluster, int], Awaitable[None]]
    """Takes the time that a data set of so many bytes takes to be there."""

    @property
    @override
    def name(self) -> str:
        return self.real.name

    @property
    @override
    def version(self) -> int:
        return self.real.version

    @override
    def version_of(self, parameters: Mapping[str, Any]) -> int:
        return self.real.version_of(parameters)

    @property
    @override
    def title(self) -> str:
        return self.real.title

    @property
    @override
    def subject(self) -> Subject:
        return self.real.subject

    @property
    @override
    def parameters(self) -> type[Frozen]:
        return self.real.parameters

    @override
    def subject_of(self, parameters: Any) -> Subject:
        return self.real.subject_of(parameters)

    @property
    @override
    def extent(self) -> Extent:
        return self.real.extent

    @override
    def extent_of(self, parameters: Any) -> Extent:
        return self.real.extent_of(parameters)

    @override
    def measured_s(self, parameters: Any) -> float | None:
        return self.real.measured_s(parameters)

    @override
    def database_load_of(self, parameters: Any) -> DatabaseLoad | None:
        return self.real.database_load_of(parameters)

    @override
    def metrics(self, parameters: Any) -> tuple[Metric, ...]:
        return self.real.metrics(parameters)

    @override
    def needs(self, parameters: Any) -> Needs:
        """Machines, and a raw volume, which decides about clusters; tools are never missing here."""
        real = self.real.needs(parameters)
        return Needs(machines=real.machines, raw_device=real.raw_device)

    @override
    def expected_duration_s(self, parameters: Any) -> float:
        return self.real.expected_duration_s(parameters)

    @override
    async def prepare(self, site: Site, parameters: Any) -> Endpoint | None:
        """Makes no data, but takes as long as that would."""
        if isinstance(self.real, HasDataSet):
            await self.load(site.cluster, self.real.fixture_bytes(parameters))
        return None

    @override
    async def run(self, site: Site, parameters: Any) -> None:
        argv = [PROGRAM, self.real.name, str(site.seed), parameters.model_dump_json(by_alias=True)]
        command = Command(argv, timeout_s=2 * self.expected_duration_s(parameters) + 60)
        completed = await site.execute(site.cluster.database[0], _OUTPUT, command)
        completed.require()

    @override
    def parse(self, raw: RawOutput, parameters: Any) -> list[Measurement]:
        try:
            return _MEASUREMENTS.validate_json(raw.get(f"{_OUTPUT}.stdout", b""))
        except ValidationError as error:
            raise OutputUnreadable(f"{PROGRAM} wrote something else: {error.errors()[0]['msg']}") from error


def invent(argv: Sequence[str], machine: SimulatedMachine) -> Answer:
    """The program: a pure function of its arguments and of the machine."""
    benchmark = BENCHMARKS[argv[1]]
    parameters = benchmark.parameters.model_validate_json(argv[3])
    found = list(measurements(benchmark, parameters, machine, int(argv[2])))
    rows = [one.model_dump(exclude_none=True) for one in found]
    return Answer(json.dumps(rows).encode(), takes_s=benchmark.expected_duration_s(parameters))
