"""A benchmark whose numbers are computed, not measured. It ships for rehearsals and tests."""

import json
import random
from collections.abc import Sequence
from typing import Any

from pydantic import Field, ValidationError
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, Needs, RawOutput, Site
from nephoscope.machines.fake import Answer
from nephoscope.machines.remote import Command, Tool
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.subjects import CLUSTER, Subject

PROGRAM = "fake-benchmark"
_TOOL = Tool(PROGRAM)


class FakeParameters(Frozen):
    """Parameters of `fake`."""

    value: float = Field(default=1000.0, gt=0, description="the value on one CPU")
    cpu_exponent: float = Field(default=0.9, ge=0, le=2, description="value x CPUs ** this")
    spread_percent: float = Field(default=1.0, ge=0, lt=100, description="standard deviation of the replicates")
    duration_s: float = Field(default=10.0, ge=0, description="in seconds of the fake clock")
    database: bool = Field(default=False, description="also start the configuration's database")


RATE = Metric.higher(
    "rate",
    "1/s",
    "fake operations per second",
    "none: the number is computed",
    headline=True,
    per_cpu=True,
    counted="fake operations/s",
)


class _Output(Frozen):
    rate: float = Field(gt=0)


class Fake(Benchmark):
    """See the module's text."""

    name = "fake"
    version = 1
    subject = Subject.CPU
    extent = CLUSTER
    """Its numbers stand for those of whatever cluster a rehearsal has."""
    resumable = True
    title = "Fake benchmark (computed numbers)"
    parameters = FakeParameters

    @override
    def subject_of(self, parameters: Any) -> Subject:
        """A database when it starts one: numbers that stand for a workload rather than for a machine."""
        return Subject.DATABASE if parameters.database else self.subject

    @override
    def metrics(self, parameters: Any) -> tuple[Metric, ...]:
        return (RATE,)

    @override
    def needs(self, parameters: Any) -> Needs:
        return Needs(tools=(_TOOL,))

    @override
    def expected_duration_s(self, parameters: Any) -> float:
        return float(parameters.duration_s)

    @override
    async def run(self, site: Site, parameters: Any) -> None:
        machine = site.cluster.database[0]
        argv = [PROGRAM, str(len(machine.cpus)), str(site.seed), parameters.model_dump_json()]
        completed = await site.execute(machine, "fake", Command(argv, timeout_s=600))
        completed.require()

    @override
    def parse(self, raw: RawOutput, parameters: Any) -> list[Measurement]:
        try:
            output = _Output.model_validate_json(raw.get("fake.stdout", b""))
        except ValidationError as error:
            raise OutputUnreadable(f"{PROGRAM} wrote something else: {error.errors()[0]['msg']}") from error
        return [RATE.measured(output.rate)]


def fake_program(argv: Sequence[str], stdin: bytes) -> Answer:  # noqa: ARG001 - as every program of a fake machine
    """The program itself: a pure function of its arguments."""
    if argv[1:] == ["--version"]:
        return Answer(b"fake-benchmark 1\n")
    cpus, seed = int(argv[1]), int(argv[2])
    parameters = FakeParameters.model_validate_json(argv[3])
    noise = random.Random(f"{cpus}/{seed}").gauss(0, parameters.spread_percent / 100)  # noqa: S311 - a fake
    rate = parameters.value * cpus**parameters.cpu_exponent * max(0.01, 1 + noise)
    return Answer(json.dumps({"rate": rate}).encode(), takes_s=parameters.duration_s)
