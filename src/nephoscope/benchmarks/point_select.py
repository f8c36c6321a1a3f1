"""Point selects: one row by its primary key per operation, uniform over the rows, no transaction block.

The statement and the table are sysbench's `oltp_point_select`; the distribution is uniform (sysbench's released
versions draw 'special' unless told otherwise).
"""

from typing import Any

from pydantic import Field

from nephoscope.benchmarks import load_output
from nephoscope.benchmarks.load_benchmark import (
    CLIENT_CPU,
    CLIENT_CPU_PER_OPERATION,
    LoadBenchmark,
    RunParameters,
    latency_metrics,
    rate,
)
from nephoscope.benchmarks.load_contract import PointSelectWorkload
from nephoscope.records import Direction, Measurement, Metric

ROW_BYTES = 320
"""On disk with both indexes."""


class PointSelectParameters(RunParameters):
    """Parameters of `point-select`."""

    rows: int = Field(default=1_000_000, ge=1, le=2_000_000_000, description="of the one table")
    ramp_s: float = Field(default=10, ge=0, description="driven before the measurement interval, not measured")
    duration_s: float = Field(default=60, ge=1, description="the measurement interval")


SELECTS = Metric(
    name="selects_per_s",
    unit="1/s",
    direction=Direction.HIGHER,
    title="point selects per second",
    clock="selects that ended in the measurement interval / its length",
    headline=True,
    per_cpu=True,
)


class PointSelect(LoadBenchmark):
    """See the module's text."""

    name = "point-select"
    version = 1
    title = "Point selects"
    parameters = PointSelectParameters

    def workload(self, parameters: Any) -> PointSelectWorkload:
        """See `LoadBenchmark.workload`."""
        return PointSelectWorkload(rows=parameters.rows)

    def fixture_bytes(self, parameters: Any) -> int:
        """See `LoadBenchmark.fixture_bytes`."""
        return int(parameters.rows) * ROW_BYTES

    def metrics(self, parameters: Any) -> tuple[Metric, ...]:  # noqa: ARG002 - the same for all parameters
        """See `Benchmark.metrics`."""
        return (SELECTS, *latency_metrics("point_select"), CLIENT_CPU, CLIENT_CPU_PER_OPERATION)

    def rates(self, output: load_output.LoadOutput) -> list[Measurement]:
        """Selects per second."""
        return rate(SELECTS, output, 1, "point_select")
