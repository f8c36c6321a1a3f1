"""What workloads share that may be driven at a rate: the pace, one main rate, and what ranks configurations."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.benchmark import LoadBenchmark
from nephoscope.benchmarks.load.data_size import size_metrics
from nephoscope.benchmarks.load.metrics import generator_metrics, latency_metrics, rate
from nephoscope.model.frozen import Frozen, conflict
from nephoscope.model.records import Measurement, Metric


def ended_per_s(what: str, counted: str = "") -> Metric:
    """The main rate of a workload, in what a person counts: 'inserts'; where the name has another word, `counted`."""
    counted = counted or what
    return Metric.higher(
        f"{what}_per_s",
        "1/s",
        f"{counted} per second",
        f"{what} that ended in the measurement interval / its length",
        headline=True,
        per_cpu=True,
        counted=f"{counted}/s",
    )


class PacedLoadBenchmark(LoadBenchmark):
    """A workload whose parameters are `PacedParameters`."""

    main_rate: ClassVar[Metric]
    """In a closed pace it ranks configurations."""

    @abstractmethod
    def drawn(self, parameters: Any) -> Sequence[str]:
        """Its operations. At a rate that is given, the response time of the first ranks configurations."""

    @override
    def pace(self, parameters: Any) -> load_spec.AnyPace:
        pace: load_spec.AnyPace = parameters.spec_pace()
        return pace

    @override
    def metrics(self, parameters: Any) -> tuple[Metric, ...]:
        paced, drawn = parameters.pace != "closed", self.drawn(parameters)
        ranked = f"{drawn[0]}.response_p99"
        latency = tuple(
            metric.model_copy(update={"headline": True}) if metric.name == ranked else metric
            for name in drawn
            for metric in latency_metrics(name, paced=paced)
        )
        main = self.main_rate.model_copy(update={"headline": not paced})
        return (main, *latency, *generator_metrics(paced=paced), *size_metrics(parameters))

    @override
    def rates(self, output: load_output.LoadOutput, parameters: Any) -> list[Measurement]:
        return rate(self.main_rate, output, 1, *self.drawn(parameters))


Pipeline = Annotated[
    int,
    Field(ge=1, le=1_024, description="operations in flight per connection; not on PostgreSQL's protocol"),
]
Cluster = Annotated[bool, Field(description="the database is a cluster with several masters; Redis and Valkey only")]


class RunParameters(Frozen):
    """What a workload's parameters must hold: times, and how it is driven."""

    ramp_s: float
    duration_s: float
    connections: int | None = Field(
        default=None, ge=1, le=1_000_000, description="default: that of the edition, or else of the configuration"
    )
    workers: int | None = Field(
        default=None,
        ge=1,
        description="concurrent clients; default: that of the edition, or else of the load generator",
    )
    threads: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="threads of the load generator; default: depends on CPUs and connections",
    )
    pin: bool = Field(default=False, description="pin each thread of the load generator to its own CPU")
    isolation: load_spec.Isolation = "read committed"
    dialect: load_spec.Dialect = Field(
        default="postgres",
        description="SQL dialect of servers with PostgreSQL's protocol: schema, loading, statements, checks",
    )
    retry: Literal["restart", "savepoint"] = Field(default="restart", description="savepoint: CockroachDB's protocol")
    prepared: Literal["auto", "named", "unnamed"] = Field(
        default="auto",
        exclude_if=lambda prepared: prepared == "auto",  # so that trials keep the ids that they had without it
        description="SQL statements; auto: named, unless a connection pooler does not keep names apart",
    )


class PacedParameters(RunParameters):
    """Of a workload that may be driven at a rate."""

    pace: Literal["closed", "constant", "poisson"] = Field(
        default="closed", description="when operations start: when the previous one ends (closed), or at a given rate"
    )
    rate_per_s: float | None = Field(default=None, gt=0, description="required by the paces constant and poisson")
    ramp_s: float = Field(default=10, ge=0, description="time under load before the measurement interval, not measured")
    duration_s: float = Field(default=60, ge=1, description="the measurement interval")

    @model_validator(mode="after")
    def _an_open_pace_has_a_rate(self) -> Self:
        if self.pace == "closed" and self.rate_per_s is not None:
            raise conflict('`rate_per_s` needs the pace "constant" or "poisson": a closed loop has no target rate')
        if self.pace != "closed" and self.rate_per_s is None:
            raise conflict(f'the pace "{self.pace}" needs `rate_per_s`')
        return self

    def spec_pace(self) -> load_spec.AnyPace:
        """As the contract has it."""
        if self.pace == "closed" or self.rate_per_s is None:
            return load_spec.ClosedPace()
        if self.pace == "constant":
            return load_spec.ConstantPace(rate_per_s=self.rate_per_s)
        return load_spec.PoissonPace(rate_per_s=self.rate_per_s)

    def pace_note(self, operations: str) -> str:
        """One sentence for a report."""
        if self.pace == "closed":
            return f"Closed loop: each client starts its next operation ({operations}) when the previous one ends."
        # Digits as given: `,g` writes 1,234,567 as 1.23457e+06.
        offered = f"Open loop, {self.pace}, {self.rate_per_s:,.15g} {operations}/s offered"
        return f"{offered}: response times are measured from the moment each operation was due."
