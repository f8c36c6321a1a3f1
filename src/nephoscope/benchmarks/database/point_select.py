"""Point selects: each operation reads one row by primary key, chosen uniformly, without a transaction block.

The statement and the table are sysbench's `oltp_point_select`; the distribution is uniform (sysbench's released
versions use 'special' by default).
"""

from types import MappingProxyType
from typing import Any

from pydantic import Field

from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.paced import PacedLoadBenchmark, ended_per_s
from nephoscope.benchmarks.load.parameters import PacedParameters

ROW_BYTES = 320
"""On disk with both indexes."""


class PointSelectParameters(PacedParameters):
    """Parameters of `point-select`."""

    rows: int = Field(default=1_000_000, ge=1, le=2_000_000_000, description="rows of the single table")


class PointSelect(PacedLoadBenchmark):
    """See the module's text."""

    name = "point-select"
    version = 2
    resumable = True
    title = "Point selects"
    parameters = PointSelectParameters
    kinds = MappingProxyType({"read": ("point_select",)})
    main_rate = ended_per_s("selects", title="point selects per second")

    def data_set(self, parameters: Any) -> load_spec.PointSelectWorkload:
        """See `LoadBenchmark.data_set`."""
        return load_spec.PointSelectWorkload(rows=parameters.rows)

    def drawn(self, parameters: Any) -> tuple[str, ...]:  # noqa: ARG002
        """See `PacedLoadBenchmark.drawn`."""
        return ("point_select",)

    def fixture_bytes(self, parameters: Any) -> int:
        """See `LoadBenchmark.fixture_bytes`."""
        return int(parameters.rows) * ROW_BYTES

    def notes(self, parameters: Any) -> list[str]:
        """See `HasNotes.notes`: the pace."""
        return [parameters.pace_note("selects")]
