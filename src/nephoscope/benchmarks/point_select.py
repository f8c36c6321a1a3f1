"""Point selects: one row by its primary key per operation, uniform over the rows, no transaction block.

The statement and the table are sysbench's `oltp_point_select`; the distribution is uniform (sysbench's released
versions draw 'special' unless told otherwise).
"""

from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from nephoscope.benchmarks import load_output, load_spec
from nephoscope.benchmarks.load_benchmark import LoadBenchmark, RunParameters
from nephoscope.benchmarks.load_metrics import generator_metrics, latency_metrics, rate
from nephoscope.records import Direction, Measurement, Metric

ROW_BYTES = 320
"""On disk with both indexes."""


class PointSelectParameters(RunParameters):
    """Parameters of `point-select`."""

    rows: int = Field(default=1_000_000, ge=1, le=2_000_000_000, description="of the one table")
    pace: Literal["closed", "constant", "poisson"] = Field(
        default="closed", description="when selects are due: when the one before has ended, or at a rate"
    )
    rate_per_s: float | None = Field(default=None, gt=0, description="needed by the paces constant and poisson")
    ramp_s: float = Field(default=10, ge=0, description="driven before the measurement interval, not measured")
    duration_s: float = Field(default=60, ge=1, description="the measurement interval")

    @model_validator(mode="after")
    def _an_open_pace_has_a_rate(self) -> "PointSelectParameters":
        if self.pace == "closed" and self.rate_per_s is not None:
            text = '`rate_per_s` needs the pace "constant" or "poisson": a closed pace has no rate of its own'
            raise PydanticCustomError("parameters_do_not_fit", "{text}", {"text": text})
        if self.pace != "closed" and self.rate_per_s is None:
            text = f'the pace "{self.pace}" needs `rate_per_s`'
            raise PydanticCustomError("parameters_do_not_fit", "{text}", {"text": text})
        return self


SELECTS = Metric(
    name="selects_per_s",
    unit="1/s",
    direction=Direction.HIGHER,
    title="point selects per second",
    clock="selects that ended in the measurement interval / its length",
    headline=True,
    per_cpu=True,
)
RESPONSE_P99 = "point_select.response_p99"


class PointSelect(LoadBenchmark):
    """See the module's text."""

    name = "point-select"
    version = 2
    resumable = True
    title = "Point selects"
    parameters = PointSelectParameters
    kinds = MappingProxyType({"read": ("point_select",)})

    def data_set(self, parameters: Any) -> load_spec.PointSelectWorkload:
        """See `LoadBenchmark.data_set`."""
        return load_spec.PointSelectWorkload(rows=parameters.rows)

    def pace(self, parameters: Any) -> load_spec.AnyPace:
        """See `LoadBenchmark.pace`."""
        if parameters.pace == "closed":
            return load_spec.ClosedPace()
        if parameters.pace == "constant":
            return load_spec.ConstantPace(rate_per_s=parameters.rate_per_s)
        return load_spec.PoissonPace(rate_per_s=parameters.rate_per_s)

    def fixture_bytes(self, parameters: Any) -> int:
        """See `LoadBenchmark.fixture_bytes`."""
        return int(parameters.rows) * ROW_BYTES

    def metrics(self, parameters: Any) -> tuple[Metric, ...]:
        """See `Benchmark.metrics`. At a rate that is given, configurations are ranked by response time."""
        paced = parameters.pace != "closed"
        latency = tuple(
            metric.model_copy(update={"headline": True}) if metric.name == RESPONSE_P99 else metric
            for metric in latency_metrics("point_select", paced=paced)
        )
        rates = SELECTS.model_copy(update={"headline": not paced})
        return (rates, *latency, *generator_metrics(paced=paced))

    def rates(self, output: load_output.LoadOutput, parameters: Any) -> list[Measurement]:  # noqa: ARG002
        """Selects per second."""
        return rate(SELECTS, output, 1, "point_select")

    def notes(self, parameters: Any) -> list[str]:
        """See `HasNotes.notes`: the pace."""
        if parameters.pace == "closed":
            return ["Closed pace: a select is due when the one before has ended."]
        offered = f"Open pace, {parameters.pace}, {parameters.rate_per_s:g} selects/s offered"
        return [f"{offered}: response time counts from the moment each was due."]
