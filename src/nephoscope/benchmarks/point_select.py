"""Point selects: one row by its primary key per operation, uniform over the rows, no transaction block.

The statement and the table are sysbench's `oltp_point_select`; the distribution is uniform (sysbench's released
versions draw 'special' unless told otherwise).
"""

from types import MappingProxyType
from typing import Any

from pydantic import Field

from nephoscope.benchmarks import load_output, load_spec
from nephoscope.benchmarks.load_benchmark import LoadBenchmark
from nephoscope.benchmarks.load_metrics import generator_metrics, latency_metrics, rate
from nephoscope.benchmarks.load_parameters import PacedParameters
from nephoscope.records import Direction, Measurement, Metric

ROW_BYTES = 320
"""On disk with both indexes."""


class PointSelectParameters(PacedParameters):
    """Parameters of `point-select`."""

    rows: int = Field(default=1_000_000, ge=1, le=2_000_000_000, description="of the one table")


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
        pace: load_spec.AnyPace = parameters.spec_pace()
        return pace

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
        return [parameters.pace_note("selects")]
