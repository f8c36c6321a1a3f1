"""Point selects: each operation reads one row by primary key, chosen uniformly, without a transaction block.

The statement and the table are sysbench's `oltp_point_select`; the distribution is uniform (sysbench's released
versions use 'special' by default).
"""

from typing import Any

from pydantic import Field
from typing_extensions import override

from nephoscope.benchmarks.load import spec as load_spec
from nephoscope.benchmarks.load.paced import PacedLoadBenchmark, PacedParameters, ended_per_s
from nephoscope.model.subjects import DatabaseLoad

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
    drives = load_spec.PointSelectWorkload
    kinds = {"read": ("point_select",)}
    main_rate = ended_per_s("selects", counted="point selects")

    @override
    def database_load_of(self, parameters: Any) -> DatabaseLoad:
        return DatabaseLoad.KEY_VALUE

    @override
    def drawn(self, parameters: Any) -> tuple[str, ...]:
        return ("point_select",)

    @override
    def fixture_bytes(self, parameters: Any) -> int:
        return int(parameters.rows) * ROW_BYTES

    @override
    def notes(self, parameters: Any) -> list[str]:
        return [parameters.pace_note("selects")]
